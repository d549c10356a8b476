//! A tool's failure, as the model is to read it.

use carrick_proto::types::{CallToolResult, RpcError};
use std::fmt;

/// Why a tool could not do its work.
///
/// It becomes a result with `isError`, whose text the model can act on. Any
/// standard error converts by `?`; its sources are part of the text.
pub struct ToolError {
    text: String,
    /// Ends the request in place of a result.
    rpc: Option<Box<RpcError>>,
}

impl ToolError {
    /// A failure said in these words.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), rpc: None }
    }

    /// An error of the protocol, for what is no matter of the tool: the request
    /// has no result then, and most hosts do not show it to the model.
    pub fn rpc(error: RpcError) -> Self {
        Self { text: error.message.clone(), rpc: Some(Box::new(error)) }
    }

    /// What the model reads.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The result that says so, unless there is none.
    pub(crate) fn into_result(self) -> Result<CallToolResult, RpcError> {
        match self.rpc {
            None => Ok(CallToolResult::error(self.text)),
            Some(error) => Err(*error),
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
