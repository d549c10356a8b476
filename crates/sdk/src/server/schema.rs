//! JSON Schemas of Rust types.

use carrick_proto::types::RawJson;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The schema of `T` in JSON Schema 2020-12, self-contained.
pub(crate) fn of<T: JsonSchema>(input: bool) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        if !input {
            settings.contract = schemars::generate::Contract::Serialize;
        }
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The type's own name says nothing to a model.
    schema.remove("title");
    let mut schema = schema.to_value();
    join_lines(&mut schema);
    schema
}

/// Shows arguments that may be left out as that, not as ones that may be null:
/// narrower providers refuse lists of types, and a model that reads `null` as
/// the default writes it. The reader takes null all the same.
fn plain_options(schema: &mut Value) {
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| required.as_array().is_some_and(|r| r.iter().any(|n| n == name));
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (name, property) in properties {
        let Some(members) = property.as_object_mut() else { continue };
        if members.get("default") == Some(&Value::Null) {
            members.remove("default");
        }
        if is_required(name) {
            continue;
        }
        let types = members.get("type").and_then(Value::as_array);
        if let Some([one, null]) = types.map(Vec::as_slice)
            && null == "null"
        {
            let one = one.clone();
            members.insert("type".into(), one);
        }
    }
}

/// Joins the wrapped lines of doc comments; paragraphs and lists stay.
fn join_lines(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if name == "description" => *text = joined(text),
                    other => join_lines(other),
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(join_lines),
        _ => {}
    }
}

fn joined(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines().map(str::trim) {
        let starts_anew = line.is_empty() || line.starts_with(['-', '*', '|', '#', '>']);
        let after_break = out.is_empty() || out.ends_with('\n');
        match (starts_anew, after_break) {
            (true, _) => out.push('\n'),
            (false, false) => out.push(' '),
            (false, true) => {}
        }
        out.push_str(line);
        if line.is_empty() {
            out.push('\n');
        }
    }
    out
}

/// The same for arguments, always an object.
pub(crate) fn of_arguments<T: JsonSchema>() -> RawJson {
    let mut schema = of::<T>(true);
    if let Some(object) = schema.as_object_mut() {
        object.entry("type").or_insert_with(|| "object".into());
        // What the type is for says nothing about the tool.
        object.remove("description");
    }
    plain_options(&mut schema);
    raw(&schema)
}

/// The same for structured results; none for types that are no objects.
pub(crate) fn of_result<T: JsonSchema>() -> Option<RawJson> {
    let schema = of::<T>(false);
    (schema.get("type")? == "object").then(|| raw(&schema))
}

/// The schema of a tool that takes nothing.
pub(crate) fn of_nothing() -> RawJson {
    raw(&serde_json::json!({ "type": "object", "additionalProperties": false }))
}

pub(crate) fn raw(value: &Value) -> RawJson {
    #[expect(clippy::expect_used, reason = "a value tree always serializes")]
    serde_json::value::to_raw_value(value).expect("a value tree serializes")
}
