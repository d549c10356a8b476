//! Wakes whoever waits for a connection, but not for what the waiting one does itself.
//!
//! A connection is polled by the same task that gives it requests and takes its answers. To the
//! parts of it that looks as if one task had something for another: each request and each part of
//! a body would wake the task once more, for nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// Somebody waits.
const WAITED_FOR: u8 = 0;
/// Nobody waits, or is about to look.
const QUIET: u8 = 1;
/// It rang while it was quiet.
const MISSED: u8 = 2;

/// The bell of one connection.
pub(super) struct Bell {
    state: Arc<State>,
    waker: Waker,
}

struct State {
    state: AtomicU8,
    task: AtomicWaker,
}

impl Wake for State {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let quiet = self.state.compare_exchange(QUIET, MISSED, Ordering::AcqRel, Ordering::Acquire);
        if quiet == Err(WAITED_FOR) {
            self.task.wake();
        }
    }
}

impl Bell {
    /// A bell that nobody waits for.
    pub(super) fn new() -> Self {
        let (state, task) = (AtomicU8::new(QUIET), AtomicWaker::new());
        let state = Arc::new(State { state, task });
        let waker = Waker::from(Arc::clone(&state));
        Self { state, waker }
    }

    /// Looks for something with the bell quiet. If it is not there yet, the task is woken when
    /// the bell rings, or at once if it rang meanwhile.
    pub(super) fn look<T>(
        &self,
        cx: &mut Context<'_>,
        look: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        self.state.state.store(QUIET, Ordering::Release);
        let found = look(&mut Context::from_waker(&self.waker));
        if found.is_pending() {
            self.state.task.register(cx.waker());
            if self.state.state.swap(WAITED_FOR, Ordering::AcqRel) == MISSED {
                cx.waker().wake_by_ref();
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted::Counted;

    #[test]
    fn it_wakes_only_one_who_waits() {
        let (task, waker) = Counted::new();
        let mut cx = Context::from_waker(&waker);
        let bell = Bell::new();
        let inside = bell.waker.clone();
        // Nobody has looked yet.
        inside.wake_by_ref();
        assert_eq!(task.woken(), 0);
        // What was found needs no waking, whatever rang.
        let found = bell.look(&mut cx, |cx| {
            cx.waker().wake_by_ref();
            Poll::Ready(())
        });
        inside.wake_by_ref();
        assert_eq!((found, task.woken()), (Poll::Ready(()), 0));
        // What is not there may have come while one looked.
        let found: Poll<()> = bell.look(&mut cx, |cx| {
            cx.waker().wake_by_ref();
            Poll::Pending
        });
        assert_eq!((found, task.woken()), (Poll::Pending, 1));
        // Or it comes later.
        let found: Poll<()> = bell.look(&mut cx, |_| Poll::Pending);
        assert_eq!((found, task.woken()), (Poll::Pending, 0));
        inside.wake_by_ref();
        assert_eq!(task.woken(), 1);
    }
}
