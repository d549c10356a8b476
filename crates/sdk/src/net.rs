//! The HTTP client that every outgoing connection uses.
//!
//! One [`HttpClient`] keeps connections open and is shared by cloning. It speaks HTTP/1.1 over
//! plain TCP or TLS (rustls with the Mozilla root certificates) and does what it is told and no
//! more: it follows no redirect, keeps no cookie, reads no proxy setting from the environment,
//! and never sends a request twice once a server may have seen it.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use carrick::net::{HttpClient, Options};
//!
//! let client = HttpClient::new(Options::default());
//! let request = http::Request::get("https://example.com/").body(bytes::Bytes::new())?;
//! let mut response = client.send(request).await?;
//! while let Some(chunk) = response.body_mut().chunk().await? {
//!     println!("{} bytes", chunk.len());
//! }
//! # Ok(())
//! # }
//! ```

mod bell;
mod body;
mod connect;
mod connection;
mod error;
mod gather;
mod pool;
#[cfg(test)]
mod tests;

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use tower_service::Service as _;

pub use body::Body;
use body::within;
use connect::Connector;
use connection::{Connection, Prepared};
pub use error::{NetError, NetErrorKind};
pub(crate) use gather::Gather;
use pool::{Host, Pool};

/// How an [`HttpClient`] behaves: take [`Options::default`] and set what should differ.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The longest time for looking up the name, connecting and the TLS handshake together.
    /// Default: 10 s.
    pub connect_timeout: Duration,
    /// The longest silence from the server while it owes an answer: until the response head
    /// (connecting included), and between two chunks of the body. `None` (the default) waits forever, as event streams
    /// need; callers bound whole requests themselves, by dropping the future.
    pub read_timeout: Option<Duration>,
    /// How long an unused connection is kept. Default: 60 s.
    pub keep_idle: Duration,
    /// How many unused connections are kept for one host. Default: 256. With fewer than there
    /// are requests at a time, each request opens a connection anew.
    pub max_idle_per_host: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            read_timeout: None,
            keep_idle: Duration::from_secs(60),
            max_idle_per_host: 256,
        }
    }
}

/// An HTTP client that keeps its connections; clones share them.
///
/// A connection has no task of its own: whoever waits for an answer, or reads a body, drives it.
/// While nobody does, nothing of it is read. Unused connections are looked at every few seconds,
/// to close those that the server has closed.
#[derive(Clone)]
pub struct HttpClient {
    pool: Arc<Pool>,
    connector: Connector,
    read_timeout: Option<Duration>,
}

impl HttpClient {
    /// Makes a client. Nothing connects until the first [`send`](Self::send).
    #[must_use]
    pub fn new(options: Options) -> Self {
        let pool = Arc::new(Pool::new(&options));
        let connector = Connector::new(options.connect_timeout);
        Self { pool, connector, read_timeout: options.read_timeout }
    }

    /// Sends a request and waits for the head of the response; the body follows as a stream.
    ///
    /// The URI is absolute (`http` or `https`). `Host` and `Content-Length` are set here. Any
    /// status is a success: only a missing answer is an error. Dropping the future closes the
    /// request's connection.
    ///
    /// # Errors
    ///
    /// See [`NetErrorKind`]. Only kinds for which
    /// [`NetError::never_sent`] holds prove that the server did not see the request.
    pub fn send(
        &self,
        request: Request<Bytes>,
    ) -> impl Future<Output = Result<Response<Body>, NetError>> + Send {
        // No `async fn`, and what is rare is behind a pointer: this future is a part of those
        // of all callers, which are moved about, and would hold the request several times.
        let begun = self.pool.host(request.uri()).map(|host| {
            let request = host.prepare(request);
            let open = match host.take() {
                Some(mut connection) => {
                    connection.ask(request);
                    Ok(connection)
                }
                None => Err(Box::new(request)),
            };
            (host, open)
        });
        async move {
            let (host, open) = begun?;
            match self.read_timeout {
                None => self.exchange(&host, open).await,
                Some(limit) => {
                    let exchange = Box::pin(self.exchange(&host, open));
                    let answered = within(Some(limit), exchange).await;
                    answered.map_err(|silence| silence.of(host.name()))?
                }
            }
        }
    }

    /// Waits for the answer on a connection that has been asked, or opens one to ask.
    async fn exchange(
        &self,
        host: &Arc<Host>,
        open: Result<Box<Connection>, Box<Prepared>>,
    ) -> Result<Response<Body>, NetError> {
        let mut used_before = open.is_ok();
        let mut connection = match open {
            Ok(connection) => connection,
            Err(request) => Box::pin(self.connect(host, *request)).await?,
        };
        loop {
            let mut error = match connection.answer().await {
                Ok(response) => {
                    let (host, limit) = (Arc::clone(host), self.read_timeout);
                    let coding = body::coding(response.headers());
                    return Ok(
                        response.map(|body| Body::new(body, coding, connection, host, limit))
                    );
                }
                Err(error) => error,
            };
            // Given back, it has not been sent: the server had closed the connection before.
            let Some(request) = error.take_message().filter(|_| used_before) else {
                return Err(NetError::unanswered(
                    host.name(),
                    host.is_secure(),
                    error.into_error(),
                ));
            };
            connection = match host.take() {
                Some(mut other) => {
                    other.ask(request);
                    other
                }
                None => {
                    used_before = false;
                    Box::pin(self.connect(host, request)).await?
                }
            };
        }
    }

    /// Opens a connection and asks on it.
    async fn connect(&self, host: &Host, request: Prepared) -> Result<Box<Connection>, NetError> {
        // Always ready: it keeps nothing.
        let stream = self.connector.clone().call(host.uri.clone()).await;
        let stream = stream.map_err(|failure| NetError::from_connector(host.name(), failure))?;
        let begun = Connection::begin(stream).await;
        let mut connection =
            begun.map_err(|error| NetError::new(NetErrorKind::Exchange, host.name(), error))?;
        connection.ask(request);
        Ok(connection)
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("read_timeout", &self.read_timeout)
            .finish_non_exhaustive()
    }
}

/// A byte of chance, by which clients of one server spread out.
pub(crate) fn chance() -> u8 {
    let mut byte = [0];
    // Without entropy there is no spread, which is no failure.
    if getrandom::fill(&mut byte).is_err() {
        return 0;
    }
    byte[0]
}
