//! What a managed connection stands on, and who hears of it.

use super::error::ConnectError;
use crate::client::{Changed, Client, ClientConfig, Era, Hooks};
use carrick_proto::peer::ServerDescription;
use futures_util::future::BoxFuture;
use std::future::ready;

/// Opens single connections to one server.
pub trait Connector: Send + Sync + 'static {
    /// The server's name, for errors and logs.
    fn name(&self) -> &str;

    /// Opens a connection as `config` says. Both arguments may be changed, but
    /// the client must be connected with the `events` of `hooks`. Dropping the
    /// future gives the attempt up.
    fn connect(
        &self,
        config: ClientConfig,
        hooks: Hooks,
    ) -> BoxFuture<'_, Result<Client, ConnectError>>;
}

/// Hears what becomes of a managed connection. All methods must return at once.
pub trait ConnectionEvents: Send + Sync + 'static {
    /// An attempt begins.
    fn connecting(&self) {}

    /// A connection has been opened and nobody else has it yet: the place to
    /// send what has to come before all else. It counts into the attempt, and a
    /// [`Connector`]'s own limits do not hold for it.
    fn prepare(&self, client: Client) -> BoxFuture<'static, ()> {
        drop(client);
        Box::pin(ready(()))
    }

    /// A connection is open, with what the server said of itself.
    fn opened(&self, server: &ServerDescription) {
        let _ = server;
    }

    /// A connection that was opened has been closed.
    fn closed(&self, reason: &CloseReason) {
        let _ = reason;
    }

    /// Something has changed at the server, or may have.
    fn changed(&self, changed: &Changed) {
        let _ = changed;
    }
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoEvents;

impl ConnectionEvents for NoEvents {}

/// Why a connection was closed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// The other side ended it; the text says how.
    Ended(String),
    /// No call had been in flight for the idle timeout.
    Idle,
    /// To open another one.
    Reconnect,
    /// For good.
    Shutdown,
}

/// What is known of one server's era ([`ClientConfig::era`]) from run to run. It
/// only saves time: a memory that is wrong leads to the right answer a little
/// later.
pub trait EraStore: Send + Sync + 'static {
    /// What was saved last. Called once for a managed connection, before its
    /// first attempt; must not block for long.
    fn load(&self) -> Option<Era>;

    /// Saves what has been found out, or forgets it (`None`). Called only where
    /// that is news. The connection waits for the future, which therefore bounds
    /// its own time; failures are its own too.
    fn save(&self, era: Option<Era>) -> BoxFuture<'_, ()>;
}
