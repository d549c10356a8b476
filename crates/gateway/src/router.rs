//! The router: one endpoint for clients, and which backend each call goes to.

mod bridge;
mod downstream;
mod forward;
mod rounds;
mod subscriptions;

use crate::backend::Backend;
use crate::{ConnectError, GatewayOptions, Upstream};
use carrick::proto::http::ParamHeader;
use carrick::proto::method::Method;
use carrick::proto::peer::Identity;
use carrick::server::{Connection, ConnectionInfo, Outbox, Service};
use downstream::Downstream;
use std::sync::Arc;

/// One MCP server, offered to clients of any revision. Cheap to clone; a
/// [`Service`] for the drivers that serve a [`carrick::Server`].
#[derive(Clone)]
pub struct Gateway {
    backend: Arc<Backend>,
}

impl Gateway {
    /// Connects to the server, to learn what it is.
    ///
    /// # Errors
    /// When it cannot be reached, with why.
    pub async fn open(
        upstream: impl Upstream,
        options: GatewayOptions,
    ) -> Result<Self, ConnectError> {
        Ok(Self { backend: Backend::open(upstream, options).await? })
    }

    /// Closes every connection to the server. Calls that are under way end, and
    /// so do those that are parked.
    pub async fn close(&self) {
        self.backend.close().await;
    }

    /// Ends every connection to the server, to open it anew where it is needed
    /// next: the server is not what it was. Calls that are under way end.
    pub async fn reconnect(&self) {
        self.backend.reconnect().await;
    }

    /// Whether the server has been there yet: see
    /// [`GatewayOptions::startup_wait`].
    pub fn is_ready(&self) -> bool {
        self.backend.is_ready()
    }

    /// Whether the server has sessions, and may remember between calls.
    pub fn has_sessions(&self) -> bool {
        self.backend.is_ready() && !self.backend.is_stateless()
    }

    /// Calls that wait for their clients to come back, and the memory that they
    /// take, in bytes.
    pub fn parked(&self) -> (usize, usize) {
        self.backend.parking.size()
    }

    /// Connections to the server, open or about to be.
    pub fn connections(&self) -> usize {
        self.backend.connections()
    }

    /// The name of the server.
    pub fn server(&self) -> &str {
        self.backend.name()
    }
}

impl Service for Gateway {
    fn identity(&self) -> Arc<Identity> {
        self.backend.identity()
    }

    fn connect(&self, info: Arc<ConnectionInfo>, outbox: Arc<dyn Outbox>) -> Box<dyn Connection> {
        Box::new(Downstream::new(self.backend.clone(), &info, outbox))
    }

    fn mirrored(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        self.backend.mirrored(tool)
    }
}

/// The requests in whose middle a server may ask something
/// (`basic/patterns/mrtr`, Supported Requests).
fn may_ask(method: Method) -> bool {
    matches!(method, Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead)
}
