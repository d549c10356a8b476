//! The index of tools, and ranking with it (BM25 over weighted fields).

use std::collections::HashMap;

use super::lexicon::{Kind, Lexicon};
use super::role::{self, Role, ToolHints};
use super::schema::{Param, parameters};
use super::terms::{Clue, Term, fact_kind, terms_of};
use super::text::{split_identifier, tokenize};
use super::{Ranked, ToolView};

/// How much a term counts by where it stands in a tool.
mod weight {
    pub(super) const NAME: f64 = 1.0;
    /// The first few words of the description: what the tool does.
    pub(super) const LEAD: f64 = 0.8;
    pub(super) const DESCRIPTION: f64 = 0.4;
    pub(super) const SERVER: f64 = 0.4;
    pub(super) const PARAMETER: f64 = 0.5;
    pub(super) const PARAMETER_DESCRIPTION: f64 = 0.25;
    pub(super) const CHOICE: f64 = 0.7;
    pub(super) const FACT: f64 = 1.0;
}

/// How many words of a description are its lead.
const LEAD_UNITS: usize = 6;
/// What ends it before: another sentence or clause, which says why or when.
const ENDS_LEAD: [&str; 8] = ["so", "when", "if", "because", ".", ";", "(", "。"];
/// How many bytes of a description are read: a longer one says no more about
/// what the tool is for, and must not crowd the others out.
const DESCRIPTION_BYTES: usize = 2_000;
/// How many values of one `enum` are read.
const CHOICES: usize = 100;

/// The usual constants of BM25.
const K1: f64 = 1.2;
const B: f64 = 0.5;

/// A tool as the matcher knows it.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) params: Vec<Param>,
    /// Why the schema could not be read.
    pub(super) schema_error: Option<String>,
    /// The best weight of each term.
    weights: HashMap<u32, f64>,
    /// The concepts of the actions in its name, when they change something.
    pub(super) changes: Vec<u16>,
    /// The description or a parameter shows powers as `**`.
    pub(super) python: bool,
}

/// Terms, tools, and which tool has which term.
#[derive(Debug, Default)]
pub(super) struct Postings {
    terms: HashMap<Term, u32>,
    /// By term: the tools that have it, with their saturated frequency.
    lists: Vec<Vec<(u32, f64)>>,
    pub(super) tools: Vec<Tool>,
}

