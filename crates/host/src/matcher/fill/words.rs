//! What the words of a question say about parameters: choices, switches, and
//! the words beside a value.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value as Json;

use super::super::facts::units::Units;
use super::super::facts::{Fact, Value};
use super::super::lexicon::{ConceptId, Kind, Lexicon};
use super::super::phrases::{data_lines, items};
use super::super::schema::{Param, Shape};
use super::super::text::{Token, TokenKind, split_identifier, tokenize};
use super::{Filled, Task};

/// The words before and after a value that tell which parameter it is for.
#[derive(Debug, Default)]
struct Cues {
    before: Vec<&'static str>,
    after: Vec<&'static str>,
}

static CUES: LazyLock<HashMap<&'static str, Cues>> = LazyLock::new(|| {
    data_lines(include_str!("../data/cues.txt"))
        .filter_map(|line| {
            let mut fields = line.split('|').map(str::trim);
            let word = fields.next()?;
            let before = items(fields.next()?).collect();
            let after = items(fields.next().unwrap_or_default()).collect();
            Some((word, Cues { before, after }))
        })
        .collect()
});

/// Fills parameters that choose from a list of values, and switches, from the
/// words of the question.
pub(super) fn choices_and_flags(task: Task<'_>, filled: &mut Filled) {
    for param in &task.tool.params {
        if param.shape == Shape::Bool && !param.list {
            flag(task, filled, param);
        } else if !param.choices.is_empty() {
            choice(task, filled, param);
        }
    }
}

fn choice(task: Task<'_>, filled: &mut Filled, param: &Param) {
    let mut found: Vec<(usize, std::ops::Range<usize>, &Json)> = Vec::new();
    for value in &param.choices {
        let word = match value {
            Json::String(text) => split_identifier(text),
            Json::Number(number) => number.to_string(),
            _ => continue,
        };
        if let Some(tokens) = named_at(task, &word) {
            found.push((tokens.len(), tokens, value));
        }
    }
    found.sort_by_key(|(len, tokens, _)| (std::cmp::Reverse(*len), tokens.start));
    if param.list {
        if !found.is_empty() {
            let values = found.iter().map(|(_, _, value)| (*value).clone()).collect();
            filled.put(param, Json::Array(values));
        }
        found.into_iter().for_each(|(_, tokens, _)| filled.cover(tokens));
    } else if let Some((_, tokens, value)) = found.into_iter().next() {
        filled.put(param, value.clone());
        filled.cover(tokens);
    }
}

/// Where the question names a value: by the same words, or as the same unit.
fn named_at(task: Task<'_>, value: &str) -> Option<std::ops::Range<usize>> {
    let words = tokenize(value);
    let tokens = &task.reading.text.tokens;
    let len = words.len();
    if len == 0 {
        return None;
    }
    let same = |window: &[Token]| window.iter().zip(&words).all(|(a, b)| a.stem == b.stem);
    if let Some(at) = tokens.windows(len).position(same) {
        return Some(at..at + len);
    }
    // Words of one broad meaning are not the same value; names of a unit are.
    let (wanted, _) = Units::shared().named(&words, 0)?;
    task.reading.facts.iter().find_map(|fact| match fact.value {
        Value::Unit(said) if said == wanted => Some(task.reading.text.tokens_in(&fact.span)),
        _ => None,
    })
}

/// "recursively" sets `recursive`; "without", "no" and "not" before it clear it.
fn flag(task: Task<'_>, filled: &mut Filled, param: &Param) {
    let name = tokenize(&split_identifier(&param.name));
    let words: Vec<&Token> = name
        .iter()
        .filter(|t| {
            !["is", "include", "use", "with", "show", "enable", "flag"].contains(&t.lower.as_str())
        })
        .collect();
    let tokens = &task.reading.text.tokens;
    if words.is_empty() || words.iter().all(|w| w.lower.len() < 3) {
        return;
    }
    let said = |window: &[Token]| window.iter().zip(&words).all(|(a, b)| a.stem == b.stem);
    let Some(at) = tokens.windows(words.len()).position(said) else { return };
    let before = at.checked_sub(1).and_then(|i| tokens.get(i)).map(|t| t.lower.as_str());
    let negated = matches!(before, Some("no" | "not" | "without" | "不" | "非"));
    // A word that the tool is about anyway does not set a switch.
    let topic = task.reading.unit_of(at).is_some_and(|u| task.explained.unit(u) >= 0.8);
    if topic && !negated {
        return;
    }
    filled.put(param, Json::Bool(!negated));
    filled.cover(at..at + words.len());
}

