//! Requests that stay open to hear of changes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::signals::Signals;

/// Those that are open, so that they can be ended in good order.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: Vec<Weak<Signals>>,
    /// When to look next for some that have gone.
    sweep_at: usize,
    closing: bool,
}

impl Listeners {
    /// Adds one; it is ended at once when all are being ended.
    pub(super) fn add(&self, signals: &Arc<Signals>) {
        let mut state = self.lock();
        if state.closing {
            return signals.close();
        }
        if state.open.len() >= state.sweep_at {
            state.open.retain(|signals| signals.strong_count() > 0);
            state.sweep_at = 2 * state.open.len() + 16;
        }
        state.open.push(Arc::downgrade(signals));
    }

    /// Ends all, now and later.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closing = true;
        for signals in state.open.drain(..).filter_map(|signals| signals.upgrade()) {
            signals.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
