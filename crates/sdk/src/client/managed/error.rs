//! Why there is no connection.

use crate::client::{CallError, ClientError};
use carrick_proto::peer::LaneEnd;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use tokio::time::Instant;

/// Why an attempt to connect failed: any error, shared by all who waited.
#[derive(Clone, Debug)]
pub struct ConnectError(Arc<dyn Error + Send + Sync>);

impl ConnectError {
    /// Wraps an error, or a text.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Arc::from(error.into()))
    }

    /// The error, if it is of this type.
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }

    /// The client's error, where it or one of its sources is one.
    pub fn client_error(&self) -> Option<&ClientError> {
        let mut error: Option<&(dyn Error + 'static)> = Some(&*self.0);
        while let Some(current) = error {
            if let Some(found) = current.downcast_ref() {
                return Some(found);
            }
            error = current.source();
        }
        None
    }

    /// Whether the server answered, and not as one of the era that it was taken
    /// for. (A child that dies is started once more by [`Client::spawn`], and
    /// silence is met while connecting: neither is worth another attempt.)
    ///
    /// [`Client::spawn`]: crate::Client::spawn
    pub(super) fn may_blame_era(&self) -> bool {
        matches!(
            self.client_error().and_then(ClientError::call),
            Some(
                CallError::Rpc(_)
                    | CallError::Protocol(_)
                    | CallError::Exchange(LaneEnd::Status { .. })
            )
        )
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

impl From<ClientError> for ConnectError {
    fn from(error: ClientError) -> Self {
        Self::new(error)
    }
}

/// Why a managed connection gives no client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ManagedError {
    /// The last attempt failed: just now, or before, and the next one is not due
    /// yet.
    Connect {
        /// How.
        error: ConnectError,
        /// When the next attempt may be made; none when at once.
        next_attempt: Option<Instant>,
    },
    /// The last connection ended soon after it was opened, and the next attempt
    /// is not due yet.
    Ended {
        /// How it ended.
        how: String,
        /// When the next attempt may be made; none when at once.
        next_attempt: Option<Instant>,
    },
    /// It has been closed for good.
    Closed,
}

impl ManagedError {
    /// When the next attempt may be made; none when at once, or never.
    pub fn next_attempt(&self) -> Option<Instant> {
        match self {
            Self::Connect { next_attempt, .. } | Self::Ended { next_attempt, .. } => *next_attempt,
            Self::Closed => None,
        }
    }

    pub(super) fn due(mut self, at: Option<Instant>) -> Self {
        match &mut self {
            Self::Connect { next_attempt, .. } | Self::Ended { next_attempt, .. } => {
                *next_attempt = at;
            }
            Self::Closed => {}
        }
        self
    }
}

impl fmt::Display for ManagedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect { error, .. } => error.fmt(f),
            Self::Ended { how, .. } => f.write_str(how),
            Self::Closed => f.write_str("the connection has been closed"),
        }
    }
}

impl Error for ManagedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Connect { error, .. } => error.source(),
            Self::Ended { .. } | Self::Closed => None,
        }
    }
}
