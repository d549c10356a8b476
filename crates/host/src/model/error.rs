//! Why a model did not answer.

use core::error::Error;
use core::fmt;
use core::time::Duration;

use carrick::net::{NetError, NetErrorKind};

/// A model that did not answer, or whose answer cannot be used.
///
/// The text names the provider, its host, what the provider said, and what to do. Keys appear
/// nowhere in it.
#[derive(Debug)]
pub struct ModelError(Box<Failure>);

/// What a [`ModelError`] holds; boxed, since results of the driver carry it all the time.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) kind: ModelErrorKind,
    pub(super) provider: &'static str,
    pub(super) host: String,
    pub(super) status: Option<u16>,
    pub(super) message: String,
    pub(super) advice: &'static str,
    pub(super) retry_after: Option<Duration>,
    pub(super) source: Option<NetError>,
}

/// Who is at fault, as far as it decides what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The key is missing, wrong, or not allowed to use this model.
    Auth,
    /// The account has no credit left.
    Quota,
    /// Too many requests or tokens at once; see [`ModelError::retry_after`].
    RateLimited,
    /// The provider refuses the request: an unknown model, an invalid schema, too long a
    /// conversation.
    BadRequest,
    /// The model has no native tool calling; ask again without tools, in the XML dialect.
    NoTools,
    /// The provider has trouble of its own (5xx or "overloaded").
    Overloaded,
    /// No connection, or one that broke.
    Unreachable,
    /// What came back is not an answer in the provider's protocol, or exceeds a limit.
    Protocol,
}

impl ModelError {
    /// An error of a model that is not one of ours; `provider` names it.
    #[must_use]
    pub fn new(kind: ModelErrorKind, provider: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Failure {
            kind,
            provider,
            host: String::new(),
            status: None,
            message: message.into(),
            advice: "",
            retry_after: None,
            source: None,
        }))
    }

    /// Who is at fault.
    #[must_use]
    pub fn kind(&self) -> ModelErrorKind {
        self.0.kind
    }

    /// The provider, such as `openai`.
    #[must_use]
    pub fn provider(&self) -> &str {
        self.0.provider
    }

    /// The HTTP status, if the error came with one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// What the provider said, shortened.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// How long the provider asks to wait, if it said so.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Whether the same request may well succeed a moment later.
    pub(super) fn is_passing(&self) -> bool {
        match self.0.kind {
            ModelErrorKind::RateLimited | ModelErrorKind::Overloaded => true,
            // A kept connection that the server closed just then; a model call has no effect
            // that a second one would repeat.
            ModelErrorKind::Unreachable => {
                self.0.source.as_ref().is_some_and(|error| error.kind() == NetErrorKind::Exchange)
            }
            _ => false,
        }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.provider)?;
        if !self.0.host.is_empty() {
            write!(f, " ({})", self.0.host)?;
        }
        f.write_str(": ")?;
        f.write_str(match self.0.kind {
            ModelErrorKind::Auth => "access denied",
            ModelErrorKind::Quota => "no credit left",
            ModelErrorKind::RateLimited => "too many requests",
            ModelErrorKind::BadRequest => "the request was refused",
            ModelErrorKind::NoTools => "the model takes no tools",
            ModelErrorKind::Overloaded => "the provider has trouble",
            ModelErrorKind::Unreachable => "not reachable",
            ModelErrorKind::Protocol => "the answer cannot be used",
        })?;
        if let Some(status) = self.0.status {
            write!(f, " (HTTP {status})")?;
        }
        if !self.0.message.is_empty() {
            write!(f, ": {}", self.0.message)?;
        }
        if let Some(wait) = self.0.retry_after {
            write!(f, "; try again in {} s", wait.as_secs_f32().ceil())?;
        }
        if !self.0.advice.is_empty() {
            write!(f, "; {}", self.0.advice)?;
        }
        Ok(())
    }
}

impl Error for ModelError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_ref().map(|error| error as _)
    }
}

impl From<Failure> for ModelError {
    fn from(failure: Failure) -> Self {
        Self(Box::new(failure))
    }
}
