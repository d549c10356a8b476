//! Open connections that wait for the next request, by host.

use core::time::Duration;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HOST};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Request, Uri, Version};
use http_body_util::Full;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use super::Options;
use super::connection::{Connection, Prepared};
use super::error::NetError;

/// Hosts that are remembered before those without a connection are forgotten.
const HOSTS: usize = 256;

const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

/// How often unused connections are looked at, at the least: the server may have closed them.
const LOOK: Duration = Duration::from_secs(5);

/// The hosts that a client has spoken to.
pub(super) struct Pool {
    /// The one that was used last is the first: most clients have one only.
    hosts: Mutex<Vec<Arc<Host>>>,
    keep: Keep,
}

/// What is kept for how long.
#[derive(Clone, Copy)]
struct Keep {
    idle: Duration,
    at_most: usize,
}

/// One host, and the connections to it that nobody uses.
pub(super) struct Host {
    /// Where to connect to: an absolute URI without a path.
    pub(super) uri: Uri,
    secure: bool,
    authority: Authority,
    header: HeaderValue,
    keep: Keep,
    unused: Mutex<Unused>,
}

#[derive(Default)]
struct Unused {
    /// The one that was used last is at the back.
    connections: VecDeque<(Instant, Box<Connection>)>,
    /// Whether somebody looks after them.
    watched: bool,
}

impl Pool {
    pub(super) fn new(options: &Options) -> Self {
        let keep = Keep { idle: options.keep_idle, at_most: options.max_idle_per_host };
        Self { hosts: Mutex::default(), keep }
    }

    /// The host of a URI.
    ///
    /// # Errors
    ///
    /// [`NetErrorKind::InvalidUrl`](super::NetErrorKind::InvalidUrl).
    pub(super) fn host(&self, uri: &Uri) -> Result<Arc<Host>, NetError> {
        let Some(authority) = uri.authority() else {
            return Err(NetError::invalid_url("", "it names no host; write http://… or https://…"));
        };
        let secure = uri.scheme() == Some(&Scheme::HTTPS);
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let known =
            hosts.iter().position(|host| host.secure == secure && host.authority == *authority);
        if let Some(at) = known.filter(|_| secure || uri.scheme() == Some(&Scheme::HTTP)) {
            hosts.swap(0, at);
        } else {
            let host = Host::new(uri, authority, secure, self.keep)?;
            if hosts.len() >= HOSTS {
                hosts.retain(|host| Arc::strong_count(host) > 1 || !host.unused().is_empty());
            }
            hosts.insert(0, Arc::new(host));
        }
        Ok(Arc::clone(&hosts[0]))
    }
}

#[cfg(test)]
impl Pool {
    pub(super) fn len(&self) -> usize {
        self.hosts.lock().unwrap().len()
    }
}

impl Host {
    /// A user name or password in the URI is refused rather than dropped in silence or repeated
    /// in logs: credentials belong in headers.
    fn new(uri: &Uri, authority: &Authority, secure: bool, keep: Keep) -> Result<Self, NetError> {
        if let Some((_, host)) = authority.as_str().rsplit_once('@') {
            return Err(NetError::invalid_url(host, "it holds credentials; send them in a header"));
        }
        let usual = match uri.scheme_str() {
            Some("http") => 80,
            Some("https") => 443,
            _ => {
                let text = "the scheme is neither http nor https";
                return Err(NetError::invalid_url(authority.as_str(), text));
            }
        };
        // The usual port is left out, as browsers do.
        let named = match authority.port_u16() {
            Some(port) if port != usual => authority.as_str(),
            _ => authority.host(),
        };
        let unusable = || NetError::invalid_url(authority.as_str(), "its host is not valid");
        let header = HeaderValue::from_str(named).map_err(|_| unusable())?;
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(PathAndQuery::from_static("/"));
        let uri = Uri::from_parts(parts).map_err(|_| unusable())?;
        let authority = authority.clone();
        Ok(Self { uri, secure, authority, header, keep, unused: Mutex::default() })
    }

    /// The host (and port, if one is written) for messages.
    pub(super) fn name(&self) -> &str {
        self.authority.as_str()
    }

    /// Whether it is reached by `https`.
    pub(super) fn is_secure(&self) -> bool {
        self.secure
    }

    /// A request as it goes out on a connection to this host.
    pub(super) fn prepare(&self, request: Request<Bytes>) -> Prepared {
        let mut request = request.map(Full::new);
        let path = request.uri().path_and_query().cloned();
        *request.uri_mut() = path.map_or_else(Uri::default, Uri::from);
        // Of some others hyper could say only that it does not expect them.
        *request.version_mut() = Version::HTTP_11;
        let headers = request.headers_mut();
        headers.entry(HOST).or_insert_with(|| self.header.clone());
        // Nothing here undoes any other coding.
        headers.entry(ACCEPT_ENCODING).or_insert(IDENTITY);
        request
    }

    /// Takes out the connection that was used last, if its time is not over.
    pub(super) fn take(&self) -> Option<Box<Connection>> {
        let (since, connection) = self.unused().connections.pop_back()?;
        // The others are older still: they are closed when they are looked at.
        (since.elapsed() < self.keep.idle).then_some(connection)
    }

    /// Gives a connection back; one that cannot be used again is closed.
    pub(super) fn give_back(self: &Arc<Self>, connection: Box<Connection>) {
        // Outside of a runtime nobody could look after it.
        let Ok(runtime) = Handle::try_current() else { return };
        if !connection.is_free() || self.keep.idle.is_zero() {
            return;
        }
        let watched = {
            let mut unused = self.unused();
            if unused.connections.len() >= self.keep.at_most {
                return;
            }
            unused.connections.push_back((Instant::now(), connection));
            std::mem::replace(&mut unused.watched, true)
        };
        // Not while they are locked: a runtime that ends drops at once what it is to run.
        if !watched {
            let watch = Watch(Arc::downgrade(self));
            runtime.spawn(watch.run(self.keep.idle.min(LOOK)));
        }
    }

    fn unused(&self) -> MutexGuard<'_, Unused> {
        self.unused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Unused {
    fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }
}

/// Looks after the unused connections of a host. When it ends, by itself or with its runtime,
/// another one may.
struct Watch(Weak<Host>);

impl Watch {
    /// Closes connections that were not used for long, and those that the server has closed,
    /// until there are none.
    async fn run(mut self, every: Duration) {
        loop {
            sleep(every).await;
            let Some(host) = self.0.upgrade() else { return };
            let now = Instant::now();
            let mut unused = host.unused();
            let kept = |(since, connection): &mut (Instant, Box<Connection>)| {
                now.duration_since(*since) < host.keep.idle && connection.lives()
            };
            unused.connections.retain_mut(kept);
            if unused.is_empty() {
                // Said before another connection can come that relies on this one.
                unused.watched = false;
                self.0 = Weak::new();
                return;
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(host) = self.0.upgrade() {
            host.unused().watched = false;
        }
    }
}
