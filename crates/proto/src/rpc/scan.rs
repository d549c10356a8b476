//! The one scan that turns bytes into a [`Message`].

use super::json::{Cursor, Key};
use super::message::{self, FIELDS, Field, Kind, Message, Named, Parts, Scanned};
use super::{Id, JsonError, Limits, Span, Spares, guess};
use crate::method::Method;
use alloc::string::String;
use alloc::vec::Vec;
use bytes::Bytes;
use core::fmt;

/// Why a frame is not a message, with the id it carried where one could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanError {
    /// What is wrong.
    pub kind: ScanErrorKind,
    /// The message's id, for the error that answers it.
    pub id: Option<Id>,
    /// Whether it looked like a response, which is never answered.
    pub is_response: bool,
    /// Whether it looked like a notification, which is never answered either.
    pub is_notification: bool,
    /// The requests that it may have been meant to answer: the ids that it has, or
    /// seems to have where it is no JSON, if it has no method.
    pub answers: Vec<Id>,
}

/// What is wrong with a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScanErrorKind {
    /// Not JSON within the limits.
    Json(JsonError),
    /// JSON, but neither an object nor an array.
    NotAnObject,
    /// No `"jsonrpc": "2.0"`.
    Version,
    /// The `id` is neither a string nor an integer.
    Id,
    /// The `method` is not a string.
    Method,
    /// `params` is not an object.
    Params,
    /// None, or several, of `method`, `result` and `error`.
    Shape,
    /// A member that decides something appears twice.
    Duplicate(String),
    /// More messages in a batch than the limit.
    BatchSize,
}

impl ScanErrorKind {
    /// The JSON-RPC error code that answers such a frame.
    pub fn code(&self) -> i64 {
        match self {
            Self::Json(_) => -32700,
            Self::Params => -32602,
            _ => -32600,
        }
    }
}

impl fmt::Display for ScanErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(e) => e.fmt(f),
            Self::NotAnObject => f.write_str("not a JSON-RPC message: expected an object"),
            Self::Version => f.write_str("not a JSON-RPC 2.0 message: no \"jsonrpc\": \"2.0\""),
            Self::Id => f.write_str("the id must be a string or an integer"),
            Self::Method => f.write_str("the method must be a string"),
            Self::Params => f.write_str("params must be an object"),
            Self::Shape => f.write_str("a message has exactly one of method, result and error"),
            Self::Duplicate(name) => write!(f, "member {name:?} appears twice"),
            Self::BatchSize => f.write_str("too many messages in one batch"),
        }
    }
}

