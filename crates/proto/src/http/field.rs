//! Header values: blanks around them, repetition, and the base64 wrapper.

use alloc::{borrow::Cow, format, string::String};
use core::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// The value of a header that may stand only once in a request.
///
/// Optional blanks around a value are not part of it (RFC 9110, section 5.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    /// The header is not there.
    Absent,
    /// The header is there once.
    One(&'a [u8]),
    /// The header is there more than once, with whatever values.
    Repeated,
}

impl<'a> Field<'a> {
    /// Reads all values that a message has for one header name.
    #[must_use]
    pub fn from_values<I>(values: I) -> Self
    where
        I: IntoIterator<Item = &'a [u8]>,
    {
        let mut values = values.into_iter();
        match (values.next(), values.next()) {
            (None, _) => Self::Absent,
            (Some(value), None) => Self::One(trim_blanks(value)),
            (Some(_), Some(_)) => Self::Repeated,
        }
    }
}

/// Why a header value cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueError {
    /// A byte that is neither visible ASCII nor a blank.
    Character,
    /// The base64 wrapper holds something else (alphabet, padding).
    Base64,
    /// The wrapped bytes are not UTF-8.
    Utf8,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Character => "it holds a character that is not visible ASCII",
            Self::Base64 => "its base64 part is not valid base64",
            Self::Utf8 => "its base64 part is not UTF-8 text",
        })
    }
}

impl core::error::Error for ValueError {}

/// Makes a text safe as the value of `Mcp-Name` or `Mcp-Param-…`.
///
/// Plain ASCII stays as it is. Text with other characters, with blanks at an
/// end, or that looks wrapped already, is wrapped as `=?base64?…?=`
/// (`basic/transports/streamable-http`, Value Encoding).
#[must_use]
pub fn encode_value(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let looks_wrapped = text.starts_with(PREFIX) && text.ends_with(SUFFIX);
    let plain = bytes.iter().copied().all(is_value_byte) && trim_blanks(bytes) == bytes;
    if plain && !looks_wrapped {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(text)))
}

/// Reads the value of `Mcp-Name` or `Mcp-Param-…` back to the text it stands
/// for. A value without the whole wrapper is literal.
///
/// # Errors
///
/// [`ValueError`] when the value is not plain ASCII or its wrapper does not
/// hold strict base64 of UTF-8 text.
pub fn decode_value(value: &[u8]) -> Result<Cow<'_, str>, ValueError> {
    if !value.iter().copied().all(is_value_byte) {
        return Err(ValueError::Character);
    }
    let text = core::str::from_utf8(value).map_err(|_| ValueError::Character)?;
    let Some(inner) = text.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)) else {
        return Ok(Cow::Borrowed(text));
    };
    let bytes = STANDARD.decode(inner).map_err(|_| ValueError::Base64)?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| ValueError::Utf8)
}

/// Removes spaces and tabs from both ends.
pub(super) fn trim_blanks(value: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = value.iter().position(|byte| !is_blank(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !is_blank(byte)).map_or(start, |last| last + 1);
    &value[start..end]
}

/// Visible ASCII, space or tab.
fn is_value_byte(byte: u8) -> bool {
    matches!(byte, b'\t' | 0x20..=0x7E)
}

/// A character of a header name (RFC 9110, `tchar`).
pub(super) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
