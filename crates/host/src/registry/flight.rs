//! Work that callers side by side share, and that goes on when they give up.

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Such work, while it is under way; none where its task was lost.
pub(super) type Joined<T> = Shared<BoxFuture<'static, Option<T>>>;

/// The place of one piece of such work.
pub(super) struct Flight<T> {
    current: Mutex<Option<Joined<T>>>,
}

impl<T> Default for Flight<T> {
    fn default() -> Self {
        Self { current: Mutex::new(None) }
    }
}

impl<T: Clone + Send + Sync + 'static> Flight<T> {
    /// Joins the work that is under way, or begins it in a task of its own.
    pub(super) fn join<F>(&self, begin: impl FnOnce() -> F) -> Joined<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut current = self.current();
        if let Some(joined) =
            current.as_ref().filter(|joined| (*joined).clone().now_or_never().is_none())
        {
            return joined.clone();
        }
        let task = tokio::spawn(begin());
        let joined = task.map(Result::ok).boxed().shared();
        *current = Some(joined.clone());
        joined
    }

    /// What came of it last; none while it goes on, and before it was begun.
    pub(super) fn outcome(&self) -> Option<Option<T>> {
        // It is done only once somebody has polled it to its end.
        self.current().clone()?.now_or_never()
    }

    fn current(&self) -> MutexGuard<'_, Option<Joined<T>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
