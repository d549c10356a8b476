//! Arguments and results of tools against their schemas.
//!
//! A schema written by hand is checked whole. Of one that comes from types,
//! serde enforces the shape; what it cannot enforce, such as a minimum or a
//! pattern, is checked here, and so is what serde refuses, to say it better.

use super::ToolError;
use crate::validate::{Schema, SchemaError};
use carrick_proto::types::{CallToolResult, Elicit, ElicitAction, ElicitResult, RawJson, RpcError};
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// What the arguments and results of one tool are checked against.
#[derive(Clone)]
pub(super) struct Checks {
    input: Arc<Checked>,
    output: Option<Arc<Checked>>,
}

/// A schema that is compiled when it is first needed.
struct Checked {
    source: RawJson,
    origin: Origin,
    compiled: OnceLock<Result<Schema, SchemaError>>,
}

/// Where a schema comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// An author wrote it: all of it is checked.
    Hand,
    /// It comes from types, and has keywords that those do not enforce.
    Constrained,
    /// It comes from types, which enforce all of it.
    Types,
}

impl Checks {
    /// The schemas that come from types.
    pub(super) fn of_types(input: &RawJson, output: Option<&RawJson>) -> Self {
        let output = output.map(|schema| Arc::new(Checked::of_types(schema)));
        Self { input: Arc::new(Checked::of_types(input)), output }
    }

    pub(super) fn set_input(&mut self, schema: &RawJson) {
        self.input = Arc::new(Checked::by_hand(schema));
    }

    pub(super) fn set_output(&mut self, schema: &RawJson) {
        self.output = Some(Arc::new(Checked::by_hand(schema)));
    }

    /// Whether arguments are checked before the tool runs.
    pub(super) fn has_input(&self) -> bool {
        self.input.origin != Origin::Types
    }

    /// Whether results are checked.
    pub(super) fn has_output(&self) -> bool {
        self.output.as_ref().is_some_and(|output| output.origin != Origin::Types)
    }

    /// Checks arguments, an object.
    pub(super) fn input(&self, arguments: &Value) -> Result<(), ToolError> {
        match self.input.compiled() {
            Ok(schema) => {
                self.input.check(schema, arguments).map_err(|e| ToolError::of_arguments(misfit(&e)))
            }
            Err(error) => Err(broken("input", error)),
        }
    }

    /// Says what is wrong with arguments that the types refused.
    pub(super) fn explain(&self, arguments: &[u8]) -> Option<String> {
        let schema = self.input.compiled().ok()?;
        let arguments = without_nulls(&self.input.source, &serde_json::from_slice(arguments).ok()?);
        schema.check(&arguments).err().map(|mismatch| misfit(&mismatch))
    }

    /// Checks a result. Failures need not fit.
    pub(super) fn output(&self, result: &CallToolResult) -> Result<(), ToolError> {
        let Some(output) = self.output.as_ref().filter(|_| !result.is_error) else { return Ok(()) };
        let schema = output.compiled().map_err(|error| broken("output", error))?;
        let unfit = |why: &dyn std::fmt::Display| {
            tracing::error!(%why, "a tool's result does not fit its output schema");
            let text = format!("the tool's result does not fit its output schema: {why}");
            ToolError::rpc(RpcError::internal(text))
        };
        let Some(structured) = &result.structured_content else {
            return Err(unfit(&"there is no structured content"));
        };
        let value = serde_json::from_str(structured.get()).map_err(|error| unfit(&error))?;
        schema.check(&value).map_err(|mismatch| unfit(&mismatch))
    }
}

impl Checked {
    fn of_types(schema: &RawJson) -> Self {
        let value = serde_json::from_str(schema.get()).unwrap_or_default();
        let origin = if is_constrained(&value) { Origin::Constrained } else { Origin::Types };
        Self { source: schema.clone(), origin, compiled: OnceLock::new() }
    }

    fn by_hand(schema: &RawJson) -> Self {
        let checked =
            Self { source: schema.clone(), origin: Origin::Hand, compiled: OnceLock::new() };
        if let Err(error) = checked.compiled() {
            tracing::error!(%error, "a tool's schema cannot be used: calls will fail");
        }
        checked
    }

