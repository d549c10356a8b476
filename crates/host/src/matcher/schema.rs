//! The parameters of a tool, read from its JSON schema.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::role::{Role, Side};

/// A parameter of a tool: what its schema asks for.
#[derive(Debug, Clone)]
pub(super) struct Param {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) required: bool,
    pub(super) shape: Shape,
    /// It takes an array of `shape`.
    pub(super) list: bool,
    /// The values of `enum` or `const`; empty when any value will do.
    pub(super) choices: Vec<Value>,
    pub(super) default: Option<Value>,
    pub(super) minimum: Option<f64>,
    pub(super) maximum: Option<f64>,
    pub(super) pattern: Option<String>,
    pub(super) format: Option<String>,
    pub(super) role: Role,
    /// Where it stands in a pair such as source and target.
    pub(super) side: Option<Side>,
}

/// The JSON type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    Integer,
    Number,
    Bool,
    /// An object, or a type this module does not fill.
    Other,
}

/// Reads the parameters in the order of the schema.
///
/// # Errors
///
/// Says why, when the text is not a JSON object. A member of an unexpected
/// type is read as absent: the server checks arguments, this only guesses them.
pub(super) fn parameters(schema: &str) -> Result<Vec<Param>, serde_json::Error> {
    let Members(top) = serde_json::from_str::<Members<Box<RawValue>>>(schema)?;
    let member = |name: &str| top.iter().find(|(key, _)| key == name).map(|(_, raw)| raw.get());
    let required: Vec<String> =
        member("required").and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default();
    let definitions = ["$defs", "definitions"].map(|name| {
        (name, member(name).and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or(Value::Null))
    });
    let Members(properties) = member("properties")
        .and_then(|raw| serde_json::from_str::<Members<Value>>(raw).ok())
        .unwrap_or_default();
    Ok(properties
        .into_iter()
        .map(|(name, property)| {
            let needed = required.contains(&name);
            parameter(name, needed, &resolve(property, &definitions))
        })
        .collect())
}

fn parameter(name: String, required: bool, schema: &Value) -> Param {
    let text = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let kind = type_name(schema);
    let list = kind == Some("array");
    let item = if list { schema.get("items").unwrap_or(&Value::Null) } else { schema };
    let mut choices = item.get("enum").and_then(Value::as_array).cloned().unwrap_or_default();
    choices.extend(item.get("const").cloned());
    let shape = match type_name(item) {
        Some("string") => Shape::Text,
        Some("integer") => Shape::Integer,
        Some("number") => Shape::Number,
        Some("boolean") => Shape::Bool,
        None if choices.iter().any(Value::is_string) => Shape::Text,
        _ => Shape::Other,
    };
    Param {
        name,
        description: [text("title"), text("description")]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(": "),
        required,
        shape,
        list,
        choices,
        default: schema.get("default").filter(|value| !value.is_null()).cloned(),
        minimum: number("minimum").or_else(|| number("exclusiveMinimum")),
        maximum: number("maximum").or_else(|| number("exclusiveMaximum")),
        pattern: text("pattern"),
        format: text("format"),
        role: Role::Open,
        side: None,
    }
}

/// The one type a schema names; of several, the first that is not `null`.
fn type_name(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(name) => Some(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        _ => None,
    }
}

/// Follows a local `$ref` and takes the first alternative that is not `null`,
/// a bounded number of times; what the outer schema says stays.
fn resolve(mut schema: Value, definitions: &[(&str, Value)]) -> Value {
    const STEPS: usize = 8;
    for _ in 0..STEPS {
        let inner = if let Some(Value::String(reference)) = schema.get("$ref") {
            definition(reference, definitions)
        } else {
            alternative(&schema)
        };
        let (Some(Value::Object(inner)), Value::Object(outer)) = (inner, &mut schema) else {
            break;
        };
        for key in ["$ref", "anyOf", "oneOf", "allOf"] {
            outer.remove(key);
        }
        for (key, value) in inner {
            outer.entry(key).or_insert(value);
        }
    }
    schema
}

fn definition(reference: &str, definitions: &[(&str, Value)]) -> Option<Value> {
    let (section, name) = reference.strip_prefix("#/")?.split_once('/')?;
    definitions.iter().find(|(key, _)| *key == section)?.1.get(name).cloned()
}

fn alternative(schema: &Value) -> Option<Value> {
    ["anyOf", "oneOf", "allOf"]
        .iter()
        .filter_map(|key| schema.get(*key)?.as_array())
        .flatten()
        .find(|choice| choice.get("type").and_then(Value::as_str) != Some("null"))
        .cloned()
}

/// The members of a JSON object in the order they are written.
struct Members<T>(Vec<(String, T)>);

impl<T> Default for Members<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Members<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor(std::marker::PhantomData))
    }
}

struct MembersVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for MembersVisitor<T> {
    type Value = Members<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_keep_the_order_of_the_schema() {
        let params = parameters(
            r#"{"properties":{"z":{"type":"integer"},"a":{"type":["null","string"]}},"required":["z"]}"#,
        )
        .unwrap();
        assert_eq!(params[0].name, "z");
        assert!(params[0].required && !params[1].required);
        assert_eq!((params[0].shape, params[1].shape), (Shape::Integer, Shape::Text));
    }

    #[test]
    fn references_and_alternatives_are_followed() {
        let params = parameters(
            r##"{"properties":{"unit":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/Unit"}],"description":"d"},
                "tags":{"type":"array","items":{"type":"string"}}},
                "$defs":{"Unit":{"type":"string","enum":["celsius"],"description":"inner"}}}"##,
        )
        .unwrap();
        assert_eq!(params[0].choices, ["celsius"]);
        assert_eq!(params[0].description, "d");
        assert!(params[1].list);
    }

    #[test]
    fn a_reference_to_itself_ends() {
        let params = parameters(
            r##"{"properties":{"x":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$ref":"#/$defs/A"}}}"##,
        )
        .unwrap();
        assert_eq!(params[0].shape, Shape::Other);
    }

    #[test]
    fn what_is_not_an_object_is_an_error_and_odd_members_are_not() {
        assert!(parameters("[]").is_err());
        assert!(parameters("{").is_err());
        assert!(parameters(r#"{"properties":7,"required":true}"#).unwrap().is_empty());
    }
}
