//! From bytes to text, and from offsets to line and column.

use std::fmt;

use super::error::Fault;

/// The largest config file that is read: 1 MiB.
///
/// A file of this kind is written by hand; a larger one is a mistake, or an
/// attempt to make the host use up its memory.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// A line and a column, both counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters (not bytes).
    pub column: usize,
}

/// A text and marks in it from which positions are counted, so that asking for
/// very many of them stays cheap.
#[derive(Debug)]
pub(crate) struct Positions {
    text: String,
    /// Offset and position of the first character at or after each multiple of
    /// [`STRIDE`].
    marks: Vec<(usize, Position)>,
}

/// Bytes between two marks.
const STRIDE: usize = 1024;

impl Position {
    const START: Self = Self { line: 1, column: 1 };

    fn after(self, text: &str) -> Self {
        text.chars().fold(self, |at, character| match character {
            '\n' => Self { line: at.line + 1, column: 1 },
            _ => Self { column: at.column + 1, ..at },
        })
    }
}

impl Positions {
    pub(crate) fn new(text: &str) -> Self {
        let mut marks = vec![(0, Position::START)];
        let (mut offset, mut position) = (0, Position::START);
        while offset < text.len() {
            let next = text.ceil_char_boundary(marks.len() * STRIDE);
            position = position.after(text.get(offset..next).unwrap_or_default());
            offset = next;
            marks.push((offset, position));
        }
        Self { text: text.to_owned(), marks }
    }

    /// The position of a byte offset. One past the end, or inside a character,
    /// counts as the nearest character boundary before it.
    pub(crate) fn of(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let mark = self.marks.partition_point(|(mark, _)| *mark <= offset).saturating_sub(1);
        let (start, position) = self.marks.get(mark).copied().unwrap_or((0, Position::START));
        position.after(self.text.get(start..offset).unwrap_or_default())
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// The text of a file: UTF-8, with or without a byte order mark.
///
/// Other encodings are recognised, so that the message can name them.
pub(crate) fn decode(bytes: &[u8]) -> Result<&str, (Option<Position>, Fault)> {
    if let Some(found) = foreign_encoding(bytes) {
        return Err((None, Fault::Encoding { found }));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let good = String::from_utf8_lossy(good);
        (Some(Position::START.after(&good)), Fault::NotUtf8)
    })
}

/// The name of an encoding that is certainly not UTF-8.
///
/// JSON begins with an ASCII character, so a zero byte among the first two
/// gives away UTF-16 and UTF-32 even without a byte order mark.
fn foreign_encoding(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] | [_, 0, 0, 0, ..] | [0, 0, 0, _, ..] => {
            Some("UTF-32")
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [_, 0, ..] | [0, _, ..] => Some("UTF-16"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_counting_from_the_start() {
        let text = "é文a\n🙂\r\n".repeat(700) + "x";
        let positions = Positions::new(&text);
        let mut expected = Position::START;
        for (offset, character) in text.char_indices() {
            assert_eq!(positions.of(offset), expected, "{offset}");
            expected = expected.after(&character.to_string());
        }
        assert_eq!(positions.of(text.len()), expected);
        assert_eq!(positions.of(usize::MAX), expected);
        assert_eq!(Positions::new("").of(3), Position::START);
    }
}