impl Postings {
    pub(super) fn build(views: &[ToolView<'_>]) -> Self {
        let mut postings = Self::default();
        let mut frequencies = Vec::with_capacity(views.len());
        for view in views {
            let (tool, frequency) = postings.read(view);
            postings.tools.push(tool);
            frequencies.push(frequency);
        }
        postings.fill_lists(&frequencies);
        postings
    }

    fn read(&mut self, view: &ToolView<'_>) -> (Tool, HashMap<u32, f64>) {
        let (mut params, schema_error) = match parameters(view.input_schema) {
            Ok(params) => (params, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        role::assign(&mut params, hints(view));
        let mut fields = Fields { postings: self, weights: HashMap::new(), sums: HashMap::new() };
        fields.add(&split_identifier(view.name), weight::NAME);
        fields.add(&split_identifier(view.server), weight::SERVER);
        fields.add_description(view.description);
        for param in &params {
            fields.add(&split_identifier(&param.name), weight::PARAMETER);
            fields.add(start_of(&param.description), weight::PARAMETER_DESCRIPTION);
            for choice in param.choices.iter().take(CHOICES).filter_map(|c| c.as_str()) {
                fields.add(&split_identifier(choice), weight::CHOICE);
            }
            if let Some(kind) = fact_kind(param.role) {
                fields.term(Term::Fact(kind), weight::FACT);
            }
        }
        let (weights, sums) = (fields.weights, fields.sums);
        let python = view.description.contains("**")
            || view.description.contains("Python")
            || params.iter().any(|p| p.description.contains("**"));
        let counts = params.iter().any(|p| matches!(p.role, Role::Number(_) | Role::Expression));
        let changes = changes(view.name, counts);
        (Tool { params, schema_error, weights, changes, python }, sums)
    }

    fn fill_lists(&mut self, frequencies: &[HashMap<u32, f64>]) {
        let lengths: Vec<f64> = frequencies.iter().map(|f| f.values().sum()).collect();
        let count = f64::from(u32::try_from(lengths.len()).unwrap_or(u32::MAX)).max(1.0);
        let average = (lengths.iter().sum::<f64>() / count).max(f64::MIN_POSITIVE);
        self.lists = vec![Vec::new(); self.terms.len()];
        for (tool, (frequency, length)) in frequencies.iter().zip(&lengths).enumerate() {
            let Ok(tool) = u32::try_from(tool) else { break };
            for (term, sum) in frequency {
                let norm = K1 * (1.0 - B + B * length / average);
                let saturated = sum * (K1 + 1.0) / (sum + norm);
                if let Some(list) = usize::try_from(*term).ok().and_then(|t| self.lists.get_mut(t))
                {
                    list.push((tool, saturated));
                }
            }
        }
    }

    fn intern(&mut self, term: Term) -> u32 {
        let next = u32::try_from(self.terms.len()).unwrap_or(u32::MAX);
        *self.terms.entry(term).or_insert(next)
    }

    fn list(&self, term: &Term) -> &[(u32, f64)] {
        let id = self.terms.get(term).and_then(|id| usize::try_from(*id).ok());
        id.and_then(|id| self.lists.get(id)).map(Vec::as_slice).unwrap_or_default()
    }

    fn count(&self) -> f64 {
        f64::from(u32::try_from(self.tools.len()).unwrap_or(u32::MAX))
    }

    fn inverse_frequency(&self, list: &[(u32, f64)]) -> f64 {
        let with = f64::from(u32::try_from(list.len()).unwrap_or(u32::MAX));
        (1.0 + (self.count() - with + 0.5) / (with + 0.5)).ln()
    }

    /// How much a term tells these tools apart: 1 when one tool has it, 0.4
    /// when all have it.
    pub(super) fn rarity(&self, term: &Term) -> f64 {
        let with = f64::from(u32::try_from(self.list(term).len()).unwrap_or(u32::MAX)).max(1.0);
        let count = self.count();
        if count <= 1.0 { 1.0 } else { 1.0 - 0.6 * with.ln() / count.ln() }
    }

    /// The weight of a term in a tool; 0 when the tool does not have it.
    pub(super) fn weight(&self, tool: &Tool, term: &Term) -> f64 {
        let weight = self.terms.get(term).and_then(|id| tool.weights.get(id));
        weight.copied().unwrap_or(0.0)
    }

    /// The tools that have something in common with a question, best first.
    pub(super) fn rank(&self, clues: &[Clue], k: usize) -> Vec<Ranked> {
        let mut scores = vec![0.0_f64; self.tools.len()];
        let mut best = vec![0.0_f64; self.tools.len()];
        for clue in clues {
            let mut touched = Vec::new();
            for (term, factor) in &clue.terms {
                let list = self.list(term);
                let idf = self.inverse_frequency(list);
                for &(tool, saturated) in list {
                    let Ok(tool) = usize::try_from(tool) else { continue };
                    let Some(slot) = best.get_mut(tool) else { continue };
                    *slot = slot.max(clue.weight * factor * idf * saturated);
                    touched.push(tool);
                }
            }
            for tool in touched {
                if let (Some(score), Some(slot)) = (scores.get_mut(tool), best.get_mut(tool)) {
                    *score += std::mem::take(slot);
                }
            }
        }
        let mut ranked: Vec<Ranked> = scores
            .into_iter()
            .enumerate()
            .filter(|(_, score)| *score > 0.0)
            .map(|(tool, score)| Ranked { tool, score })
            .collect();
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.tool.cmp(&b.tool)));
        ranked.truncate(k);
        ranked
    }
}

/// Collects the terms of one tool.
struct Fields<'a> {
    postings: &'a mut Postings,
    weights: HashMap<u32, f64>,
    sums: HashMap<u32, f64>,
}

