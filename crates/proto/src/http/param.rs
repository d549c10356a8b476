//! Tool arguments mirrored into `Mcp-Param-…` headers (modern).

use alloc::{
    borrow::{Cow, ToOwned},
    collections::BTreeSet,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use serde_json::{Map, Value};

use super::{
    argument::{self, Argument, ArgumentError, Number},
    error::{HeaderMismatch, MismatchReason},
    field::{Field, decode_value, encode_value, is_token_byte},
    name,
};

const ANNOTATION: &str = "x-mcp-header";

/// Keywords whose value is one schema.
const ONE_SCHEMA: &[&str] = &[
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
];
/// Keywords whose value is an array of schemas.
const SCHEMA_LIST: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems", "items"];
/// Keywords whose value maps names to schemas (`properties` apart).
const SCHEMA_MAP: &[&str] =
    &["$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies"];

/// One argument of a tool that is mirrored into a header.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParamHeader {
    /// The whole header name, `mcp-param-…`, in lower case.
    pub header: String,
    /// The member names that lead to the argument, outermost first.
    pub path: Vec<String>,
}

/// Why a tool's `x-mcp-header` annotations make its definition invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnnotationError {
    /// The name is not a non-empty text of header name characters.
    Name,
    /// Another property has the same name, perhaps in other letter case.
    Repeated {
        /// The name.
        name: String,
    },
    /// The property is not of type string, integer or boolean.
    Type {
        /// The annotation's name.
        name: String,
    },
    /// The annotation stands where no chain of `properties` leads.
    Place {
        /// The keyword that the chain passes through.
        keyword: String,
    },
}

impl fmt::Display for AnnotationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("an x-mcp-header is not a valid header name"),
            Self::Repeated { name } => write!(f, "x-mcp-header {name:?} is used more than once"),
            Self::Type { name } => write!(
                f,
                "x-mcp-header {name:?} stands on a property that is not of type string, integer or boolean"
            ),
            Self::Place { keyword } => {
                write!(f, "an x-mcp-header stands under {keyword:?}, not only under properties")
            }
        }
    }
}

impl core::error::Error for AnnotationError {}

/// Finds the arguments that a tool's `inputSchema` wants mirrored.
///
/// # Errors
///
/// [`AnnotationError`] when an annotation breaks a rule; a client on HTTP then
/// leaves the tool out (`server/tools`, `x-mcp-header`).
pub fn param_headers(input_schema: &Value) -> Result<Vec<ParamHeader>, AnnotationError> {
    let mut walk = Walk { found: Vec::new(), names: BTreeSet::new(), path: Vec::new() };
    if let Value::Object(root) = input_schema {
        if root.contains_key(ANNOTATION) {
            return Err(AnnotationError::Type { name: annotation_name(root)?.to_owned() });
        }
        walk.schema(root)?;
    }
    Ok(walk.found)
}

impl ParamHeader {
    /// The header value for a call with these arguments, which are JSON; `None` when
    /// the call has no such argument, when it is null, or when it is of no type that a
    /// header can carry (the server will refuse the call for that).
    ///
    /// # Errors
    ///
    /// [`ArgumentError`] when the argument cannot be mirrored, so that the call must
    /// not be sent.
    pub fn value_in(&self, arguments: &[u8]) -> Result<Option<String>, ArgumentError> {
        let text = match argument::find(arguments, &self.path)? {
            Some(Argument::Text(text)) => text,
            Some(Argument::Flag(flag)) => Cow::Owned(flag.to_string()),
            Some(Argument::Whole(whole)) => Cow::Owned(whole.to_string()),
            Some(Argument::Other(_)) | None => return Ok(None),
        };
        Ok(Some(encode_value(&text).into_owned()))
    }