    fn compiled(&self) -> Result<&Schema, &SchemaError> {
        self.compiled.get_or_init(|| Schema::new(&self.source)).as_ref()
    }

    fn check(&self, schema: &Schema, value: &Value) -> Result<(), crate::validate::Mismatch> {
        match self.origin {
            Origin::Hand => schema.check(value),
            // The reader takes more than the schema shows: null for what may be
            // left out, other names. What it refuses, it refuses itself.
            _ => schema.check_but(&without_nulls(&self.source, value), is_enforced_by_types),
        }
    }
}

/// What of an accepted form does not fit its schema (`client/elicitation`,
/// Requested Schema).
pub(super) fn form_misfit(ask: &Elicit, answer: &ElicitResult) -> Option<String> {
    let (Elicit::Form { requested_schema, .. }, ElicitAction::Accept) = (ask, answer.action) else {
        return None;
    };
    let content = answer.content.as_ref().map_or("{}", |content| content.get());
    let checked = match Schema::new(requested_schema) {
        Ok(schema) => serde_json::from_str(content)
            .map_err(|error| error.to_string())
            .and_then(|content| schema.check(&content).map_err(|error| error.to_string())),
        Err(error) => Err(format!("the form cannot be checked: {error}")),
    };
    checked.err()
}

fn misfit(mismatch: &crate::validate::Mismatch) -> String {
    format!("these arguments do not fit the schema: {mismatch}")
}

fn broken(which: &str, error: &SchemaError) -> ToolError {
    let text = format!("the tool's {which} schema cannot be used: {error}");
    ToolError::rpc(RpcError::internal(text))
}

/// The value without the nulls at its top that stand for arguments left out.
fn without_nulls(schema: &RawJson, value: &Value) -> Value {
    let mut value = value.clone();
    let schema: Value = serde_json::from_str(schema.get()).unwrap_or_default();
    if let Some(members) = value.as_object_mut() {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
        members.retain(|name, member| !member.is_null() || is_required(name));
    }
    value
}

fn is_enforced_by_types(error: &ValidationError<'_>) -> bool {
    matches!(
        error.kind(),
        Kind::Type { .. } | Kind::Required { .. } | Kind::AdditionalProperties { .. }
    )
}

/// Whether a schema made from types has keywords that reading does not enforce.
fn is_constrained(schema: &Value) -> bool {
    const KEYWORDS: [&str; 17] = [
        "const",
        "contains",
        "dependentRequired",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "if",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "not",
        "pattern",
    ];
    let Some(members) = schema.as_object() else { return false };
    let is_one = |keyword: &str| KEYWORDS.contains(&keyword) || keyword == "uniqueItems";
    members.iter().any(|(keyword, value)| match keyword.as_str() {
        "minimum" | "maximum" => !is_bound_of_type(members, value),
        // A unit variant of an enum.
        "const" => !value.is_string(),
        "properties" | "patternProperties" | "$defs" => {
            value.as_object().is_some_and(|named| named.values().any(is_constrained))
        }
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
            value.as_array().is_some_and(|all| all.iter().any(is_constrained))
        }
        "items" | "additionalProperties" => is_constrained(value),
        keyword => is_one(keyword),
    })
}

/// Whether a limit is that of the integer's own type.
fn is_bound_of_type(members: &serde_json::Map<String, Value>, limit: &Value) -> bool {
    let format = members.get("format").and_then(Value::as_str).unwrap_or_default();
    let limit = limit.as_i64();
    match format {
        "uint8" => limit == Some(0) || limit == Some(u8::MAX.into()),
        "uint16" => limit == Some(0) || limit == Some(u16::MAX.into()),
        "uint" | "uint32" | "uint64" | "uint128" => limit == Some(0),
        "int8" => limit == Some(i8::MIN.into()) || limit == Some(i8::MAX.into()),
        "int16" => limit == Some(i16::MIN.into()) || limit == Some(i16::MAX.into()),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
