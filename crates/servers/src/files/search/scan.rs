//! Looking through one file, piece by piece, with bounded memory.

use super::{super::mime, LineMatch};
use regex::bytes::Regex;
use std::{
    io::{self, Read},
    sync::atomic::{AtomicBool, Ordering},
};

/// How much of a file is in memory at once. A longer line is searched in pieces.
const PIECE: usize = 256 * 1024;
/// How much of a piece is looked at again with the next one, so that nothing is missed where a
/// long line is divided. More than the longest query, even with letters whose case forms differ
/// in length.
const OVERLAP: usize = 4 * 1024;
/// How much of a line is shown, in bytes, before and after the start of what was found.
const BEFORE: usize = 80;
const AFTER: usize = 160;

/// What one search may still use.
pub(super) struct Budget {
    pub(super) bytes: u64,
    pub(super) lines: usize,
}

/// What was found in a file.
#[derive(Default)]
pub(super) struct Matches {
    pub(super) lines: Vec<LineMatch>,
    pub(super) more: u64,
    pub(super) binary: bool,
}

/// Looks for `text` in the lines of `input`, keeps at most `most` of them, and takes what it uses
/// from `budget`. A budget that runs out ends the search of the file; so does `cancelled`.
pub(super) fn scan(
    input: impl Read,
    text: &Regex,
    most: usize,
    budget: &mut Budget,
    cancelled: &AtomicBool,
) -> io::Result<Matches> {
    let mut input = input.take(budget.bytes);
    let mut matches = Matches::default();
    let mut buffer = Vec::with_capacity(PIECE);
    let mut lines = LineCounter { next: 1, last_found: 0 };
    loop {
        let kept = buffer.len();
        let space = (PIECE - kept) as u64;
        let read = input.by_ref().take(space).read_to_end(&mut buffer)?;
        budget.bytes -= read as u64;
        let at_start = lines.next == 1 && kept == 0;
        if at_start && mime::is_binary(&buffer) {
            return Ok(Matches { binary: true, ..Matches::default() });
        }
        let at_end = (read as u64) < space;
        let whole = match memchr::memrchr(b'\n', &buffer) {
            _ if at_end => buffer.len(),
            Some(newline) => newline + 1,
            None => buffer.len(),
        };
        lines.search(&buffer[..whole], text, most, budget, &mut matches);
        if at_end || cancelled.load(Ordering::Relaxed) {
            return Ok(matches);
        }
        let inside_line = buffer[whole - 1] != b'\n';
        buffer.drain(..if inside_line { whole - OVERLAP } else { whole });
    }
}

/// Counts lines across pieces.
struct LineCounter {
    /// The number of the line at the start of the next piece.
    next: u64,
    /// The last line in which something was found.
    last_found: u64,
}

impl LineCounter {
    fn search(
        &mut self,
        piece: &[u8],
        text: &Regex,
        most: usize,
        budget: &mut Budget,
        matches: &mut Matches,
    ) {
        let mut counted = 0;
        let mut at = 0;
        while let Some(found) = text.find_at(piece, at) {
            self.next += newlines(&piece[counted..found.start()]);
            counted = found.start();
            let end = memchr::memchr(b'\n', &piece[found.start()..])
                .map_or(piece.len(), |newline| found.start() + newline);
            // A line divided between pieces may be found twice.
            if self.next != self.last_found {
                self.last_found = self.next;
                if matches.lines.len() < most && budget.lines > 0 {
                    budget.lines -= 1;
                    let start =
                        memchr::memrchr(b'\n', &piece[..found.start()]).map_or(0, |n| n + 1);
                    let text = excerpt(&piece[start..end], found.start() - start);
                    matches.lines.push(LineMatch { line: self.next, text });
                } else {
                    matches.more += 1;
                }
            }
            // On to the next line, if there is one.
            at = end + 1;
            if at > piece.len() {
                break;
            }
        }
        self.next += newlines(&piece[counted..]);
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// The part of `line` around `found`, without white space around it.
fn excerpt(line: &[u8], found: usize) -> String {
    let start = character_start(line, found.saturating_sub(BEFORE));
    let end = character_start(line, found + AFTER);
    let text = String::from_utf8_lossy(&line[start..end]);
    format!(
        "{}{}{}",
        if start > 0 { "…" } else { "" },
        text.trim(),
        if end < line.len() { "…" } else { "" }
    )
}

/// The start of the character that `at` lies in; `at` itself where there is no character.
fn character_start(line: &[u8], at: usize) -> usize {
    if at >= line.len() {
        return line.len();
    }
    let continues = |i: &usize| line[*i] & 0xc0 == 0x80;
    (at.saturating_sub(3)..=at).rev().find(|i| !continues(i)).unwrap_or(at)
}

#[cfg(test)]
mod tests;
