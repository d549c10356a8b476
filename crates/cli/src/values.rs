//! Arguments from the command line, by the tool's schema.

use crate::exit::Failure;
use crate::input;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;

/// Reads `name=value`, `name:=JSON`, one JSON object, or `-` for stdin.
pub(crate) async fn arguments(words: &[String], schema: &str) -> Result<Vec<u8>, Failure> {
    match words {
        [word] if word == "-" => {
            object(&input::all_of_stdin("the arguments, a JSON object,").await?)
        }
        words => given(words, schema),
    }
}

fn given(words: &[String], schema: &str) -> Result<Vec<u8>, Failure> {
    match words {
        [word] if word.trim_start().starts_with('{') => object(word),
        words => {
            let schema: Value = serde_json::from_str(schema).unwrap_or_default();
            let mut arguments: BTreeMap<String, Box<RawValue>> = BTreeMap::new();
            for word in words {
                let (name, value) = pair(word, &schema)?;
                if arguments.insert(name.clone(), value).is_some() {
                    return Err(Failure::usage(format!("argument {name} is given twice")));
                }
            }
            serde_json::to_vec(&arguments).map_err(|error| Failure::usage(error.to_string()))
        }
    }
}

/// A JSON object exactly as written.
fn object(text: &str) -> Result<Vec<u8>, Failure> {
    match json(text) {
        Ok(value) if value.get().starts_with('{') => Ok(value.get().as_bytes().to_vec()),
        Ok(_) => Err(Failure::usage("the arguments must be a JSON object")),
        Err(error) => Err(Failure::usage(format!("the arguments are not JSON: {error}"))
            .hint("a shell leaves a JSON object whole in single quotes: '{\"name\":\"value\"}'")),
    }
}

/// One JSON value as it is written: a number is more than what a double keeps of it.
fn json(text: &str) -> Result<Box<RawValue>, serde_json::Error> {
    serde_json::from_str::<&RawValue>(text.trim()).map(ToOwned::to_owned)
}

fn pair(word: &str, schema: &Value) -> Result<(String, Box<RawValue>), Failure> {
    let malformed = || {
        Failure::usage(format!("{word:?} is not name=value"))
            .hint("name=value follows the tool's schema; name:=JSON takes any JSON")
    };
    let (name, text) = word.split_once('=').ok_or_else(malformed)?;
    if let Some(name) = name.strip_suffix(':') {
        let value = json(text)
            .map_err(|error| Failure::usage(format!("{name}: {text:?} is not JSON: {error}")))?;
        return Ok((name.to_owned(), value));
    }
    if name.is_empty() {
        return Err(malformed());
    }
    let value = typed(text, &schema["properties"][name])
        .map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    Ok((name.to_owned(), value))
}

/// The text as the type that the property asks for, where it can be read so;
/// else as a string, which the server will judge.
fn typed(text: &str, property: &Value) -> Result<Box<RawValue>, serde_json::Error> {
    let types: Vec<&str> = match &property["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        // `anyOf` with a null beside the real type is how options are written.
        _ => property["anyOf"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|option| option["type"].as_str())
            .collect(),
    };
    let fits = |value: &RawValue| {
        types.contains(&match value.get().as_bytes() {
            [b't' | b'f', ..] => "boolean",
            [b'[', ..] => "array",
            [b'{', ..] => "object",
            [b'n', ..] => "null",
            [b'"', ..] => return false,
            _ if types.contains(&"number") => "number",
            _ if is_whole(value.get()) => "integer",
            _ => return false,
        })
    };
    match json(text) {
        Ok(value) if !types.contains(&"string") && fits(&value) => Ok(value),
        _ => to_raw_value(text),
    }
}

/// Whether a number is a whole one, of any size.
fn is_whole(number: &str) -> bool {
    let plain = number.strip_prefix('-').unwrap_or(number).bytes().all(|b| b.is_ascii_digit());
    plain || number.parse::<f64>().is_ok_and(|float| float.is_finite() && float.fract() == 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{"properties":{"city":{"type":"string"},"days":{"type":"integer"},
        "ok":{"type":["boolean","null"]},"list":{"type":"array"},
        "maybe":{"anyOf":[{"type":"number"},{"type":"null"}]}}}"#;

    fn read(words: &[&str]) -> Result<String, Failure> {
        let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        given(&words, SCHEMA).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn values_follow_the_schema() {
        let read = |words: &[&str]| read(words).unwrap();
        assert_eq!(read(&["city=3", "days=3"]), r#"{"city":"3","days":3}"#);
        assert_eq!(read(&["ok=true", "maybe=1.5"]), r#"{"maybe":1.5,"ok":true}"#);
        assert_eq!(read(&["list=[1,2]", "other=x=y"]), r#"{"list":[1,2],"other":"x=y"}"#);
        assert_eq!(read(&["days=three"]), r#"{"days":"three"}"#);
        assert_eq!(read(&["x:={\"a\":1}"]), r#"{"x":{"a":1}}"#);
        assert_eq!(read(&[" {\"a\": 1.0} "]), r#"{"a": 1.0}"#);
        assert_eq!(read(&[]), "{}");
    }

    #[test]
    fn f43_numbers_stay_as_they_are_written() {
        let read = |words: &[&str]| read(words).unwrap();
        let big = "123456789012345678901234567890";
        assert_eq!(read(&[&format!("c:={big}"), "f:=1.50"]), format!(r#"{{"c":{big},"f":1.50}}"#));
        assert_eq!(read(&["days=18446744073709551616"]), r#"{"days":18446744073709551616}"#);
        assert_eq!(read(&[&format!("days=-{big}")]), format!(r#"{{"days":-{big}}}"#));
        assert_eq!(read(&["maybe=1.50"]), r#"{"maybe":1.50}"#);
        assert_eq!(read(&["maybe=1e400"]), r#"{"maybe":1e400}"#);
        assert_eq!(read(&["days=3.0"]), r#"{"days":3.0}"#);
        assert_eq!(read(&["days=3.5"]), r#"{"days":"3.5"}"#);
        assert_eq!(read(&["list=[1.0, 1e2]"]), r#"{"list":[1.0, 1e2]}"#);
        assert_eq!(read(&[r#"x:={"n": 1.10}"#]), r#"{"x":{"n": 1.10}}"#);
        assert_eq!(read(&[r#"{"n":1e999,"m":-0}"#]), r#"{"n":1e999,"m":-0}"#);
    }

    #[test]
    fn what_is_no_argument_is_refused() {
        for words in [&["city"][..], &["=x"], &["x:=y"], &["{"], &["city=a", "city=b"]] {
            assert!(read(words).is_err(), "{words:?}");
        }
    }
}
