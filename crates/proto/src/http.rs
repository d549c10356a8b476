//! Header and status rules of Streamable HTTP as pure functions over strings.
//!
//! One endpoint serves both eras: requests that carry their own metadata
//! (modern) and sessions opened by `initialize` (legacy). What differs between
//! them is an argument here; nothing in this module knows a revision by name.
//! Header names are matched without regard to case by whoever holds the header
//! map; values arrive here as bytes.

mod access;
mod argument;
mod error;
mod field;
mod media;
mod mirror;
mod param;
mod session;
mod status;
#[cfg(test)]
mod tests;

pub use access::{AccessDenied, AccessRules, Hosts};
pub use argument::ArgumentError;
pub use error::{HeaderMismatch, MismatchReason};
pub use field::{Field, ValueError, decode_value, encode_value};
pub use media::{Accept, MediaType};
pub use mirror::{MirroredBody, MirroredHeaders, MirroredName};
pub use param::{AnnotationError, ParamHeader, param_headers};
pub use session::{MAX_SESSION_ID_LEN, SessionIdError, check_session_id};
pub use status::{RETRY_AFTER, Verdict, error_status, is_stateless, probe_verdict};

/// Names of the headers these rules are about, in the spelling to send.
pub mod name {
    /// The protocol revision of a request.
    pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
    /// The JSON-RPC method, mirrored (modern).
    pub const METHOD: &str = "mcp-method";
    /// The tool or prompt name, resource URI or task id, mirrored (modern).
    pub const NAME: &str = "mcp-name";
    /// Starts the name of a header that mirrors a tool argument (modern).
    pub const PARAM_PREFIX: &str = "mcp-param-";
    /// The session (legacy).
    pub const SESSION_ID: &str = "mcp-session-id";
    /// Where to resume an event stream (legacy).
    pub const LAST_EVENT_ID: &str = "last-event-id";
}
