//! A task for tests, which counts how often it is woken.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

#[derive(Default)]
pub(crate) struct Counted(AtomicUsize);

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Counted {
    /// A task and what wakes it.
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let task = Arc::new(Self::default());
        let waker = Waker::from(Arc::clone(&task));
        (task, waker)
    }

    /// How often it was woken since this was last asked.
    pub(crate) fn woken(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}
