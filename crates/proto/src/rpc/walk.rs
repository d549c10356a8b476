//! Looking into JSON that a scan has found valid.

use super::Span;
use super::json::Cursor;
use alloc::vec::Vec;

/// A member of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Name, colon and value.
    pub(crate) whole: Span,
    /// The value alone.
    pub(crate) value: Span,
}

/// The first member of this name, if `json` is an object that has one.
pub(crate) fn member(json: &[u8], name: &str) -> Option<Member> {
    let mut cursor = Cursor::scanned(json);
    let mut more = cursor.open(b'{', b'}').ok()?;
    while more {
        let key = cursor.key().ok()?;
        let value = cursor.value().ok()?;
        if *cursor.name(key) == *name.as_bytes() {
            return Some(Member { whole: Span::new(key.span.start() - 1, value.end()), value });
        }
        more = cursor.more(b'}').ok()?;
    }
    None
}

/// The elements of `json`, if it is an array.
pub(crate) fn elements(json: &[u8]) -> Option<Vec<Span>> {
    let mut cursor = Cursor::scanned(json);
    let mut found = Vec::new();
    let mut more = cursor.open(b'[', b']').ok()?;
    while more {
        found.push(cursor.value().ok()?);
        more = cursor.more(b']').ok()?;
    }
    Some(found)
}
