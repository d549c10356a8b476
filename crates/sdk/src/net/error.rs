//! What can go wrong between here and an HTTP server.

use core::error::Error;
use core::fmt;
use std::io;

use rustls::Error as Other;

use super::connect::{ConnectFailure, Stage};

/// An HTTP exchange that failed: at which host, at which step, and why.
///
/// The text names the host and the innermost cause, never the path, the query or a header, so
/// it is safe to log. [`Error::source`] gives the whole chain.
#[derive(Debug)]
pub struct NetError {
    kind: NetErrorKind,
    host: String,
    detail: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The step at which an exchange failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NetErrorKind {
    /// The URL cannot be used: no host, a scheme other than `http` and `https`, or credentials
    /// inside it. Nothing was sent.
    InvalidUrl,
    /// The host name could not be resolved. Nothing was sent.
    Dns,
    /// No TCP connection came about. Nothing was sent.
    Connect,
    /// The TLS handshake failed, such as for an untrusted certificate. Nothing was sent.
    Tls,
    /// Connecting took too long. Nothing was sent.
    ConnectTimeout,
    /// The server stayed silent too long. It may have acted on the request.
    Timeout,
    /// The connection ended before the head of the answer, or what came was not HTTP. The
    /// server may have acted on the request.
    Exchange,
    /// The body of the answer broke off or was malformed.
    Body,
    /// The body of the answer was longer than the caller allowed.
    TooLarge,
    /// The body of the answer is compressed, or coded in another way that this client does not
    /// ask for and cannot undo.
    Coding,
}

impl NetError {
    pub(super) fn new(
        kind: NetErrorKind,
        host: &str,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        let source = source.into();
        let detail = innermost(source.as_ref()).to_string();
        Self { kind, host: host.to_owned(), detail, source: Some(source) }
    }

    pub(super) fn invalid_url(host: &str, detail: &str) -> Self {
        Self::plain(NetErrorKind::InvalidUrl, host, detail.to_owned())
    }

    pub(super) fn plain(kind: NetErrorKind, host: &str, detail: String) -> Self {
        Self { kind, host: host.to_owned(), detail, source: None }
    }

    /// A connection that did not come about, sorted by the step that failed.
    pub(super) fn from_connector(host: &str, failure: ConnectFailure) -> Self {
        let kind = match failure.stage {
            Stage::Dns => NetErrorKind::Dns,
            Stage::Tcp => NetErrorKind::Connect,
            Stage::Tls => NetErrorKind::Tls,
            Stage::Timeout => NetErrorKind::ConnectTimeout,
        };
        let no_tls = matches!(innermost(&failure).downcast_ref(), Some(Other::InvalidMessage(_)));
        let mut error = Self::new(kind, host, failure);
        if no_tls {
            error.detail = "no TLS there: what answers speaks something else, perhaps plain HTTP \
                            (http://)"
                .into();
        }
        error
    }

    /// A connection that was opened and brought no answer.
    pub(super) fn unanswered(host: &str, secure: bool, source: hyper::Error) -> Self {
        let is_other = source.is_parse() && !secure;
        let mut error = Self::new(NetErrorKind::Exchange, host, source);
        if is_other {
            let detail = &error.detail;
            error.detail =
                format!("what answers does not speak HTTP, perhaps TLS (https://): {detail}");
        }
        error
    }

    /// The step that failed.
    #[must_use]
    pub fn kind(&self) -> NetErrorKind {
        self.kind
    }

    /// The host, with its port if the URL wrote one; empty if the URL named none.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether the server certainly saw nothing of the request, so that sending it again is
    /// safe even if it has effects.
    #[must_use]
    pub fn never_sent(&self) -> bool {
        use NetErrorKind as Kind;
        matches!(
            self.kind,
            Kind::InvalidUrl | Kind::Dns | Kind::Connect | Kind::Tls | Kind::ConnectTimeout
        )
    }
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, detail) = (&self.host, &self.detail);
        match self.kind {
            NetErrorKind::InvalidUrl if host.is_empty() => {
                write!(f, "cannot use the URL: {detail}")
            }
            NetErrorKind::InvalidUrl => write!(f, "cannot use the URL of {host}: {detail}"),
            NetErrorKind::Dns => write!(f, "cannot find the host {host}: {detail}"),
            NetErrorKind::Connect => write!(f, "cannot connect to {host}: {detail}"),
            NetErrorKind::Tls => write!(f, "no secure connection to {host}: {detail}"),
            NetErrorKind::ConnectTimeout => write!(f, "cannot connect to {host} in time: {detail}"),
            NetErrorKind::Timeout => write!(f, "{host} does not answer: {detail}"),
            NetErrorKind::Exchange => write!(f, "no valid HTTP answer from {host}: {detail}"),
            NetErrorKind::Body => write!(f, "the answer of {host} broke off: {detail}"),
            NetErrorKind::TooLarge => write!(f, "the answer of {host} is too large: {detail}"),
            NetErrorKind::Coding => write!(f, "the answer of {host} cannot be read: {detail}"),
        }
    }
}

impl Error for NetError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// The error at the bottom of a chain, which says most.
///
/// An `io::Error` that wraps another error hides it from [`Error::source`], so it is opened.
fn innermost<'e>(error: &'e (dyn Error + 'static)) -> &'e (dyn Error + 'static) {
    let mut current = error;
    loop {
        let wrapped = current
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
            .map(|inner| inner as &(dyn Error + 'static));
        match wrapped.or_else(|| current.source()) {
            Some(next) => current = next,
            None => return current,
        }
    }
}
