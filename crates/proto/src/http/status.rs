//! HTTP statuses of JSON-RPC errors, and what they tell a client that probes.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{field::Field, media::MediaType};

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const OVERLOADED: i64 = crate::types::RpcError::OVERLOADED;
/// Header mismatch, missing client capability, unsupported revision.
const MODERN_ONLY: core::ops::RangeInclusive<i64> = -32022..=-32020;

/// Whether a POST is to be served statelessly: its body names a revision in
/// `_meta`, or its header names one that is (`is_modern`) stateless.
///
/// A request of which neither is true is served in a session. Whether header
/// and body agree is another question: [`MirroredHeaders::check`].
///
/// [`MirroredHeaders::check`]: super::MirroredHeaders::check
#[must_use]
pub fn is_stateless(
    header: Field<'_>,
    body_version: Option<&str>,
    is_modern: impl FnOnce(&str) -> bool,
) -> bool {
    let Field::One(header) = header else {
        return body_version.is_some();
    };
    body_version.is_some() || core::str::from_utf8(header).is_ok_and(is_modern)
}

/// When a client that is answered 503 should come back, as a value of `Retry-After`:
/// 5 s.
pub const RETRY_AFTER: &str = "5";

/// The HTTP status of a JSON answer that holds a JSON-RPC error.
///
/// [`RpcError::OVERLOADED`](crate::types::RpcError::OVERLOADED) is 503 in every
/// revision, with [`RETRY_AFTER`].
///
/// A message that is no request is 400 in every revision. Otherwise the status
/// is 200 where it does not follow the error. Where it does, an unknown method
/// is 404, and 400 says that the request itself is at fault: by its headers,
/// capabilities or revision, or, if `metadata_complete` is false, by metadata
/// it lacks (`basic/transports/streamable-http`, `basic/index`). Parameters
/// that only a handler refuses are 200: the exchange itself went well.
#[must_use]
pub fn error_status(code: i64, status_follows_error: bool, metadata_complete: bool) -> u16 {
    match code {
        PARSE_ERROR | INVALID_REQUEST => 400,
        OVERLOADED => 503,
        _ if !status_follows_error => 200,
        METHOD_NOT_FOUND => 404,
        INVALID_PARAMS if !metadata_complete => 400,
        code if MODERN_ONLY.contains(&code) => 400,
        _ => 200,
    }
}

/// What the answer to a first modern request tells about a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The server is modern: the answer is a result or an error that only a
    /// modern server gives.
    Modern,
    /// The server shows no sign of being modern: try `initialize`.
    FallBack,
    /// The answer says nothing about the era: credentials are needed, or the
    /// server is not available.
    Fail,
}

/// Judges the answer to a modern probe.
///
/// `body` is the whole body, or for an event stream the data of the message
/// that answers the probe. Only a result or one of the errors -32020, -32021,
/// -32022, or -32601 with status 404, proves a modern server
/// (`basic/transports/streamable-http`, Backward Compatibility). Redirects, 401, 403, 407, 408, 429
/// and 502 to 504 never lead to a fallback.
#[must_use]
pub fn probe_verdict(status: u16, content_type: MediaType, body: &[u8]) -> Verdict {
    if matches!(status, 300..=399 | 401 | 403 | 407 | 408 | 429 | 502..=504) {
        return Verdict::Fail;
    }
    if content_type == MediaType::Other {
        return Verdict::FallBack;
    }
    let Ok(Envelope { jsonrpc: "2.0", result, error }) = serde_json::from_slice(body) else {
        return Verdict::FallBack;
    };
    let modern = match error {
        None => result.is_some() && (200..300).contains(&status),
        Some(error) => {
            MODERN_ONLY.contains(&error.code) || (status == 404 && error.code == METHOD_NOT_FOUND)
        }
    };
    if modern { Verdict::Modern } else { Verdict::FallBack }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    jsonrpc: &'a str,
    #[serde(default)]
    result: Option<IgnoredAny>,
    #[serde(default)]
    error: Option<ErrorCode>,
}

#[derive(Deserialize)]
struct ErrorCode {
    code: i64,
}
