//! JSON-RPC errors (`basic/index`, Error Codes).

use super::RawJson;
use alloc::string::String;
use core::fmt;
use serde::{Deserialize, Serialize};

/// The `error` of an error response.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RpcError {
    /// What kind of error: negative ones below -32000 belong to JSON-RPC and MCP.
    pub code: i64,
    /// One sentence.
    #[serde(default)]
    pub message: String,
    /// Anything more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
}

impl RpcError {
    /// Not JSON.
    pub const PARSE: i64 = -32700;
    /// Not a message we accept.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Parameters that do not fit, or that name something unknown.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The receiver failed.
    pub const INTERNAL: i64 = -32603;
    /// HTTP headers and body disagree.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The client lacks a capability that the request needs.
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// The server does not speak the request's revision.
    pub const UNSUPPORTED_VERSION: i64 = -32022;
    /// The server has too much to do; the same request may succeed later. A code
    /// of this implementation's, from the range that JSON-RPC leaves to servers;
    /// HTTP answers it with status 503 and `Retry-After`.
    pub const OVERLOADED: i64 = -32050;

    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The same with data; `None` data stays absent.
    #[must_use]
    pub fn with_data<T: Serialize>(mut self, data: &T) -> Self {
        self.data = serde_json::value::to_raw_value(data).ok();
        self
    }

    /// -32602 with this message.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// -32603 with this message.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Self::INTERNAL, message)
    }

    /// [`OVERLOADED`](Self::OVERLOADED) with this message, which should name the
    /// limit that was reached.
    pub fn overloaded(message: impl Into<String>) -> Self {
        Self::new(Self::OVERLOADED, message)
    }

    /// Whether only a server of the modern era answers with this code.
    pub fn is_modern(&self) -> bool {
        matches!(
            self.code,
            Self::HEADER_MISMATCH | Self::MISSING_CAPABILITY | Self::UNSUPPORTED_VERSION
        )
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.message, self.code)
    }
}

impl core::error::Error for RpcError {}
