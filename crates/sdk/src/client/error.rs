//! Why a client has no result.

use crate::transport::child::SpawnError;
use carrick_proto::peer::CallError;
use std::fmt;

/// Why a client has no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// The server or the connection is at fault.
    Call(CallError),
    /// A child process is at fault, and this is the end of what it wrote to
    /// stderr.
    Child {
        /// What went wrong.
        error: CallError,
        /// The last lines, indented.
        stderr: String,
    },
    /// The server's program could not be started.
    Spawn(SpawnError),
    /// The caller gave something that is not JSON.
    Params(serde_json::Error),
    /// What a tool gave does not fit the output schema that its server listed,
    /// or nothing can be checked against that.
    Result {
        /// The tool.
        tool: String,
        /// What does not fit, and where.
        what: String,
    },
}

impl ClientError {
    pub(super) fn params(error: serde_json::Error) -> Self {
        Self::Params(error)
    }

    /// The protocol's error, where there was one.
    pub fn call(&self) -> Option<&CallError> {
        match self {
            Self::Call(error) | Self::Child { error, .. } => Some(error),
            Self::Spawn(_) | Self::Params(_) | Self::Result { .. } => None,
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) => error.fmt(f),
            Self::Child { error, stderr } => {
                write!(f, "{error}; the end of its stderr:\n{stderr}")
            }
            Self::Spawn(error) => error.fmt(f),
            Self::Params(_) => f.write_str("the parameters are not JSON"),
            Self::Result { tool, what } => {
                write!(f, "the result of tool {tool:?} does not fit its output schema: {what}")
            }
        }
    }
}

impl std::error::Error for ClientError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Call(_) | Self::Child { .. } | Self::Result { .. } => None,
            Self::Spawn(error) => error.source(),
            Self::Params(error) => Some(error),
        }
    }
}

impl From<CallError> for ClientError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<SpawnError> for ClientError {
    fn from(error: SpawnError) -> Self {
        Self::Spawn(error)
    }
}
