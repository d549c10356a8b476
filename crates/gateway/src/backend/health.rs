//! What all connections to a server know of its failures: each call with a
//! connection of its own would otherwise start a server that cannot be started.

use carrick::types::RpcError;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The first wait after failures in a row; doubles.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// Those failures: a circuit breaker for all connections together.
#[derive(Default)]
pub(crate) struct Health(Mutex<State>);

#[derive(Default)]
struct State {
    /// Failures since a connection was last opened.
    failures: u32,
    /// Until then the last error answers at once.
    open: Option<(Instant, RpcError)>,
}

impl Health {
    /// The error that answers instead of an attempt.
    pub(crate) fn refusal(&self) -> Option<RpcError> {
        let state = self.state();
        let (until, error) = state.open.as_ref()?;
        (Instant::now() < *until).then(|| error.clone())
    }

    pub(crate) fn opened(&self) {
        *self.state() = State::default();
    }

    /// The first failure counts as an accident.
    pub(crate) fn failed(&self, error: &RpcError) {
        let mut state = self.state();
        state.failures = state.failures.saturating_add(1);
        if let Some(doublings) = state.failures.checked_sub(2) {
            let wait = FIRST.saturating_mul(1 << doublings.min(16)).min(LONGEST);
            state.open = Some((Instant::now() + wait, error.clone()));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_answer_for_ever_longer() {
        let (health, error) = (Health::default(), RpcError::internal("no"));
        health.failed(&error);
        assert!(health.refusal().is_none(), "one may be an accident");
        for seconds in [1, 2, 4] {
            health.failed(&error);
            assert!(health.refusal().is_some());
            tokio::time::advance(Duration::from_secs(seconds)).await;
            assert!(health.refusal().is_none());
        }
        health.opened();
        health.failed(&error);
        assert!(health.refusal().is_none(), "it was well in between");
    }
}
