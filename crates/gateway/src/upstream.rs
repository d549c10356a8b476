//! How the server behind a gateway is reached.

use carrick::client::managed::Connector;

/// Opens connections to the server behind a gateway.
pub trait Upstream: Connector {
    /// Whether what the server says outside of answers comes with the call that
    /// it is about, as over HTTP, or all on one stream, as over stdio, where each
    /// connection is a process.
    fn tells_calls_apart(&self) -> bool;
}
