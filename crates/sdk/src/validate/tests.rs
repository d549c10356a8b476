//! Schemas that are refused, and what is said of values.

use super::*;
use serde_json::json;

macro_rules! handed {
    ($file:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/handed/", $file))
    };
}

fn raw(value: &Value) -> RawJson {
    serde_json::value::to_raw_value(value).unwrap()
}

fn compile(value: Value) -> Result<Schema, SchemaError> {
    Schema::new(&raw(&value))
}

/// What is said of a value; empty when it fits.
fn said(schema: &Value, value: Value) -> String {
    let schema = compile(schema.clone()).unwrap();
    schema.check(&value).err().map(|mismatch| mismatch.to_string()).unwrap_or_default()
}

#[test]
fn d063_references_out_of_the_schema_are_refused_by_name() {
    let schema: RawJson = serde_json::from_str(handed!("D063/schema.json")).unwrap();
    let error = Schema::new(&schema).unwrap_err();
    assert!(matches!(error, SchemaError::Reference(_)), "{error:?}");
    assert!(error.to_string().contains("http://127.0.0.1:9/x.json"), "{error}");
    for reference in ["file:///etc/passwd", "other.json", "#/nowhere", "#anchor", "//host/x"] {
        let error = compile(json!({ "properties": { "a": { "$ref": reference } } })).unwrap_err();
        assert_eq!(error, SchemaError::Reference(format!("{reference:?}")));
    }
    for dialect in ["http://127.0.0.1:9/meta", "https://json-schema.org/draft/2019-09/schema", ""] {
        let error = compile(json!({ "$schema": dialect, "type": "object" })).unwrap_err();
        assert_eq!(error, SchemaError::Dialect(format!("{dialect:?}")));
    }
}

#[test]
fn d066_names_of_parameters_are_no_keywords() {
    let schema: Value = serde_json::from_str(handed!("D066/schema.json")).unwrap();
    let all = json!({
        "$ref": "a", "type": "b", "properties": "c", "items": "d", "dependencies": "e",
        "required": "f", "default": "g"
    });
    assert_eq!(said(&schema, all), "");
    assert_eq!(said(&schema, json!({ "items": "d" })), "type is missing");
    assert_eq!(said(&schema, json!({ "type": "t", "$ref": 1 })), "$ref must be a string, not 1");
}

#[test]
fn both_dialects_are_known_and_nothing_else_is() {
    let tuple = |schema: &str, keyword: &str| json!({ "$schema": schema, keyword: [{ "type": "string" }], "type": "array" });
    for draft in
        ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema"]
    {
        assert_eq!(said(&tuple(draft, "items"), json!([1])), "[0] must be a string, not 1");
    }
    let newest = "https://json-schema.org/draft/2020-12/schema";
    assert_eq!(said(&tuple(newest, "prefixItems"), json!([1])), "[0] must be a string, not 1");
    assert!(compile(tuple(newest, "items")).is_err(), "that was draft-07");
    assert_eq!(said(&json!({ "prefixItems": [false] }), json!([1])), "[0] is not allowed");
}

#[test]
fn schemas_that_are_none_are_refused() {
    for (schema, text) in [
        (json!({ "type": "objekt" }), "type: \"objekt\" is not allowed"),
        (json!({ "minimum": "3" }), "minimum: "),
        (json!({ "pattern": "(?=a)b" }), "pattern: \"(?=a)b\" is no pattern"),
        (json!({ "pattern": "(a{1000}){1000}" }), "linear time"),
        (json!([]), ""),
        (json!("object"), ""),
    ] {
        let error = compile(schema.clone()).unwrap_err();
        assert!(matches!(error, SchemaError::Invalid(_)), "{schema}: {error:?}");
        assert!(error.to_string().contains(text), "{schema}: {error}");
    }
}

#[test]
fn errors_say_where_and_what() {
    let schema = json!({
        "type": "object",
        "properties": {
            "count": { "type": "integer", "minimum": 1, "maximum": 9 },
            "unit": { "enum": ["km", "mi"] },
            "name": { "type": "string", "minLength": 2, "pattern": "^[a-z]+$" },
            "any": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            "list": { "items": { "type": ["integer", "null"] }, "maxItems": 2, "uniqueItems": true },
            "odd name": { "properties": { "x": { "const": 1 } } },
            "half": { "multipleOf": 0.5, "exclusiveMinimum": 0 }
        },
        "required": ["count"],
        "additionalProperties": false
    });
    for (value, text) in [
        (json!({}), "count is missing"),
        (json!({ "count": "two" }), "count must be an integer, not \"two\""),
        (json!({ "count": 0 }), "count must be at least 1, not 0"),
        (json!({ "count": 10 }), "count must be at most 9, not 10"),
        (json!({ "count": 1, "unit": "m" }), "unit must be \"km\" or \"mi\", not \"m\""),
        (json!({ "count": 1, "name": "a" }), "name must have at least 2 characters, not \"a\""),
        (json!({ "count": 1, "name": "Ab" }), "name must match the pattern ^[a-z]+$, not \"Ab\""),
        (
            json!({ "count": 1, "any": 1 }),
            "any fits none of what is allowed: any must be a string, not 1, or any must be null, not 1",
        ),
        (json!({ "count": 1, "list": [1, "x"] }), "list[1] must be null or an integer, not \"x\""),
        (json!({ "count": 1, "list": [1, 2, 3] }), "list must have at most 2 elements"),
        (json!({ "count": 1, "list": [1, 1] }), "list must not have the same element twice"),
        (json!({ "count": 1, "odd name": { "x": 2 } }), "\"odd name\".x must be 1, not 2"),
        (json!({ "count": 1, "half": 0.3 }), "half must be a multiple of 0.5, not 0.3"),
        (json!({ "count": 1, "half": 0 }), "half must be more than 0, not 0"),
        (
            json!({ "count": 1, "cuont": 1 }),
            "cuont is not known; known are any, count, half, list, name, \"odd name\" and unit",
        ),
        (json!([]), "the value must be an object, not []"),
    ] {
        assert_eq!(said(&schema, value.clone()), text, "{value}");
    }
    let several = said(&schema, json!({ "unit": "m", "name": 1 }));
    assert_eq!(several.matches("; ").count(), 2, "{several}");
}

