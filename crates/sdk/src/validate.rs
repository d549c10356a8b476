//! Values against JSON Schemas, within bounds (`basic`, JSON Schema Usage).
//!
//! Two dialects are known: 2020-12, which counts where a schema names none, and
//! draft-07. Nothing is ever fetched: a schema whose references lead out of it
//! is refused. `format` is an annotation, as 2020-12 has it. Patterns run on an
//! engine that is linear in the text, so look-around and back-references are
//! refused with the schema.

mod explain;
mod graph;
#[cfg(test)]
mod tests;

use crate::types::RawJson;
use graph::Graph;
use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;
use std::fmt;

/// Most bytes of a schema's text.
const MAX_BYTES: usize = 256 << 10;
/// Most memory that one compiled pattern may take, in bytes.
const MAX_PATTERN: usize = 1 << 20;
/// Most schemas that may be looked at to say what is wrong with a value; above
/// that it is only said that something is.
const MAX_EXPLAINED: u64 = 1_000_000;
/// Most schemas that one value may be inside of at a time, which bounds the
/// stack: the value's depth times the longest chain of schemas for one value.
const MAX_NESTED: usize = 1_000;

/// A schema, ready to check values with.
#[derive(Debug)]
pub struct Schema {
    validator: Validator,
    source: Value,
    graph: Graph,
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// When it is not one of a known dialect, when it refers to anything
    /// outside of itself, or when checking with it could take too long.
    pub fn new(schema: &RawJson) -> Result<Self, SchemaError> {
        if schema.get().len() > MAX_BYTES {
            return Err(SchemaError::TooLarge(format!("it has more than {MAX_BYTES} bytes")));
        }
        let source: Value = serde_json::from_str(schema.get())
            .map_err(|error| SchemaError::Invalid(error.to_string()))?;
        let draft = draft(&source)?;
        let graph = Graph::new(&source)?;
        let validator = jsonschema::options()
            .offline()
            .with_draft(draft)
            .should_validate_formats(false)
            .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN))
            .build(&source)
            .map_err(|error| SchemaError::Invalid(explain::schema(&error)))?;
        Ok(Self { validator, source, graph })
    }

    /// Checks a value.
    ///
    /// # Errors
    /// What does not fit, and where.
    pub fn check(&self, value: &Value) -> Result<(), Mismatch> {
        self.check_but(value, |_| false)
    }

    /// The same, without errors for which `is_known` holds: of these somebody
    /// else says more.
    pub(crate) fn check_but(
        &self,
        value: &Value,
        is_known: impl Fn(&jsonschema::ValidationError<'_>) -> bool,
    ) -> Result<(), Mismatch> {
        let extent = Extent::of(value);
        if extent.depth.saturating_mul(self.graph.longest_chain()) > MAX_NESTED {
            return Err(Mismatch::new("the value is nested too deeply to be checked".into()));
        }
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let work = self.graph.cost(extent.depth).saturating_mul(extent.values);
        if work > MAX_EXPLAINED {
            let text = "the value does not fit, and is too large to say where";
            return Err(Mismatch::new(text.into()));
        }
        let errors = self.validator.iter_errors(value).filter(|error| !is_known(error));
        match explain::values(errors, &self.source) {
            Some(text) => Err(Mismatch::new(text)),
            None => Ok(()),
        }
    }
}

/// The dialect that a schema names.
fn draft(schema: &Value) -> Result<Draft, SchemaError> {
    let Some(dialect) = schema.get("$schema") else { return Ok(Draft::Draft202012) };
    let name = dialect.as_str().unwrap_or_default().trim_end_matches('#');
    match name.split_once("://").map_or(name, |(_, name)| name) {
        "json-schema.org/draft/2020-12/schema" => Ok(Draft::Draft202012),
        "json-schema.org/draft-07/schema" => Ok(Draft::Draft7),
        _ => Err(SchemaError::Dialect(explain::brief(dialect))),
    }
}

/// How large a value is.
struct Extent {
    depth: usize,
    values: u64,
}

impl Extent {
    fn of(value: &Value) -> Self {
        let mut extent = Self { depth: 0, values: 0 };
        let mut waiting = vec![(value, 1)];
        while let Some((value, depth)) = waiting.pop() {
            extent.values += 1;
            extent.depth = extent.depth.max(depth);
            match value {
                Value::Array(elements) => waiting.extend(elements.iter().map(|e| (e, depth + 1))),
                Value::Object(members) => waiting.extend(members.values().map(|m| (m, depth + 1))),
                _ => {}
            }
        }
        extent
    }
}

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaError {
    /// It names a dialect other than 2020-12 and draft-07.
    Dialect(String),
    /// It is not valid in its dialect; or holds a pattern that cannot be matched
    /// in linear time.
    Invalid(String),
    /// A reference leads out of the schema, or to nothing in it.
    Reference(String),
    /// It has more than may be checked in bounded time.
    TooLarge(String),
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dialect(name) => {
                write!(f, "the schema's dialect {name} is not supported; 2020-12 and draft-07 are")
            }
            Self::Invalid(why) => write!(f, "the schema is not valid: {why}"),
            Self::Reference(reference) => {
                write!(f, "the schema's reference {reference} leads nowhere within it")
            }
            Self::TooLarge(why) => write!(f, "the schema is too large: {why}"),
        }
    }
}

impl std::error::Error for SchemaError {}

/// What does not fit a schema, in words that a model can act on: at most a few
/// errors, with their paths, in bounded length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    text: String,
}

impl Mismatch {
    fn new(text: String) -> Self {
        Self { text }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Mismatch {}
