//! Cuts a stream of bytes into lines that end in LF, CR or CRLF.

use alloc::vec::Vec;

use memchr::memchr2;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A larger buffer than this is given back once it is empty, so that one big
/// event does not stay in memory for the life of a quiet stream.
const KEEP_CAPACITY: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct Lines {
    buf: Vec<u8>,
    /// Where the current line starts.
    start: usize,
    /// No line end lies in `start..scanned`; a long line is searched only once.
    scanned: usize,
    /// The last line ended in CR: an LF that follows belongs to it.
    skip_lf: bool,
    /// The byte order mark was removed or is known to be absent.
    begun: bool,
}

impl Lines {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buf.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
        }
        if self.buf.is_empty() && self.buf.capacity() > KEEP_CAPACITY {
            self.buf = Vec::new();
        }
        self.buf.extend_from_slice(bytes);
    }

    /// The next whole line without its end, or `None` until more bytes come.
    pub(super) fn next_line(&mut self) -> Option<&[u8]> {
        if !self.begun && !self.strip_bom() {
            return None;
        }
        if self.skip_lf {
            if *self.buf.get(self.start)? == b'\n' {
                self.start += 1;
                self.scanned = self.start;
            }
            self.skip_lf = false;
        }
        let Some(found) = memchr2(b'\r', b'\n', &self.buf[self.scanned..]) else {
            self.scanned = self.buf.len();
            return None;
        };
        let end = self.scanned + found;
        self.skip_lf = self.buf[end] == b'\r';
        let line = self.start..end;
        self.start = end + 1;
        self.scanned = self.start;
        Some(&self.buf[line])
    }

    /// Length of the line that has not ended yet.
    pub(super) fn partial_len(&self) -> usize {
        self.buf.len() - self.start
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns whether the start of the stream could be decided.
    fn strip_bom(&mut self) -> bool {
        if self.buf.starts_with(BOM) {
            self.start = BOM.len();
            self.scanned = self.start;
        } else if BOM.starts_with(&self.buf) {
            return false;
        }
        self.begun = true;
        true
    }
}
