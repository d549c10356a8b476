//! Where in the model's text we are: plain prose, or something that only shows text.
//!
//! This follows Markdown as far as it matters for telling a request from an example:
//! code fences, inline code, quotations; and a few HTML elements. It is fed every
//! character once and keeps no text.

use super::data::{self, Data};
use super::event::Shown;
use super::region::Elements;

/// Inline code of fewer backticks ends with its paragraph; a longer run in the middle
/// of a line is a fence that was not put on a line of its own, and does not.
const FENCE: usize = 3;

#[derive(Debug)]
pub(super) struct Tracker {
    phase: Phase,
    /// The code fence that is open.
    fence: Option<Mark>,
    /// Whether this line, or before its first character the line before, is part of a
    /// block quotation.
    quoted: bool,
    /// Whether this line began with `>`.
    marker: bool,
    /// Backticks that opened inline code.
    span: Option<usize>,
    /// Backticks read just now.
    ticks: usize,
    /// The quotation mark that closes the quotation we are in.
    closing_mark: Option<char>,
    elements: Elements,
    data: Data,
    blank: bool,
    /// The last character of text on this line, before the current one.
    before: Option<char>,
    last: Option<char>,
    previous: char,
    before_previous: char,
    region: u32,
}

/// A run of backticks or tildes.
#[derive(Clone, Copy, Debug)]
struct Mark {
    of: char,
    size: usize,
}

/// How far into its line the text is.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// White space, `>` and list markers.
    Indent,
    /// A list marker whose blank is still to come.
    Bullet,
    /// The digits of a list marker.
    Number,
    /// A run that may open or close a fence.
    Run(Mark),
    /// After a run that opens a fence, unless a backtick follows on this line.
    Info(Mark),
    /// After a run that closes the fence, unless text follows on this line.
    Tail,
    Body,
}

/// What a character is, seen by a request that stands in a quotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fed {
    Content,
    /// The `>` of a block quotation.
    Marker,
}

impl Tracker {
    pub(super) fn new() -> Self {
        Self {
            phase: Phase::Indent,
            fence: None,
            quoted: false,
            marker: false,
            span: None,
            ticks: 0,
            closing_mark: None,
            elements: Elements::new(),
            data: Data::new(),
            blank: true,
            before: None,
            last: None,
            previous: '\n',
            before_previous: '\n',
            region: 0,
        }
    }

    /// Takes one character. `in_request` says that it belongs to a request shown as an
    /// example, whose own quotes mean nothing to the text around it.
    pub(super) fn feed(&mut self, c: char, in_request: bool) -> Fed {
        match self.data.feed(c) {
            data::Fed::Said => return self.feed_said(c, in_request),
            // The tag is a word of the message, whatever it opens.
            data::Fed::Begins => {
                self.feed_said('>', in_request);
            }
            data::Fed::Named => return self.feed_said(c, in_request),
            data::Fed::Data => {}
            data::Fed::Ends => self.region += 1,
        }
        self.before_previous = self.previous;
        self.previous = c;
        Fed::Content
    }

    /// Takes one character of what the model says itself.
    fn feed_said(&mut self, c: char, in_request: bool) -> Fed {
        self.before = self.last;
        let fed = if self.elements.shown().is_some() {
            self.in_element(c);
            Fed::Content
        } else if c == '\n' {
            self.end_line(in_request);
            Fed::Content
        } else {
            self.in_line(c, in_request)
        };
        if !c.is_whitespace() && fed == Fed::Content {
            self.blank = false;
            if !matches!(self.phase, Phase::Indent | Phase::Bullet | Phase::Number) {
                self.last = Some(c);
            }
        }
        self.before_previous = self.previous;
        self.previous = c;
        fed
    }

    /// What kind of example the character just fed stands in.
    pub(super) fn shown(&self) -> Option<Shown> {
        if self.data.is_open() {
            return Some(if self.data.is_cdata() { Shown::Cdata } else { Shown::Result });
        }
        if let Some(shown) = self.elements.shown() {
            return Some(shown);
        }
        if self.fence.is_some() {
            return Some(Shown::Fence);
        }
        if let Phase::Info(_) = self.phase {
            return Some(Shown::Fence);
        }
        if self.quoted && self.marker {
            return Some(Shown::Quotation);
        }
        if self.span.is_some() {
            return Some(Shown::Code);
        }
        // A single quote is an apostrophe more often than not: only right before it
        // does it quote.
        let quote = self.closing_mark.is_some() || self.before_previous == '\'';
        quote.then_some(Shown::Quotation)
    }

