//! Text that is cut, for logs and errors.

use alloc::borrow::Cow;
use alloc::string::String;

/// What stands where text was cut.
pub const CUT: char = '…';

/// The start of `text`: at most `most` bytes, cut between characters, and marked by
/// a `…` when there was more.
pub fn excerpt(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let mut start = String::from(&text[..text.floor_char_boundary(most)]);
    start.push(CUT);
    Cow::Owned(start)
}

/// The same of bytes that should be UTF-8; what is not becomes U+FFFD.
pub fn excerpt_of(bytes: &[u8], most: usize) -> String {
    if bytes.len() <= most {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    // No character has more than four bytes: a place between two is near.
    let inside = |at: usize| bytes.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let end = (most.saturating_sub(3)..=most).rev().find(|at| !inside(*at)).unwrap_or(most);
    let mut start = String::from_utf8_lossy(&bytes[..end]).into_owned();
    start.push(CUT);
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f47_text_is_cut_between_characters_and_marked() {
        let text = "aé中😀";
        for (most, expected) in [
            (0, "…"),
            (1, "a…"),
            (2, "a…"),
            (3, "aé…"),
            (5, "aé…"),
            (6, "aé中…"),
            (9, "aé中…"),
            (10, "aé中😀"),
            (99, "aé中😀"),
        ] {
            assert_eq!(excerpt(text, most), expected);
            assert_eq!(excerpt_of(text.as_bytes(), most), expected);
        }
        assert_eq!(excerpt_of(b"\xff\x80\x80\x80\x80\x80", 4), "\u{fffd}\u{fffd}\u{fffd}\u{fffd}…");
        assert_eq!(excerpt_of(b"a\xff", 9), "a\u{fffd}");
    }
}
