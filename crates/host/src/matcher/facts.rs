//! What a question contains that a schema may ask for.

mod date;
mod expression;
mod number;
mod path;
mod place;
mod quote;
mod time;
pub(super) mod units;

use std::ops::Range;

use jiff::ZonedDateTime;
use jiff::civil;
use regex::Regex;

use super::text::Text;
use units::UnitId;

pub(super) use expression::{Operator, Style};

/// Something found in a question, ready to be an argument.
#[derive(Debug, Clone)]
pub(super) struct Fact {
    /// Where it stands in the normalised question.
    pub(super) span: Range<usize>,
    pub(super) value: Value,
    /// What it says: the characters of the question, without quotes or what
    /// introduces it.
    pub(super) text: String,
}

/// What a fact is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// Text between quotation marks.
    Quoted,
    Url,
    Email,
    Sql,
    Path(PathKind),
    /// "Here", "this folder": the folder the person is in.
    Here,
    /// A pattern for file names, which may differ from the words that ask for it.
    Glob,
    /// "It is nine here": the person's own time zone.
    LocalZone,
    /// An IANA time zone, as `text` of the fact.
    Zone,
    /// A place by name; its zone where it has exactly one.
    Place(Option<&'static str>),
    Time(civil::Time),
    Date(civil::Date),
    Number(Quantity),
    /// A unit by name; one after a number is also part of that number.
    Unit(UnitId),
    Expression(expression::Expression),
}

/// What the form of a path tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
    /// It ends in a separator, or the question calls it a folder.
    Folder,
    /// Its last part has an extension, or the question calls it a file.
    File,
    Unknown,
    /// Words joined by a slash (`and/or`): perhaps no path at all.
    Doubtful,
}

/// A number with its unit, if it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Quantity {
    pub(super) value: f64,
    pub(super) unit: Option<UnitId>,
    /// It is the first or second half of a size such as `800x600`.
    pub(super) half: Option<Half>,
}

/// Which half of a size a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    Width,
    Height,
}

impl Fact {
    fn new(text: &Text, span: Range<usize>, value: Value) -> Self {
        let written = text.original(&span).to_owned();
        Self { span, value, text: written }
    }

    fn saying(span: Range<usize>, value: Value, says: impl Into<String>) -> Self {
        Self { span, value, text: says.into() }
    }

    pub(super) fn overlaps(&self, span: &Range<usize>) -> bool {
        self.span.start < span.end && span.start < self.span.end
    }

    /// How sure it is that the person meant this as an argument: a path or a
    /// formula is nearly always one, a place or a number often is not.
    pub(super) fn strength(&self) -> f64 {
        match &self.value {
            Value::Url | Value::Sql | Value::Email => 1.0,
            Value::Path(PathKind::Doubtful) => 0.2,
            Value::Path(_) | Value::Time(_) | Value::Glob => 0.8,
            Value::Expression(e) if e.doubtful => 0.1,
            Value::Expression(_) => 1.0,
            Value::Quoted | Value::Zone => 0.6,
            Value::Number(quantity) if quantity.unit.is_some() || quantity.half.is_some() => 0.4,
            Value::Place(_) => 0.35,
            Value::Here | Value::LocalZone | Value::Date(_) | Value::Number(_) => 0.2,
            Value::Unit(_) => 0.0,
        }
    }
}

/// Finds the facts of a question, in the order they stand in it. Dates need to
/// know what day it is; without `now` they are not looked for.
///
/// A span that one kind of fact has taken is not read as a weaker kind; what
/// stands between quotation marks is both quoted text and whatever it is.
pub(super) fn extract(text: &Text, now: Option<&ZonedDateTime>) -> Vec<Fact> {
    let mut found = Found::new(text);
    let quoted = quote::find(text);
    found.claim(path::urls_and_emails(text));
    found.claim(quote::sql(text, &quoted));
    found.claim(place::zones(text));
    let mut formulas: Vec<Fact> = expression::find(text);
    formulas.retain(|formula| found.is_free(&formula.span));
    let mut in_formula = Found::new(text);
    formulas.iter().for_each(|formula| in_formula.take(&formula.span));
    found.claim(path::globs(text, &in_formula));
    found.claim(path::paths(text, &in_formula));
    if let Some(now) = now {
        found.claim(date::find(text, now));
    }
    found.claim(time::find(text));
    found.claim(place::find(text));
    // A number is also part of its formula: which of them is meant depends on
    // the tool. A formula inside a path or a pattern is none.
    formulas.retain(|formula| found.is_free(&formula.span));
    found.claim(number::find(text));
    let mut facts = found.facts;
    facts.extend(formulas);
    facts.extend(number::units(text));
    facts.extend(place::local(text));
    facts.extend(quoted);
    facts.sort_by_key(|fact| (fact.span.start, std::cmp::Reverse(fact.span.end)));
    facts
}

/// Compiles a pattern of this module.
#[expect(clippy::expect_used, reason = "the patterns are constants, and the tests use every one")]
fn constant(pattern: &'static str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

/// Notes that so many bytes of a question are looked at, other than by a regular expression, which
/// looks at each a bounded number of times. Only tests count them.
fn looked_at(bytes: usize) {
    #[cfg(test)]
    WORK.with(|work| work.set(work.get() + bytes));
    #[cfg(not(test))]
    let _ = bytes;
}

#[cfg(test)]
thread_local! {
    /// The bytes that were looked at.
    static WORK: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The facts found so far, and which bytes of the question they take.
struct Found {
    facts: Vec<Fact>,
    taken: Vec<bool>,
}

impl Found {
    fn new(text: &Text) -> Self {
        Self { facts: Vec::new(), taken: vec![false; text.normal.len()] }
    }

    /// Adds the facts that overlap none found before.
    fn claim(&mut self, found: impl IntoIterator<Item = Fact>) {
        for fact in found {
            if self.is_free(&fact.span) {
                self.take(&fact.span);
                self.facts.push(fact);
            }
        }
    }

    fn take(&mut self, span: &Range<usize>) {
        looked_at(span.len());
        if let Some(bytes) = self.taken.get_mut(span.clone()) {
            bytes.fill(true);
        }
    }

    fn is_free(&self, span: &Range<usize>) -> bool {
        looked_at(span.len());
        self.taken.get(span.clone()).is_some_and(|bytes| !bytes.contains(&true))
    }
}

#[cfg(test)]
mod tests;
