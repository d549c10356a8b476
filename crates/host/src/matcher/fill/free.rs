//! Arguments that are words of the question: names, and free text.

use std::ops::Range;

use super::super::assign;
use super::super::facts::{Fact, PathKind, Value};
use super::super::lexicon::Kind;
use super::super::role::Role;
use super::super::schema::{Param, Shape};
use super::super::text::TokenKind;
use super::{Filled, PAIRED, Task, words, write};

/// From this weight on, a word of the question belongs to the tool and is not
/// an argument: its name, the start of its description, its parameters.
const OWN: f64 = 0.4;
/// From this weight on, a verb is the command for the tool: its name, or the
/// start of its description.
const COMMAND: f64 = 0.6;

/// Fills parameters that take a short name from the words that are left when
/// everything the tool itself explains is taken away.
pub(super) fn names(task: Task<'_>, filled: &mut Filled) {
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
        let written = task.reading.text.original(&task.reading.bytes(chunk)).to_owned();
        if let Some(value) = write::accepted(param, [written]) {
            filled.put(param, value);
            filled.cover(chunk.clone());
            filled.free_text = true;
        }
    }
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
    let mut chunks = named_like_files(task, filled);
    for (at, unit) in reading.units.iter().enumerate() {
        let known = chunks.iter().any(|c| c.start < unit.tokens.end && unit.tokens.start < c.end);
        if known || !is_left(task, filled, at) || is_date(task, &unit.tokens) {
            continue;
        }
        match chunks.last_mut() {
            Some(last) if joined(task, last.end, unit.tokens.start) => last.end = unit.tokens.end,
            _ => chunks.push(unit.tokens.clone()),
        }
    }
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
            latin && unit.tokens.len() == 1 && before.into_iter().any(|unit| unit.kind > Kind::Weak)
        }
        Kind::Stop | Kind::Weak => false,
    };
    content && task.explained.unit(at) < OWN && !filled.is_covered(&unit.tokens)
}

fn is_date(task: Task<'_>, tokens: &Range<usize>) -> bool {
    let bytes = task.reading.bytes(tokens);
    task.reading.facts.iter().any(|fact| {
        matches!(fact.value, Value::Date(_) | Value::Time(_) | Value::Here | Value::LocalZone)
            && fact.overlaps(&bytes)
    })
}