impl Fields<'_> {
    fn add(&mut self, text: &str, weight: f64) {
        let tokens = tokenize(text);
        let units = Lexicon::shared().units(&tokens);
        for term in terms_of(&tokens, &units) {
            self.term(term, weight);
        }
    }

    fn add_description(&mut self, description: &str) {
        let tokens = tokenize(start_of(description));
        let mut units = Lexicon::shared().units(&tokens);
        units.retain(|unit| unit.kind != Kind::Stop);
        let clause = tokens.iter().position(|t| ENDS_LEAD.contains(&t.lower.as_str()));
        let before = units.partition_point(|u| clause.is_none_or(|at| u.tokens.start < at));
        let (lead, rest) = units.split_at(LEAD_UNITS.min(before).max(1).min(units.len()));
        for (part, weight) in [(lead, weight::LEAD), (rest, weight::DESCRIPTION)] {
            for term in terms_of(&tokens, part) {
                self.term(term, weight);
            }
        }
    }

    fn term(&mut self, term: Term, weight: f64) {
        let id = self.postings.intern(term);
        let best = self.weights.entry(id).or_insert(0.0);
        *best = best.max(weight);
        *self.sums.entry(id).or_insert(0.0) += weight;
    }
}

/// The start of a text, cut between characters.
fn start_of(text: &str) -> &str {
    text.get(..text.floor_char_boundary(DESCRIPTION_BYTES)).unwrap_or(text)
}

/// What the name and description of a tool say it is about.
fn hints(view: &ToolView<'_>) -> ToolHints {
    let text = format!("{} {}", split_identifier(view.name), start_of(view.description));
    let tokens = tokenize(&text);
    let units = Lexicon::shared().units(&tokens);
    let about = |names: &[&str]| {
        let ids: Vec<_> = names.iter().filter_map(|name| Lexicon::shared().id(name)).collect();
        units.iter().any(|unit| unit.concepts.iter().any(|id| ids.contains(id)))
    };
    let name = tokenize(&split_identifier(view.name));
    let name_units = Lexicon::shared().units(&name);
    let named = |concept: &str| {
        let id = Lexicon::shared().id(concept);
        name_units.iter().any(|unit| unit.concepts.iter().any(|own| Some(*own) == id))
    };
    let searches = named("search");
    ToolHints {
        files: about(&["file", "folder", "path"]),
        folder: (named("folder") && !named("file")) || searches || named("list"),
        one_file: name.iter().any(|t| t.lower == "file") && !named("folder"),
        searches,
        contents: about(&["text"]) || tokens.iter().any(|t| t.lower == "grep"),
        zones: about(&["timezone"]),
        currency: about(&["currency"]),
        units: about(&["unit"]),
    }
}

/// The concepts of the actions in a name that says it changes something:
/// `write_file`, but not `get_updates`.
fn changes(name: &str, counts: bool) -> Vec<u16> {
    let tokens = tokenize(&split_identifier(name));
    let lexicon = Lexicon::shared();
    let units = lexicon.units(&tokens);
    let Some(first) = units.iter().find(|unit| unit.kind >= Kind::Weak) else { return Vec::new() };
    if first.kind == Kind::Weak || units.iter().all(|unit| unit.kind != Kind::Change) {
        return Vec::new();
    }
    let id = |name: &str| lexicon.id(name);
    // `add` may be a sum, for a tool that takes numbers; not for one that adds
    // to a list.
    let acts = |concept: &&u16| match lexicon.kind(**concept) {
        Kind::Change => true,
        Kind::Action => counts || Some(**concept) != id("add"),
        _ => false,
    };
    let named: Vec<u16> = units.iter().flat_map(|unit| unit.concepts.clone()).collect();
    // To remember something is to write it where notes are kept.
    let notes = ["note", "memory", "fact"]
        .iter()
        .any(|name| id(name).is_some_and(|concept| named.contains(&concept)));
    let remember = id("remember").filter(|_| notes);
    named.iter().filter(acts).copied().chain(remember).collect()
}
