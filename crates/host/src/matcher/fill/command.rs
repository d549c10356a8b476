//! The command around a dictated text: "remember that …", "write … to a.txt".

use std::ops::Range;

use super::super::lexicon::Kind;
use super::super::text::{Token, TokenKind};
use super::{Filled, OWN, Task, free};

/// From this weight on, a verb is the command for the tool: its name, or the
/// start of its description.
const COMMAND: f64 = 0.6;

/// Where the command ends: the first token that is part of what is dictated.
/// Says also whether there was a command at all.
pub(super) fn end(task: Task<'_>, filled: &Filled) -> (usize, bool) {
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
        let announced = unit.kind == Kind::Stop && mark.is_some_and(|m| m.lower == ":");
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
        if !(polite || (commanded && (object || leads_to_object || particle || announced))) {
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

fn joined_text(tokens: &[Token]) -> String {
    tokens.iter().map(|t| t.lower.as_str()).collect()
}

fn ends_command(word: Option<&str>) -> bool {
    matches!(word, Some("that" | "saying" | "says"))
}

fn is_break(mark: Option<&Token>) -> bool {
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
        .take(3)
        .find(|(_, unit)| unit.kind != Kind::Stop)
        .is_some_and(|(next, unit)| unit.kind == Kind::Object && task.explained.unit(next) >= OWN)
}

/// Where the last words begin that only say where the text goes: "to
/// notes.txt", "in my notes", "please".
pub(super) fn destination(task: Task<'_>, filled: &Filled, start: usize) -> usize {
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
pub(super) fn trailing(task: Task<'_>) -> Option<(Range<usize>, String)> {
    let reading = task.reading;
    let (at, unit) =
        reading.units.iter().enumerate().rev().find(|(_, unit)| unit.kind > Kind::Weak)?;
    let command =
        matches!(unit.kind, Kind::Action | Kind::Change) && task.explained.unit(at) >= COMMAND;
    let mark = unit.tokens.start.checked_sub(1).and_then(|i| reading.text.tokens.get(i));
    if !command || !is_break(mark) {
        return None;
    }
    let tokens = free::trim(task, 0..unit.tokens.start);
    let written = reading.text.original(&reading.bytes(&tokens)).to_owned();
    (!written.is_empty()).then_some((tokens, written))
}
