//! A tool's failure, as the model is to read it.

use carrick_proto::types::{CallToolResult, RpcError};
use std::fmt;

/// Why a tool could not do its work.
///
/// It becomes a result with `isError`, whose text the model can act on. Any
/// standard error converts by `?`; its sources are part of the text.
pub struct ToolError {
    text: String,
    kind: Kind,
}

/// Whose failure it is.
enum Kind {
    /// The tool's.
    Tool,
    /// The caller's: the arguments are not what the tool takes.
    Arguments,
    /// No result at all: the request ends with this.
    Rpc(Box<RpcError>),
}

impl ToolError {
    /// A failure said in these words.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: Kind::Tool }
    }

    /// An error of the protocol, for what is no matter of the tool: the request
    /// has no result then, and most hosts do not show it to the model.
    pub fn rpc(error: RpcError) -> Self {
        Self { text: error.message.clone(), kind: Kind::Rpc(Box::new(error)) }
    }

    /// The arguments do not fit.
    pub(crate) fn of_arguments(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: Kind::Arguments }
    }

    /// What the model reads.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The result that says so, unless there is none.
    pub(crate) fn into_result(self) -> Result<CallToolResult, RpcError> {
        match self.kind {
            Kind::Tool | Kind::Arguments => Ok(CallToolResult::error(self.text)),
            Kind::Rpc(error) => Err(*error),
        }
    }

    /// As the error of a request that has no results with `isError`.
    pub(crate) fn into_rpc(self) -> RpcError {
        match self.kind {
            Kind::Tool => RpcError::internal(self.text),
            Kind::Arguments => RpcError::invalid_params(self.text),
            Kind::Rpc(error) => *error,
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
