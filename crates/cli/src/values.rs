//! Arguments from the command line, by the tool's schema.

use crate::exit::Failure;
use crate::input;
use serde_json::{Map, Value};

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
            let mut arguments = Map::new();
            for word in words {
                let (name, value) = pair(word, &schema)?;
                if arguments.insert(name.clone(), value).is_some() {
                    return Err(Failure::usage(format!("argument {name} is given twice")));
                }
            }
            Ok(Value::Object(arguments).to_string().into_bytes())
        }
    }
}

/// A JSON object exactly as written.
fn object(text: &str) -> Result<Vec<u8>, Failure> {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(_)) => Ok(text.trim().as_bytes().to_vec()),
        Ok(_) => Err(Failure::usage("the arguments must be a JSON object")),
        Err(error) => Err(Failure::usage(format!("the arguments are not JSON: {error}"))),
    }
}

fn pair(word: &str, schema: &Value) -> Result<(String, Value), Failure> {
    let malformed = || {
        Failure::usage(format!("{word:?} is not name=value"))
            .hint("name=value follows the tool's schema; name:=JSON takes any JSON")
    };
    let (name, text) = word.split_once('=').ok_or_else(malformed)?;
    if let Some(name) = name.strip_suffix(':') {
        let value = serde_json::from_str(text)
            .map_err(|error| Failure::usage(format!("{name}: {text:?} is not JSON: {error}")))?;
        return Ok((name.to_owned(), value));
    }
    if name.is_empty() {
        return Err(malformed());
    }
    Ok((name.to_owned(), typed(text, &schema["properties"][name])))
}

/// The text as the type that the property asks for, where it can be read so;
/// else as a string, which the server will judge.
fn typed(text: &str, property: &Value) -> Value {
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
    if types.contains(&"string") {
        return text.into();
    }
    let parsed: Option<Value> = serde_json::from_str(text).ok();
    let fits = |value: &Value| match value {
        Value::Number(n) => {
            types.contains(&"number") || (types.contains(&"integer") && !n.is_f64())
        }
        Value::Bool(_) => types.contains(&"boolean"),
        Value::Array(_) => types.contains(&"array"),
        Value::Object(_) => types.contains(&"object"),
        Value::Null => types.contains(&"null"),
        Value::String(_) => false,
    };
    parsed.filter(fits).unwrap_or_else(|| text.into())
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
    fn what_is_no_argument_is_refused() {
        for words in [&["city"][..], &["=x"], &["x:=y"], &["{"], &["city=a", "city=b"]] {
            assert!(read(words).is_err(), "{words:?}");
        }
    }
}
