//! Short names: the words of a question that nothing else explains.

use std::ops::Range;

use super::super::assign;
use super::super::facts::{Fact, PathKind, Value};
use super::super::lexicon::{Kind, Lexicon};
use super::super::role::Role;
use super::super::schema::{Param, Shape};
use super::super::text::TokenKind;
use super::{Filled, OWN, PAIRED, Task, words, write};

/// Fills parameters that take a short name from the words that are left when
/// everything the tool itself explains is taken away.
pub(super) fn fill(task: Task<'_>, filled: &mut Filled) {
    let params: Vec<&Param> = task
        .tool
        .params
        .iter()
        .filter(|p| takes_name(p) && !filled.has(p))
        .filter(|p| p.required || matches!(p.role, Role::Place | Role::Folder | Role::Path))
        .take(PAIRED)
        .collect();
    if params.is_empty() {
        return;
    }
    let mut chunks: Vec<Range<usize>> = chunks(task, filled).into_iter().take(PAIRED).collect();
    let needed = params.iter().filter(|p| p.required).count();
    while chunks.len() < needed && split_one(task, &mut chunks) {}
    let scores: Vec<Vec<f64>> = params
        .iter()
        .enumerate()
        .map(|(row, param)| {
            chunks
                .iter()
                .enumerate()
                .map(|(column, chunk)| chunk_score(task, param, chunk, row.abs_diff(column)))
                .collect()
        })
        .collect();
    for (row, column) in assign::best(&scores).into_iter().enumerate() {
        let (Some(param), Some(chunk)) = (params.get(row), column.and_then(|c| chunks.get(c)))
        else {
            continue;
        };
        let chunk = without_particle(task, chunk);
        let written = task.reading.text.original(&task.reading.bytes(&chunk)).to_owned();
        if let Some(value) = write::accepted(param, [written]) {
            filled.put(param, value);
            filled.cover(chunk);
        }
    }
}

/// 翻译成英语: the particle that leads to a name is not part of it.
fn without_particle(task: Task<'_>, chunk: &Range<usize>) -> Range<usize> {
    let lead = task.reading.tokens(chunk).first().map(|t| t.lower.as_str());
    let particle = chunk.len() > 1 && matches!(lead, Some("成" | "为" | "到" | "至"));
    chunk.start + usize::from(particle)..chunk.end
}

fn takes_name(param: &Param) -> bool {
    use Role::{Folder, Name, Open, Path, Place};
    let role = matches!(param.role, Name | Open | Place | Folder | Path);
    role && param.shape == Shape::Text && !param.list && param.choices.is_empty()
}

/// Runs of words that nothing explains. Words joined by a hyphen, a dot, a
/// slash or nothing at all make one name.
fn chunks(task: Task<'_>, filled: &Filled) -> Vec<Range<usize>> {
    let reading = task.reading;
    let named = named_like_files(task, filled);
    let mut chunks: Vec<Range<usize>> = Vec::new();
    for (at, unit) in reading.units.iter().enumerate() {
        if is_quoted(task, &unit.tokens) {
            continue;
        }
        let known = named.iter().any(|c| c.start < unit.tokens.end && unit.tokens.start < c.end);
        if known || !is_left(task, filled, at) || is_date(task, &unit.tokens) {
            continue;
        }
        match chunks.last_mut() {
            Some(last) if joined(task, last.end, unit.tokens.start) => last.end = unit.tokens.end,
            _ => chunks.push(unit.tokens.clone()),
        }
    }
    chunks.extend(named);
    chunks.sort_by_key(|chunk| chunk.start);
    chunks
}

/// Splits the first chunk of several words after its first word: "Svelte
/// stores" names two things where two are asked for.
fn split_one(task: Task<'_>, chunks: &mut Vec<Range<usize>>) -> bool {
    let tokens = &task.reading.text.tokens;
    let seam = |chunk: &Range<usize>| {
        (chunk.start + 1..chunk.end).find(|at| {
            let pair = (tokens.get(at - 1), tokens.get(*at));
            matches!(pair, (Some(a), Some(b)) if a.span.end < b.span.start)
        })
    };
    let Some((at, cut)) = chunks.iter().enumerate().find_map(|(at, c)| Some((at, seam(c)?))) else {
        return false;
    };
    if let Some(chunk) = chunks.get_mut(at) {
        let rest = cut..chunk.end;
        chunk.end = cut;
        chunks.insert(at + 1, rest);
    }
    true
}

