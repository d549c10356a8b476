//! A connection to one server over time: opened when it is needed, and again
//! after it has ended.
//!
//! A [`ManagedConnection`] stands over a [`Connector`], which opens a single
//! [`Client`]. It adds what everybody needs who talks to a server for longer
//! than one connection lasts:
//!
//! - callers side by side share one attempt, and one that gives up waiting does
//!   not take it from the others;
//! - exponential back-off with jitter behind a circuit breaker: after a failure
//!   the last error answers at once until the next attempt is due, and then one
//!   attempt decides;
//! - what is known of the server's era ([`EraStore`]), so that connecting again
//!   needs no guessing;
//! - an idle timeout after which the connection is closed until its next use;
//! - a state to look at ([`ManagedConnection::state`]) and events to hear
//!   ([`ConnectionEvents`]).
//!
//! It runs within a Tokio runtime and its clock is Tokio's. Dropping it closes
//! the connection.

mod attempt;
mod breaker;
mod connector;
mod error;
mod idle;
mod inner;
mod options;
mod state;
#[cfg(test)]
mod tests;

pub use connector::{CloseReason, ConnectionEvents, Connector, EraStore, NoEvents};
pub use error::{ConnectError, ManagedError};
pub use options::{Backoff, ManagedOptions};
pub use state::{Connected, ConnectionState};

use super::{Client, ClientConfig, Hooks};
use attempt::open;
use inner::{Inner, Step};
use std::sync::Arc;
use tokio::sync::watch;

/// A connection to one server over time: see the [module](self).
///
/// `T` is kept with each single connection and goes with it: what was learned
/// over it, or set on it ([`Connected::data`]).
#[derive(Debug)]
pub struct ManagedConnection<T = ()> {
    inner: Arc<Inner<T>>,
}

impl<T: Default + Send + Sync + 'static> ManagedConnection<T> {
    /// A connection that is not open yet. `config` says for whom it speaks, and
    /// `hooks` are called on every single connection; a [`Connector`] may change
    /// both.
    pub fn new(
        connector: Arc<dyn Connector>,
        config: ClientConfig,
        hooks: Hooks,
        events: Arc<dyn ConnectionEvents>,
        options: ManagedOptions,
    ) -> Self {
        Self { inner: Arc::new(Inner::new(connector, config, hooks, events, options)) }
    }

    /// The connection: the one there is, or a new one. Dropping this future does
    /// not end the attempt, which later callers find under way or done.
    ///
    /// # Errors
    /// When the server cannot be reached; soon after a failure without trying.
    pub async fn connected(&self) -> Result<Connected<T>, ManagedError> {
        loop {
            match open(&self.inner) {
                Step::Up(connected) => return Ok(connected),
                Step::Refused(error) => return Err(error),
                Step::Wait(attempt) => {
                    // None: it was given up for a new one.
                    if let Some(outcome) = attempt.await {
                        return outcome;
                    }
                }
            }
        }
    }

    /// The same, of which only the client is wanted.
    ///
    /// # Errors
    /// As [`ManagedConnection::connected`].
    pub async fn client(&self) -> Result<Client, ManagedError> {
        self.connected().await.map(|connected| connected.client)
    }

    /// Begins to connect where that is needed and due, and waits for nothing.
    pub fn start(&self) {
        drop(open(&self.inner));
    }
}

impl<T> ManagedConnection<T> {
    /// The connection, if it is open now.
    pub fn now(&self) -> Option<Connected<T>> {
        self.inner.now()
    }

    /// The server's name.
    pub fn name(&self) -> &str {
        self.inner.connector.name()
    }

    /// Where the connection stands.
    pub fn state(&self) -> ConnectionState {
        self.inner.seen.borrow().clone()
    }

    /// The same to wait on.
    pub fn subscribe(&self) -> watch::Receiver<ConnectionState> {
        self.inner.seen.subscribe()
    }

    /// Whether it has been closed for good.
    pub fn is_closed(&self) -> bool {
        self.inner.is_closed()
    }

    /// Closes the connection, or gives up the attempt that is under way; the next
    /// use opens another one, as if nothing had gone wrong before. Whoever waits
    /// for the attempt waits for the next one instead.
    pub async fn reconnect(&self) {
        if let Some(client) = self.inner.take(CloseReason::Reconnect) {
            client.close().await;
        }
    }

    /// Closes the connection for good, and waits until that is done.
    pub async fn close(&self) {
        if let Some(client) = self.inner.take(CloseReason::Shutdown) {
            client.close().await;
        }
    }
}

impl<T> Drop for ManagedConnection<T> {
    fn drop(&mut self) {
        // The last handle of the client closes the connection.
        drop(self.inner.take(CloseReason::Shutdown));
    }
}
