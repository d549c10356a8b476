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

mod body;
mod connect;
mod error;
#[cfg(test)]
mod tests;

use core::fmt;
use core::time::Duration;

use bytes::Bytes;
use http::uri::Authority;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};

pub use body::Body;
use body::within;
use connect::Connector;
pub use error::{NetError, NetErrorKind};

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
#[derive(Clone)]
pub struct HttpClient {
    inner: Client<Connector, Full<Bytes>>,
    read_timeout: Option<Duration>,
}

impl HttpClient {
    /// Makes a client. Nothing connects until the first [`send`](Self::send).
    #[must_use]
    pub fn new(options: Options) -> Self {
        let inner = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(options.keep_idle)
            .pool_max_idle_per_host(options.max_idle_per_host)
            .build(Connector::new(options.connect_timeout));
        Self { inner, read_timeout: options.read_timeout }
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
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Body>, NetError> {
        let host = checked_host(request.uri())?;
        let sending = self.inner.request(request.map(Full::new));
        let answer = within(self.read_timeout, sending, host.as_str()).await?;
        let response = answer.map_err(|error| NetError::from_client(host.as_str(), error))?;
        Ok(response.map(|incoming| Body::new(incoming, host, self.read_timeout)))
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

/// The host (and port, if one is written) for messages, once the URI is known to be usable.
///
/// A user name or password in the URI is refused rather than dropped in silence or repeated in
/// logs: credentials belong in headers.
fn checked_host(uri: &Uri) -> Result<Authority, NetError> {
    let Some(authority) = uri.authority() else {
        return Err(NetError::invalid_url("", "it names no host; write http://… or https://…"));
    };
    if let Some((_, host)) = authority.as_str().rsplit_once('@') {
        return Err(NetError::invalid_url(host, "it holds credentials; send them in a header"));
    }
    match uri.scheme_str() {
        Some("http" | "https") => Ok(authority.clone()),
        _ => {
            let text = "the scheme is neither http nor https";
            Err(NetError::invalid_url(authority.as_str(), text))
        }
    }
}
