//! What texts are compared by: stems, concepts, pairs of characters, and the
//! kinds of facts a schema asks for.

use std::ops::Range;

use super::facts::{Fact, Operator, Value};
use super::lexicon::{ConceptId, Kind, Lexicon, Unit};
use super::role::Role;
use super::text::{Token, TokenKind};

/// Something two texts can have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Term {
    Stem(String),
    Concept(ConceptId),
    /// Two characters in a row, of a script without spaces.
    Pair(String),
    /// A kind of fact.
    Fact(FactKind),
}

/// The kinds of facts that tell tools apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum FactKind {
    Path,
    Glob,
    Url,
    Email,
    Sql,
    Expression,
    Place,
    Zone,
    Time,
    Date,
    Number,
}

/// A part of a question and the terms any one of which explains it.
#[derive(Debug, Clone)]
pub(super) struct Clue {
    /// Its tokens; empty for a clue that a fact gives.
    pub(super) tokens: Range<usize>,
    pub(super) kind: Kind,
    pub(super) weight: f64,
    /// Each with how well it explains the part.
    pub(super) terms: Vec<(Term, f64)>,
}

/// A concept is a looser bond than the word itself.
const CONCEPT: f64 = 0.85;

/// The clues of a question: its words, and its facts.
pub(super) fn clues(tokens: &[Token], units: &[Unit], facts: &[Fact]) -> Vec<Clue> {
    let mut clues: Vec<Clue> = units
        .iter()
        .enumerate()
        .filter(|(_, unit)| unit.kind != Kind::Stop)
        .map(|(at, unit)| word_clue(tokens, units, at, unit))
        .collect();
    clues.extend(facts.iter().flat_map(fact_clues));
    clues
}

/// The terms of a part of a tool's description.
pub(super) fn terms_of(tokens: &[Token], units: &[Unit]) -> Vec<Term> {
    let useful = units.iter().enumerate().filter(|(_, unit)| unit.kind != Kind::Stop);
    useful
        .flat_map(|(at, unit)| unit_terms(tokens, units, at, unit))
        .map(|(term, _)| term)
        .collect()
}

fn word_clue(tokens: &[Token], units: &[Unit], at: usize, unit: &Unit) -> Clue {
    let weight = match unit.kind {
        Kind::Weak => 0.25,
        // People say "find" and "look for" to tools of every kind.
        Kind::Action
            if Lexicon::shared().id("search").is_some_and(|id| unit.concepts.contains(&id)) =>
        {
            0.65
        }
        Kind::Action => 0.9,
        _ => 1.0,
    };
    Clue {
        tokens: unit.tokens.clone(),
        kind: unit.kind,
        weight,
        terms: unit_terms(tokens, units, at, unit),
    }
}

fn unit_terms(tokens: &[Token], units: &[Unit], at: usize, unit: &Unit) -> Vec<(Term, f64)> {
    let lexicon = Lexicon::shared();
    let mut terms: Vec<(Term, f64)> = unit
        .concepts
        .iter()
        .filter(|id| lexicon.kind(**id) > Kind::Plain)
        .map(|id| (Term::Concept(*id), CONCEPT))
        .collect();
    let own = tokens.get(unit.tokens.clone()).unwrap_or_default();
    if own.len() == 1 || unit.kind <= Kind::Plain {
        let words = own.iter().filter(|t| t.kind == TokenKind::Word || t.kind == TokenKind::Number);
        terms.extend(words.map(|t| (Term::Stem(t.stem.clone()), 1.0)));
    }
    terms.extend(pair(tokens, units, at));
    terms
}

/// The characters of this unit and the next, when both are single characters
/// that the lexicon does not know and stand side by side.
fn pair(tokens: &[Token], units: &[Unit], at: usize) -> Option<(Term, f64)> {
    let single = |unit: &Unit| {
        let token = tokens.get(unit.tokens.start)?;
        (unit.kind == Kind::Plain && token.kind == TokenKind::Cjk).then_some(token)
    };
    let (first, second) = (single(units.get(at)?)?, single(units.get(at + 1)?)?);
    let joined = format!("{}{}", first.lower, second.lower);
    (first.span.end == second.span.start).then_some((Term::Pair(joined), 1.0))
}

fn fact_clues(fact: &Fact) -> Vec<Clue> {
    let kinds: &[FactKind] = match &fact.value {
        Value::Path(_) => &[FactKind::Path],
        Value::Glob => &[FactKind::Glob],
        Value::Url => &[FactKind::Url],
        Value::Email => &[FactKind::Email],
        Value::Sql => &[FactKind::Sql],
        Value::Expression(e) if !e.doubtful => &[FactKind::Expression],
        Value::Place(Some(_)) => &[FactKind::Place, FactKind::Zone],
        Value::Place(None) => &[FactKind::Place],
        Value::Zone => &[FactKind::Zone],
        Value::Time(_) => &[FactKind::Time],
        Value::Date(_) => &[FactKind::Date],
        Value::Number(q) if q.unit.is_some() || q.half.is_some() => &[FactKind::Number],
        _ => &[],
    };
    let mut clues = Vec::new();
    if !kinds.is_empty() {
        let terms = kinds.iter().map(|kind| (Term::Fact(*kind), 1.0)).collect();
        let weight = fact.strength() * 0.8;
        clues.push(Clue { tokens: 0..0, kind: Kind::Weak, weight, terms });
    }
    if let Value::Expression(expression) = &fact.value
        && !expression.doubtful
    {
        clues.extend(arithmetic(&expression.operators));
    }
    clues
}

/// A formula asks for a tool that calculates, or that does its one operation.
fn arithmetic(operators: &[Operator]) -> Option<Clue> {
    let lexicon = Lexicon::shared();
    let mut terms = vec![(Term::Concept(lexicon.id("calculate")?), 1.0)];
    let first = operators.first()?;
    if operators.iter().all(|operator| operator == first) {
        let name = match first {
            Operator::Add => "add",
            Operator::Subtract => "subtract",
            Operator::Multiply => "multiply",
            Operator::Divide | Operator::Remainder => "divide",
            Operator::Power => "power",
            Operator::Root => "root",
        };
        terms.extend(lexicon.id(name).map(|id| (Term::Concept(id), 1.0)));
    }
    Some(Clue { tokens: 0..0, kind: Kind::Action, weight: 1.0, terms })
}

/// The kind of fact that a parameter of a role asks for.
pub(super) fn fact_kind(role: Role) -> Option<FactKind> {
    Some(match role {
        Role::Zone => FactKind::Zone,
        Role::Url => FactKind::Url,
        Role::Email => FactKind::Email,
        Role::Sql => FactKind::Sql,
        Role::Expression => FactKind::Expression,
        Role::Glob => FactKind::Glob,
        Role::Folder | Role::File | Role::Path => FactKind::Path,
        Role::Place => FactKind::Place,
        Role::DateTime | Role::Date => FactKind::Date,
        Role::Time => FactKind::Time,
        Role::Number(Some(_)) => FactKind::Number,
        _ => return None,
    })
}
