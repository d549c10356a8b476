//! Finding out who requests come from.

use std::fmt;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderValue, StatusCode};

type Hook = dyn Fn(&mut Parts) -> Result<(), Denied> + Send + Sync;

/// Looks at each HTTP request before anything else does but the check of its host
/// and origin: see [`HttpServerOptions::identify`](super::HttpServerOptions::identify).
#[derive(Clone)]
pub struct Identify(Arc<Hook>);

impl Identify {
    /// Puts what it finds out into the extensions of the request: a
    /// [`Principal`](crate::server::Principal), and what handlers take by
    /// [`Extension`](crate::server::Extension). It may take headers out that
    /// handlers are not to see. It must not block.
    #[must_use]
    pub fn new(hook: impl Fn(&mut Parts) -> Result<(), Denied> + Send + Sync + 'static) -> Self {
        Self(Arc::new(hook))
    }

    pub(super) fn look(&self, request: &mut Parts) -> Result<(), Denied> {
        (self.0)(request)
    }
}

impl fmt::Debug for Identify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identify")
    }
}

/// Why a request is not let in.
#[derive(Clone, Debug)]
pub struct Denied {
    pub(super) status: StatusCode,
    pub(super) challenge: Option<HeaderValue>,
    pub(super) text: String,
}

impl Denied {
    /// 401: nobody knows who sends it. The challenge goes into `WWW-Authenticate`
    /// (RFC 9110, 11.6.1; `basic/authorization`).
    #[must_use]
    pub fn unauthorized(challenge: HeaderValue) -> Self {
        Self {
            status: StatusCode::UNAUTHORIZED,
            challenge: Some(challenge),
            text: "this request needs authorization".into(),
        }
    }

    /// 403: whoever sends it may not.
    #[must_use]
    pub fn forbidden() -> Self {
        Self {
            status: StatusCode::FORBIDDEN,
            challenge: None,
            text: "this request is not allowed".into(),
        }
    }

    /// Adds a `WWW-Authenticate` that says what would be let in, such as a wider
    /// scope.
    #[must_use]
    pub fn with_challenge(mut self, challenge: HeaderValue) -> Self {
        self.challenge = Some(challenge);
        self
    }

    /// Says it in other words, which the client is shown.
    #[must_use]
    pub fn with_message(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }
}