    /// Changes whenever a region that shows things ends.
    pub(super) fn region(&self) -> u32 {
        self.region
    }

    /// The last character of text on this line before the one just fed.
    pub(super) fn text_before(&self) -> Option<char> {
        self.before
    }

    /// Whether the character just fed is the first of its line, or follows a blank
    /// that follows the end of a sentence or clause.
    pub(super) fn starts_something(&self) -> bool {
        match self.before {
            None => true,
            Some(last) => {
                self.before_previous.is_whitespace() && (ends_sentence(last) || is_colon(last))
            }
        }
    }

    /// Whether a backslash stands right before the character just fed.
    pub(super) fn escaped(&self) -> bool {
        self.before_previous == '\\'
    }

    /// Where data begins and ends, as far as that is known.
    pub(super) fn data(&self) -> &Data {
        &self.data
    }

    /// Tells that a request was taken out of the text that cannot be read: data may have
    /// begun in it.
    pub(super) fn after_refused(&mut self, data: Data) {
        self.data = data;
    }

    /// Tells that a request has been taken out of the text here.
    pub(super) fn after_request(&mut self, several_lines: bool) {
        if several_lines {
            self.last = None;
            self.before = None;
        }
        self.phase = Phase::Body;
        self.blank = false;
        self.previous = '>';
        self.before_previous = '>';
        self.ticks = 0;
        self.closing_mark = None;
    }

    fn end_line(&mut self, in_request: bool) {
        match (self.phase, self.fence) {
            (Phase::Run(run), Some(fence)) if run.of == fence.of && run.size >= fence.size => {
                self.close_fence();
            }
            (Phase::Tail, _) => self.close_fence(),
            (Phase::Run(run), None) if self.opens_fence(run) => self.open_fence(run),
            (Phase::Run(run), None) if run.of == '`' => self.ticks = run.size,
            (Phase::Info(run), None) => self.open_fence(run),
            _ => {}
        }
        self.end_ticks();
        if self.blank && self.fence.is_none() {
            self.end_paragraph();
        } else if self.closing_mark == Some('"') && !in_request {
            self.closing_mark = None;
        }
        self.phase = Phase::Indent;
        self.blank = true;
        self.last = None;
        self.before = None;
        self.marker = false;
    }

    /// Inside an element only its end means anything.
    fn in_element(&mut self, c: char) {
        let blank = c == '\n' && self.blank;
        if self.elements.feed(c) || (blank && self.elements.end_paragraph()) {
            self.region += 1;
        }
        self.phase = if c == '\n' { Phase::Indent } else { Phase::Body };
        if c == '\n' {
            self.blank = true;
            self.last = None;
        }
    }

    fn end_paragraph(&mut self) {
        self.end_short_span();
        if self.closing_mark.take().is_some() {
            self.region += 1;
        }
        self.end_quotation();
    }

    fn end_quotation(&mut self) {
        if self.quoted && !self.marker {
            self.quoted = false;
            self.span = None;
            self.region += 1;
        }
    }

    fn end_short_span(&mut self) {
        if self.span.is_some_and(|size| size < FENCE) {
            self.span = None;
            self.region += 1;
        }
    }

    /// Whether a run at the beginning of a line opens a fence. It does even in the
    /// middle of inline code (which then was none), unless it closes such code.
    fn opens_fence(&self, run: Mark) -> bool {
        run.size >= FENCE && self.span != Some(run.size)
    }

    fn open_fence(&mut self, run: Mark) {
        self.fence = Some(run);
        if self.span.take().is_some() {
            self.region += 1;
        }
    }

    fn close_fence(&mut self) {
        self.fence = None;
        self.region += 1;
    }

