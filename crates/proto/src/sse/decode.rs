//! From bytes to events.

use alloc::{borrow::ToOwned, string::String, vec::Vec};
use core::{fmt, mem, time::Duration};

use super::lines::Lines;

/// Bounds of a [`Decoder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Most bytes of one event (its data, name, id and the line being read).
    /// Default: 16 MiB.
    pub max_event_bytes: usize,
    /// A shorter `retry` counts as this. Default: 100 ms.
    pub retry_floor: Duration,
    /// A longer `retry` counts as this. Default: 5 minutes.
    pub retry_ceiling: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_event_bytes: 16 * 1024 * 1024,
            retry_floor: Duration::from_millis(100),
            retry_ceiling: Duration::from_secs(300),
        }
    }
}

/// One event of a stream.
///
/// An event that only sets an id or a retry delay is given too, with empty
/// data: it primes a client for resuming. Whoever looks for messages passes
/// over events whose data is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The event's name; `message` when the stream gives none.
    pub event: String,
    /// The data lines joined by LF. Bytes that are not UTF-8 read as U+FFFD,
    /// as the grammar demands.
    pub data: String,
    /// The id this event set; `Some("")` resets the last id.
    pub id: Option<String>,
    /// The reconnection delay this event set, within the limits.
    pub retry: Option<Duration>,
}

/// Why a stream cannot be read on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SseError {
    /// An event is larger than [`Limits::max_event_bytes`].
    EventTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
}

impl fmt::Display for SseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EventTooLarge { limit } => write!(
                f,
                "an event of the stream exceeds the limit of {limit} bytes (max_event_bytes)"
            ),
        }
    }
}

impl core::error::Error for SseError {}

/// An incremental event-stream reader.
///
/// After each [`push`](Self::push), take events with [`next`](Iterator::next)
/// until it gives `None`; then push more. `None` therefore does not mean the
/// end. An error ends the stream: it is given once, and what comes after it is
/// ignored. An event that is incomplete when the stream ends is, as the
/// grammar demands, no event; see [`is_mid_event`](Self::is_mid_event).
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    lines: Lines,
    pending: Pending,
    last_event_id: String,
    /// Bytes of lines that were no part of an event.
    skipped: usize,
    failed: bool,
}

impl Decoder {
    /// A decoder at the start of a stream.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            lines: Lines::default(),
            pending: Pending::default(),
            last_event_id: String::new(),
            skipped: 0,
            failed: false,
        }
    }

    /// Adds the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        if !self.failed {
            self.lines.push(bytes);
        }
    }

    /// The id to resume after: that of the last event that set one; empty when
    /// none did or the last one reset it.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        &self.last_event_id
    }

    /// How many bytes have come since this was last asked that were no part of any
    /// event: comments, unknown fields, empty lines.
    pub fn take_skipped(&mut self) -> usize {
        mem::take(&mut self.skipped)
    }

    /// Whether a stream that ends now was cut inside an event.
    #[must_use]
    pub fn is_mid_event(&self) -> bool {
        self.lines.partial_len() > 0 || self.pending.begun()
    }

    fn dispatch(&mut self) -> Option<Event> {
        let pending = mem::take(&mut self.pending);
        if let Some(id) = &pending.id {
            self.last_event_id.clone_from(id);
        }
        if !pending.begun() {
            return None;
        }
        let event = match pending.event {
            name if name.is_empty() => "message".to_owned(),
            name => name,
        };
        let data = into_text(pending.data);
        Some(Event { event, data, id: pending.id, retry: pending.retry })
    }

    fn fail(&mut self) -> SseError {
        self.failed = true;
        self.lines.clear();
        self.pending = Pending::default();
        SseError::EventTooLarge { limit: self.limits.max_event_bytes }
    }
}

impl Iterator for Decoder {
    type Item = Result<Event, SseError>;

    /// The next whole event, or `None` until more bytes are pushed.
    fn next(&mut self) -> Option<Self::Item> {
        let room = self.limits.max_event_bytes;
        loop {
            let Some(line) = self.lines.next_line() else {
                if self.lines.partial_len() + self.pending.len() > room {
                    return Some(Err(self.fail()));
                }
                return None;
            };
            if line.is_empty() {
                if let Some(event) = self.dispatch() {
                    return Some(Ok(event));
                }
                self.skipped += 1;
                continue;
            }
            if line.len() + self.pending.len() > room {
                return Some(Err(self.fail()));
            }
            if !self.pending.take_line(line, &self.limits) {
                self.skipped += line.len() + 1;
            }
            // Broken UTF-8 grows as it becomes text. Asked here, so that it does
            // not depend on how the stream is cut.
            if self.pending.len() > room {
                return Some(Err(self.fail()));
            }
        }
    }
}

/// The fields of the event being read.
#[derive(Debug, Default)]
struct Pending {
    event: String,
    data: Vec<u8>,
    has_data: bool,
    id: Option<String>,
    retry: Option<Duration>,
}

impl Pending {
    fn begun(&self) -> bool {
        self.has_data || self.id.is_some() || self.retry.is_some()
    }

    fn len(&self) -> usize {
        self.data.len() + self.event.len() + self.id.as_ref().map_or(0, String::len)
    }

    /// Whether the line is a part of the event.
    fn take_line(&mut self, line: &[u8], limits: &Limits) -> bool {
        let (name, value) = split_field(line);
        match name {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => self.event = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) => {
                self.id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" => {
                if let Some(delay) = parse_retry(value) {
                    self.retry = Some(delay.max(limits.retry_floor).min(limits.retry_ceiling));
                }
            }
            // Comments have an empty name; other fields are unknown. The
            // grammar ignores both.
            _ => return false,
        }
        true
    }
}

/// Splits at the first colon; one space after it is not part of the value.
fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(colon) = line.iter().position(|&byte| byte == b':') else {
        return (line, b"");
    };
    let value = &line[colon + 1..];
    (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
}

/// Milliseconds, digits only; a number too large for the type saturates.
fn parse_retry(value: &[u8]) -> Option<Duration> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let millis = value
        .iter()
        .fold(0u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    Some(Duration::from_millis(millis))
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
