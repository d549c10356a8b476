//! The JSON-RPC envelope: one scan, spans, edits.
//!
//! A message is read once. [`scan`] checks that the bytes are JSON, finds the
//! members that routing needs and leaves everything else as spans of the
//! received [`bytes::Bytes`] until somebody asks for a type.
//!
//! Follows JSON-RPC 2.0 and `basic/index` of the specification.

mod canonical;
mod de;
mod deep;
mod edit;
mod guess;
mod id;
mod json;
mod loose;
mod message;
mod scan;
mod spare;
#[cfg(test)]
mod tests;
mod walk;
mod write;

pub use canonical::{CanonicalError, canonical};
pub(crate) use de::{RawText, read_str};
pub use deep::without_deep_entries;
pub use edit::Edits;
pub use id::Id;
pub(crate) use json::{Cursor, check};
pub use json::{Json, JsonError, Limits, Span};
pub use message::{Field, Kind, Message, Scanned};
pub(crate) use message::{Named, of_meta};
pub(crate) use scan::scan_into;
pub use scan::{ScanError, ScanErrorKind, scan};
pub(crate) use spare::Spares;
pub(crate) use walk::{elements, member};
pub(crate) use write::open_result;
pub use write::{
    error_response, notification, push_escaped, request, result_response, result_response_with,
};
pub(crate) use write::{error_response_of, request_start};
