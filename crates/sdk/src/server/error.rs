//! A tool's failure, as the model is to read it.

use carrick_proto::types::RpcError;
use std::fmt;

/// Why a tool could not do its work.
///
/// It becomes a result with `isError`, whose text the model can act on. Any
/// standard error converts by `?`; its sources are part of the text.
pub struct ToolError {
    text: String,
    /// Whether the request asks for what cannot be.
    of_arguments: bool,
}

impl ToolError {
    /// A failure said in these words.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), of_arguments: false }
    }

    /// The arguments do not fit.
    pub(crate) fn of_arguments(text: impl Into<String>) -> Self {
        Self { text: text.into(), of_arguments: true }
    }

    /// What the model reads.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// As the error of a request that has no results with `isError`.
    pub(crate) fn into_rpc(self) -> RpcError {
        if self.of_arguments {
            RpcError::invalid_params(self.text)
        } else {
            RpcError::internal(self.text)
        }
    }
}

// Like other catch-all errors it is no `Error` itself, or the conversion below
// would overlap with the one from a type to itself.
impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        Self::new(text)
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
