//! The circuit breaker: failures, and until when their last one answers.

use super::error::ManagedError;
use super::options::Backoff;
use tokio::time::Instant;

/// Closed while there is nothing to refuse; open until an instant; half-open
/// after it, when one attempt decides.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    failures: u32,
    last: Option<ManagedError>,
}

impl Breaker {
    /// The error that answers instead of an attempt.
    pub(super) fn refusal(&self, now: Instant) -> Option<ManagedError> {
        let last = self.last.as_ref()?;
        last.next_attempt().filter(|due| now < *due).map(|_| last.clone())
    }

    /// A connection is open. Only its lasting proves that the server is well.
    pub(super) fn opened(&mut self) {
        self.last = None;
    }

    /// A connection has lasted long enough.
    pub(super) fn healthy(&mut self) {
        *self = Self::default();
    }

    /// Takes a failure down; gives it back with when the next attempt is due.
    pub(super) fn failed(
        &mut self,
        error: ManagedError,
        now: Instant,
        backoff: &Backoff,
        chance: u8,
    ) -> ManagedError {
        self.failures = self.failures.saturating_add(1);
        let due = backoff.wait(self.failures, chance).and_then(|wait| now.checked_add(wait));
        let error = error.due(due);
        self.last = Some(error.clone());
        error
    }
}