#[test]
fn what_is_said_is_bounded() {
    let schema = json!({ "additionalProperties": { "type": "string", "maxLength": 1 } });
    let many: serde_json::Map<String, Value> =
        (0..1000).map(|n| (format!("{n}{}", "é".repeat(500)), json!(vec![n; 100]))).collect();
    let text = said(&schema, Value::Object(many));
    assert!(text.len() < 2_100 && text.contains("and more"), "{}", text.len());
}

#[test]
fn formats_are_annotations() {
    let schema = json!({ "format": "email", "type": "string" });
    assert_eq!(said(&schema, json!("not an address")), "");
}

#[test]
fn references_within_the_schema_are_followed() {
    let schema = json!({
        "$defs": { "a/b": { "$anchor": "named", "type": "integer" } },
        "properties": {
            "pointer": { "$ref": "#/$defs/a~1b" },
            "escaped": { "$ref": "#/%24defs/a~1b" },
            "anchor": { "$ref": "#named" },
            "again": { "$ref": "#" }
        }
    });
    for name in ["pointer", "escaped", "anchor"] {
        let inner = json!({ name: "x" });
        assert_eq!(said(&schema, inner.clone()), format!("{name} must be an integer, not \"x\""));
        let text = said(&schema, json!({ "again": { "again": inner } }));
        assert_eq!(text, format!("again.again.{name} must be an integer, not \"x\""));
    }
    let resource = json!({
        "$defs": { "inner": { "$id": "urn:inner", "$defs": { "n": { "type": "null" } }, "$ref": "#/$defs/n" } },
        "$ref": "#/$defs/inner"
    });
    assert_eq!(said(&resource, json!(1)), "the value must be null, not 1");
}

#[test]
fn schemas_without_bounds_are_refused() {
    let nested = (0..100).fold(json!({}), |inner, _| json!({ "not": inner }));
    let chain = |width: usize, length: usize| {
        let step = |n: usize| {
            let next = json!({ "$ref": format!("#/$defs/{}", n + 1) });
            (n.to_string(), json!({ "anyOf": vec![next; width] }))
        };
        let mut defs: serde_json::Map<String, Value> = (0..length).map(step).collect();
        defs.insert(length.to_string(), json!({ "type": "null" }));
        json!({ "$defs": defs, "$ref": "#/$defs/0" })
    };
    let many: serde_json::Map<String, Value> =
        (0..20_000).map(|n| (n.to_string(), json!({}))).collect();
    for (name, schema) in [
        ("nested", nested),
        ("long chain", chain(1, 100)),
        ("many ways", chain(2, 20)),
        ("many schemas", json!({ "properties": many })),
        ("long text", json!({ "description": "x".repeat(MAX_BYTES) })),
    ] {
        let error = compile(schema).unwrap_err();
        assert!(matches!(error, SchemaError::TooLarge(_)), "{name}: {error:?}");
    }
    for circle in [
        json!({ "$ref": "#" }),
        json!({ "allOf": [{ "$ref": "#" }] }),
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "not": { "$ref": "#/$defs/a" } } } }),
    ] {
        assert!(matches!(compile(circle), Err(SchemaError::Invalid(_))));
    }
    assert!(compile(chain(2, 5)).is_ok() && compile(chain(1, 10)).is_ok());
}

/// A tree in which every level is reached over two ways: told by `is_valid`, which
/// remembers, and not explained, which would go all of them.
#[test]
fn recursion_over_several_ways_ends() {
    let branch = json!({ "properties": { "x": { "$ref": "#" } }, "required": ["q"] });
    let schema = json!({ "anyOf": [branch, branch] });
    let deep = (0..100).fold(json!({}), |inner, _| json!({ "x": inner }));
    assert_eq!(said(&schema, deep), "the value does not fit, and is too large to say where");
    let text = said(&schema, json!({ "x": {} }));
    assert!(text.contains("q is missing"), "{text}");
}

/// The deepest values that a message can hold, on the smallest of stacks.
#[test]
fn depth_is_bounded_by_the_stack() {
    let chain = (0..5).fold(
        json!({ "additionalProperties": { "$ref": "#" } }),
        |inner, _| json!({ "allOf": [inner] }),
    );
    let deep = (0..126).fold(json!(1), |inner, _| json!({ "x": inner }));
    let small = std::thread::Builder::new().stack_size(1 << 20);
    let run = move || said(&chain, deep);
    assert_eq!(small.spawn(run).unwrap().join().unwrap(), "");
    let longer = (0..20).fold(
        json!({ "additionalProperties": { "$ref": "#" } }),
        |inner, _| json!({ "allOf": [inner] }),
    );
    let deep = (0..126).fold(json!(1), |inner, _| json!({ "x": inner }));
    assert_eq!(said(&longer, deep), "the value is nested too deeply to be checked");
}
