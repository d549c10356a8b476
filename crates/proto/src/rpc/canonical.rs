//! One text for all ways of writing the same JSON value.

use super::json::{Cursor, JsonError};
use super::message::unquote;
use super::{Limits, push_escaped};
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Why a value has no canonical text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CanonicalError {
    /// Not JSON within the limits.
    Json(JsonError),
    /// A string with half of a surrogate pair, which is no text; its start.
    Text(String),
    /// A number beyond what a double holds, which readers take for infinity or
    /// refuse; its start.
    Number(String),
}

impl fmt::Display for CanonicalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => error.fmt(f),
            Self::Text(text) => write!(f, "{text} holds half of a surrogate pair"),
            Self::Number(text) => write!(f, "the number {text} is beyond what a double holds"),
        }
    }
}

impl core::error::Error for CanonicalError {}

impl From<JsonError> for CanonicalError {
    fn from(error: JsonError) -> Self {
        Self::Json(error)
    }
}

/// Writes a value without blanks, with the members of its objects in the order of
/// their names (those of one name in the order they came), and without escapes
/// that need not be: two values have the same text only if they say the same.
///
/// Numbers stay as they were written, so `1` and `1.0` are two values, and no
/// two numbers are ever taken for one because a double cannot tell them apart.
///
/// # Errors
/// When there is no saying what a reader would make of the value.
pub fn canonical(json: &[u8]) -> Result<Vec<u8>, CanonicalError> {
    let mut cursor = Cursor::new(json, Limits::default())?;
    let span = cursor.value()?;
    cursor.end()?;
    let mut out = Vec::with_capacity(json.len());
    // The pass above has bounded the depth, and so the stack.
    write(&json[span.range()], &mut out)?;
    Ok(out)
}

fn write(json: &[u8], out: &mut Vec<u8>) -> Result<(), CanonicalError> {
    match json.first() {
        Some(b'{') => object(json, out),
        Some(b'[') => array(json, out),
        Some(b'"') => {
            let text = text(json)?;
            push_text(&text, out);
            Ok(())
        }
        Some(b'-' | b'0'..=b'9') => number(json, out),
        _ => {
            out.extend_from_slice(json);
            Ok(())
        }
    }
}

fn object(json: &[u8], out: &mut Vec<u8>) -> Result<(), CanonicalError> {
    let mut cursor = Cursor::scanned(json);
    let mut members = Vec::new();
    let mut more = cursor.open(b'{', b'}')?;
    while more {
        let key = cursor.key()?.span;
        let value = cursor.value()?;
        let name = text(&json[key.start() - 1..key.end() + 1])?;
        members.push((name, &json[value.range()]));
        more = cursor.more(b'}')?;
    }
    members.sort_by(|(left, _), (right, _)| left.cmp(right));
    out.push(b'{');
    for (n, (name, value)) in members.into_iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        push_text(&name, out);
        out.push(b':');
        write(value, out)?;
    }
    out.push(b'}');
    Ok(())
}

fn array(json: &[u8], out: &mut Vec<u8>) -> Result<(), CanonicalError> {
    let mut cursor = Cursor::scanned(json);
    let mut more = cursor.open(b'[', b']')?;
    out.push(b'[');
    let mut first = true;
    while more {
        if !core::mem::take(&mut first) {
            out.push(b',');
        }
        write(&json[cursor.value()?.range()], out)?;
        more = cursor.more(b']')?;
    }
    out.push(b']');
    Ok(())
}

fn number(json: &[u8], out: &mut Vec<u8>) -> Result<(), CanonicalError> {
    let text = core::str::from_utf8(json).unwrap_or_default();
    if !text.parse::<f64>().is_ok_and(f64::is_finite) {
        return Err(CanonicalError::Number(crate::text::excerpt(text, 40).into_owned()));
    }
    out.extend_from_slice(json);
    Ok(())
}

/// A quoted string with its escapes resolved.
fn text(quoted: &[u8]) -> Result<Cow<'_, str>, CanonicalError> {
    unquote(quoted).ok_or_else(|| CanonicalError::Text(crate::text::excerpt_of(quoted, 40)))
}

fn push_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    push_escaped(out, text);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn of(json: &str) -> String {
        String::from_utf8(canonical(json.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn f41_members_are_in_the_order_of_their_names_whatever_order_they_came_in() {
        let expected = r#"{"a":[1,{"x":null,"y":"é"}],"b":true}"#;
        for text in [
            r#"{"b":true,"a":[1,{"y":"é","x":null}]}"#,
            r#" { "a" : [ 1 , { "x" : null , "y" : "\u00e9" } ] , "\u0062" : true } "#,
        ] {
            assert_eq!(of(text), expected);
        }
        assert_eq!(of(r#"{"a":2,"b":0,"a":1}"#), r#"{"a":2,"a":1,"b":0}"#);
        assert_ne!(of(r#"{"a":1,"a":2}"#), of(r#"{"a":2,"a":1}"#));
        // Not by how they are written: an escaped quote comes after a blank.
        assert_eq!(of(r#"{"\"":1," ":2}"#), r#"{" ":2,"\"":1}"#);
    }

    #[test]
    fn f41_different_numbers_never_have_the_same_text() {
        let all = [
            "9007199254740992",
            "9007199254740993",
            "18446744073709551615",
            "18446744073709551616",
            "123456789012345678901234567890",
            "123456789012345678901234567891",
            "0.1",
            "0.10000000000000000001",
            "1e-400",
            "0",
            "-0",
            "1",
            "1.0",
        ];
        for (n, one) in all.iter().enumerate() {
            assert_eq!(of(one), **one);
            assert!(all[..n].iter().all(|other| of(other) != of(one)), "{one}");
        }
    }

    #[test]
    fn f41_what_nobody_can_read_alike_has_no_text() {
        for text in ["1e999", "-1e400", r#"[{"a":1e999}]"#] {
            let error = canonical(text.as_bytes()).unwrap_err();
            assert!(matches!(error, CanonicalError::Number(_)), "{text}: {error}");
        }
        for text in [r#""\ud800""#, r#"{"\udc00":1}"#, r#"["\ud83d\u0041"]"#] {
            let error = canonical(text.as_bytes()).unwrap_err();
            assert!(error.to_string().contains("surrogate"), "{text}: {error}");
        }
        for text in ["", "{", "1 2", "nul", "\u{1}"] {
            assert!(matches!(canonical(text.as_bytes()), Err(CanonicalError::Json(_))), "{text}");
        }
        assert!(canonical("[".repeat(100_000).as_bytes()).is_err());
        assert_eq!(of(r#""\ud83d\ude00""#), "\"😀\"");
    }
}
