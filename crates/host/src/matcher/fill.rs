//! Filling the arguments of one tool from a question, by its schema.

mod command;
mod compat;
mod free;
mod names;
mod words;
mod write;

use std::ops::Range;

use serde_json::{Map, Value as Json};

use super::assign;
use super::facts::{Fact, Value};
use super::index::Tool;
use super::reading::{Explained, Reading};
use super::role::Role;
use super::schema::Param;
use super::{Context, Missing, Reason};

/// How many parameters of one tool, and facts of one question, are paired: the
/// work grows with the third power of their number. Those beyond are left to
/// the person.
const PAIRED: usize = 64;

/// From this weight on, a word of the question belongs to the tool and is not
/// an argument: its name, the start of its description, its parameters.
const OWN: f64 = 0.4;

/// The arguments found for one tool.
#[derive(Debug, Default)]
pub(super) struct Filled {
    pub(super) arguments: Map<String, Json>,
    pub(super) missing: Vec<Missing>,
    /// By fact: an argument was made of it.
    pub(super) used: Vec<bool>,
    /// By token: an argument was made of it.
    pub(super) covered: Vec<bool>,
    /// The sum of the strengths of the facts used.
    pub(super) strength: f64,
    /// The same for paths that are not of the kind asked for.
    pub(super) misfit: f64,
    /// A parameter took free text.
    pub(super) free_text: bool,
    /// It was dictated: a command stood before it.
    pub(super) dictated: bool,
}

/// Everything a step of filling looks at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) reading: &'a Reading,
    pub(super) tool: &'a Tool,
    pub(super) explained: &'a Explained,
    pub(super) context: &'a Context,
}

/// Fills what can be filled and says what is missing.
pub(super) fn fill(task: Task<'_>) -> Filled {
    let mut filled = Filled {
        used: vec![false; task.reading.facts.len()],
        covered: vec![false; task.reading.text.tokens.len()],
        ..Filled::default()
    };
    words::choices_and_flags(task, &mut filled);
    pair(task, &mut filled);
    gather_lists(task, &mut filled);
    write::local_zone(task, &mut filled);
    names::fill(task, &mut filled);
    free::fill(task, &mut filled);
    finish(task, &mut filled);
    filled
}

impl Filled {
    fn has(&self, param: &Param) -> bool {
        self.arguments.contains_key(&param.name)
    }

    fn put(&mut self, param: &Param, value: Json) {
        self.arguments.insert(param.name.clone(), value);
    }

    /// Marks a fact and the tokens in it as used.
    fn take(&mut self, reading: &Reading, at: usize, suits: f64) {
        let Some(fact) = reading.facts.get(at) else { return };
        if let Some(used) = self.used.get_mut(at) {
            *used = true;
        }
        self.strength += fact.strength() * suits.min(1.0);
        if suits < 0.4 && matches!(fact.value, Value::Path(_)) {
            self.misfit += fact.strength();
        }
        self.cover(reading.text.tokens_in(&fact.span));
    }

    fn cover(&mut self, tokens: Range<usize>) {
        if let Some(tokens) = self.covered.get_mut(tokens) {
            tokens.fill(true);
        }
    }

    /// All of these tokens went into arguments.
    pub(super) fn covers(&self, tokens: &Range<usize>) -> bool {
        self.covered.get(tokens.clone()).is_some_and(|tokens| !tokens.contains(&false))
    }

    /// Some of what a fact says went into an argument, as that fact or another:
    /// the numbers of a formula may be arguments, and the formula none.
    pub(super) fn covers_some_of(&self, reading: &Reading, fact: &Fact) -> bool {
        self.is_covered(&reading.text.tokens_in(&fact.span))
    }

    fn is_covered(&self, tokens: &Range<usize>) -> bool {
        self.covered.get(tokens.clone()).is_some_and(|tokens| tokens.contains(&true))
    }
}

/// Pairs facts with parameters so that the whole fits best.
fn pair(task: Task<'_>, filled: &mut Filled) {
    let facts: Vec<usize> = (0..task.reading.facts.len()).take(PAIRED).collect();
    let params: Vec<&Param> =
        task.tool.params.iter().filter(|p| !p.list && !filled.has(p)).take(PAIRED).collect();
    let scores: Vec<Vec<f64>> = params
        .iter()
        .enumerate()
        .map(|(row, param)| {
            facts.iter().map(|at| compat::score(task, &params, row, param, *at)).collect()
        })
        .collect();
    let mut pairs: Vec<(f64, usize, usize)> = assign::best(&scores)
        .into_iter()
        .enumerate()
        .filter_map(|(row, column)| {
            let column = column?;
            Some((*scores.get(row)?.get(column)?, row, *facts.get(column)?))
        })
        .collect();
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    for (_, row, at) in pairs {
        let (Some(param), Some(fact)) = (params.get(row), task.reading.facts.get(at)) else {
            continue;
        };
        if blocked(task, filled, param, fact) {
            continue;
        }
        if let Some(value) = write::value(task, param, fact) {
            filled.put(param, value);
            filled.take(task.reading, at, compat::role_score(param, fact));
        }
    }
}

/// A part of the question makes one argument only; but a number and its unit
/// may go to two.
fn blocked(task: Task<'_>, filled: &Filled, param: &Param, fact: &Fact) -> bool {
    let named = matches!(param.role, Role::Unit | Role::Currency);
    if named || matches!(fact.value, Value::Number(_)) {
        let used = task.reading.facts.iter().zip(&filled.used).filter(|(_, used)| **used);
        return used.into_iter().any(|(other, _)| {
            other.overlaps(&fact.span)
                && std::mem::discriminant(&other.value) == std::mem::discriminant(&fact.value)
        });
    }
    filled.is_covered(&task.reading.text.tokens_in(&fact.span))
}

/// A parameter that takes a list gets every fact left that suits it.
fn gather_lists(task: Task<'_>, filled: &mut Filled) {
    for param in task.tool.params.iter().filter(|p| p.list) {
        if filled.has(param) {
            continue;
        }
        let mut values = Vec::new();
        for (at, fact) in task.reading.facts.iter().enumerate() {
            let suits = compat::role_score(param, fact) >= 0.5;
            if !suits || blocked(task, filled, param, fact) {
                continue;
            }
            if let Some(value) = write::value(task, param, fact) {
                // A tool for many things is the second choice for one.
                let suits = if values.is_empty() { 0.6 } else { 1.0 };
                values.push(value);
                filled.take(task.reading, at, suits);
            }
        }
        if !values.is_empty() {
            filled.put(param, Json::Array(values));
        }
    }
}

/// Gives required parameters their only or default value, and lists the rest.
fn finish(task: Task<'_>, filled: &mut Filled) {
    if let Some(error) = &task.tool.schema_error {
        let reason = Reason::UnreadableSchema(error.clone());
        filled.missing.push(Missing { name: String::new(), description: String::new(), reason });
    }
    for param in &task.tool.params {
        if filled.has(param) {
            continue;
        }
        let refused = compat::refused(task, filled, param);
        if !param.required && refused.is_none() {
            continue;
        }
        let only = if param.choices.len() == 1 { param.choices.first() } else { None };
        if let Some(value) = only.or(param.default.as_ref()).filter(|_| refused.is_none()) {
            filled.put(param, value.clone());
            continue;
        }
        filled.missing.push(Missing {
            name: param.name.clone(),
            description: param.description.clone(),
            reason: refused.unwrap_or(Reason::NotInQuestion),
        });
    }
}
