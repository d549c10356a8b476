//! Choosing among tools: how well each fits, and whether any does.

use std::ops::Range;

use super::facts::Value;
use super::fill::{Filled, Task, fill};
use super::index::{Postings, Tool};
use super::lexicon::Kind;
use super::reading::{Explained, Reading};
use super::role::Role;
use super::terms::Term;
use super::{Context, Proposal, Proposals};

/// How many of the best-ranked tools are filled and compared.
const CANDIDATES: usize = 32;
/// How many proposals are shown.
const SHOWN: usize = 3;
/// The least score of a tool that fits at all.
const FITS: f64 = 0.34;
/// What a proposal needs to be run unasked: its score, and its lead.
const SURE: f64 = 0.6;
const LEAD: f64 = 0.2;

/// The best proposals for a question.
pub(super) fn propose(postings: &Postings, question: &str, context: &Context) -> Proposals {
    let reading = Reading::new(question, Some(&context.now));
    let mut best: Vec<Proposal> = postings
        .rank(&reading.clues, CANDIDATES)
        .into_iter()
        .filter_map(|ranked| {
            let tool = postings.tools.get(ranked.tool)?;
            candidate(postings, &reading, context, ranked.tool, tool)
        })
        .collect();
    best.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.tool.cmp(&b.tool)));
    best.truncate(SHOWN);
    let scores: Vec<f64> = best.iter().map(|proposal| proposal.score).collect();
    for (at, proposal) in best.iter_mut().enumerate() {
        let next = scores.get(at + 1).copied().unwrap_or(0.0);
        proposal.margin = proposal.score - next;
        proposal.confident &=
            at == 0 && proposal.complete && proposal.score >= SURE && proposal.margin >= LEAD;
    }
    Proposals { best }
}

fn candidate(
    postings: &Postings,
    reading: &Reading,
    context: &Context,
    at: usize,
    tool: &Tool,
) -> Option<Proposal> {
    let explained = Explained::new(reading, postings, tool);
    let task = Task { reading, tool, explained: &explained, context };
    if is_unasked_change(task) {
        return None;
    }
    let filled = fill(task);
    let score = score(task, &filled);
    let accounted = is_accounted(task, &filled);
    (is_grounded(task, &filled) && score >= FITS).then_some(Proposal {
        tool: at,
        complete: filled.missing.is_empty(),
        arguments: filled.arguments,
        missing: filled.missing,
        score,
        margin: 0.0,
        confident: accounted,
    })
}

/// Something in the question is what the tool is for: enough of its words, or
/// a fact of the kind it takes.
fn is_grounded(task: Task<'_>, filled: &Filled) -> bool {
    let explained = |wanted: fn(Kind) -> bool, least: f64| {
        let units = task.reading.units.iter().enumerate();
        units.into_iter().any(|(at, unit)| wanted(unit.kind) && task.explained.unit(at) >= least)
    };
    let action = |kind| matches!(kind, Kind::Action | Kind::Change);
    // A word in passing must not send any words at all to a tool that takes
    // any words at all.
    if filled.free_text && filled.strength < 0.3 && !explained(action, 0.6) {
        return explained(|kind| kind > Kind::Weak, 0.85);
    }
    // "Write a poem" is not yet about files.
    let about = explained(|kind| matches!(kind, Kind::Object | Kind::Plain), 0.4);
    let complete = filled.missing.is_empty();
    filled.strength >= 0.7
        || (task.explained.topical >= 0.5 && (about || complete || filled.strength > 0.0))
}

/// Every word and fact of the question has its place: nothing was overlooked.
fn is_accounted(task: Task<'_>, filled: &Filled) -> bool {
    let spare = task.reading.facts.iter().zip(&filled.used).any(|(fact, used)| {
        !used
            && fact.strength() >= 0.2
            && !matches!(fact.value, Value::Date(_) | Value::LocalZone | Value::Here)
            && !filled.covers_some_of(task.reading, fact)
    });
    !spare && unexplained(task, filled) < 0.3
}

/// What speaks for a tool less what speaks against it.
fn score(task: Task<'_>, filled: &Filled) -> f64 {
    let missing = f64::from(u32::try_from(filled.missing.len()).unwrap_or(u32::MAX));
    task.explained.lexical + 0.6 * filled.strength + if filled.dictated { 0.3 } else { 0.0 }
        - 0.3 * filled.misfit
        - 0.3 * missing
        - unused(task, filled)
        - unexplained(task, filled)
}

/// Facts that the tool has no use for: a path, a formula.
fn unused(task: Task<'_>, filled: &Filled) -> f64 {
    let reading = task.reading;
    reading
        .facts
        .iter()
        .zip(&filled.used)
        .filter(|(fact, used)| {
            !**used
                && !matches!(fact.value, Value::Date(_) | Value::Quoted)
                && !filled.covers_some_of(reading, fact)
        })
        .map(|(fact, _)| fact.strength())
        .filter(|strength| *strength >= 0.3)
        .map(|strength| 0.5 * strength)
        .sum()
}

/// Words that neither the tool nor its arguments account for.
fn unexplained(task: Task<'_>, filled: &Filled) -> f64 {
    const EACH: f64 = 0.25;
    const MOST: f64 = 1.2;
    let reading = task.reading;
    // What a missing statement would say is not lost: it is what is asked for.
    let sql = |name: &str| task.tool.params.iter().any(|p| p.role == Role::Sql && p.name == name);
    if filled.missing.iter().any(|missing| sql(&missing.name)) {
        return 0.0;
    }
    let lost: f64 = reading
        .units
        .iter()
        .enumerate()
        .filter(|(at, unit)| {
            unit.kind > Kind::Weak
                && task.explained.unit(*at) < 0.25
                && !filled.covers(&unit.tokens)
                && !is_date(task, &unit.tokens)
        })
        .map(|(_, unit)| if unit.kind == Kind::Action { 0.5 * EACH } else { EACH })
        .sum();
    lost.min(MOST)
}

/// Days and hours say when a question is asked as often as what it asks for.
fn is_date(task: Task<'_>, tokens: &Range<usize>) -> bool {
    let bytes = task.reading.bytes(tokens);
    task.reading.facts.iter().any(|fact| {
        matches!(fact.value, Value::Date(_) | Value::Here | Value::LocalZone)
            && fact.overlaps(&bytes)
    })
}

/// A tool that writes, deletes or sends is not guessed: the question must name
/// what it does.
fn is_unasked_change(task: Task<'_>) -> bool {
    let changes = &task.tool.changes;
    let asks = |(term, _): &(Term, f64)| matches!(term, Term::Concept(id) if changes.contains(id));
    !changes.is_empty() && !task.reading.clues.iter().any(|clue| clue.terms.iter().any(asks))
}
