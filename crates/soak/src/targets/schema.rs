//! Schemas and values of any kind are checked within bounds, and no value fits a
//! schema and its opposite.

use carrick::validate::Schema;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::corpus;

/// Between schema and value.
const BETWEEN: u8 = b'\n';

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let values = [
        "{}",
        r#"{"a":1,"b":"x","x-a":null}"#,
        r#"[1,"x",null,0.5,[]]"#,
        r#""aaa""#,
        r#"{"next":{"next":{"next":{}}}}"#,
    ];
    let joined = |schema: String| values.map(|value| format!("{schema}\n{value}").into_bytes());
    corpus::schemas().into_iter().flat_map(joined).collect()
}

pub(super) fn run(data: &[u8]) {
    let at = data.iter().position(|byte| *byte == BETWEEN).unwrap_or(data.len());
    let (schema, value) = (&data[..at], data.get(at + 1..).unwrap_or_default());
    let Ok(schema) = serde_json::from_slice::<Box<RawValue>>(schema) else { return };
    let Ok(compiled) = Schema::new(&schema) else { return };
    let value: Value = serde_json::from_slice(value).unwrap_or(Value::Null);
    let verdict = compiled.check(&value);
    assert_eq!(verdict, compiled.check(&value), "the same twice");
    // In another place a reference would mean something else.
    if schema.get().contains('$') || schema.get().contains('\\') {
        return;
    }
    if let Ok(opposite) = Schema::new(&raw(format!(r#"{{"not":{schema}}}"#))) {
        assert!(verdict.is_err() || opposite.check(&value).is_err(), "{schema} {value}");
    }
    if let Ok(list) = Schema::new(&raw(format!(r#"{{"type":"array","items":{schema}}}"#)))
        && verdict.is_err()
    {
        assert!(list.check(&Value::Array(vec![value])).is_err(), "{schema}");
    }
}

fn raw(text: String) -> Box<RawValue> {
    RawValue::from_string(text).expect("JSON in JSON")
}
