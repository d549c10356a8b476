//! JSON Schemas of Rust types.

use carrick_proto::types::RawJson;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

/// The schema of `T` in JSON Schema 2020-12, self-contained.
pub(crate) fn of<T: JsonSchema>(input: bool) -> serde_json::Value {
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
    schema.to_value()
}

/// The same for arguments, always an object.
pub(crate) fn of_arguments<T: JsonSchema>() -> RawJson {
    let mut schema = of::<T>(true);
    if let Some(object) = schema.as_object_mut() {
        object.entry("type").or_insert_with(|| "object".into());
    }
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

fn raw(value: &serde_json::Value) -> RawJson {
    #[expect(clippy::expect_used, reason = "a value tree always serializes")]
    serde_json::value::to_raw_value(value).expect("a value tree serializes")
}
