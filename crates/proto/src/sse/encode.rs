//! From an event to bytes.

use alloc::vec::Vec;
use core::{fmt, time::Duration};

use memchr::memchr2;

/// A comment that keeps an idle stream alive; readers ignore it.
pub const KEEP_ALIVE: &[u8] = b":\n\n";

/// Why an event cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The event's name holds a line break, which would start another field.
    EventName,
    /// The id holds a line break or a NUL, so no reader would take it whole.
    Id,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EventName => "the event name holds a line break",
            Self::Id => "the event id holds a line break or a NUL",
        })
    }
}

impl core::error::Error for EncodeError {}

/// Appends one event to `out`.
///
/// Data with line breaks (LF, CR or CRLF) becomes several data lines, which a
/// reader joins with LF. Empty data is written as an empty data line, so that
/// an event with only an id primes a reader for resuming. `retry` is written
/// in whole milliseconds.
///
/// # Errors
///
/// [`EncodeError`] when the name or the id cannot stand on one line; `out` is
/// then unchanged.
pub fn encode_event(
    out: &mut Vec<u8>,
    event: Option<&str>,
    id: Option<&str>,
    retry: Option<Duration>,
    data: &[u8],
) -> Result<(), EncodeError> {
    if event.is_some_and(|name| name.contains(['\r', '\n'])) {
        return Err(EncodeError::EventName);
    }
    if id.is_some_and(|id| id.contains(['\r', '\n', '\0'])) {
        return Err(EncodeError::Id);
    }
    out.reserve(data.len() + 64);
    if let Some(name) = event {
        field(out, b"event: ", name.as_bytes());
    }
    if let Some(id) = id {
        field(out, b"id: ", id.as_bytes());
    }
    if let Some(delay) = retry {
        field(out, b"retry: ", alloc::format!("{}", delay.as_millis()).as_bytes());
    }
    data_lines(out, data);
    out.push(b'\n');
    Ok(())
}

fn data_lines(out: &mut Vec<u8>, mut data: &[u8]) {
    while let Some(end) = memchr2(b'\r', b'\n', data) {
        field(out, b"data: ", &data[..end]);
        let width = if data[end..].starts_with(b"\r\n") { 2 } else { 1 };
        data = &data[end + width..];
    }
    field(out, b"data: ", data);
}

fn field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(value);
    out.push(b'\n');
}