/// The concepts in an identifier or a phrase.
pub(super) fn concepts(text: &str) -> Vec<ConceptId> {
    let tokens = tokenize(&split_identifier(text));
    let units = Lexicon::shared().units(&tokens);
    units.into_iter().filter(|u| u.kind > Kind::Plain).flat_map(|unit| unit.concepts).collect()
}

/// How strongly some tokens name a parameter: 0.5 for its word, 0.45 for a
/// word of the same meaning.
pub(super) fn names(param: &Param, tokens: &[Token]) -> f64 {
    let own = tokenize(&split_identifier(&param.name));
    let plain = |t: &&Token| t.lower.len() > 1 || t.kind == TokenKind::Cjk;
    if tokens.iter().filter(plain).any(|t| own.iter().any(|o| o.stem == t.stem)) {
        return 0.5;
    }
    let mine = concepts(&param.name);
    let lexicon = Lexicon::shared();
    let same = lexicon
        .units(tokens)
        .iter()
        .filter(|unit| unit.kind > Kind::Plain)
        .any(|unit| unit.concepts.iter().any(|id| mine.contains(id)));
    if same { 0.45 } else { 0.0 }
}

/// What the words just before a value say for a parameter: its own name, or a
/// cue. A word further off counts less; another clause ends the search.
pub(super) fn before(task: Task<'_>, param: &Param, at: usize) -> f64 {
    const REACH: usize = 3;
    let start = at.saturating_sub(REACH);
    let tokens = task.reading.tokens(&(start..at));
    let mut score: f64 = 0.0;
    for (distance, token) in tokens.iter().rev().enumerate() {
        if is_barrier(token) {
            break;
        }
        let far = 1.0 - 0.25 * f64::from(u32::try_from(distance).unwrap_or(u32::MAX));
        let cue = cues(param).any(|c| c.before.contains(&token.lower.as_str()));
        let named = names(param, std::slice::from_ref(token));
        score = score.max(far * if cue { 0.4 } else { named });
    }
    score
}

/// The same for the words just after a value.
pub(super) fn after(task: Task<'_>, param: &Param, at: usize) -> f64 {
    const REACH: usize = 2;
    let end = (at + REACH).min(task.reading.text.tokens.len());
    let mut score: f64 = 0.0;
    for (distance, token) in task.reading.tokens(&(at..end)).iter().enumerate() {
        if is_barrier(token) {
            break;
        }
        let far = 1.0 - 0.25 * f64::from(u32::try_from(distance).unwrap_or(u32::MAX));
        let cue = cues(param).any(|c| c.after.contains(&token.lower.as_str()));
        let named = names(param, std::slice::from_ref(token));
        score = score.max(far * if cue { 0.4 } else { named });
    }
    score
}

fn cues(param: &Param) -> impl Iterator<Item = &'static Cues> {
    tokenize(&split_identifier(&param.name))
        .into_iter()
        .filter_map(|token| CUES.get(token.lower.as_str()))
}

/// What ends the neighbourhood of a value.
fn is_barrier(token: &Token) -> bool {
    let word = token.lower.as_str();
    ["and", "or", ",", ";", ".", "和", "与", "及"].contains(&word)
        || token.kind == TokenKind::Number
}

/// "The last 5", "top 10", "前3条": a number that limits how much is returned,
/// for a parameter that takes such a limit.
pub(super) fn is_limit(task: Task<'_>, param: &Param, fact: &Fact) -> bool {
    const PARAMS: [&str; 10] =
        ["limit", "max", "count", "top", "n", "num", "number", "first", "head", "results"];
    const SIGNS: [&str; 8] = ["last", "first", "top", "latest", "newest", "recent", "前", "近"];
    let takes =
        tokenize(&split_identifier(&param.name)).iter().any(|t| PARAMS.contains(&t.lower.as_str()));
    let start = task.reading.text.tokens_in(&fact.span).start;
    let tokens = task.reading.tokens(&(start.saturating_sub(1)..start));
    takes && tokens.iter().any(|t| SIGNS.contains(&t.lower.as_str()))
}
