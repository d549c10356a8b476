//! The built-in matcher: finds the tool for a question and fills its arguments.
//!
//! It is no language model. It compares words (with their stems, and with a
//! small lexicon of English and Chinese words that mean the same), finds what a
//! question contains that a schema may ask for (paths, URLs, times, dates,
//! places, numbers, formulas, quoted text), and fills the arguments by rules
//! that the JSON schema drives. Where it does not know, it says what is
//! missing; where nothing fits, it proposes nothing.
//!
//! ```
//! use carrick_host::matcher::{Context, Index, ToolView};
//!
//! let schema = r#"{"properties":{"city":{"type":"string"}},"required":["city"]}"#;
//! let index = Index::new(&[ToolView::new("weather", "get_weather", "", schema)]);
//! let now = "2026-08-05T10:00[Europe/Paris]".parse()?;
//! let proposals = index.propose("Will it rain in Lisbon?", &Context::new(now));
//! assert_eq!(proposals.best[0].arguments["city"], "Lisbon");
//! assert!(index.propose("Tell me a joke.", &Context::new("2026-08-05T10:00[UTC]".parse()?)).best.is_empty());
//! # Ok::<(), jiff::Error>(())
//! ```

mod assign;
mod facts;
mod fill;
mod index;
mod lexicon;
mod phrases;
mod propose;
mod reading;
mod role;
mod schema;
mod terms;
mod text;

use jiff::ZonedDateTime;
use serde_json::{Map, Value};

use index::Postings;
use reading::Reading;

/// A tool as a server describes it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ToolView<'a> {
    /// The name of the server that offers it.
    pub server: &'a str,
    /// The name of the tool.
    pub name: &'a str,
    /// What the server says the tool does; may be empty.
    pub description: &'a str,
    /// The JSON text of its `inputSchema`.
    pub input_schema: &'a str,
}

impl<'a> ToolView<'a> {
    /// A tool of a server.
    pub fn new(
        server: &'a str,
        name: &'a str,
        description: &'a str,
        input_schema: &'a str,
    ) -> Self {
        Self { server, name, description, input_schema }
    }
}

/// What the matcher must be told, for it asks the machine for nothing.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Context {
    /// The present moment, in the person's own time zone: what "tomorrow" and
    /// "here" are told from.
    pub now: ZonedDateTime,
}

impl Context {
    /// The context of a question asked at a moment, in a time zone.
    pub fn new(now: ZonedDateTime) -> Self {
        Self { now }
    }
}

/// A set of tools, prepared for questions. Costs time to build, little to ask.
#[derive(Debug)]
pub struct Index {
    postings: Postings,
}

impl Index {
    /// Reads the tools. A schema that is no JSON object makes a tool that can
    /// be found but not filled.
    pub fn new(tools: &[ToolView<'_>]) -> Self {
        Self { postings: Postings::build(tools) }
    }

    /// The `k` tools that have most in common with a question, best first: for
    /// a search among very many. A tool that has nothing in common with it is
    /// not in the list.
    pub fn rank(&self, question: &str, k: usize) -> Vec<Ranked> {
        self.postings.rank(&Reading::new(question, None).clues, k)
    }

    /// The tools that may answer a question, filled as far as it tells: up to
    /// three, best first; none when no tool fits.
    pub fn propose(&self, question: &str, context: &Context) -> Proposals {
        propose::propose(&self.postings, question, context)
    }
}

/// A tool found by [`Index::rank`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Ranked {
    /// Its place in the slice given to [`Index::new`].
    pub tool: usize,
    /// Above zero; comparable within one ranking only.
    pub score: f64,
}

/// What [`Index::propose`] found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Proposals {
    /// Best first, at most three; empty when no tool fits.
    pub best: Vec<Proposal>,
}

impl Proposals {
    /// The best proposal, when it is complete and clear enough to be run
    /// without asking which tool was meant. Whether it *may* run is for the
    /// permission policy to say.
    pub fn confident(&self) -> Option<&Proposal> {
        self.best.first().filter(|proposal| proposal.confident)
    }
}

/// One tool, and what the question gives it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Proposal {
    /// Its place in the slice given to [`Index::new`].
    pub tool: usize,
    /// The arguments that were found.
    pub arguments: Map<String, Value>,
    /// What the tool needs and the question does not say.
    pub missing: Vec<Missing>,
    /// How well it fits; about 1 for one clear word and one clear argument.
    pub score: f64,
    /// How far it is ahead of the next one; its score when there is none.
    pub margin: f64,
    /// Nothing is missing.
    pub complete: bool,
    /// It is the best, complete, and well ahead of the next.
    pub confident: bool,
}

/// An argument that could not be filled.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Missing {
    /// The name of the parameter; empty when the schema could not be read.
    pub name: String,
    /// What the schema says of it; may be empty.
    pub description: String,
    /// Why there is no value.
    pub reason: Reason,
}

/// Why an argument could not be filled.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The question does not say it.
    NotInQuestion,
    /// The question says it, but the schema does not accept it.
    NotAccepted {
        /// What the question says.
        value: String,
        /// The least value the schema accepts.
        minimum: Option<f64>,
        /// The greatest value the schema accepts.
        maximum: Option<f64>,
    },
    /// The tool's schema is not a JSON object; what was wrong with it.
    UnreadableSchema(String),
}

#[cfg(test)]
mod tests;