fn joined(task: Task<'_>, from: usize, to: usize) -> bool {
    task.reading.tokens(&(from..to)).iter().all(|t| {
        t.kind == TokenKind::Mark
            && ["-", ".", "_", "/", "@", "+", "#", ":"].contains(&t.lower.as_str())
    })
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

/// Fills the first parameter that takes free text: a dictated one with what
/// follows the command, a searched one with what the question is about.
pub(super) fn text(task: Task<'_>, filled: &mut Filled) {
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
        Role::Query => searched(task, filled, param),
        _ => dictated(task, filled, param),
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
fn searched(task: Task<'_>, filled: &Filled, _: &Param) -> Option<(Range<usize>, String)> {
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
fn dictated(task: Task<'_>, filled: &Filled, _: &Param) -> Option<(Range<usize>, String)> {
    let reading = task.reading;
    let (start, commanded) = after_command(task, filled);
    if !commanded {
        return trailing_command(task).or_else(|| quotation(task, filled));
    }
    let end = before_destination(task, filled, start);
    let tokens = trim(task, start..end);
    if tokens.is_empty() {
        return trailing_command(task);
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

/// Where the command ends: the first token that is part of what is dictated.
/// Says also whether there was a command at all.
fn after_command(task: Task<'_>, filled: &Filled) -> (usize, bool) {
    let reading = task.reading;
    let mut at = 0;
    let mut commanded = false;
    while let Some(unit) = reading.units.get(at) {
        let own = task.explained.unit(at) >= OWN;
        let action =
            task.explained.unit(at) >= COMMAND && matches!(unit.kind, Kind::Action | Kind::Change);
        let said = reading.tokens(&unit.tokens);
        let mark = reading.text.tokens.get(unit.tokens.end).filter(|t| t.kind == TokenKind::Mark);
        if action {
            commanded = true;
            at += 1;
            if ends_command(said.last().map(|t| t.lower.as_str())) || is_break(mark) {
                break;
            }
            continue;
        }
        if commanded && ends_command(said.first().map(|t| t.lower.as_str())) {
            at += 1;
            break;
        }
        if filled.is_covered(&unit.tokens) {
            at += 1;
            continue;
        }
        let polite = !commanded && unit.kind <= Kind::Weak;
        let object = own && unit.kind == Kind::Object;
        let leads_to_object = unit.kind == Kind::Stop && own_object_follows(task, at);
        let particle = commanded
            && unit.kind == Kind::Stop
            && said.first().is_some_and(|t| {
                t.kind == TokenKind::Cjk
                    && ["一下", "下", "个", "一个", "这个", "这"]
                        .contains(&joined_text(said).as_str())
            });
        if !(polite || (commanded && (object || leads_to_object || particle))) {
            break;
        }
        at += 1;
        if commanded && is_break(mark) {
            break;
        }
    }
    let start = reading.units.get(at).map_or(reading.text.tokens.len(), |u| u.tokens.start);
    (start, commanded)
}

fn joined_text(tokens: &[super::super::text::Token]) -> String {
    tokens.iter().map(|t| t.lower.as_str()).collect()
}

fn ends_command(word: Option<&str>) -> bool {
    matches!(word, Some("that" | "saying" | "says"))
}

fn is_break(mark: Option<&super::super::text::Token>) -> bool {
    mark.is_some_and(|t| [":", ",", "-"].contains(&t.lower.as_str()))
}

/// "a note", "the fact", "to memory": words without weight, then the object of
/// the command.
fn own_object_follows(task: Task<'_>, at: usize) -> bool {
    task.reading
        .units
        .iter()
        .enumerate()
        .skip(at)
        .find(|(_, unit)| unit.kind != Kind::Stop)
        .is_some_and(|(next, unit)| {
            unit.kind == Kind::Object && task.explained.unit(next) >= OWN && next - at <= 2
        })
}

/// Where the last words begin that only say where the text goes: "to
/// notes.txt", "in my notes", "please".
fn before_destination(task: Task<'_>, filled: &Filled, start: usize) -> usize {
    let reading = task.reading;
    let mut end = reading.text.tokens.len();
    let mut pending = end;
    for (at, unit) in reading.units.iter().enumerate().rev() {
        if unit.tokens.start < start {
            break;
        }
        let taken = filled.is_covered(&unit.tokens);
        let own = task.explained.unit(at) >= OWN && unit.kind == Kind::Object;
        let polite = reading
            .tokens(&unit.tokens)
            .first()
            .is_some_and(|t| ["please", "thanks", "thank"].contains(&t.lower.as_str()));
        if taken || polite {
            end = unit.tokens.start;
            pending = end;
        } else if own {
            pending = unit.tokens.start;
        } else if unit.kind == Kind::Stop {
            let preposition = reading.tokens(&unit.tokens).first().is_some_and(|t| {
                ["to", "in", "into", "on", "onto", "到", "在"].contains(&t.lower.as_str())
            });
            if preposition && (pending < end || end < reading.text.tokens.len()) {
                return unit.tokens.start;
            }
            if pending == end && end == reading.text.tokens.len() {
                break;
            }
        } else {
            break;
        }
    }
    end
}

/// "My locker is 42, remember that": the command stands at the end.
fn trailing_command(task: Task<'_>) -> Option<(Range<usize>, String)> {
    let reading = task.reading;
    let (at, unit) =
        reading.units.iter().enumerate().rev().find(|(_, unit)| unit.kind > Kind::Weak)?;
    let command =
        matches!(unit.kind, Kind::Action | Kind::Change) && task.explained.unit(at) >= COMMAND;
    let mark = unit.tokens.start.checked_sub(1).and_then(|i| reading.text.tokens.get(i));
    if !command || !is_break(mark) {
        return None;
    }
    let tokens = trim(task, 0..unit.tokens.start);
    let written = reading.text.original(&reading.bytes(&tokens)).to_owned();
    (!written.is_empty()).then_some((tokens, written))
}

/// Without punctuation at either end.
fn trim(task: Task<'_>, tokens: Range<usize>) -> Range<usize> {
    let own = task.reading.tokens(&tokens);
    let loose = |t: &&super::super::text::Token| {
        t.kind == TokenKind::Mark && [",", ".", ";", ":", "?", "-", "!"].contains(&t.lower.as_str())
    };
    let front = own.iter().take_while(loose).count();
    let back = own.iter().rev().take_while(loose).count();
    tokens.start + front..(tokens.end.saturating_sub(back)).max(tokens.start + front)
}