impl ScanError {
    /// Whether it nests deeper than the limit.
    pub fn is_too_deep(&self) -> bool {
        matches!(self.kind, ScanErrorKind::Json(JsonError::Depth(_)))
    }
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl core::error::Error for ScanError {}

impl From<ScanErrorKind> for ScanError {
    fn from(kind: ScanErrorKind) -> Self {
        Self { kind, id: None, is_response: false, is_notification: false, answers: Vec::new() }
    }
}

/// Reads one frame.
///
/// # Errors
/// When the frame is not JSON, or not a JSON-RPC message. Errors inside a batch
/// are reported by element.
pub fn scan(bytes: Bytes, limits: Limits) -> Result<Scanned, ScanError> {
    scan_into(bytes, limits, &mut Spares::default())
}

/// The same, with the memory of messages that are done with.
pub(crate) fn scan_into(
    bytes: Bytes,
    limits: Limits,
    spares: &mut Spares,
) -> Result<Scanned, ScanError> {
    let mut cursor = Cursor::new(&bytes, limits).map_err(|error| broken(&bytes, error))?;
    match cursor.peek() {
        Some(b'{') => message(&bytes, &mut cursor, spares).map(Scanned::One),
        Some(b'[') => batch(&bytes, &mut cursor, limits, spares).map(Scanned::Batch),
        _ => {
            cursor.value().and_then(|_| cursor.end()).map_err(ScanErrorKind::Json)?;
            Err(ScanErrorKind::NotAnObject.into())
        }
    }
}

fn batch(
    bytes: &Bytes,
    cursor: &mut Cursor<'_>,
    limits: Limits,
    spares: &mut Spares,
) -> Result<Vec<Result<Message, ScanError>>, ScanError> {
    let mut spans = Vec::new();
    let mut more = cursor.open(b'[', b']').map_err(ScanErrorKind::Json)?;
    while more {
        if spans.len() == limits.batch {
            return Err(ScanErrorKind::BatchSize.into());
        }
        spans.push(cursor.value().map_err(ScanErrorKind::Json)?);
        more = cursor.more(b']').map_err(ScanErrorKind::Json)?;
    }
    cursor.end().map_err(ScanErrorKind::Json)?;
    let one = |span: Span| match scan_into(bytes.slice(span.range()), limits, spares)? {
        Scanned::One(message) => Ok(message),
        Scanned::Batch(_) => Err(ScanErrorKind::NotAnObject.into()),
    };
    Ok(spans.into_iter().map(one).collect())
}

/// What a frame that is not JSON comes to. Its answer has no id, as any would be a
/// guess; but whoever waits for a response may guess that it was this one.
fn broken(bytes: &[u8], error: JsonError) -> ScanError {
    let answers = guess::answered(bytes).into_iter().collect();
    ScanError { answers, ..ScanErrorKind::Json(error).into() }
}

/// What a pass over the envelope has seen so far.
#[derive(Default)]
struct Seen {
    version: Option<Span>,
    id: Option<Span>,
    method: Option<Span>,
    params: Option<Span>,
    result: Option<Span>,
    error: Option<Span>,
    fields: [Option<Span>; FIELDS],
    shadows: Vec<Span>,
    /// The first of several ids.
    other_id: Option<Span>,
    /// The first fault that JSON itself does not forbid; reading goes on, so
    /// that the answer can carry the id.
    fault: Option<ScanErrorKind>,
}

fn message(
    bytes: &Bytes,
    cursor: &mut Cursor<'_>,
    spares: &mut Spares,
) -> Result<Message, ScanError> {
    let mut seen = Seen::default();
    if let Err(e) = envelope(cursor, &mut seen).and_then(|()| cursor.end()) {
        return Err(broken(bytes, e));
    }
    judge(bytes, seen, spares)
}

fn envelope(cursor: &mut Cursor<'_>, seen: &mut Seen) -> Result<(), JsonError> {
    let mut more = cursor.open(b'{', b'}')?;
    while more {
        let key = cursor.key()?;
        let name = cursor.name(key);
        let span = match &*name {
            b"params" => members(cursor, seen, message::of_params)?,
            b"result" => members(cursor, seen, message::of_result)?,
            b"error" => members(cursor, seen, message::of_error)?,
            _ => cursor.value()?,
        };
        let place = match &*name {
            b"jsonrpc" => Some(&mut seen.version),
            b"id" => {
                seen.other_id = seen.other_id.or(seen.id);
                Some(&mut seen.id)
            }
            b"method" => Some(&mut seen.method),
            b"params" => Some(&mut seen.params),
            b"result" => Some(&mut seen.result),
            b"error" => Some(&mut seen.error),
            other => {
                if message::of_envelope(other) == Named::Shadow {
                    seen.shadows.push(member(key, span));
                }
                None
            }
        };
        if let Some(place) = place {
            fill(place, span, &mut seen.fault, &name);
        }
        more = cursor.more(b'}')?;
    }
    Ok(())
}

/// Reads an object of the envelope, noting the members that `named` knows.
fn members(
    cursor: &mut Cursor<'_>,
    seen: &mut Seen,
    named: fn(&[u8]) -> Named,
) -> Result<Span, JsonError> {
    if cursor.peek() != Some(b'{') {
        return cursor.value();
    }
    let start = cursor.at();
    let mut more = cursor.open(b'{', b'}')?;
    while more {
        let key = cursor.key()?;
        let name = cursor.name(key);
        let named = named(&name);
        let span = match named {
            Named::Field(Field::Meta) => members(cursor, seen, message::of_meta)?,
            _ => cursor.value()?,
        };
        match named {
            Named::Field(f) => fill(&mut seen.fields[f as usize], span, &mut seen.fault, &name),
            Named::Shadow => seen.shadows.push(member(key, span)),
            Named::Known | Named::Other => {}
        }
        more = cursor.more(b'}')?;
    }
    Ok(Span::new(start, cursor.at()))
}

fn fill(place: &mut Option<Span>, span: Span, fault: &mut Option<ScanErrorKind>, name: &[u8]) {
    if place.is_some() && fault.is_none() {
        *fault = Some(ScanErrorKind::Duplicate(String::from_utf8_lossy(name).into_owned()));
    }
    *place = Some(span);
}

/// A whole member: name, colon and value.
fn member(key: Key, value: Span) -> Span {
    Span::new(key.span.start() - 1, value.end())
}

fn judge(bytes: &Bytes, seen: Seen, spares: &mut Spares) -> Result<Message, ScanError> {
    let text = |span: Span| &bytes[span.range()];
    let null = |span: Span| text(span) == b"null";
    let id = seen.id.filter(|span| !null(*span));
    let read = id.and_then(|span| Id::read(text(span)));
    // Of two ids nobody can tell which it has, unless they are one.
    let other = seen.other_id.and_then(|span| Id::read(text(span)));
    let unsure = seen.other_id.is_some() && other != read;
    let is_response = seen.method.is_none() && (seen.result.is_some() || seen.error.is_some());
    let named = seen.method.is_some_and(|span| text(span).first() == Some(&b'"'));
    let is_notification = named && seen.id.is_none();
    let fail = |kind| ScanError {
        kind,
        id: read.clone().filter(|_| !unsure),
        is_response,
        is_notification,
        answers: match seen.method {
            None => read.iter().chain(&other).cloned().collect(),
            Some(_) => Vec::new(),
        },
    };

    if let Some(fault) = seen.fault {
        return Err(fail(fault));
    }
    if seen.version.is_none_or(|span| text(span) != b"\"2.0\"") {
        return Err(fail(ScanErrorKind::Version));
    }
    if id.is_some() && read.is_none() {
        return Err(fail(ScanErrorKind::Id));
    }
    let (kind, body) = match (seen.method, seen.result, seen.error) {
        (Some(_), None, None) if seen.id.is_some_and(null) => {
            return Err(fail(ScanErrorKind::Id));
        }
        (Some(_), None, None) if id.is_some() => (Kind::Request, seen.params),
        (Some(_), None, None) => (Kind::Notification, seen.params),
        (None, Some(result), None) => (Kind::Result, Some(result)),
        (None, None, Some(error)) => (Kind::Error, Some(error)),
        // Some peers send `"error": null` beside a result, or the reverse.
        (None, Some(result), Some(error)) if null(error) => (Kind::Result, Some(result)),
        (None, Some(result), Some(error)) if null(result) => (Kind::Error, Some(error)),
        _ => return Err(fail(ScanErrorKind::Shape)),
    };
    let (method, method_span) = match seen.method {
        None => (Method::Unknown, Span::default()),
        Some(span) if text(span).first() != Some(&b'"') => {
            return Err(fail(ScanErrorKind::Method));
        }
        Some(span) => (method_at(text(span)), span),
    };
    let body = match kind {
        Kind::Request | Kind::Notification => body.filter(|span| !null(*span)),
        Kind::Result | Kind::Error => body,
    };
    let calls = matches!(kind, Kind::Request | Kind::Notification);
    if calls && body.is_some_and(|span| text(span).first() != Some(&b'{')) {
        return Err(fail(ScanErrorKind::Params));
    }
    if kind == Kind::Result && read.is_none() {
        return Err(fail(ScanErrorKind::Id));
    }
    let (fields, shadows) = (seen.fields, seen.shadows);
    let bytes = bytes.clone();
    let parts = Parts { bytes, kind, id: read, method, method_span, body, fields, shadows };
    Ok(spares.message(parts))
}

fn method_at(quoted: &[u8]) -> Method {
    let inner = &quoted[1..quoted.len() - 1];
    if memchr::memchr(b'\\', inner).is_none() {
        return Method::from_name(inner);
    }
    serde_json::from_slice::<String>(quoted)
        .map_or(Method::Unknown, |name| Method::from_name(name.as_bytes()))
}
