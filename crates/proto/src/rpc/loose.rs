//! What can be told of bytes that are no JSON: not UTF-8, cut off, or nested without
//! end. Nothing here uses the stack for it.

use super::json::plain_len;

/// A value as far as brackets and quotes go; it may be broken inside.
#[derive(Clone, Copy)]
pub(super) struct Loose<'a> {
    pub(super) text: &'a [u8],
    /// Containers inside containers.
    pub(super) depth: u32,
}

/// The members on the outermost level of what looks like an object, up to the first
/// place that is no member: names as they are written, and values.
pub(super) fn members(text: &[u8]) -> impl Iterator<Item = (&[u8], Loose<'_>)> {
    let mut rest = text.trim_ascii_start().strip_prefix(b"{");
    core::iter::from_fn(move || {
        let text = rest.take()?.trim_ascii_start();
        let (name, after) = text.split_at(string_len(text)?);
        let value = after.trim_ascii_start().strip_prefix(b":")?;
        let (value, after) = self::value(value);
        rest = after.strip_prefix(b",");
        Some((&name[1..name.len() - 1], value))
    })
}

/// The elements of what looks like an array, in the same way.
pub(super) fn elements(text: &[u8]) -> impl Iterator<Item = Loose<'_>> {
    let mut rest = text.strip_prefix(b"[");
    core::iter::from_fn(move || {
        let (value, after) = self::value(rest.take()?);
        rest = after.strip_prefix(b",");
        (!value.text.is_empty()).then_some(value)
    })
}

/// The next value, up to the comma or the end that follows it on its own level, and
/// what comes from there on.
fn value(text: &[u8]) -> (Loose<'_>, &[u8]) {
    let text = text.trim_ascii_start();
    let (mut at, mut level, mut depth) = (0, 0_u32, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at = string_len(&text[at..]).map_or(text.len(), |len| at + len);
                continue;
            }
            b'{' | b'[' => {
                level = level.saturating_add(1);
                depth = depth.max(level);
            }
            b'}' | b']' | b',' if level == 0 => break,
            b'}' | b']' => level -= 1,
            _ => {}
        }
        at += 1;
    }
    let (value, rest) = text.split_at(at);
    (Loose { text: value.trim_ascii_end(), depth }, rest)
}

/// How long a string is, quotes and all; none when this is none that ends.
fn string_len(text: &[u8]) -> Option<usize> {
    text.strip_prefix(b"\"")?;
    let mut at = 1;
    loop {
        at += plain_len(text.get(at..)?);
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}
