//! The server's side of Streamable HTTP: one endpoint for clients with sessions
//! and without.

mod accept;
mod body;
mod budget;
mod conversation;
mod endpoint;
mod engine;
mod headers;
mod identify;
mod lanes;
mod listeners;
mod lull;
mod mailbox;
mod old;
mod origin;
mod patience;
mod post;
mod reader;
mod refusal;
mod release;
mod session;
mod signals;
mod store;
mod watched;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use carrick_proto::http::{AccessRules, Hosts};
use carrick_proto::rpc::Limits;

use crate::server::Service;

use endpoint::Endpoint;

pub use identify::{Denied, Identify};
pub use store::{EventLimits, EventStore, MemoryEventStore, ReplayError, StoredEvent, StreamKey};
#[cfg(feature = "event-store-sqlite")]
pub use store::{SqliteEventStore, SqliteStoreError};

/// How an [`HttpServer`] behaves: take [`HttpServerOptions::default`] and set
/// what should differ.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpServerOptions {
    /// The path of the endpoint, which is served with a slash at its end as well.
    /// Default: `/mcp`.
    pub path: String,
    /// The path at which clients of 2024-11-05 open the stream of HTTP+SSE, and
    /// send their messages: none, the default, for no such transport. Each stream
    /// is a session, and [`max_sessions`](Self::max_sessions) bounds them by
    /// themselves.
    pub sse_path: Option<String>,
    /// Which hosts and origins may enter. Default: loopback names with the bound
    /// port, and pages served from there.
    pub access: Option<AccessRules>,
    /// Finds out who each request comes from, on every path and for every method,
    /// before anything else of it is looked at. What a client opens or is given
    /// then belongs to its principal: sessions, their streams, and the state of
    /// unfinished requests are unknown to all others. Default: nobody does, and
    /// whoever knows the id of a session may use it.
    pub identify: Option<Identify>,
    /// Hosts which may enter beside the loopback names, as `mcp.example` (any port) or
    /// `mcp.example:8443`, where [`access`](Self::access) is not set. Default: none.
    pub allow_hosts: Vec<String>,
    /// Whether clients may open sessions by `initialize` (legacy). Default: true.
    pub sessions: bool,
    /// Bounds on one message.
    pub limits: Limits,
    /// Largest body of a request, in bytes. Default: 16 MiB.
    pub max_body_bytes: usize,
    /// Largest head of a request, in bytes, at least 8 KiB. Default: 64 KiB. It may have 100
    /// headers.
    pub max_head_bytes: usize,
    /// How long a client may take to send the head of a request, or its body, and how long
    /// it may read nothing of what is written to it. Default: 30 s.
    pub read_timeout: Duration,
    /// How long a call may be silent before its answer becomes an event stream.
    /// Default: 1 s.
    pub quiet: Duration,
    /// How often an idle event stream gets a comment. Default: 15 s.
    pub keep_alive: Duration,
    /// Most connections at a time; more wait. Default: 4,096, or fewer where the process
    /// may not open so many files: a quarter of those, at most 1,024, is left for files
    /// and children. See [`raise_open_file_limit`](crate::raise_open_file_limit).
    pub max_connections: usize,
    /// Bytes of large requests and answers (64 KiB or more each) that all clients together may
    /// have waiting or running before further requests are refused by 503. An answer that is
    /// there all the same ends the connection that has read nothing for longest; beyond twice
    /// as much it is replaced by an error. A body above this can never pass, whatever
    /// [`max_body_bytes`](Self::max_body_bytes) says. Default: 256 MiB.
    pub max_held_bytes: usize,
    /// How much of that one session may have before its requests are refused by 503, so that
    /// no client keeps all others out. Beyond twice as much its answers are replaced by errors.
    /// A body above this can never pass in a session. Default: 64 MiB.
    pub max_session_bytes: usize,
    /// Most calls that run at a time in one session. Default: 256.
    pub max_calls: usize,
    /// Most sessions at a time; for one more, the one makes room that nobody has used for
    /// longest and that has no stream open. Default: 16,384, which take less than 16 MiB while
    /// they are idle.
    pub max_sessions: usize,
    /// How long a session lives without traffic and without an open stream. Its
    /// memory is free after a quarter more, and at most 15 s more. Default: 30 min.
    pub session_idle: Duration,
    /// The same for a session whose client has not yet said that it is ready.
    /// Default: 1 min.
    pub session_half_open: Duration,
    /// How much of a session's stream may wait to be read, in bytes, before what
    /// its client can do without is left out; and without an
    /// [`event_store`](Self::event_store) how much is kept of what was sent, with
    /// four times as much for all streams of a session. Default: 1 MiB.
    pub replay_bytes: usize,
    /// Keeps what the streams of sessions have said, for clients that resume.
    /// With one, every answer in a session is an event stream from the start, so
    /// that none can be lost on its way. Default: none: what is answered within
    /// [`quiet`](Self::quiet) is plain JSON, and only longer answers are streams,
    /// which are kept in memory.
    pub event_store: Option<Arc<dyn EventStore>>,
    /// How long running calls may go on after the shutdown began. Default: 5 s.
    pub grace: Duration,
}

impl Default for HttpServerOptions {
    fn default() -> Self {
        Self {
            path: "/mcp".into(),
            sse_path: None,
            access: None,
            identify: None,
            allow_hosts: Vec::new(),
            sessions: true,
            limits: Limits::default(),
            max_body_bytes: 16 << 20,
            max_head_bytes: 64 << 10,
            read_timeout: Duration::from_secs(30),
            quiet: Duration::from_secs(1),
            keep_alive: Duration::from_secs(15),
            max_connections: 4096,
            max_held_bytes: 256 << 20,
            max_session_bytes: 64 << 20,
            max_calls: 256,
            max_sessions: 16 * 1024,
            session_idle: Duration::from_secs(30 * 60),
            session_half_open: Duration::from_secs(60),
            replay_bytes: 1 << 20,
            event_store: None,
            grace: Duration::from_secs(5),
        }
    }
}

/// A server that listens on a socket.
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    endpoint: Arc<Endpoint>,
}

impl HttpServer {
    /// Binds the socket; nothing is answered before [`serve`](Self::serve).
    ///
    /// # Errors
    ///
    /// When the address cannot be bound.
    pub async fn bind(
        service: impl Service,
        address: SocketAddr,
        options: HttpServerOptions,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let access = options.access.clone().unwrap_or_else(|| {
            let (port, listed) = (address.port(), options.allow_hosts.clone());
            AccessRules::new(match listed.is_empty() {
                true => Hosts::Loopback { port },
                false => Hosts::LoopbackAnd { port, listed },
            })
        });
        let endpoint = Arc::new(Endpoint::new(Arc::new(service), access, options));
        Ok(Self { listener, address, endpoint })
    }

    /// The address that was bound, with the port the system chose if none was given.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown` is ready; then takes no more connections, ends the
    /// streams that wait for nothing in particular, and lets running calls go on
    /// for [`HttpServerOptions::grace`].
    ///
    /// # Errors
    ///
    /// When the socket takes no more connections for a reason that will not pass.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        accept::run(self.listener, self.endpoint, shutdown).await
    }
}

impl std::fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpServer").field("address", &self.address).finish_non_exhaustive()
    }
}
