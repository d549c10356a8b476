//! JSON with comments, made plain JSON without moving a byte.
//!
//! `//` and `/* */` comments and trailing commas become blanks of the same
//! length, so that every later error points at the file as it was written.

use super::error::{Fault, Located};

/// The text with comments and trailing commas blanked out.
///
/// Line ends stay, inside comments too. Everything that is neither a comment
/// nor a trailing comma is left as it is, broken or not: the JSON parser
/// judges it.
pub(crate) fn blank(text: &str) -> Result<String, Located> {
    let mut plain = Blanker { bytes: text.as_bytes().to_vec(), at: 0, before: None, comma: None };
    plain.run()?;
    String::from_utf8(plain.bytes)
        .map_err(|_| Located { at: 0, fault: Fault::Syntax { message: "not text".to_owned() } })
}

struct Blanker {
    bytes: Vec<u8>,
    at: usize,
    /// The last byte that was neither blank nor comment.
    before: Option<u8>,
    /// A comma after a value, with nothing but blanks after it so far.
    comma: Option<usize>,
}

impl Blanker {
    fn run(&mut self) -> Result<(), Located> {
        while let Some(byte) = self.peek(0) {
            match (byte, self.peek(1)) {
                (b'/', Some(b'/')) => self.line_comment(),
                (b'/', Some(b'*')) => self.block_comment()?,
                (b' ' | b'\t' | b'\r' | b'\n', _) => self.at += 1,
                (b'"', _) => self.string(),
                _ => self.token(byte),
            }
        }
        Ok(())
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn line_comment(&mut self) {
        while let Some(byte) = self.peek(0) {
            if matches!(byte, b'\r' | b'\n') {
                return;
            }
            self.erase(self.at);
            self.at += 1;
        }
    }

    fn block_comment(&mut self) -> Result<(), Located> {
        let start = self.at;
        let body = self.bytes.get(start + 2..).unwrap_or_default();
        let Some(length) = body.windows(2).position(|pair| pair == b"*/") else {
            let message = "a /* comment that is never closed".to_owned();
            return Err(Located { at: start, fault: Fault::Syntax { message } });
        };
        self.at = start + 2 + length + 2;
        for index in start..self.at {
            self.erase(index);
        }
        Ok(())
    }

    /// Steps over a string; a `/` or `,` in it means nothing.
    fn string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'"' => break,
                _ => {}
            }
        }
        self.before = Some(b'"');
        self.comma = None;
    }

    fn token(&mut self, byte: u8) {
        match byte {
            b',' => {
                let after_value = !matches!(self.before, None | Some(b'[' | b'{' | b',' | b':'));
                self.comma = after_value.then_some(self.at);
            }
            b'}' | b']' => {
                if let Some(comma) = self.comma.take() {
                    self.erase(comma);
                }
            }
            _ => self.comma = None,
        }
        self.before = Some(byte);
        self.at += 1;
    }

    fn erase(&mut self, index: usize) {
        if let Some(byte) = self.bytes.get_mut(index)
            && !matches!(byte, b'\r' | b'\n')
        {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        let plain = blank(text).unwrap();
        assert_eq!(plain.len(), text.len(), "no byte moves");
        plain
    }

    #[test]
    fn comments_and_trailing_commas_become_blanks() {
        assert_eq!(plain("{\"a\":1,// 说明\r\n}"), "{\"a\":1          \r\n}");
        assert_eq!(plain("[1,/*,*/2,]"), "[1,     2 ]");
        assert_eq!(plain("[1, /* a\nb */ ]"), "[1      \n     ]");
    }

    #[test]
    fn strings_are_left_alone() {
        let text = r#"{"u":"http://x//y","e":"\"/*,]*/","t":"a,]"}"#;
        assert_eq!(plain(text), text);
    }

    #[test]
    fn commas_without_a_value_before_them_stay_errors() {
        for text in ["[,]", "{,}", "[1,,]", "{\"a\":,}"] {
            let plain = plain(text);
            assert!(serde_json::from_str::<serde_json::Value>(&plain).is_err(), "{text}");
        }
    }

    #[test]
    fn an_open_comment_is_an_error_where_it_starts() {
        assert_eq!(blank("{} /* x").unwrap_err().at, 3);
        assert_eq!(blank("/*/").unwrap_err().at, 0);
    }

    #[test]
    fn a_string_cut_after_a_backslash_does_not_run_past_the_end() {
        assert_eq!(plain("\"a\\"), "\"a\\");
    }
}
