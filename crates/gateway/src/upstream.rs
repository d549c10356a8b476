//! How the server behind a gateway is reached.

use carrick::Client;
use carrick::client::{ClientConfig, Hooks};
use futures_util::future::BoxFuture;
use std::error::Error;

/// Opens connections to the server behind a gateway.
pub trait Upstream: Send + Sync + 'static {
    /// The server's name, for errors and logs.
    fn name(&self) -> &str;

    /// Whether what the server says outside of answers comes with the call that
    /// it is about, as over HTTP, or all on one stream, as over stdio.
    fn tells_calls_apart(&self) -> bool;

    /// Opens a connection as `config` says: name, capabilities, what is known
    /// of the server. Bounds in it may be changed; it must be connected with
    /// `hooks`.
    fn connect(
        &self,
        config: ClientConfig,
        hooks: Hooks,
    ) -> BoxFuture<'_, Result<Client, ConnectError>>;
}

/// Why a server cannot be reached, for people.
pub type ConnectError = Box<dyn Error + Send + Sync>;
