use std::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::{Value, json};

use super::{
    super::{AnnotationError, ArgumentError, Field, MismatchReason, param_headers},
    field, handed,
};

#[test]
fn d021_tools_with_bad_annotations_are_told_from_good_ones() {
    let path = handed!("D021/tools.json");
    let tools: Value = serde_json::from_str(path).unwrap();
    let mut kept = Vec::new();
    for tool in tools["tools"].as_array().unwrap() {
        if param_headers(&tool["inputSchema"]).is_ok() {
            kept.push(tool["name"].as_str().unwrap());
        }
    }
    assert_eq!(kept, ["good", "nested_ok"]);
}

fn annotate(name: &Value, kind: &Value) -> Value {
    json!({"properties": {"a": {"type": kind, "x-mcp-header": name}}})
}

#[test]
fn d021_names_and_types() {
    for good in ["string", "integer", "boolean"] {
        assert!(param_headers(&annotate(&json!("Region"), &json!(good))).is_ok());
    }
    assert!(param_headers(&annotate(&json!("N"), &json!(["string", "null"]))).is_ok());
    for bad in
        [json!("number"), json!("object"), json!("null"), json!(["string", "integer"]), json!(1)]
    {
        let error = param_headers(&annotate(&json!("N"), &bad)).unwrap_err();
        assert_eq!(error, AnnotationError::Type { name: "N".into() }, "{bad}");
    }
    for bad in [json!(""), json!("a b"), json!("a:b"), json!("é"), json!("a\u{1}"), json!(7)] {
        let error = param_headers(&annotate(&bad, &json!("string"))).unwrap_err();
        assert_eq!(error, AnnotationError::Name, "{bad}");
    }
}

#[test]
fn d021_an_annotation_counts_only_at_the_end_of_a_chain_of_properties() {
    let leaf = annotate(&json!("R"), &json!("string"));
    for (keyword, schema) in [
        ("items", json!({"properties": {"l": {"items": leaf}}})),
        ("anyOf", json!({"anyOf": [leaf]})),
        ("then", json!({"if": {}, "then": leaf})),
        ("not", json!({"properties": {"a": {"not": leaf}}})),
        ("$defs", json!({"$defs": {"d": leaf}})),
        ("additionalProperties", json!({"additionalProperties": leaf})),
        ("patternProperties", json!({"patternProperties": {"x": {"allOf": [leaf]}}})),
    ] {
        let error = param_headers(&schema).unwrap_err();
        assert_eq!(error, AnnotationError::Place { keyword: keyword.into() }, "{schema}");
    }
    let root = json!({"type": "object", "x-mcp-header": "R"});
    assert_eq!(param_headers(&root), Err(AnnotationError::Type { name: "R".into() }));
}

#[test]
fn what_only_looks_like_an_annotation_is_none() {
    let schema = json!({
        "default": {"x-mcp-header": 1},
        "enum": [{"x-mcp-header": ""}],
        "properties": {"x-mcp-header": {"type": "string"}},
    });
    assert_eq!(param_headers(&schema), Ok(Vec::new()));
    assert_eq!(param_headers(&json!(true)), Ok(Vec::new()));
}

fn value_of(argument: &str) -> Result<Option<String>, ArgumentError> {
    let schema = json!({"properties": {"o": {"properties": {
        "a": {"type": "string", "x-mcp-header": "Zed"}}}}});
    let headers = param_headers(&schema).unwrap();
    assert_eq!((headers.len(), headers[0].header.as_str()), (1, "mcp-param-zed"));
    headers[0].value_in(format!(r#"{{"o": {{"x":1, "a": {argument} }}}}"#).as_bytes())
}

#[test]
fn arguments_become_header_values() {
    for (argument, value) in [
        (r#""us-west1""#, "us-west1"),
        (r#"" padded ""#, "=?base64?IHBhZGRlZCA=?="),
        (r#""\u0061""#, "a"),
        ("-7", "-7"),
        ("42.0", "42"),
        ("9007199254740991", "9007199254740991"),
        ("true", "true"),
    ] {
        assert_eq!(value_of(argument).unwrap().as_deref(), Some(value), "{argument}");
    }
    for none in ["null", "1.5", "[1]", "{}"] {
        assert_eq!(value_of(none), Ok(None), "{none}");
    }
}

#[test]
fn f44_arguments_that_no_header_can_carry_are_refused_on_both_sides() {
    let header = &param_headers(&annotate(&json!("N"), &json!("integer"))).unwrap()[0];
    for argument in
        ["9007199254740992", "-9007199254740992", "1e300", "123456789012345678901234567890"]
    {
        let expected = ArgumentError::Unsafe(argument.into());
        assert_eq!(value_of(argument), Err(expected.clone()));
        let arguments = format!(r#"{{"a":{argument}}}"#);
        for received in [field(argument), Field::Absent] {
            let error = header.check(received, arguments.as_bytes()).unwrap_err();
            assert_eq!(error.reason, MismatchReason::Argument(expected.clone()));
            assert!(error.to_string().contains("-9007199254740991 to 9007199254740991"));
        }
    }
    assert_eq!(value_of(r#""\ud800""#), Err(ArgumentError::Text));
    let twice = header.check(field("1"), br#"{"a":1,"\u0061":2}"#).unwrap_err();
    assert_eq!(twice.reason, MismatchReason::Argument(ArgumentError::Twice));
    // What cannot be read elsewhere hides nothing here.
    let beside = header.check(field("2"), br#"{"x":1e999,"y":"\ud800","a":1}"#);
    assert!(matches!(beside.unwrap_err().reason, MismatchReason::Differs { .. }));
}

#[test]
fn received_headers_are_compared_with_the_arguments() {
    let schema = annotate(&json!("N"), &json!("integer"));
    let header = &param_headers(&schema).unwrap()[0];
    let check =
        |value, argument: Value| header.check(value, json!({"a": argument}).to_string().as_bytes());
    assert_eq!(check(field("42.0"), json!(42)), Ok(()));
    assert_eq!(check(field("4.2e1"), json!(42)), Ok(()));
    assert_eq!(check(field("true"), json!(true)), Ok(()));
    assert_eq!(check(field("=?base64?YQ==?="), json!("a")), Ok(()));
    assert_eq!(check(field("=?base64?YQ=="), json!("=?base64?YQ==")), Ok(()));
    assert_eq!(check(Field::Absent, json!(null)), Ok(()));
    assert_eq!(header.check(Field::Absent, b"{}"), Ok(()));
    assert_eq!(check(Field::Absent, json!(1)).unwrap_err().reason, MismatchReason::Missing);
    assert_eq!(check(Field::Repeated, json!(1)).unwrap_err().reason, MismatchReason::Repeated);
    for (value, argument) in [
        ("43", json!(42)),
        ("x", json!(42)),
        ("42", json!("042")),
        ("TRUE", json!(true)),
        ("1", json!(null)),
        ("=?base64?YQ?=", json!("a")),
        ("=?base64?Y*==?=", json!("a")),
    ] {
        assert!(check(field(value), argument.clone()).is_err(), "{value} {argument}");
    }
}
