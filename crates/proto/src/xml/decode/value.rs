//! The parameters of `<function=NAME>`, whose values are neither escaped nor JSON.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::tag::{TagReader, TagStep};

/// Parameters read so far, with their values as places in the request.
///
/// A value may hold anything, even an example of this very form. It ends at the
/// `</parameter>` that is followed by another parameter or by the end of the function,
/// and that does not belong to a `<parameter=…>` inside of it.
#[derive(Debug)]
pub(super) struct Values {
    pairs: Vec<(String, Range<usize>)>,
    /// The parameter being read.
    key: String,
    start: usize,
    /// Parameters opened inside the value.
    depth: usize,
    /// Where the value ends, unless text follows.
    end: Option<usize>,
    tag: Option<(TagReader, usize)>,
}

impl Values {
    pub(super) fn new() -> Self {
        Self { pairs: Vec::new(), key: String::new(), start: 0, depth: 0, end: None, tag: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    pub(super) fn pairs(&self) -> &[(String, Range<usize>)] {
        &self.pairs
    }

    /// Starts the value of `key` at byte `start`.
    pub(super) fn open(&mut self, key: String, start: usize) {
        self.key = key;
        self.start = start;
        self.depth = 0;
        self.end = None;
        self.tag = None;
    }

    /// Takes one character, which stands at byte `at` and ends at byte `end`. True when
    /// it ends the function.
    pub(super) fn feed(&mut self, c: char, at: usize, end: usize) -> bool {
        let Some((mut reader, start)) = self.tag.take() else {
            self.feed_text(c, at);
            return false;
        };
        match reader.feed(c) {
            TagStep::More => self.tag = Some((reader, start)),
            TagStep::Done(tag) => {
                let parameter = tag.opens("parameter").then_some(tag.value.as_ref()).flatten();
                match (self.end.take(), parameter) {
                    (Some(value_end), Some(next)) => {
                        self.close(value_end);
                        self.open(next.clone(), end);
                    }
                    (Some(value_end), None) if tag.closes("function") => {
                        self.close(value_end);
                        return true;
                    }
                    (_, Some(_)) => self.depth += 1,
                    (_, None) if tag.closes("parameter") => match self.depth.checked_sub(1) {
                        Some(depth) => self.depth = depth,
                        None => self.end = Some(start),
                    },
                    _ => {}
                }
            }
            TagStep::Comment | TagStep::Cdata => self.end = None,
            TagStep::NotATag => {
                self.end = None;
                self.feed_text(c, at);
            }
        }
        false
    }

    fn feed_text(&mut self, c: char, at: usize) {
        if c == '<' {
            self.tag = Some((TagReader::bare(), at));
        } else if !c.is_whitespace() {
            self.end = None;
        }
    }

    fn close(&mut self, end: usize) {
        self.pairs.push((core::mem::take(&mut self.key), self.start..end));
    }
}
