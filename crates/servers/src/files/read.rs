//! `read_file`: the text of a file, or some lines of it.

use super::{Files, error::FilesError, mime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

/// The answer of `read_file`.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FileText {
    /// The file that was read
    pub path: String,
    /// The text, as it stands in the file
    pub content: String,
    /// The number of the first line in `content`; lines count from 1
    pub first_line: u64,
    /// The number of the last line in `content`; one less than `first_line` if there is none
    pub last_line: u64,
    /// The size of the whole file in bytes
    pub size: u64,
    /// How many lines the file has, if its end was reached
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<u64>,
    /// Where to go on, as `offset`, when there is more
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// What differs from the file, and why
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Files {
    /// Reads the text file `path` from line `offset` (from 1) on, at most `limit` lines and at
    /// most [`Limits::read_bytes`](super::Limits::read_bytes).
    ///
    /// # Errors
    ///
    /// A path that is outside, of a bad form, missing, no file, or not permitted; a file that is
    /// not text; a line beyond the end, or beyond
    /// [`Limits::scan_bytes`](super::Limits::scan_bytes).
    pub fn read(
        &self,
        path: &str,
        offset: Option<u64>,
        limit: Option<u64>,
    ) -> Result<FileText, FilesError> {
        let place = self.roots.locate(path)?;
        let (file, metadata) = self.roots.open_file(&place, path)?;
        let size = metadata.len();
        let mut input = BufReader::with_capacity(64 * 1024, file);
        let io = |error| FilesError::io(path, error);
        let head = input.fill_buf().map_err(io)?;
        if mime::is_binary(head) {
            return Err(FilesError::Binary {
                path: super::error::shown(path),
                mime: mime::guess(Path::new(path), false),
                size,
                uri: self.roots.uri(&place),
            });
        }
        if head.starts_with(b"\xef\xbb\xbf") {
            input.consume(3);
        }
        let first = offset.unwrap_or(1).max(1);
        let mut lines = Lines { input, line: 1, budget: self.limits.scan_bytes };
        match lines.skip_to(first).map_err(io)? {
            Skip::Reached => {}
            Skip::Ended { lines } => {
                let path = super::error::shown(path);
                return Err(FilesError::NoSuchLine { path, offset: first, lines });
            }
            Skip::TooFar => {
                return Err(FilesError::argument(
                    "offset",
                    format!(
                        "line {first} lies beyond the first {} bytes of the file (scan_bytes)",
                        self.limits.scan_bytes
                    ),
                ));
            }
        }
        let taken = lines.take(limit, self.limits.read_bytes).map_err(io)?;
        Ok(taken.into_text(self.roots.name(&place), first, size))
    }
}

/// A file being read line by line.
struct Lines<R> {
    input: BufReader<R>,
    /// The number of the line that comes next.
    line: u64,
    /// How many bytes may still be skipped.
    budget: u64,
}

enum Skip {
    Reached,
    Ended { lines: u64 },
    TooFar,
}

/// What was taken from a file.
struct Taken {
    bytes: Vec<u8>,
    /// The number of the line after the last that was taken.
    line: u64,
    /// Whether the end of the file was reached.
    ended: bool,
    /// The line that was too long to be taken whole.
    cut: Option<u64>,
}

impl<R: Read> Lines<R> {
    /// Moves to the start of line `first`.
    fn skip_to(&mut self, first: u64) -> io::Result<Skip> {
        let mut in_line = false;
        while self.line < first {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                let lines = self.line - 1 + u64::from(in_line);
                // The line after the last newline exists only for writing; an empty file has one.
                return Ok(Skip::Ended { lines });
            }
            let used = match memchr::memchr(b'\n', buffer) {
                Some(at) => {
                    self.line += 1;
                    in_line = false;
                    at + 1
                }
                None => {
                    in_line = true;
                    buffer.len()
                }
            };
            self.input.consume(used);
            self.budget = self.budget.saturating_sub(used as u64);
            if self.budget == 0 && self.line < first {
                return Ok(Skip::TooFar);
            }
        }
        if first > 1 && self.input.fill_buf()?.is_empty() {
            return Ok(Skip::Ended { lines: self.line - 1 });
        }
        Ok(Skip::Reached)
    }

    /// Takes whole lines while they fit; of a first line that does not fit, what fits.
    fn take(&mut self, lines: Option<u64>, most: usize) -> io::Result<Taken> {
        let mut bytes = Vec::new();
        // Up to here `bytes` is whole lines.
        let mut whole = 0;
        let end = lines.map(|lines| self.line.saturating_add(lines));
        while end.is_none_or(|end| self.line < end) {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                let line = self.line + u64::from(bytes.len() > whole);
                return Ok(Taken { bytes, line, ended: true, cut: None });
            }
            let newline = memchr::memchr(b'\n', buffer);
            let piece = &buffer[..newline.map_or(buffer.len(), |at| at + 1)];
            if bytes.len() + piece.len() > most {
                if whole > 0 {
                    bytes.truncate(whole);
                    return Ok(Taken { bytes, line: self.line, ended: false, cut: None });
                }
                bytes.extend_from_slice(&piece[..most - bytes.len()]);
                truncate_to_character(&mut bytes);
                let line = self.line + 1;
                return Ok(Taken { bytes, line, ended: false, cut: Some(self.line) });
            }
            bytes.extend_from_slice(piece);
            let used = piece.len();
            self.input.consume(used);
            if newline.is_some() {
                self.line += 1;
                whole = bytes.len();
            }
        }
        let ended = self.input.fill_buf()?.is_empty();
        Ok(Taken { bytes, line: self.line, ended, cut: None })
    }
}

impl Taken {
    fn into_text(self, path: String, first_line: u64, size: u64) -> FileText {
        let mut notes = Vec::new();
        if let Some(line) = self.cut {
            notes.push(format!(
                "line {line} is too long: only its first {} bytes are shown (read_bytes)",
                self.bytes.len()
            ));
        }
        let content = String::from_utf8(self.bytes).unwrap_or_else(|error| {
            notes.push("the file is not valid UTF-8: what is not is shown as \u{fffd}".into());
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        });
        FileText {
            path,
            content,
            first_line,
            last_line: self.line - 1,
            size,
            total_lines: self.ended.then_some(self.line - 1),
            next_offset: (!self.ended).then_some(self.line),
            notes,
        }
    }
}

/// Removes the beginning of a character whose end was cut off.
fn truncate_to_character(bytes: &mut Vec<u8>) {
    if let Err(error) = std::str::from_utf8(bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
}

impl fmt::Display for FileText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.content)?;
        let mut notes: Vec<String> = self.notes.clone();
        if let Some(next) = self.next_offset {
            let Self { first_line, last_line, .. } = self;
            notes.push(format!(
                "lines {first_line} to {last_line}; there is more: read on with offset={next}"
            ));
        }
        if !notes.is_empty() && !self.content.is_empty() && !self.content.ends_with('\n') {
            f.write_str("\n")?;
        }
        for (i, note) in notes.iter().enumerate() {
            write!(f, "{}[{note}]", if i == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}
