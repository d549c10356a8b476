//! Messages in the log: level `TRACE`, target `carrick::wire`.

use std::fmt;

/// Bytes of a message that are logged.
const MOST: usize = 4096;

/// A message as the log has it: as text, at most [`MOST`] bytes of it.
struct Shown<'a>(&'a [u8]);

/// Logs a message that arrived.
pub(crate) fn received(bytes: &[u8]) {
    tracing::trace!(target: "carrick::wire", "received {}", Shown(bytes));
}

/// Logs a message that is sent.
pub(crate) fn sent(bytes: &[u8]) {
    tracing::trace!(target: "carrick::wire", "sent {}", Shown(bytes));
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.len() <= MOST {
            return f.write_str(&String::from_utf8_lossy(self.0));
        }
        // Not within a character.
        let end = (MOST - 3..=MOST).rev().find(|&end| self.0[end] & 0xC0 != 0x80);
        let text = String::from_utf8_lossy(&self.0[..end.unwrap_or(MOST)]);
        write!(f, "{text}… [{} bytes in all]", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Shown};

    #[test]
    fn f76_a_long_message_is_cut_between_characters() {
        assert_eq!(Shown("{\"é\":1}".as_bytes()).to_string(), "{\"é\":1}");
        for lead in 0..4 {
            let text = format!("{}{}", "a".repeat(lead), "文".repeat(MOST));
            let shown = Shown(text.as_bytes()).to_string();
            let cut = shown.strip_suffix(&format!("… [{} bytes in all]", text.len())).unwrap();
            assert!(text.starts_with(cut) && cut.len() > MOST - 4, "{lead}");
        }
        let exact = "x".repeat(MOST);
        assert_eq!(Shown(exact.as_bytes()).to_string(), exact);
    }
}
