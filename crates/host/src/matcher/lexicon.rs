//! Which words mean the same: the lexicon of concepts, and texts read with it.

use std::ops::Range;
use std::sync::LazyLock;

use super::phrases::{Phrases, data_lines, items};
use super::text::{Token, TokenKind};

/// The number of a concept in the lexicon.
pub(super) type ConceptId = u16;

/// How much a word says about which tool is meant, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Nothing.
    Stop,
    /// A verb that fits almost any tool.
    Weak,
    /// A word the lexicon does not know.
    Plain,
    /// What a tool is about.
    Object,
    /// What a tool does, without changing anything.
    Action,
    /// What a tool does that changes something.
    Change,
}

/// The concepts of `data/concepts.txt`.
#[derive(Debug)]
pub(super) struct Lexicon {
    names: Vec<&'static str>,
    kinds: Vec<Kind>,
    phrases: Phrases<ConceptId>,
}

/// A phrase or a single token of a text, with what the lexicon says of it.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    /// Its tokens, by number.
    pub(super) tokens: Range<usize>,
    /// Empty for a word that the lexicon does not know.
    pub(super) concepts: Vec<ConceptId>,
    /// The strongest kind among its concepts.
    pub(super) kind: Kind,
}

static LEXICON: LazyLock<Lexicon> =
    LazyLock::new(|| Lexicon::parse(include_str!("data/concepts.txt")));

impl Lexicon {
    /// The lexicon that is built in.
    pub(super) fn shared() -> &'static Self {
        &LEXICON
    }

    fn parse(data: &'static str) -> Self {
        let mut lexicon = Self { names: Vec::new(), kinds: Vec::new(), phrases: Phrases::new() };
        for line in data_lines(data) {
            let Some((head, list)) = line.split_once(':') else { continue };
            let Some((kind, name)) = head.split_once(' ') else { continue };
            let id = lexicon.intern(name, kind_named(kind));
            for phrase in items(list) {
                lexicon.phrases.insert(phrase, id);
            }
        }
        lexicon
    }

    fn intern(&mut self, name: &'static str, kind: Kind) -> ConceptId {
        if let Some(id) = self.id(name) {
            return id;
        }
        self.names.push(name);
        self.kinds.push(kind);
        u16::try_from(self.names.len() - 1).unwrap_or(u16::MAX)
    }

    /// The concept of a name.
    pub(super) fn id(&self, name: &str) -> Option<ConceptId> {
        self.names.iter().position(|n| *n == name).and_then(|at| u16::try_from(at).ok())
    }

    pub(super) fn kind(&self, id: ConceptId) -> Kind {
        self.kinds.get(usize::from(id)).copied().unwrap_or(Kind::Plain)
    }

    /// Reads a row of tokens from left to right. Punctuation is left out;
    /// everything else is in exactly one unit.
    pub(super) fn units(&self, tokens: &[Token]) -> Vec<Unit> {
        let mut units = Vec::new();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            if let Some(found) = self.phrases.at(tokens, at) {
                let kind = found.means.iter().map(|&id| self.kind(id)).max();
                units.push(Unit {
                    tokens: at..at + found.len,
                    concepts: found.means.to_vec(),
                    kind: kind.unwrap_or(Kind::Plain),
                });
                at += found.len;
                continue;
            }
            if token.kind != TokenKind::Mark {
                units.push(Unit { tokens: at..at + 1, concepts: Vec::new(), kind: Kind::Plain });
            }
            at += 1;
        }
        units
    }
}

fn kind_named(name: &str) -> Kind {
    match name {
        "stop" => Kind::Stop,
        "weak" => Kind::Weak,
        "object" => Kind::Object,
        "action" => Kind::Action,
        "change" => Kind::Change,
        _ => Kind::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matcher::text::tokenize;

    fn concepts(text: &str) -> Vec<Vec<&'static str>> {
        let lexicon = Lexicon::shared();
        lexicon
            .units(&tokenize(text))
            .into_iter()
            .filter(|unit| unit.kind > Kind::Plain)
            .map(|unit| unit.concepts.iter().map(|&id| lexicon.names[usize::from(id)]).collect())
            .collect()
    }

    #[test]
    fn every_line_of_the_data_is_understood() {
        for line in data_lines(include_str!("data/concepts.txt")) {
            let (head, list) = line.split_once(':').expect(line);
            let (kind, name) = head.split_once(' ').expect(line);
            assert_ne!(kind_named(kind), Kind::Plain, "{line}");
            assert!(!name.contains(' '), "{line}");
            assert!(items(list).count() > 0, "{line}");
        }
    }

    #[test]
    fn english_and_chinese_words_meet_in_one_concept() {
        assert_eq!(concepts("weather"), concepts("天气"));
        assert_eq!(concepts("folders"), concepts("文件夹"));
    }

    #[test]
    fn a_question_about_a_memory_is_not_an_order_to_remember() {
        assert_eq!(concepts("Do you remember"), [["recall"]]);
        assert_eq!(concepts("remember that"), [["remember"]]);
    }
}
