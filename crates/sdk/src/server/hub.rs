//! Everybody who is to hear of changes.

use super::Outbox;
use carrick_proto::peer::Changed;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The conversations that are open, as long as they are.
#[derive(Default)]
pub(super) struct Hub {
    outboxes: Mutex<Outboxes>,
}

#[derive(Default)]
struct Outboxes {
    open: Vec<Weak<dyn Outbox>>,
    /// When to look next for some that have gone.
    sweep_at: usize,
}

impl Hub {
    /// Tells this one of changes from now on.
    pub(super) fn join(&self, outbox: &Arc<dyn Outbox>) {
        self.with(|outboxes| {
            if outboxes.open.len() >= outboxes.sweep_at {
                outboxes.open.retain(|outbox| outbox.strong_count() > 0);
                outboxes.sweep_at = 2 * outboxes.open.len() + 16;
            }
            outboxes.open.push(Arc::downgrade(outbox));
        });
    }

    /// Tells everybody.
    pub(super) fn announce(&self, changed: &Changed) {
        let open: Vec<Arc<dyn Outbox>> = self.with(|outboxes| {
            outboxes.open.retain(|outbox| outbox.strong_count() > 0);
            outboxes.open.iter().filter_map(Weak::upgrade).collect()
        });
        for outbox in open {
            outbox.changed(changed.clone());
        }
    }

    fn with<T>(&self, f: impl FnOnce(&mut Outboxes) -> T) -> T {
        // Nothing that holds the lock can leave the list half changed.
        f(&mut self.outboxes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.with(|outboxes| outboxes.open.len())
    }
}
