//! How well a fact suits a parameter.

use super::super::Reason;
use super::super::facts::units::Units;
use super::super::facts::{Fact, Half, PathKind, Quantity, Value};
use super::super::lexicon::Lexicon;
use super::super::role::{Role, Side};
use super::super::schema::{Param, Shape};
use super::super::text::{Token, split_identifier, tokenize};
use super::words;
use super::{Filled, Task};

/// The score of a pair: what the role and the value say, the words beside the
/// fact, its side, and the order in which things are named.
pub(super) fn score(
    task: Task<'_>,
    params: &[&Param],
    row: usize,
    param: &Param,
    at: usize,
) -> f64 {
    let Some(fact) = task.reading.facts.get(at) else { return 0.0 };
    let base = role_score(param, fact);
    if base <= 0.0 {
        return 0.0;
    }
    let beside = beside(task, param, fact);
    let numeric = matches!(param.role, Role::Number(_));
    if numeric
        && !param.required
        && base < 0.7
        && beside < 0.2
        && !words::is_limit(task, param, fact)
    {
        return 0.0;
    }
    // Quoted text is for the parameter that takes text, where there is one.
    let dictated = |p: &&Param| matches!(p.role, Role::Text | Role::Query) && p.choices.is_empty();
    if fact.value == Value::Quoted && beside < 0.3 && task.tool.params.iter().any(|p| dictated(&p))
    {
        return 0.0;
    }
    let side = match (param.side, side(task, fact)) {
        (Some(wanted), Some(found)) if wanted == found => 0.5,
        (Some(_), Some(_)) => -0.3,
        _ => 0.0,
    };
    let required = if param.required { 0.1 } else { 0.0 };
    (base + beside + side + required - order(task, params, row, param, at)).max(0.01)
}

/// How well a value suits a role, by itself.
pub(super) fn role_score(param: &Param, fact: &Fact) -> f64 {
    if !param.choices.is_empty() || param.shape == Shape::Bool {
        return 0.0;
    }
    match (param.role, &fact.value) {
        (Role::Zone, Value::Zone | Value::Place(Some(_)))
        | (Role::Url, Value::Url)
        | (Role::Email, Value::Email)
        | (Role::Sql, Value::Sql)
        | (Role::Expression, Value::Expression(_))
        | (Role::Glob, Value::Glob)
        | (Role::Date | Role::DateTime, Value::Date(_))
        | (Role::Time, Value::Time(_))
        | (Role::Place, Value::Place(_)) => 1.0,
        (Role::Zone, Value::LocalZone) => 0.8,
        (Role::DateTime, Value::Time(_)) => 0.5,
        (Role::Place, Value::Quoted) => 0.5,
        (Role::Time, Value::Number(q)) if is_hour(*q) => 0.2,
        (Role::Glob, Value::Path(PathKind::File)) if !fact.text.contains(['/', '\\']) => 0.5,
        (Role::Glob, Value::Quoted) => 0.4,
        (Role::Folder | Role::File | Role::Path, value) => path_score(param.role, value, fact),
        (Role::Currency, Value::Unit(unit)) if Units::shared().is_currency(*unit) => 1.0,
        (Role::Unit, Value::Unit(unit)) if !Units::shared().is_currency(*unit) => 1.0,
        (Role::Number(unit), Value::Number(quantity))
            if accepts(param, converted(*quantity, unit)) =>
        {
            number_score(param, unit, *quantity)
        }
        (Role::Name | Role::Open, Value::Quoted) => 0.7,
        (Role::Name, Value::Path(PathKind::Doubtful)) if is_repository(param) => 0.6,
        _ => 0.0,
    }
}

fn path_score(role: Role, value: &Value, fact: &Fact) -> f64 {
    match (role, value) {
        (Role::Folder, Value::Path(PathKind::Folder | PathKind::Unknown))
        | (Role::File, Value::Path(PathKind::File)) => 1.0,
        (Role::Path, Value::Path(PathKind::File | PathKind::Folder | PathKind::Unknown)) => 0.95,
        (Role::File, Value::Path(PathKind::Unknown)) => 0.85,
        (Role::Folder | Role::Path, Value::Here) => 0.5,
        (_, Value::Path(PathKind::Doubtful)) => 0.45,
        (Role::Folder, Value::Path(_)) => 0.35,
        (Role::File, Value::Path(_)) => 0.3,
        (_, Value::Quoted) if is_one_path(&fact.text) => 0.4,
        _ => 0.0,
    }
}

fn is_one_path(quoted: &str) -> bool {
    !quoted.contains(char::is_whitespace) && quoted.contains(['/', '\\', '.'])
}

fn number_score(param: &Param, unit: Option<u16>, quantity: Quantity) -> f64 {
    let by_unit: f64 = match (unit, quantity.unit) {
        (Some(wanted), Some(found)) if wanted == found => 1.0,
        (Some(_), Some(_)) => 0.9,
        (Some(_), None) => 0.4,
        (None, None) => 0.5,
        (None, Some(_)) => 0.35,
    };
    let by_half = match (quantity.half, half_of(param)) {
        (Some(half), Some(wanted)) if half == wanted => 0.6,
        (Some(_), Some(_)) => -0.2,
        (Some(_), None) => -0.1,
        _ => 0.0,
    };
    by_unit + by_half
}

fn half_of(param: &Param) -> Option<Half> {
    let has = |name: &str| {
        let id = Lexicon::shared().id(name);
        words::concepts(&param.name).into_iter().any(|concept| Some(concept) == id)
    };
    if has("width") {
        Some(Half::Width)
    } else if has("height") {
        Some(Half::Height)
    } else {
        None
    }
}

