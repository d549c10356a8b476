//! Schemas of tools for providers that know only a part of JSON Schema.
//!
//! What the model is shown is weaker than the tool's own schema, never stronger
//! than it can be helped: the server still checks the arguments with its own. What
//! has no place in the part that every provider knows is told in words, in the
//! description that stands beside it.

use carrick::proto::text::excerpt;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// Schemas inside each other that are followed, references included.
const DEEPEST: usize = 24;

/// Schemas of one tool that are written, large ones counted more than once:
/// references may repeat others many times.
const MOST: usize = 2_000;

/// The longest constraint that is told in words, in bytes.
const LONGEST: usize = 200;

/// What every provider knows, and takes as it is.
const KNOWN: &[&str] = &["title", "minimum", "maximum", "minItems", "maxItems", "required"];

/// Keywords that say nothing about arguments.
const SILENT: &[&str] = &["$schema", "$id", "$defs", "definitions", "$comment", "$anchor"];

/// A schema without references, type arrays, `additionalProperties`, `const`
/// and whatever else some providers refuse.
pub(super) fn narrow(schema: &RawValue) -> Result<Box<RawValue>, serde_json::Error> {
    let root: Value = serde_json::from_str(schema.get())?;
    let mut narrowing = Narrowing { root: &root, left: MOST };
    let mut narrowed = narrowing.schema(&root, 0);
    // The arguments of a tool are an object, whatever else is said of them.
    narrowed.insert("type".into(), "object".into());
    narrowed.entry("properties").or_insert_with(|| json!({}));
    serde_json::value::to_raw_value(&narrowed)
}

struct Narrowing<'a> {
    root: &'a Value,
    left: usize,
}

impl<'a> Narrowing<'a> {
    fn schema(&mut self, schema: &'a Value, depth: usize) -> Map<String, Value> {
        let Some(members) = schema.as_object() else { return Map::new() };
        if depth >= DEEPEST || self.left == 0 {
            return words(Map::new(), vec!["more than can be shown".into()]);
        }
        let texts = members.get("description").and_then(Value::as_str).map_or(0, str::len);
        let values = members.get("enum").and_then(Value::as_array).map_or(0, Vec::len);
        self.left = self.left.saturating_sub(1 + texts / 256 + values / 8);
        let mut out = match members.get("$ref").and_then(Value::as_str) {
            Some(reference) => match self.resolve(reference) {
                Some(target) => self.schema(target, depth + 1),
                None => Map::new(),
            },
            None => Map::new(),
        };
        let mut told = Vec::new();
        self.kind(members, &mut out);
        for (keyword, value) in members {
            self.keyword((keyword, value), depth, &mut out, &mut told);
        }
        only_of_objects(&mut out);
        words(out, told)
    }

    /// The type, with whether it may be null.
    fn kind(&self, members: &Map<String, Value>, out: &mut Map<String, Value>) {
        match members.get("type") {
            Some(Value::String(kind)) => drop(out.insert("type".into(), kind.clone().into())),
            Some(Value::Array(kinds)) => {
                let mut some = kinds.iter().filter(|kind| *kind != "null");
                match (some.next(), some.next()) {
                    (Some(only), None) => drop(out.insert("type".into(), only.clone())),
                    (Some(_), Some(_)) => {
                        let each = kinds.iter().filter(|kind| *kind != "null");
                        let each = each.map(|kind| json!({ "type": kind })).collect();
                        out.insert("anyOf".into(), Value::Array(each));
                    }
                    (None, _) => {}
                }
                if kinds.iter().any(|kind| kind == "null") {
                    out.insert("nullable".into(), true.into());
                }
            }
            _ => {}
        }
    }

    fn keyword(
        &mut self,
        (keyword, value): (&'a String, &'a Value),
        depth: usize,
        out: &mut Map<String, Value>,
        told: &mut Vec<String>,
    ) {
        match keyword.as_str() {
            "type" | "$ref" => {}
            keyword if SILENT.contains(&keyword) => {}
            keyword if KNOWN.contains(&keyword) => drop(out.insert(keyword.into(), value.clone())),
            "description" => drop(out.insert("description".into(), value.clone())),
            "enum" => choices(value, out),
            "const" => choices(&json!([value]), out),
            "exclusiveMinimum" => bound("minimum", value, 1, out, told),
            "exclusiveMaximum" => bound("maximum", value, -1, out, told),
            "properties" => {
                let Some(named) = value.as_object() else { return };
                let each = named.iter().map(|(name, schema)| {
                    (name.clone(), Value::Object(self.schema(schema, depth + 1)))
                });
                let each = each.collect::<Map<_, _>>();
                out.insert("properties".into(), each.into());
            }
            "items" if value.is_object() => {
                let items = self.schema(value, depth + 1);
                out.insert("items".into(), items.into());
            }
            "anyOf" | "oneOf" => self.choice(value, depth, out),
            "allOf" => self.all(value, depth, out),
            "additionalProperties" if *value == false => told.push("nothing else".into()),
            "additionalProperties" if *value == true => {}
            "additionalProperties" => told.push(told_of("others", value)),
            // A format too: some refuse those that they do not know.
            _ => told.push(told_of(keyword, value)),
        }
    }

