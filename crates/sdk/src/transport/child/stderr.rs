//! The last bytes of a server's stderr, and how they are shown.

use std::{
    collections::VecDeque,
    fmt::Write as _,
    sync::{Arc, Mutex, PoisonError},
};

/// The latest bytes a server wrote to stderr, bounded; written by the task that supervises the
/// server, read by whoever explains an error.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    ring: Arc<Mutex<Ring>>,
}

#[derive(Debug)]
struct Ring {
    bytes: VecDeque<u8>,
    limit: usize,
    /// Whether bytes before the first one were dropped.
    cut: bool,
}

impl Tail {
    pub(super) fn new(limit: usize) -> Self {
        let ring = Ring { bytes: VecDeque::new(), limit, cut: false };
        Self { ring: Arc::new(Mutex::new(ring)) }
    }

    pub(super) fn push(&self, bytes: &[u8]) {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &bytes[bytes.len().saturating_sub(ring.limit)..];
        let excess = (ring.bytes.len() + kept.len()).saturating_sub(ring.limit);
        ring.cut |= excess > 0 || kept.len() < bytes.len();
        ring.bytes.drain(..excess);
        ring.bytes.extend(kept);
    }

    /// The text, without what could act on a terminal. Starts with `…` when earlier output was
    /// dropped.
    pub(super) fn text(&self) -> String {
        let (bytes, cut) = {
            let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
            (Vec::from(ring.bytes.clone()), ring.cut)
        };
        // A character whose first bytes were dropped is not shown as an error of the server's.
        let broken = bytes.iter().take(3).take_while(|&&byte| cut && byte & 0xC0 == 0x80).count();
        let text = String::from_utf8_lossy(&bytes[broken..]);
        let mut shown = String::with_capacity(text.len() + 3);
        if cut {
            shown.push('…');
        }
        show(&text, &mut shown);
        shown
    }
}

/// Appends `text` with its control characters, and those that reorder or hide text, as escapes.
/// Line ends and tabs stay.
fn show(text: &str, shown: &mut String) {
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\r' if characters.peek() == Some(&'\n') => {}
            c if hides(c) => {
                // Writing to a String cannot fail.
                let _ = write!(shown, "{}", c.escape_unicode());
            }
            c => shown.push(c),
        }
    }
}

fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{061C}'
            | '\u{FEFF}'
            | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(limit: usize, parts: &[&[u8]]) -> String {
        let tail = Tail::new(limit);
        for part in parts {
            tail.push(part);
        }
        tail.text()
    }

    #[test]
    fn d011_only_the_last_bytes_are_kept() {
        assert_eq!(tail(8, &[b"1234", b"5678"]), "12345678");
        assert_eq!(tail(8, &[b"1234", b"56789"]), "…23456789");
        assert_eq!(tail(4, &[b"a line that is much longer"]), "…nger");
        assert_eq!(tail(0, &[b"x"]), "…");
    }

    #[test]
    fn a_character_cut_by_the_bound_is_left_out() {
        assert_eq!(tail(4, &["é日x".as_bytes()]), "…日x");
        assert_eq!(tail(3, &["é日x".as_bytes()]), "…x");
    }

    #[test]
    fn control_characters_are_made_visible() {
        let shown = tail(99, &[b"a\x1b[2Jb\r\nc\td\re\xff \xe2\x80\xae\x7f"]);
        assert_eq!(shown, "a\\u{1b}[2Jb\nc\td\\u{d}e\u{fffd} \\u{202e}\\u{7f}");
    }
}