/// A quantity in the unit a parameter counts in; not a number when it cannot be.
pub(super) fn converted(quantity: Quantity, unit: Option<u16>) -> f64 {
    match (quantity.unit, unit) {
        (Some(from), Some(to)) => {
            Units::shared().convert(quantity.value, from, to).unwrap_or(f64::NAN)
        }
        _ => quantity.value,
    }
}

fn accepts(param: &Param, value: f64) -> bool {
    value.is_finite()
        && (param.shape != Shape::Integer || value.fract() == 0.0)
        && param.minimum.is_none_or(|minimum| value >= minimum)
        && param.maximum.is_none_or(|maximum| value <= maximum)
}

/// Why a parameter is left empty although the question has a value for it.
pub(super) fn refused(task: Task<'_>, filled: &Filled, param: &Param) -> Option<Reason> {
    let Role::Number(Some(unit)) = param.role else { return None };
    task.reading.facts.iter().zip(&filled.used).filter(|(_, used)| !**used).find_map(|(fact, _)| {
        let Value::Number(quantity) = fact.value else { return None };
        quantity.unit?;
        let value = converted(quantity, Some(unit));
        (value.is_finite() && !accepts(param, value)).then(|| Reason::NotAccepted {
            value: fact.text.clone(),
            minimum: param.minimum,
            maximum: param.maximum,
        })
    })
}

fn is_hour(quantity: Quantity) -> bool {
    quantity.unit.is_none()
        && quantity.half.is_none()
        && quantity.value.fract() == 0.0
        && (0.0..24.0).contains(&quantity.value)
}

/// `owner/name` names a repository.
fn is_repository(param: &Param) -> bool {
    tokenize(&split_identifier(&param.name))
        .iter()
        .any(|t| t.stem == "repo" || t.stem == "repositori")
}

/// How strongly the words beside a fact name the parameter.
fn beside(task: Task<'_>, param: &Param, fact: &Fact) -> f64 {
    let tokens = task.reading.text.tokens_in(&fact.span);
    let own = task.reading.tokens(&tokens);
    let within = if matches!(param.role, Role::Number(_)) { words::names(param, own) } else { 0.0 };
    let before = words::before(task, param, tokens.start);
    let after = words::after(task, param, tokens.end);
    (before.max(after) + within).min(0.6)
}

/// Which side of a pair the question puts a fact on.
fn side(task: Task<'_>, fact: &Fact) -> Option<Side> {
    let tokens = task.reading.text.tokens_in(&fact.span);
    let zone = matches!(fact.value, Value::Place(_) | Value::Zone | Value::LocalZone);
    let previous: &[Token] = task.reading.tokens(&(tokens.start.saturating_sub(2)..tokens.start));
    let word = previous
        .iter()
        .rev()
        .find(|t| !["the", "a", "my", "file", "folder"].contains(&t.lower.as_str()));
    match word.map(|t| t.lower.as_str()) {
        Some("from" | "从" | "由" | "把" | "将") => return Some(Side::From),
        Some("to" | "into" | "到" | "成" | "为" | "至" | "as" | "换") => {
            return Some(Side::To);
        }
        _ => {}
    }
    if zone {
        return zone_side(task, fact);
    }
    // The unit beside the number is the one to convert from.
    let numbered =
        |other: &Fact| matches!(other.value, Value::Number(_)) && other.overlaps(&fact.span);
    match fact.value {
        Value::Unit(_) if task.reading.facts.iter().any(numbered) => Some(Side::From),
        Value::Unit(_) => Some(Side::To),
        _ => None,
    }
}

/// The zone named nearest to the time is the one the time is told in.
fn zone_side(task: Task<'_>, fact: &Fact) -> Option<Side> {
    let is_zone = |f: &&Fact| matches!(f.value, Value::Place(_) | Value::Zone | Value::LocalZone);
    let time = task.reading.facts.iter().find(|f| matches!(f.value, Value::Time(_)))?;
    let nearest =
        task.reading.facts.iter().filter(is_zone).min_by_key(|f| distance(task, f, time))?;
    Some(if nearest.span == fact.span { Side::From } else { Side::To })
}

/// How far two facts stand apart: tokens, and much more for the start of
/// another clause between them.
fn distance(task: Task<'_>, a: &Fact, b: &Fact) -> usize {
    let (first, second) = if a.span.start < b.span.start { (a, b) } else { (b, a) };
    let between = task.reading.text.tokens_in(&(first.span.end..second.span.start));
    let tokens = task.reading.tokens(&between);
    let clauses = tokens
        .iter()
        .filter(|t| {
            [",", ";", "?", "when", "if", "what", "how", "几", "is", "是"]
                .contains(&t.lower.as_str())
        })
        .count();
    tokens.len() + clauses * 4
}

/// A small cost for standing out of order among parameters of the same role.
fn order(task: Task<'_>, params: &[&Param], row: usize, param: &Param, at: usize) -> f64 {
    let peers = params.iter().take(row).filter(|p| p.role == param.role && !p.list).count();
    let facts = task.reading.facts.iter().take(at);
    let ahead = facts.filter(|fact| role_score(param, fact) > 0.0).count();
    let steps = u32::try_from(peers.abs_diff(ahead)).unwrap_or(u32::MAX);
    (f64::from(steps) * 0.02).min(0.1)
}