    /// Compares a received header with the arguments of the call, which are JSON.
    ///
    /// # Errors
    ///
    /// [`HeaderMismatch`] when the header is repeated, unreadable, or does not
    /// say what the arguments say, and when the argument cannot be mirrored.
    pub fn check(&self, header: Field<'_>, arguments: &[u8]) -> Result<(), HeaderMismatch> {
        let fail = |reason| Err(HeaderMismatch::new(&self.header, reason));
        let body = match argument::find(arguments, &self.path) {
            Ok(body) => body,
            Err(why) => return fail(MismatchReason::Argument(why)),
        };
        let value = match header {
            Field::Absent if body.is_none() => return Ok(()),
            Field::Absent => return fail(MismatchReason::Missing),
            Field::Repeated => return fail(MismatchReason::Repeated),
            Field::One(value) => value,
        };
        let text = match decode_value(value) {
            Ok(text) => text,
            Err(why) => return fail(MismatchReason::Unreadable(why)),
        };
        let same = match &body {
            Some(Argument::Text(body)) => *body == text,
            Some(Argument::Flag(body)) => body.to_string() == text,
            Some(Argument::Whole(body)) => is_number(&text, *body),
            Some(Argument::Other(_)) | None => false,
        };
        if same {
            return Ok(());
        }
        let shown = body.map(|body| match body {
            Argument::Text(body) => body.into_owned(),
            Argument::Flag(body) => body.to_string(),
            Argument::Whole(body) => body.to_string(),
            Argument::Other(json) => json.to_owned(),
        });
        Err(HeaderMismatch::differs(&self.header, text.as_bytes(), shown.as_deref()))
    }
}

/// Whether a header's text is this number, in any form that JSON has for it.
fn is_number(header: &str, body: i64) -> bool {
    let is_json = serde_json::from_str::<serde_json::Number>(header).is_ok();
    is_json && argument::whole(header) == Number::Whole(body)
}

/// A walk over the places of a schema where an annotation may stand.
struct Walk {
    found: Vec<ParamHeader>,
    names: BTreeSet<String>,
    path: Vec<String>,
}

impl Walk {
    fn schema(&mut self, schema: &Map<String, Value>) -> Result<(), AnnotationError> {
        if let Some(keyword) = misplaced(schema) {
            return Err(AnnotationError::Place { keyword: keyword.to_owned() });
        }
        let Some(Value::Object(properties)) = schema.get("properties") else {
            return Ok(());
        };
        for (name, property) in properties {
            let Value::Object(property) = property else { continue };
            self.path.push(name.clone());
            if property.contains_key(ANNOTATION) {
                self.annotated(property)?;
            }
            self.schema(property)?;
            self.path.pop();
        }
        Ok(())
    }

    fn annotated(&mut self, property: &Map<String, Value>) -> Result<(), AnnotationError> {
        let name = annotation_name(property)?;
        if !is_primitive(property) {
            return Err(AnnotationError::Type { name: name.to_owned() });
        }
        let lower = name.to_ascii_lowercase();
        let header = format!("{}{lower}", name::PARAM_PREFIX);
        if !self.names.insert(lower) {
            return Err(AnnotationError::Repeated { name: name.to_owned() });
        }
        self.found.push(ParamHeader { header, path: self.path.clone() });
        Ok(())
    }
}

fn annotation_name(schema: &Map<String, Value>) -> Result<&str, AnnotationError> {
    match schema.get(ANNOTATION) {
        Some(Value::String(name)) if !name.is_empty() && name.bytes().all(is_token_byte) => {
            Ok(name)
        }
        _ => Err(AnnotationError::Name),
    }
}

/// Whether the type is one a header can carry; `null` beside it only says that
/// the argument may be left out.
fn is_primitive(property: &Map<String, Value>) -> bool {
    let carried = |name: &Value| name == "string" || name == "integer" || name == "boolean";
    match property.get("type") {
        Some(Value::Array(names)) => {
            let mut others = names.iter().filter(|name| *name != "null");
            others.next().is_some_and(carried) && others.next().is_none()
        }
        Some(name) => carried(name),
        None => false,
    }
}

/// The keyword of this schema, other than `properties`, under which an
/// annotation stands.
fn misplaced(schema: &Map<String, Value>) -> Option<&str> {
    let (keyword, _) = schema
        .iter()
        .find(|(keyword, value)| keyword.as_str() != "properties" && holds_under(keyword, value))?;
    Some(keyword)
}

fn holds_annotation(schema: &Value) -> bool {
    let Value::Object(schema) = schema else {
        return false;
    };
    schema.contains_key(ANNOTATION)
        || schema.iter().any(|(keyword, value)| holds_under(keyword, value))
}

fn holds_under(keyword: &str, value: &Value) -> bool {
    match value {
        Value::Object(map) if keyword == "properties" || SCHEMA_MAP.contains(&keyword) => {
            map.values().any(holds_annotation)
        }
        Value::Object(_) if ONE_SCHEMA.contains(&keyword) => holds_annotation(value),
        Value::Array(list) if SCHEMA_LIST.contains(&keyword) => list.iter().any(holds_annotation),
        _ => false,
    }
}
