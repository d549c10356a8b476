//! Closing what nobody uses.

use super::inner::Inner;
use std::sync::Weak;
use std::time::Duration;
use tokio::time::Instant;

/// Closes the connection of `turn` once it has been idle for `timeout`.
pub(super) async fn watch<T>(inner: Weak<Inner<T>>, turn: u64, timeout: Duration) {
    let mut wait = timeout;
    loop {
        tokio::time::sleep(wait).await;
        let Some(inner) = inner.upgrade() else { return };
        let mut idle = None;
        let client = inner.take_idle(turn, |up| {
            let unused = Instant::now().saturating_duration_since(up.used);
            // Whoever took it a moment ago may be about to call.
            let since = up.connected.client.idle_for().map_or(Duration::ZERO, |d| d.min(unused));
            idle = Some(since);
            since >= timeout
        });
        match (client, idle) {
            (Some(client), _) => {
                tracing::debug!(server = inner.connector.name(), "closed, as nobody uses it");
                drop(inner);
                return client.close().await;
            }
            // It is not open any more.
            (None, None) => return,
            (None, Some(idle)) => wait = timeout.saturating_sub(idle),
        }
    }
}
