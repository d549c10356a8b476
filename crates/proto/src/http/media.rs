//! `Accept` and `Content-Type`.

use super::field::{Field, trim_blanks};

/// The kind of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaType {
    /// `application/json`, whatever its parameters.
    Json,
    /// `text/event-stream`, whatever its parameters.
    EventStream,
    /// Anything else, or not said, or said twice.
    Other,
}

impl MediaType {
    /// Reads a `Content-Type` header. Type names are matched without regard to
    /// case; what stands in a parameter never counts as the type.
    #[must_use]
    pub fn of(content_type: Field<'_>) -> Self {
        let Field::One(value) = content_type else {
            return Self::Other;
        };
        let essence = trim_blanks(value.split(|&byte| byte == b';').next().unwrap_or_default());
        if essence.eq_ignore_ascii_case(b"application/json") {
            Self::Json
        } else if essence.eq_ignore_ascii_case(b"text/event-stream") {
            Self::EventStream
        } else {
            Self::Other
        }
    }
}

/// Which bodies a client takes.
///
/// Follows RFC 9110, section 12.5.1: of the ranges that cover a type the most
/// specific one counts; quality 0 refuses; no header at all takes everything.
/// An element that cannot be read is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accept {
    /// `application/json` is welcome.
    pub json: bool,
    /// `text/event-stream` is welcome.
    pub event_stream: bool,
}

impl Accept {
    /// Reads all `Accept` headers of a request.
    #[must_use]
    pub fn from_values<'a, I>(values: I) -> Self
    where
        I: IntoIterator<Item = &'a [u8]>,
    {
        let mut json = Best::default();
        let mut event_stream = Best::default();
        let mut any = false;
        for value in values {
            any = true;
            if value == USUAL {
                // Nothing that stands beside it can refuse either type.
                return Self { json: true, event_stream: true };
            }
            for element in Split::new(value, b',') {
                let Some(range) = Range::parse(element) else { continue };
                json.offer(&range, b"application", b"json");
                event_stream.offer(&range, b"text", b"event-stream");
            }
        }
        Self { json: !any || json.welcome, event_stream: !any || event_stream.welcome }
    }
}

/// What nearly all clients send.
const USUAL: &[u8] = b"application/json, text/event-stream";

/// The most specific range seen for one type.
#[derive(Default)]
struct Best {
    specificity: u8,
    welcome: bool,
}

impl Best {
    fn offer(&mut self, range: &Range<'_>, main: &[u8], sub: &[u8]) {
        let specificity = match (range.main, range.sub) {
            (b"*", b"*") => 1,
            (m, b"*") if m.eq_ignore_ascii_case(main) => 2,
            (m, s) if m.eq_ignore_ascii_case(main) && s.eq_ignore_ascii_case(sub) => 3,
            _ => return,
        };
        if specificity > self.specificity {
            *self = Self { specificity, welcome: range.welcome };
        } else if specificity == self.specificity {
            self.welcome |= range.welcome;
        }
    }
}

/// One element of an `Accept` header.
struct Range<'a> {
    main: &'a [u8],
    sub: &'a [u8],
    welcome: bool,
}

impl<'a> Range<'a> {
    fn parse(element: &'a [u8]) -> Option<Self> {
        let mut parts = Split::new(element, b';');
        let essence = trim_blanks(parts.next()?);
        let slash = essence.iter().position(|&byte| byte == b'/')?;
        let (main, sub) = (&essence[..slash], &essence[slash + 1..]);
        if main.is_empty() || sub.is_empty() {
            return None;
        }
        let mut welcome = true;
        for part in parts {
            let part = trim_blanks(part);
            if let [b'q' | b'Q', b'=', quality @ ..] = part {
                welcome = is_welcome(quality)?;
            }
        }
        Some(Self { main, sub, welcome })
    }
}

/// Whether a quality (`0` to `1`, up to three decimals) is above zero; `None`
/// when it is no quality.
fn is_welcome(quality: &[u8]) -> Option<bool> {
    let (whole, decimals) = match quality {
        [whole, b'.', decimals @ ..] => (whole, decimals),
        [whole] => (whole, &[][..]),
        _ => return None,
    };
    if decimals.len() > 3 || !decimals.iter().all(u8::is_ascii_digit) {
        return None;
    }
    match whole {
        b'0' => Some(decimals.iter().any(|&digit| digit != b'0')),
        b'1' => decimals.iter().all(|&digit| digit == b'0').then_some(true),
        _ => None,
    }
}

/// Splits at a byte, but not inside quoted strings.
struct Split<'a> {
    rest: Option<&'a [u8]>,
    at: u8,
}

impl<'a> Split<'a> {
    fn new(value: &'a [u8], at: u8) -> Self {
        Self { rest: Some(value), at }
    }
}

impl<'a> Iterator for Split<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let mut quoted = false;
        let mut escaped = false;
        for (index, &byte) in rest.iter().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                _ if byte == self.at && !quoted => {
                    self.rest = Some(&rest[index + 1..]);
                    return Some(&rest[..index]);
                }
                _ => {}
            }
        }
        self.rest = None;
        Some(rest)
    }
}
