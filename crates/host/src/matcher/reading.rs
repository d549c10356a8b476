//! A question, read: its words, what they mean, and the facts in it.

use std::ops::Range;

use jiff::ZonedDateTime;

use super::facts::{self, Fact};
use super::index::{Postings, Tool};
use super::lexicon::{Kind, Lexicon, Unit};
use super::terms::{Clue, Term, clues};
use super::text::{Text, Token};

/// A question, read once for all tools.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) text: Text,
    pub(super) units: Vec<Unit>,
    pub(super) facts: Vec<Fact>,
    pub(super) clues: Vec<Clue>,
}

impl Reading {
    pub(super) fn new(question: &str, now: Option<&ZonedDateTime>) -> Self {
        let text = Text::new(question);
        let units = Lexicon::shared().units(&text.tokens);
        let facts = facts::extract(&text, now);
        let clues = clues(&text.tokens, &units, &facts);
        Self { text, units, facts, clues }
    }

    pub(super) fn tokens(&self, range: &Range<usize>) -> &[Token] {
        self.text.tokens.get(range.clone()).unwrap_or_default()
    }

    /// The bytes of the normalised question that a row of tokens takes.
    pub(super) fn bytes(&self, tokens: &Range<usize>) -> Range<usize> {
        let own = self.tokens(tokens);
        match (own.first(), own.last()) {
            (Some(first), Some(last)) => first.span.start..last.span.end,
            _ => 0..0,
        }
    }

    /// The unit that has a token, by number.
    pub(super) fn unit_of(&self, token: usize) -> Option<usize> {
        let at = self.units.partition_point(|unit| unit.tokens.end <= token);
        self.units.get(at).filter(|unit| unit.tokens.contains(&token)).map(|_| at)
    }
}

/// How much a term counts that has counted before.
const REPEATED: f64 = 0.3;

/// How one tool explains a question.
#[derive(Debug)]
pub(super) struct Explained {
    /// By unit: the weight with which the tool's own words explain it.
    pub(super) units: Vec<f64>,
    /// What the words have in common, rare ones counting more.
    pub(super) lexical: f64,
    /// The same without regard to the other tools, and only of words that say
    /// something.
    pub(super) topical: f64,
}

impl Explained {
    pub(super) fn new(reading: &Reading, postings: &Postings, tool: &Tool) -> Self {
        let mut explained =
            Self { units: vec![0.0; reading.units.len()], lexical: 0.0, topical: 0.0 };
        let mut counted: Vec<&Term> = Vec::new();
        for clue in &reading.clues {
            let best = clue
                .terms
                .iter()
                .map(|(term, factor)| (term, factor * postings.weight(tool, term)))
                .max_by(|a, b| a.1.total_cmp(&b.1))
                .filter(|(_, weight)| *weight > 0.0);
            let Some((term, weight)) = best else { continue };
            for unit in clue.tokens.clone().filter_map(|token| reading.unit_of(token)) {
                if let Some(slot) = explained.units.get_mut(unit) {
                    *slot = slot.max(weight);
                }
            }
            // What was said in other words before adds less.
            let again = if counted.contains(&term) { REPEATED } else { 1.0 };
            counted.push(term);
            explained.lexical += again * clue.weight * weight * postings.rarity(term);
            if clue.kind > Kind::Weak {
                explained.topical += again * clue.weight * weight;
            }
        }
        explained
    }

    pub(super) fn unit(&self, at: usize) -> f64 {
        self.units.get(at).copied().unwrap_or(0.0)
    }
}
