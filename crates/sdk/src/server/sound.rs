//! Whether a tool can be offered: what the protocol demands of its definition, and what
//! it recommends (`server/tools`, Tool Names).

use carrick_proto::rpc::{Json, JsonError, Limits};
use carrick_proto::text::excerpt;
use carrick_proto::types::{RawJson, Tool};
use serde_json::Value;
use std::fmt;

/// Containers inside containers of a schema. Readers have limits of their own, and take
/// the whole list for broken when one schema is beyond them.
const MAX_DEPTH: u32 = 100;

/// The longest name that every client takes, in characters.
const LONGEST_NAME: usize = 128;

/// Why a tool cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsoundTool {
    /// Its name, cut at some length.
    pub tool: String,
    /// What is wrong with it.
    pub fault: ToolFault,
}

/// What is wrong with a tool's definition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolFault {
    /// It has no name.
    NoName,
    /// The input schema is not a JSON object of `"type": "object"`; how it begins.
    Input(String),
    /// The output schema is not a JSON object; how it begins.
    Output(String),
    /// A schema has containers inside containers beyond 100.
    Depth,
}

impl fmt::Display for UnsoundTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tool {:?} cannot be offered: ", self.tool)?;
        match &self.fault {
            ToolFault::NoName => f.write_str("its name is empty"),
            ToolFault::Input(found) => write!(
                f,
                "its input schema must be an object with \"type\": \"object\", and is {found}"
            ),
            ToolFault::Output(found) => {
                write!(f, "its output schema must be an object, and is {found}")
            }
            ToolFault::Depth => {
                write!(f, "a schema of it nests deeper than {MAX_DEPTH} levels")
            }
        }
    }
}

impl std::error::Error for UnsoundTool {}

/// Looks at what the protocol demands, and warns of a name that it advises against.
///
/// # Errors
/// When clients could not use the tool, or not even read the list that it is in.
pub(super) fn check(tool: &Tool) -> Result<(), UnsoundTool> {
    let fail = |fault| {
        Err(UnsoundTool { tool: excerpt(&tool.name, 2 * LONGEST_NAME).into_owned(), fault })
    };
    if tool.name.is_empty() {
        return fail(ToolFault::NoName);
    }
    for schema in [Some(&tool.input_schema), tool.output_schema.as_ref()].into_iter().flatten() {
        if is_too_deep(schema) {
            return fail(ToolFault::Depth);
        }
    }
    if !is_object_schema(&tool.input_schema) {
        return fail(ToolFault::Input(excerpt(tool.input_schema.get(), 80).into_owned()));
    }
    if let Some(schema) = tool.output_schema.as_ref().filter(|s| !s.get().starts_with('{')) {
        return fail(ToolFault::Output(excerpt(schema.get(), 80).into_owned()));
    }
    if let Some(why) = odd_name(&tool.name) {
        let tool = excerpt(&tool.name, 2 * LONGEST_NAME);
        tracing::warn!(?tool, why, "clients may refuse a tool of this name");
    }
    Ok(())
}

fn is_too_deep(schema: &RawJson) -> bool {
    let mut limits = Limits::default();
    limits.depth = MAX_DEPTH;
    let text = schema.get().as_bytes().to_vec();
    matches!(Json::parse(text.into(), limits), Err(JsonError::Depth(_)))
}

fn is_object_schema(schema: &RawJson) -> bool {
    // Reading bounds the depth as well.
    serde_json::from_str::<Value>(schema.get()).is_ok_and(|schema| schema["type"] == "object")
}

/// What the protocol advises against in a name, if anything.
fn odd_name(name: &str) -> Option<&'static str> {
    let is_advised = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.chars().count() > LONGEST_NAME {
        return Some("it has more than 128 characters");
    }
    (!name.chars().all(is_advised))
        .then_some("it has characters other than A-Z, a-z, 0-9, '_', '-' and '.'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, input: &str) -> Tool {
        Tool::new(name, serde_json::from_str(input).unwrap())
    }

    fn fault(tool: &Tool) -> Option<ToolFault> {
        check(tool).err().map(|error| error.fault)
    }

    #[test]
    fn f45_an_input_schema_describes_an_object() {
        assert_eq!(check(&tool("a", r#"{"type":"object"}"#)), Ok(()));
        for schema in
            ["true", "false", "{}", "[]", "null", r#"{"type":"string"}"#, r#"{"type":["object"]}"#]
        {
            let error = check(&tool("a", schema)).unwrap_err();
            assert_eq!(error.fault, ToolFault::Input(schema.into()));
            assert!(error.to_string().contains("\"a\""), "{error}");
        }
        let mut odd = tool("a", r#"{"type":"object"}"#);
        odd.output_schema = Some(serde_json::from_str("true").unwrap());
        assert_eq!(fault(&odd), Some(ToolFault::Output("true".into())));
        odd.output_schema = Some(serde_json::from_str(r#"{"type":"string"}"#).unwrap());
        assert_eq!(fault(&odd), None);
    }

    #[test]
    fn f45_a_schema_that_others_cannot_read_is_refused() {
        let nested = |levels: usize| {
            let (open, close) = ("{\"not\":".repeat(levels), "}".repeat(levels));
            format!(r#"{{"type":"object","x":{open}1{close}}}"#)
        };
        assert_eq!(fault(&tool("a", &nested(99))), None);
        for levels in [100, 124, 200, 5000] {
            let raw = serde_json::value::RawValue::from_string(nested(levels));
            let Ok(raw) = raw else { continue };
            assert_eq!(fault(&Tool::new("a", raw)), Some(ToolFault::Depth), "{levels}");
        }
    }

    #[test]
    fn f45_names_are_there_and_odd_ones_are_warned_of() {
        assert_eq!(fault(&tool("", r#"{"type":"object"}"#)), Some(ToolFault::NoName));
        for odd in ["a\n", "a b", "a/b", "é", "a\u{202e}", &"x".repeat(129)] {
            assert!(odd_name(odd).is_some(), "{odd:?}");
            assert_eq!(fault(&tool(odd, r#"{"type":"object"}"#)), None, "it is only warned of");
        }
        for good in ["a", "A-Z_0.9", &"x".repeat(128)] {
            assert_eq!(odd_name(good), None);
        }
    }
}
