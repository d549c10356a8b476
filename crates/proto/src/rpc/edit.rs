//! Rewriting a message as a list of replaced spans.

use super::Span;
use alloc::vec::Vec;
use bytes::Bytes;

/// Replacements to apply to one message when it is written.
///
/// Everything between them is copied as it was received, so that unknown
/// members, their order and the text of numbers survive.
#[derive(Clone, Debug, Default)]
pub struct Edits {
    list: Vec<(Span, Bytes)>,
    removed: Vec<Span>,
}

impl Edits {
    /// No replacements.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty() && self.removed.is_empty()
    }

    /// Puts `text` in the place of what `span` holds.
    pub fn replace(&mut self, span: Span, text: impl Into<Bytes>) {
        self.list.push((span, text.into()));
    }

    /// Puts `text` before byte `at`.
    pub fn insert(&mut self, at: usize, text: impl Into<Bytes>) {
        self.list.push((Span::new(at, at), text.into()));
    }

    /// Takes a whole member (name, colon, value) out of its object, with the
    /// comma that joins it to a neighbour.
    pub fn remove_member(&mut self, member: Span) {
        self.removed.push(member);
    }

    /// Writes `source` with the replacements made. Of two that overlap the
    /// one that starts first wins, so a removed object takes its edits along;
    /// what is inserted where a replacement starts comes before it.
    pub fn apply(mut self, source: &[u8], out: &mut Vec<u8>) {
        self.widen(source);
        let order = |span: Span| {
            let inserts = span.start() == span.end();
            (span.start(), !inserts, core::cmp::Reverse(span.end()))
        };
        self.list.sort_by_key(|(span, _)| order(*span));
        let added: usize = self.list.iter().map(|(_, text)| text.len()).sum();
        out.reserve(source.len() + added);
        let mut at = 0;
        for (span, text) in &self.list {
            if span.start() < at {
                continue;
            }
            out.extend_from_slice(&source[at..span.start()]);
            out.extend_from_slice(text);
            at = span.end();
        }
        out.extend_from_slice(&source[at..]);
    }

    /// Turns removed members into spans that take exactly one comma along for
    /// each run of neighbours, whichever end of the object the run is at.
    fn widen(&mut self, source: &[u8]) {
        self.removed.sort_by_key(|span| span.start());
        let mut runs: Vec<Span> = Vec::new();
        for &member in &self.removed {
            match runs.last_mut() {
                Some(run) if member.start() < run.end() => {}
                Some(run) if only_comma(&source[run.end()..member.start()]) => {
                    *run = Span::new(run.start(), member.end());
                }
                _ => runs.push(member),
            }
        }
        let list = runs.into_iter().map(|run| (with_comma(source, run), Bytes::new()));
        self.list.extend(list);
    }
}

fn only_comma(between: &[u8]) -> bool {
    between.trim_ascii() == b","
}

/// Widens a span over the comma after it, or else the one before it.
fn with_comma(source: &[u8], member: Span) -> Span {
    let after = source[member.end()..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    let after = member.end() + after;
    if source.get(after) == Some(&b',') {
        return Span::new(member.start(), after + 1);
    }
    match source[..member.start()].trim_ascii_end() {
        [before @ .., b','] => Span::new(before.len(), member.end()),
        _ => member,
    }
}