    fn choice(&mut self, value: &'a Value, depth: usize, out: &mut Map<String, Value>) {
        let null = |schema: &&Value| schema.get("type") == Some(&"null".into());
        let all = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let mut each = Vec::new();
        for schema in all.iter().filter(|schema| !null(schema)) {
            each.push(Value::Object(self.schema(schema, depth + 1)));
        }
        if all.iter().any(|schema| null(&schema)) {
            out.insert("nullable".into(), true.into());
        }
        match each.len() {
            0 => {}
            // Nothing is left to choose.
            1 => {
                if let Some(Value::Object(only)) = each.pop() {
                    join(out, only);
                }
            }
            _ => drop(out.insert("anyOf".into(), each.into())),
        }
    }

    fn all(&mut self, value: &'a Value, depth: usize, out: &mut Map<String, Value>) {
        for schema in value.as_array().into_iter().flatten() {
            let part = self.schema(schema, depth + 1);
            join(out, part);
        }
    }

    /// What a reference within the schema leads to.
    fn resolve(&self, reference: &str) -> Option<&'a Value> {
        let pointer = reference.strip_prefix('#')?;
        self.root.pointer(&percent_encoding::percent_decode_str(pointer).decode_utf8().ok()?)
    }
}

/// Adds what another schema says to one that says nothing else of it.
fn join(out: &mut Map<String, Value>, other: Map<String, Value>) {
    for (keyword, value) in other {
        match (out.get_mut(&keyword), value) {
            (Some(Value::Object(here)), Value::Object(more)) => here.extend(more),
            (Some(Value::Array(here)), Value::Array(more)) if keyword == "required" => {
                here.extend(more);
                here.dedup();
            }
            (Some(_), _) => {}
            (None, value) => drop(out.insert(keyword, value)),
        }
    }
}

/// An enumeration; some providers take those of texts only.
fn choices(value: &Value, out: &mut Map<String, Value>) {
    let values = value.as_array().map(Vec::as_slice).unwrap_or_default();
    if values.iter().any(Value::is_null) {
        out.insert("nullable".into(), true.into());
    }
    let texts: Vec<Value> = values.iter().filter(|v| v.is_string()).cloned().collect();
    let others = values.iter().any(|value| !value.is_string() && !value.is_null());
    if others || texts.is_empty() {
        words_into(out, &[told_of("enum", value)]);
    } else {
        out.entry("type").or_insert_with(|| "string".into());
        out.insert("enum".into(), texts.into());
    }
}

/// An exclusive bound: of integers the next one is inside.
fn bound(
    keyword: &str,
    value: &Value,
    step: i64,
    out: &mut Map<String, Value>,
    told: &mut Vec<String>,
) {
    let integer = out.get("type") == Some(&"integer".into());
    match value.as_i64().and_then(|value| value.checked_add(step)) {
        Some(inside) if integer => drop(out.insert(keyword.into(), inside.into())),
        _ => told.push(told_of(if step > 0 { "greater than" } else { "less than" }, value)),
    }
}

/// Takes away what only an object may have from what is none.
fn only_of_objects(out: &mut Map<String, Value>) {
    let object = out.get("type").is_none_or(|kind| kind == "object");
    if !object {
        out.remove("properties");
        out.remove("required");
    }
    // What is required must be there.
    let known: Vec<String> = out
        .get("properties")
        .and_then(Value::as_object)
        .map(|named| named.keys().cloned().collect())
        .unwrap_or_default();
    if let Some(Value::Array(required)) = out.get_mut("required") {
        required.retain(|name| name.as_str().is_some_and(|name| known.iter().any(|k| k == name)));
        if required.is_empty() {
            out.remove("required");
        }
    }
}

fn told_of(keyword: &str, value: &Value) -> String {
    format!("{keyword}: {}", excerpt(&value.to_string(), LONGEST))
}

fn words(mut out: Map<String, Value>, told: Vec<String>) -> Map<String, Value> {
    words_into(&mut out, &told);
    out
}

/// Puts into the description what has no keyword.
fn words_into(out: &mut Map<String, Value>, told: &[String]) {
    if told.is_empty() {
        return;
    }
    let told = told.join("; ");
    let text = match out.get("description").and_then(Value::as_str) {
        Some(text) if !text.is_empty() => format!("{text} ({told})"),
        _ => format!("({told})"),
    };
    out.insert("description".into(), text.into());
}

#[cfg(test)]
mod tests;