/// Names that look like something else: `Next.js` is a library as well as a
/// file.
fn named_like_files(task: Task<'_>, filled: &Filled) -> Vec<Range<usize>> {
    let text = &task.reading.text;
    let like = |fact: &&Fact| {
        matches!(fact.value, Value::Path(PathKind::File | PathKind::Doubtful))
            && !fact.text.starts_with(['/', '.', '~'])
    };
    let found = task.reading.facts.iter().filter(like).map(|fact| text.tokens_in(&fact.span));
    found.filter(|tokens| !filled.is_covered(tokens)).collect()
}

fn is_left(task: Task<'_>, filled: &Filled, at: usize) -> bool {
    let Some(unit) = task.reading.units.get(at) else { return false };
    let content = match unit.kind {
        Kind::Plain | Kind::Object => true,
        // A verb that opens the question is the command; a later one may be
        // the name of something.
        Kind::Action | Kind::Change => {
            let latin = task.reading.tokens(&unit.tokens).iter().all(|t| t.kind == TokenKind::Word);
            let before = task.reading.units.iter().take(at);
            let memory = Lexicon::shared().id("recall").is_some_and(|id| unit.concepts == [id]);
            latin
                && !memory
                && unit.tokens.len() == 1
                && before.into_iter().any(|unit| unit.kind > Kind::Weak)
        }
        Kind::Stop | Kind::Weak => false,
    };
    content && task.explained.unit(at) < OWN && !filled.is_covered(&unit.tokens)
}

/// A quotation is a fact of its own.
fn is_quoted(task: Task<'_>, tokens: &Range<usize>) -> bool {
    let bytes = task.reading.bytes(tokens);
    task.reading.facts.iter().any(|fact| fact.value == Value::Quoted && fact.overlaps(&bytes))
}

fn is_date(task: Task<'_>, tokens: &Range<usize>) -> bool {
    let bytes = task.reading.bytes(tokens);
    task.reading.facts.iter().any(|fact| {
        matches!(fact.value, Value::Date(_) | Value::Time(_) | Value::Here | Value::LocalZone)
            && fact.overlaps(&bytes)
    })
}

/// Only white space stands between, or only a mark that touches both sides.
fn joined(task: Task<'_>, from: usize, to: usize) -> bool {
    const JOINS: [&str; 8] = ["-", ".", "_", "/", "@", "+", "#", ":"];
    let own = task.reading.tokens(&(from..to));
    let around = task.reading.tokens(&(from.saturating_sub(1)..to + 1));
    let touching = around.windows(2).all(|pair| match pair {
        [a, b] => a.span.end == b.span.start,
        _ => true,
    });
    own.is_empty() || (touching && own.iter().all(|t| JOINS.contains(&t.lower.as_str())))
}

fn chunk_score(task: Task<'_>, param: &Param, chunk: &Range<usize>, misplaced: usize) -> f64 {
    let before = words::before(task, param, chunk.start);
    let after = words::after(task, param, chunk.end);
    let own = task.reading.tokens(chunk);
    let proper = own.first().is_some_and(|t| t.capital && chunk.start > 0) as u8;
    let name_like = f64::from(proper) * if param.role == Role::Place { 0.3 } else { 0.1 };
    let steps = u32::try_from(misplaced).unwrap_or(u32::MAX);
    let order = (f64::from(steps) * 0.02).min(0.1);
    if matches!(param.role, Role::Folder | Role::Path) {
        return if chunk.len() == 1 && is_folder_name(task, chunk) { 0.5 } else { 0.0 };
    }
    // An unknown place needs a sign that it is one.
    let latin = own.iter().all(|t| t.kind != TokenKind::Cjk);
    if param.role == Role::Place && latin && before <= 0.0 && after <= 0.0 && proper == 0 {
        return 0.0;
    }
    (0.5 + before + after + name_like - order).max(0.01)
}

/// "in src", "under docs": the last word of the question, and no other.
fn is_folder_name(task: Task<'_>, chunk: &Range<usize>) -> bool {
    let tokens = &task.reading.text.tokens;
    let before = chunk.start.checked_sub(1).and_then(|at| tokens.get(at));
    let leads = before
        .is_some_and(|t| ["in", "under", "inside", "within", "below"].contains(&t.lower.as_str()));
    let last = tokens.iter().skip(chunk.end).all(|t| t.kind == TokenKind::Mark);
    let plain = tokens.get(chunk.start).is_some_and(|t| t.kind == TokenKind::Word && !t.capital);
    leads && last && plain
}