    fn in_line(&mut self, c: char, in_request: bool) -> Fed {
        let plain = self.fence.is_none();
        match self.phase {
            Phase::Indent if c.is_whitespace() => {}
            Phase::Indent if c == '>' && plain => {
                self.quoted = true;
                self.marker = true;
                return Fed::Marker;
            }
            Phase::Indent => {
                self.end_quotation();
                self.phase = match c {
                    // A quotation shows all that is in it, fences too.
                    '`' | '~' if !self.marker => Phase::Run(Mark { of: c, size: 1 }),
                    '-' | '*' | '+' if plain => Phase::Bullet,
                    _ if c.is_ascii_digit() && plain => Phase::Number,
                    _ => {
                        self.in_body(c, in_request);
                        Phase::Body
                    }
                };
            }
            Phase::Bullet if c.is_whitespace() => {
                self.end_short_span();
                self.phase = Phase::Indent;
            }
            Phase::Number if c.is_ascii_digit() => {}
            Phase::Number if matches!(c, '.' | ')') => self.phase = Phase::Bullet,
            Phase::Run(run) if run.of == c => {
                self.phase = Phase::Run(Mark { size: run.size.saturating_add(1), ..run });
            }
            Phase::Run(run) => self.after_run(run, c, in_request),
            Phase::Info(run) if run.of == '`' && c == '`' => {
                self.span = Some(run.size);
                self.phase = Phase::Body;
                self.in_body(c, in_request);
            }
            Phase::Tail | Phase::Info(_) if c.is_whitespace() => {}
            Phase::Info(_) => {}
            Phase::Bullet | Phase::Number | Phase::Tail | Phase::Body => {
                self.phase = Phase::Body;
                self.in_body(c, in_request);
            }
        }
        Fed::Content
    }

    fn after_run(&mut self, run: Mark, c: char, in_request: bool) {
        self.phase = match self.fence {
            Some(fence) if run.of == fence.of && run.size >= fence.size && c.is_whitespace() => {
                Phase::Tail
            }
            Some(_) => Phase::Body,
            None if self.opens_fence(run) => Phase::Info(run),
            None => {
                if run.of == '`' {
                    self.ticks = run.size;
                }
                self.in_body(c, in_request);
                Phase::Body
            }
        };
    }

    fn in_body(&mut self, c: char, in_request: bool) {
        if self.fence.is_some() {
            return;
        }
        if c == '`' {
            // In inline code a backslash escapes nothing.
            if self.ticks > 0 || self.span.is_some() || self.previous != '\\' {
                self.ticks += 1;
            }
            return;
        }
        self.end_ticks();
        if self.span.is_some() {
            return;
        }
        self.elements.feed(c);
        if !in_request {
            self.follow_marks(c);
        }
    }

    fn end_ticks(&mut self) {
        match (core::mem::take(&mut self.ticks), self.span) {
            (0, _) => {}
            (size, None) => self.span = Some(size),
            (size, Some(open)) if size == open => {
                self.span = None;
                self.region += 1;
            }
            _ => {}
        }
    }

    fn follow_marks(&mut self, c: char) {
        if let Some(close) = self.closing_mark {
            if c == close {
                self.closing_mark = None;
                self.region += 1;
            }
            return;
        }
        self.closing_mark = match c {
            '"' if opens_after(self.previous) => Some('"'),
            '\u{201c}' => Some('\u{201d}'),
            '\u{201e}' => Some('\u{201c}'),
            '\u{2018}' => Some('\u{2019}'),
            '\u{ab}' => Some('\u{bb}'),
            '\u{2039}' => Some('\u{203a}'),
            '\u{300c}' => Some('\u{300d}'),
            '\u{300e}' => Some('\u{300f}'),
            '\u{300a}' => Some('\u{300b}'),
            _ => None,
        };
    }
}

/// Whether a straight double quote after `previous` opens a quotation rather than
/// closing one or meaning inches.
fn opens_after(previous: char) -> bool {
    previous.is_whitespace()
        || matches!(previous, '(' | '[' | '{' | '=' | ':' | '\u{ff1a}' | '*' | '_')
}

/// Whether a sentence may end with `c`.
pub(super) fn ends_sentence(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '\u{2026}' | '\u{3002}' | '\u{ff01}' | '\u{ff1f}' | '\u{ff0e}')
}

fn is_colon(c: char) -> bool {
    matches!(c, ':' | '\u{ff1a}')
}
