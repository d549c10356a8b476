//! The last bytes of a server's stderr, the first line of it that names an error, and how they are
//! shown.

use std::{
    collections::VecDeque,
    fmt::Write as _,
    sync::{Arc, Mutex, PoisonError},
};

use super::cause::{ERROR_LINE, goes_on, names_an_error};

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
    /// How many bytes were ever written.
    written: u64,
    cause: Cause,
}

impl Tail {
    pub(super) fn new(limit: usize) -> Self {
        let cause = Cause::default();
        let ring = Ring { bytes: VecDeque::new(), limit, cut: false, written: 0, cause };
        Self { ring: Arc::new(Mutex::new(ring)) }
    }

    pub(super) fn push(&self, bytes: &[u8]) {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &bytes[bytes.len().saturating_sub(ring.limit)..];
        let excess = (ring.bytes.len() + kept.len()).saturating_sub(ring.limit);
        ring.cut |= excess > 0 || kept.len() < bytes.len();
        ring.bytes.drain(..excess);
        ring.bytes.extend(kept);
        let before = ring.written;
        ring.written = before.saturating_add(bytes.len() as u64);
        ring.cause.look_at(bytes, before);
    }

    /// How many bytes the server has written in all.
    pub(super) fn written(&self) -> u64 {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner).written
    }

    /// The text, without what could act on a terminal. When earlier output was dropped it starts
    /// with `…`, and before that with the first line that named an error, if that is not there any
    /// more.
    pub(super) fn text(&self) -> String {
        let (bytes, cut, cause) = {
            let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
            let first_kept = ring.written.saturating_sub(ring.bytes.len() as u64);
            let cause = ring.cause.found.as_ref().filter(|(at, _)| *at < first_kept);
            (Vec::from(ring.bytes.clone()), ring.cut, cause.map(|(_, lines)| lines.clone()))
        };
        // A character whose first bytes were dropped is not shown as an error of the server's.
        let broken = bytes.iter().take(3).take_while(|&&byte| cut && byte & 0xC0 == 0x80).count();
        let text = String::from_utf8_lossy(&bytes[broken..]);
        let mut shown = String::with_capacity(text.len() + 3);
        if let Some(cause) = cause {
            show(&String::from_utf8_lossy(&cause), &mut shown);
            shown.push('\n');
        }
        if cut {
            shown.push('…');
        }
        show(&text, &mut shown);
        shown
    }
}

/// Looks for the first line that names an error, in output that comes in pieces.
#[derive(Debug, Default)]
struct Cause {
    /// The beginning of the line that is being written.
    line: Vec<u8>,
    /// Where the error begins in all that was written, and its lines.
    found: Option<(u64, Vec<u8>)>,
    /// Whether the next line belongs to it.
    goes_on: bool,
}

impl Cause {
    /// Looks at `bytes`, before which so many were written.
    fn look_at(&mut self, bytes: &[u8], before: u64) {
        if self.found.is_some() && !self.goes_on {
            return;
        }
        let mut at = before;
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let room = ERROR_LINE - self.line.len();
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            at += piece.len() as u64;
            if text.len() < piece.len() {
                self.line_ended(at);
            }
        }
    }

    fn line_ended(&mut self, end: u64) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        match &mut self.found {
            Some((_, lines)) if self.goes_on => {
                lines.push(b'\n');
                lines.extend_from_slice(&line);
                self.goes_on = false;
            }
            None if names_an_error(&text) => {
                self.goes_on = goes_on(&text);
                // A long line begins before what was kept of it; all the less is it still there.
                self.found = Some((end.saturating_sub(line.len() as u64 + 1), line));
            }
            Some(_) | None => {}
        }
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
    fn f14_the_first_line_that_names_an_error_is_kept() {
        let stack = "    at frame (file.js:1:1)\n".repeat(9);
        let output = format!("starting\nError: no key\n{stack}Error: another\n");
        for size in [1, 7, 1000] {
            let pieces: Vec<&[u8]> = output.as_bytes().chunks(size).collect();
            let last = "js:1:1)\nError: another\n";
            assert_eq!(tail(last.len(), &pieces), format!("Error: no key\n…{last}"), "{size}");
        }
        // What is still there is not told twice.
        let kept = output.len() - "starting\n".len();
        assert_eq!(tail(kept, &[output.as_bytes()]), format!("…{}", &output["starting\n".len()..]));
        assert_eq!(
            tail(9, &[b"thread 'main' panicked at a.rs:1:2:\nno key\nnote: run with x"]),
            "thread 'main' panicked at a.rs:1:2:\nno key\n…un with x"
        );
    }

    #[test]
    fn f14_a_line_that_names_an_error_is_kept_within_bounds() {
        let long = format!("Error: {}\nthe end", "x".repeat(1 << 20));
        let shown = tail(7, &[long.as_bytes()]);
        assert!(shown.starts_with("Error: xxx") && shown.ends_with("x\n…the end"));
        assert!(shown.len() < 2 * ERROR_LINE);
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
