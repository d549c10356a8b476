//! A question, read: its words, what they mean, and the facts in it.

use std::ops::Range;

use jiff::ZonedDateTime;

use super::facts::{self, Fact};
use super::index::{Postings, Tool};
use super::lexicon::{Kind, Lexicon, Unit};
use super::terms::{Clue, Term, clues};
use super::text::{Text, Token};

/// How many facts of a question are looked at: a text with more of them is no
/// question that rules can answer, and must not take long.
const FACTS: usize = 128;

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
        let mut units = Lexicon::shared().units(&text.tokens);
        ask_memory(&text.tokens, &mut units);
        let mut facts = facts::extract(&text, now);
        facts.truncate(FACTS);
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

/// "What was the name of my dentist?", "我的车牌号是多少": a question about
/// something of one's own is one for a memory. A request for advice is not.
fn ask_memory(tokens: &[Token], units: &mut [Unit]) {
    const ASKS: [&str; 6] = ["what", "which", "who", "whose", "where", "when"];
    const BE: [&str; 8] = ["is", "s", "was", "are", "were", "did", "i", "do"];
    const ASKS_ZH: [&str; 5] = ["什", "哪", "谁", "多", "几"];
    const ADVICE: [&str; 15] = [
        "should", "can", "could", "best", "better", "good", "how", "way", "why", "if", "help",
        "怎", "如", "该", "可",
    ];
    let has = |words: &[&str]| tokens.iter().any(|t| words.contains(&t.lower.as_str()));
    let english = has(&ASKS) && has(&BE) && !has(&ADVICE);
    let chinese = (has(&ASKS_ZH) || (has(&["知"]) && has(&["吗"]))) && !has(&ADVICE);
    // "我把车停在哪里了": where one has put something.
    let left = chinese && has(&["哪"]) && has(&["了"]);
    let Some(recall) = Lexicon::shared().id("recall") else { return };
    for unit in units.iter_mut().filter(|unit| unit.kind == Kind::Stop) {
        let said: String = tokens
            .get(unit.tokens.clone())
            .unwrap_or_default()
            .iter()
            .map(|t| t.lower.as_str())
            .collect();
        if (english && said == "my") || (chinese && said == "我的") || (left && said == "我") {
            unit.kind = Kind::Action;
            unit.concepts = vec![recall];
            return;
        }
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
            if again == 1.0 {
                counted.push(term);
            }
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
