//! The values of mirrored headers come back as the text that they stand for.

use carrick::proto::http::{Field, ParamHeader, decode_value, encode_value, param_headers};
use serde_json::Value;

use crate::corpus;

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = corpus::files("http")
        .iter()
        .flat_map(|file| file.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>())
        .collect();
    seeds.extend(["", " a ", "=?base64?", "=?base64??=", "=?base64?w6k=?=", "é"].map(Vec::from));
    seeds.extend(corpus::schemas().into_iter().map(String::into_bytes));
    seeds
}

pub(super) fn run(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let value = encode_value(text);
        assert!(value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')));
        assert!(value.trim_matches([' ', '\t']) == value, "blanks at an end would be cut off");
        assert_eq!(decode_value(value.as_bytes()).as_deref(), Ok(text));
    }
    if let Ok(text) = decode_value(data) {
        let again = encode_value(&text);
        assert_eq!(decode_value(again.as_bytes()).as_deref(), Ok(&*text));
    }
    annotated(data);
}

/// What an argument is mirrored as passes its own check.
fn annotated(data: &[u8]) {
    let Ok(schema) = serde_json::from_slice::<Value>(data) else { return };
    let Ok(params) = param_headers(&schema) else { return };
    for param in params {
        let arguments = nested(&param, Value::from("é 1"));
        let arguments = arguments.to_string();
        let Ok(Some(value)) = param.value_in(arguments.as_bytes()) else { continue };
        let checked = param.check(Field::One(value.as_bytes()), arguments.as_bytes());
        assert!(checked.is_ok(), "{checked:?}");
    }
}

fn nested(param: &ParamHeader, value: Value) -> Value {
    param
        .path
        .iter()
        .rev()
        .fold(value, |inner, step| Value::Object(std::iter::once((step.clone(), inner)).collect()))
}
