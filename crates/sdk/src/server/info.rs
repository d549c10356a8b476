//! Who sent a call, and by which way.

use super::Principal;
use http::request::Parts;
use http::{Extensions, HeaderMap};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// How messages travel on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TransportKind {
    /// Lines on the standard streams of a process.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE, of revision 2024-11-05.
    HttpSse,
    /// Within this process.
    InMemory,
    /// Something else, by its name.
    Other(&'static str),
}

/// An end of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerAddr {
    /// Of a network socket.
    Socket(SocketAddr),
    /// Of something else, as it is shown: the path of a Unix socket.
    Named(Arc<str>),
}

impl From<SocketAddr> for PeerAddr {
    fn from(address: SocketAddr) -> Self {
        Self::Socket(address)
    }
}

impl fmt::Display for PeerAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(address) => address.fmt(f),
            Self::Named(name) => f.write_str(name),
        }
    }
}

/// What is known of a conversation when it begins: a connection (stdio), a
/// session (HTTP), or one HTTP request that needs none. It stays the same until
/// the conversation ends.
#[derive(Clone, Debug)]
pub struct ConnectionInfo {
    transport: TransportKind,
    remote: Option<PeerAddr>,
    local: Option<PeerAddr>,
    principal: Option<Principal>,
    extensions: Extensions,
    is_stateless: bool,
}

impl ConnectionInfo {
    /// A connection of this kind that outlives its requests, and of which nothing
    /// else is known.
    #[must_use]
    pub fn new(transport: TransportKind) -> Self {
        Self {
            transport,
            remote: None,
            local: None,
            principal: None,
            extensions: Extensions::new(),
            is_stateless: false,
        }
    }

    /// Says where the client is.
    #[must_use]
    pub fn with_remote_addr(mut self, address: impl Into<PeerAddr>) -> Self {
        self.remote = Some(address.into());
        self
    }

    /// Says where it has connected to.
    #[must_use]
    pub fn with_local_addr(mut self, address: impl Into<PeerAddr>) -> Self {
        self.local = Some(address.into());
        self
    }

    /// Says who the client acts for, for as long as the conversation lasts.
    #[must_use]
    pub fn with_principal(mut self, principal: Principal) -> Self {
        self.principal = Some(principal);
        self
    }

    /// Adds something of the author's own, in the place of another of its type.
    #[must_use]
    pub fn with_extension<T: Clone + Send + Sync + 'static>(mut self, extension: T) -> Self {
        self.extensions.insert(extension);
        self
    }

    /// Says that this is one request, and that nothing ties it to others.
    #[must_use]
    pub fn with_stateless_request(mut self) -> Self {
        self.is_stateless = true;
        self
    }

    /// How messages travel.
    pub fn transport(&self) -> TransportKind {
        self.transport
    }

    /// Where the client is, or the last proxy before this server.
    pub fn remote_addr(&self) -> Option<&PeerAddr> {
        self.remote.as_ref()
    }

    /// Where it has connected to.
    pub fn local_addr(&self) -> Option<&PeerAddr> {
        self.local.as_ref()
    }

    /// Who the client acts for. All requests of the conversation have the same.
    pub fn principal(&self) -> Option<&Principal> {
        self.principal.as_ref()
    }

    /// What the author has added. What belongs to one HTTP request is in the
    /// extensions of that: see [`CallInfo::extension`].
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Whether the conversation is one request without a session, so that
    /// nothing but a [principal](Self::principal) tells one client from another.
    pub fn is_stateless_request(&self) -> bool {
        self.is_stateless
    }
}

/// What is known of one call. Cheap to clone.
#[derive(Clone)]
pub struct CallInfo {
    connection: Arc<ConnectionInfo>,
    http: Option<Arc<Parts>>,
}

impl CallInfo {
    /// A call of this conversation.
    #[must_use]
    pub fn new(connection: Arc<ConnectionInfo>) -> Self {
        Self { connection, http: None }
    }

    /// Says which HTTP request has brought it.
    #[must_use]
    pub fn with_http(mut self, request: Arc<Parts>) -> Self {
        self.http = Some(request);
        self
    }

    /// The next calls are brought by another request, or by none.
    pub(crate) fn set_http(&mut self, request: Option<Arc<Parts>>) {
        self.http = request;
    }

    /// The conversation that it belongs to.
    pub fn connection(&self) -> &Arc<ConnectionInfo> {
        &self.connection
    }

    /// The HTTP request that has brought it: method, URI, headers, version, and
    /// what the layers before have put into its extensions.
    pub fn http(&self) -> Option<&Arc<Parts>> {
        self.http.as_ref()
    }

    /// The headers of that. They hold what the client authenticates by.
    pub fn headers(&self) -> Option<&HeaderMap> {
        self.http.as_ref().map(|request| &request.headers)
    }

    /// Who the client acts for.
    pub fn principal(&self) -> Option<&Principal> {
        // The transports see to it that a request has that of its conversation.
        self.connection.principal()
    }

    /// The extension of this type: the HTTP request's, or else the conversation's.
    pub fn extension<T: Clone + Send + Sync + 'static>(&self) -> Option<&T> {
        let own = self.http.as_ref().and_then(|request| request.extensions.get());
        own.or_else(|| self.connection.extensions.get())
    }
}

/// Without the headers, whose secrets belong into no log.
impl fmt::Debug for CallInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = self.http.as_ref().map(|request| (&request.method, request.uri.path()));
        f.debug_struct("CallInfo")
            .field("connection", &self.connection)
            .field("http", &request)
            .finish()
    }
}
