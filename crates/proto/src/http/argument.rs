//! One argument of a call, as a header carries it.

use alloc::{
    borrow::{Cow, ToOwned},
    string::String,
};
use core::fmt;

use crate::rpc::{Cursor, JsonError};
use crate::text;

/// The largest whole number that every reader of JSON takes for itself: 2^53 - 1.
const LARGEST: u64 = 9_007_199_254_740_991;
/// Longest part of a value that an error repeats, in bytes.
const SHOWN: usize = 60;

/// Why an argument cannot be mirrored into a header.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgumentError {
    /// A whole number beyond ±(2^53 - 1), which readers take for different ones.
    Unsafe(String),
    /// A text with half of a surrogate pair.
    Text,
    /// The argument is given twice.
    Twice,
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsafe(number) => write!(
                f,
                "it is mirrored into a header, and {number} is beyond the whole numbers that are \
                 safe there, -{LARGEST} to {LARGEST}"
            ),
            Self::Text => {
                f.write_str("it is mirrored into a header, and is no text that can be read")
            }
            Self::Twice => f.write_str("it is mirrored into a header, and is given twice"),
        }
    }
}

impl core::error::Error for ArgumentError {}

/// An argument of a type that a header can carry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Argument<'a> {
    Text(Cow<'a, str>),
    Flag(bool),
    Whole(i64),
    /// Of any other type, which the tool will refuse; its JSON.
    Other(&'a str),
}

/// The argument at `path`, outermost name first; none when it is not there, or null.
/// `arguments` is JSON.
pub(super) fn find<'a>(
    arguments: &'a [u8],
    path: &[String],
) -> Result<Option<Argument<'a>>, ArgumentError> {
    let mut value = arguments.trim_ascii();
    for name in path {
        // What is no object has no such argument.
        match member(value, name).unwrap_or(Ok(None))? {
            Some(found) => value = found,
            None => return Ok(None),
        }
    }
    read(value)
}

/// A member's value; an error for one that is there twice.
fn member<'a>(
    object: &'a [u8],
    name: &str,
) -> Result<Result<Option<&'a [u8]>, ArgumentError>, JsonError> {
    let mut cursor = Cursor::scanned(object);
    let mut found = None;
    let mut more = cursor.open(b'{', b'}')?;
    while more {
        let key = cursor.key()?;
        let value = cursor.value()?;
        if *cursor.name(key) == *name.as_bytes() && found.replace(&object[value.range()]).is_some()
        {
            return Ok(Err(ArgumentError::Twice));
        }
        more = cursor.more(b'}')?;
    }
    Ok(Ok(found))
}

fn read(json: &[u8]) -> Result<Option<Argument<'_>>, ArgumentError> {
    // What is read was valid JSON, so it is UTF-8.
    let text = core::str::from_utf8(json).map_err(|_| ArgumentError::Text)?;
    Ok(Some(match json {
        b"null" => return Ok(None),
        b"true" => Argument::Flag(true),
        b"false" => Argument::Flag(false),
        [b'"', ..] => {
            let text = serde_json::from_str::<String>(text).map_err(|_| ArgumentError::Text)?;
            Argument::Text(text.into())
        }
        [b'-' | b'0'..=b'9', ..] => match whole(text) {
            Number::Whole(whole) => Argument::Whole(whole),
            Number::Fraction => Argument::Other(text),
            Number::Unsafe => {
                return Err(ArgumentError::Unsafe(text::excerpt(text, SHOWN).into_owned()));
            }
        },
        _ => Argument::Other(text),
    }))
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Number {
    Whole(i64),
    Fraction,
    /// Whole, and too large.
    Unsafe,
}

/// What a number in JSON's form is, exactly: `42.0` and `4.2e1` are whole.
pub(super) fn whole(text: &str) -> Number {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = before.to_owned() + after;
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Number::Whole(0);
    }
    let trailing = digits.len() - digits.trim_end_matches('0').len();
    let scale = trailing as i64 - after.len() as i64;
    let huge = if exponent.starts_with('-') { i64::MIN } else { i64::MAX };
    let exponent = exponent.parse::<i64>().unwrap_or(huge).saturating_add(scale);
    if exponent < 0 {
        return Number::Fraction;
    }
    let factor = u32::try_from(exponent).ok().and_then(|exponent| 10_u64.checked_pow(exponent));
    let size = significant.parse::<u64>().ok().zip(factor).and_then(|(s, f)| s.checked_mul(f));
    match size {
        Some(size) if size <= LARGEST => {
            Number::Whole(if negative { -(size as i64) } else { size as i64 })
        }
        _ => Number::Unsafe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f44_numbers_are_read_to_the_last_digit() {
        for (text, expected) in [
            ("0", Number::Whole(0)),
            ("-0.0e99999999999999999999", Number::Whole(0)),
            ("42.0", Number::Whole(42)),
            ("4.2e1", Number::Whole(42)),
            ("4200E-2", Number::Whole(42)),
            ("-9007199254740991", Number::Whole(-9_007_199_254_740_991)),
            ("9007199254740991.000", Number::Whole(9_007_199_254_740_991)),
            ("9007199254740990.9999999", Number::Fraction),
            ("1.5", Number::Fraction),
            ("1e-1", Number::Fraction),
            ("1e-99999999999999999999", Number::Fraction),
            ("9007199254740992", Number::Unsafe),
            ("-9007199254740993", Number::Unsafe),
            ("18446744073709551616", Number::Unsafe),
            ("123456789012345678901234567890", Number::Unsafe),
            ("1e300", Number::Unsafe),
            ("1e99999999999999999999", Number::Unsafe),
        ] {
            assert_eq!(whole(text), expected, "{text}");
        }
    }
}
