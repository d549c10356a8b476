//! File names as text, with a way back.
//!
//! A name need not be UTF-8. Each byte of it that fits no character is written as U+FFFD and its
//! two hexadecimal digits: `caf\xE9` becomes `caf�E9`. The bytes of a real U+FFFD are written so,
//! too. So different names have different texts, and each text leads back to its name.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::Path;

const MARK: char = char::REPLACEMENT_CHARACTER;

/// The name as text.
#[cfg(unix)]
pub(super) fn to_text(name: &OsStr) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    let mut text = String::new();
    let escape = |text: &mut String, bytes: &[u8]| {
        // Writing to a string does not fail.
        bytes.iter().for_each(|byte| _ = write!(text, "{MARK}{byte:02X}"));
    };
    for chunk in name.as_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                MARK => escape(&mut text, MARK.encode_utf8(&mut [0; 4]).as_bytes()),
                _ => text.push(character),
            }
        }
        escape(&mut text, chunk.invalid());
    }
    text
}

/// The bytes of the name that this text stands for. A mark that no two digits of a byte above 127
/// follow stands for itself.
#[cfg(unix)]
pub(super) fn from_text(text: &str) -> Cow<'_, [u8]> {
    if !text.contains(MARK) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut parts = text.split(MARK);
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_owned();
    for part in parts {
        // A separator or NUL is never hidden: those are below 128.
        match part.get(..2).and_then(upper_hex).filter(|byte| !byte.is_ascii()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => {
                bytes.extend_from_slice(MARK.encode_utf8(&mut [0; 4]).as_bytes());
                bytes.extend_from_slice(part.as_bytes());
            }
        }
    }
    Cow::Owned(bytes)
}

#[cfg(unix)]
fn upper_hex(digits: &str) -> Option<u8> {
    let upper = |digit: u8| matches!(digit, b'0'..=b'9' | b'A'..=b'F');
    if !digits.bytes().all(upper) {
        return None;
    }
    u8::from_str_radix(digits, 16).ok()
}

#[cfg(not(unix))]
pub(super) fn to_text(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

#[cfg(not(unix))]
pub(super) fn from_text(text: &str) -> Cow<'_, [u8]> {
    Cow::Borrowed(text.as_bytes())
}

/// The path as text; separators are never part of a name.
pub(super) fn path_to_text(path: &Path) -> String {
    to_text(path.as_os_str())
}

/// Whether `name` comes after the one that this text stands for, in the order of lists.
pub(super) fn is_after(name: &OsString, text: &str) -> bool {
    #[cfg(unix)]
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(name.as_os_str());
    #[cfg(not(unix))]
    let bytes = name.as_encoded_bytes();
    bytes > from_text(text).as_ref()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStrExt;

    fn text(bytes: &[u8]) -> String {
        to_text(OsStr::from_bytes(bytes))
    }

    #[test]
    fn f73_what_is_utf_8_stays_and_the_rest_is_escaped() {
        assert_eq!(text("100% ü \\xE9 文".as_bytes()), "100% ü \\xE9 文");
        assert_eq!(text(b"caf\xe9\xff.txt"), "caf\u{fffd}E9\u{fffd}FF.txt");
        assert_eq!(text("\u{fffd}".as_bytes()), "\u{fffd}EF\u{fffd}BF\u{fffd}BD");
        for literal in ["\u{fffd}", "\u{fffd}2F", "\u{fffd}00", "\u{fffd}e9", "\u{fffd}é"] {
            assert_eq!(from_text(literal), literal.as_bytes(), "{literal}");
        }
    }

    proptest! {
        #[test]
        fn f73_every_name_comes_back(bytes: Vec<u8>, mark in any::<bool>()) {
            let mut bytes = bytes;
            if mark {
                bytes.splice(0..0, "\u{fffd}E9".bytes());
            }
            prop_assert_eq!(from_text(&text(&bytes)).into_owned(), bytes);
        }
    }
}
