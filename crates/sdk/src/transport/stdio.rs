//! The stdio transport's framing, and the standard streams of this process.
//!
//! One message is one line ([specification]). [`Lines`] cuts a stream of bytes into lines;
//! [`take`] gives a server its own stdin and stdout. The client's side of the same conversation is
//! a [child process](super::child).
//!
//! [specification]: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio

mod own;
#[cfg(unix)]
mod socket;

#[cfg(test)]
mod tests;

use std::io;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

pub use self::own::{Input, Output, take};

/// How long a line may be unless told otherwise: 64 MiB.
pub const DEFAULT_LINE_LIMIT: usize = 64 * 1024 * 1024;

/// The byte order mark, in UTF-8.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// How much is read at once.
const READ: usize = 8 * 1024;

/// The least room that is read into: as long as there is that much, messages that are still in
/// use do not make the next one begin a new buffer.
const ROOM: usize = 2 * 1024;

/// The memory of longer lines than this is given back at once.
const KEEP: usize = 256 * 1024;

/// Cuts a stream of bytes into lines.
///
/// Lines end with LF; a CR before it is not part of the line. They are slices of what was read,
/// not copies, and what was searched for a line end is not searched again. Whether they hold UTF-8
/// is for others to check; empty lines are lines.
///
/// One byte order mark (EF BB BF) at the very start of the stream is left out, since programs write
/// one unasked. Anywhere else it is part of its line.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use carrick::transport::stdio::Lines;
///
/// let mut stream = &b"{\"id\":1}\r\n{\"id\":2}\n"[..];
/// let mut lines = Lines::default();
/// let mut count = 0;
/// while lines.fill(&mut stream).await? > 0 {
///     while let Some(line) = lines.next_line()? {
///         count += 1;
///         assert_eq!(line, format!("{{\"id\":{count}}}"));
///     }
/// }
/// assert_eq!(count, 2);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Lines {
    buffer: BytesMut,
    /// How much of the buffer is known to hold no line end.
    searched: usize,
    limit: usize,
    /// Whether the buffer continues a line that was refused.
    skipping: bool,
    /// Whether the buffer begins where the stream does, and may begin with a mark.
    at_start: bool,
}

impl Lines {
    /// Lines of at most `limit` bytes, without their ends.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), searched: 0, limit, skipping: false, at_start: true }
    }

    /// Reads once, as much as there is room for. 0 means that the stream is at its end. Nothing is
    /// lost when this is dropped before it is done.
    ///
    /// Take all [lines](Self::next_line) before the next call: it is they that check the limit.
    ///
    /// # Errors
    ///
    /// Those of `reader`.
    pub async fn fill(&mut self, reader: &mut (impl AsyncRead + Unpin)) -> io::Result<usize> {
        if self.buffer.capacity() - self.buffer.len() < ROOM {
            // A long line is read in ever larger pieces.
            self.buffer.reserve(self.buffer.len().clamp(READ, KEEP));
        }
        reader.read_buf(&mut self.buffer).await
    }

    /// The next whole line; none when more has to be read first.
    ///
    /// # Errors
    ///
    /// When a line is longer than the limit, even before its end has come. That line is lost; the
    /// next call goes on with the one after it.
    pub fn next_line(&mut self) -> Result<Option<Bytes>, LineTooLong> {
        if self.at_start && !self.pass_mark() {
            return Ok(None);
        }
        while let Some(found) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
            let mut line = self.buffer.split_to(self.searched + found + 1);
            self.searched = 0;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            line.truncate(content(&line[..line.len() - 1]));
            if line.len() > self.limit {
                return Err(LineTooLong { limit: self.limit });
            }
            if line.len() > KEEP && self.buffer.len() <= KEEP {
                // The rest would share, and later reuse, all the memory of the long line.
                self.buffer = BytesMut::from(&self.buffer[..]);
            }
            return Ok(Some(line.freeze()));
        }
        self.searched = self.buffer.len();
        let refused = !self.skipping && content(&self.buffer) > self.limit;
        self.skipping |= refused;
        if self.skipping {
            self.buffer = BytesMut::new();
            self.searched = 0;
        }
        if refused { Err(LineTooLong { limit: self.limit }) } else { Ok(None) }
    }

    /// Leaves out the mark that the stream may begin with; false when too little of it has come to
    /// tell.
    fn pass_mark(&mut self) -> bool {
        if self.buffer.len() < MARK.len() && MARK.starts_with(&self.buffer) {
            return false;
        }
        self.at_start = false;
        if self.buffer.starts_with(MARK) {
            self.buffer.advance(MARK.len());
        }
        true
    }

    /// What stands after the last line end, when the stream is at its end: a line that lacks its
    /// end, or nothing.
    pub fn unfinished(&mut self) -> Option<Bytes> {
        self.searched = 0;
        let mut line = self.buffer.split();
        line.truncate(content(&line));
        (!line.is_empty()).then(|| line.freeze())
    }
}

impl Default for Lines {
    fn default() -> Self {
        Self::new(DEFAULT_LINE_LIMIT)
    }
}

/// A line was longer than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line is longer than the limit of {limit} bytes")]
#[non_exhaustive]
pub struct LineTooLong {
    /// The most bytes that a line may have.
    pub limit: usize,
}

/// The length of a line without the CR that belongs to its end.
fn content(line: &[u8]) -> usize {
    line.len() - usize::from(line.ends_with(b"\r"))
}
