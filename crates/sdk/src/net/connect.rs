//! Opening connections, with every failure marked by the step that failed.

use core::error::Error;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;
use std::net::SocketAddr;

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioIo;
use rustls::crypto::ring;
use tokio::net::TcpStream;
use tower_service::Service;

/// How long a connection may be silent before the system asks the peer for a sign of life.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// Resolves, connects and, for `https`, shakes hands, all within one timeout.
#[derive(Clone)]
pub(super) struct Connector {
    inner: HttpsConnector<HttpConnector<Resolver>>,
    timeout: Duration,
}

impl Connector {
    #[expect(clippy::expect_used, reason = "ring has cipher suites for both TLS versions")]
    pub(super) fn new(timeout: Duration) -> Self {
        let mut http = HttpConnector::new_with_resolver(Resolver);
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(KEEPALIVE));
        // Shared out over the addresses of a name, so that a dead first one leaves time for
        // the next.
        http.set_connect_timeout(Some(timeout));
        // The crypto provider is named here, so that another crate's choice of a process-wide
        // default can neither change nor break it.
        let inner = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(ring::default_provider())
            .expect("ring supports the default TLS versions")
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        Self { inner, timeout }
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = ConnectFailure;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context).map_err(ConnectFailure::from_connector)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let connecting = self.inner.call(target);
        let timeout = self.timeout;
        Box::pin(async move {
            match tokio::time::timeout(timeout, connecting).await {
                Ok(connected) => connected.map_err(ConnectFailure::from_connector),
                Err(_) => Err(ConnectFailure {
                    stage: Stage::Timeout,
                    source: format!("waited {timeout:?}").into(),
                }),
            }
        })
    }
}

/// The steps of opening a connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    Dns,
    Tcp,
    Tls,
    Timeout,
}

/// A connection that did not come about.
#[derive(Debug)]
pub(super) struct ConnectFailure {
    pub(super) stage: Stage,
    source: Box<dyn Error + Send + Sync>,
}

impl ConnectFailure {
    fn from_connector(source: Box<dyn Error + Send + Sync>) -> Self {
        Self { stage: stage_of(source.as_ref()), source }
    }
}

impl fmt::Display for ConnectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.stage {
            Stage::Dns => "name lookup failed",
            Stage::Tcp => "TCP connect failed",
            Stage::Tls => "TLS handshake failed",
            Stage::Timeout => "connecting timed out",
        })
    }
}

impl Error for ConnectFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.source.as_ref())
    }
}

/// Finds the step from the shape of the connector's error: TLS failures come as a bare
/// `io::Error` (or a bad server name), all others as the TCP connector's own type around their
/// cause.
fn stage_of(error: &(dyn Error + 'static)) -> Stage {
    if error.is::<io::Error>() || error.is::<rustls::pki_types::InvalidDnsNameError>() {
        return Stage::Tls;
    }
    let mut cause = Some(error);
    while let Some(current) = cause {
        if current.is::<LookupError>() {
            return Stage::Dns;
        }
        if current.downcast_ref().is_some_and(|io: &io::Error| io.kind() == io::ErrorKind::TimedOut)
        {
            return Stage::Timeout;
        }
        cause = current.source();
    }
    Stage::Tcp
}

/// The system's name lookup, with its failures told apart from those of connecting.
#[derive(Clone)]
struct Resolver;

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = LookupError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(async move {
            // The connector puts the real port in place of this one.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await.map_err(LookupError)?;
            Ok(found.collect::<Vec<_>>().into_iter())
        })
    }
}

/// A name that could not be looked up.
#[derive(Debug)]
struct LookupError(io::Error);

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("name lookup failed")
    }
}

impl Error for LookupError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}
