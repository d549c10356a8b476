//! Free text: what is looked for, and what is dictated.

use std::ops::Range;

use super::super::facts::{Fact, Value};
use super::super::lexicon::Kind;
use super::super::role::Role;
use super::super::schema::{Param, Shape};
use super::super::text::{Token, TokenKind};
use super::{Filled, OWN, Task, command, write};

/// Fills the first parameter that takes free text: a dictated one with what
/// follows the command, a searched one with what the question is about.
pub(super) fn fill(task: Task<'_>, filled: &mut Filled) {
    let open =
        |p: &&Param| p.shape == Shape::Text && !p.list && p.choices.is_empty() && !filled.has(p);
    let params: Vec<&Param> = task
        .tool
        .params
        .iter()
        .filter(open)
        .filter(|p| matches!(p.role, Role::Text | Role::Query))
        .collect();
    let param = params.iter().find(|p| p.required).or(params.first()).copied();
    let Some(param) = param else { return };
    let found = match param.role {
        Role::Query => searched(task, filled),
        _ => dictated(task, filled),
    };
    let Some((tokens, written)) = found else { return };
    if let Some(value) = write::accepted(param, [written]) {
        filled.put(param, value);
        filled.cover(tokens);
        filled.free_text = true;
        filled.dictated = param.role == Role::Text;
    }
}

/// What a search is for: the quotation, or the words from the first to the
/// last that the tool does not explain.
fn searched(task: Task<'_>, filled: &Filled) -> Option<(Range<usize>, String)> {
    if let Some(found) = quotation(task, filled) {
        return Some(found);
    }
    let reading = task.reading;
    let left: Vec<usize> = (0..reading.units.len())
        .filter(|at| {
            let Some(unit) = reading.units.get(*at) else { return false };
            unit.kind > Kind::Weak
                && task.explained.unit(*at) < OWN
                && !filled.is_covered(&unit.tokens)
                && !is_place_word(task, &unit.tokens)
        })
        .collect();
    let first = reading.units.get(*left.first()?)?.tokens.start;
    let mut last = reading.units.get(*left.last()?)?.tokens.end;
    // What lies behind an argument taken out of the middle is left out.
    if let Some(cut) = (first..last).find(|token| filled.covered.get(*token) == Some(&true)) {
        last = cut;
    }
    let mut tokens = trim(task, first..last);
    let lead = reading.tokens(&tokens).first().map(|t| t.lower.as_str());
    if tokens.len() > 1 && matches!(lead, Some("word" | "phrase" | "string" | "text" | "term")) {
        tokens.start += 1;
    }
    let written = reading.text.original(&reading.bytes(&tokens)).to_owned();
    (!written.is_empty()).then_some((tokens, written))
}

fn is_place_word(task: Task<'_>, tokens: &Range<usize>) -> bool {
    let bytes = task.reading.bytes(tokens);
    task.reading.facts.iter().any(|fact| fact.value == Value::Here && fact.overlaps(&bytes))
}

fn quotation(task: Task<'_>, filled: &Filled) -> Option<(Range<usize>, String)> {
    let reading = task.reading;
    reading.facts.iter().zip(&filled.used).find_map(|(fact, used)| {
        let tokens = reading.text.tokens_in(&fact.span);
        let free = !used && !filled.is_covered(&tokens);
        (fact.value == Value::Quoted && free).then(|| (tokens, fact.text.clone()))
    })
}

/// What is dictated: the question without the command before it, and without
/// where it is to go after it. Without a command there is nothing dictated.
fn dictated(task: Task<'_>, filled: &Filled) -> Option<(Range<usize>, String)> {
    let reading = task.reading;
    let (start, commanded) = command::end(task, filled);
    if !commanded {
        return command::trailing(task).or_else(|| quotation(task, filled));
    }
    let end = command::destination(task, filled, start);
    let tokens = trim(task, start..end);
    // A quotation outside what follows the command is what the command is for.
    if let Some((quoted, text)) = quotation(task, filled) {
        let apart = quoted.end <= tokens.start || tokens.end <= quoted.start;
        if apart && tokens.len() < 4 {
            return Some((quoted, text));
        }
    }
    if tokens.is_empty() {
        return command::trailing(task);
    }
    let bytes = reading.bytes(&tokens);
    let whole = reading.facts.iter().find(|fact| {
        fact.value == Value::Quoted && fact.span.start <= bytes.start && bytes.end <= fact.span.end
    });
    let written = match whole {
        Some(Fact { text, .. }) => text.clone(),
        None => reading.text.original(&bytes).to_owned(),
    };
    Some((tokens, written))
}

/// Without punctuation at either end.
pub(super) fn trim(task: Task<'_>, tokens: Range<usize>) -> Range<usize> {
    let own = task.reading.tokens(&tokens);
    let loose = |t: &&Token| {
        t.kind == TokenKind::Mark && [",", ".", ";", ":", "?", "-", "!"].contains(&t.lower.as_str())
    };
    let front = own.iter().take_while(loose).count();
    let back = own.iter().rev().take_while(loose).count();
    tokens.start + front..(tokens.end.saturating_sub(back)).max(tokens.start + front)
}
