//! What the targets start from: the cases, transcripts and examples in `cases/`.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the cases.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases")
}

/// All files with this ending, in order of their paths.
#[must_use]
pub fn files(ending: &str) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut folders = vec![folder()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found.iter().filter_map(|path| fs::read(path).ok()).collect()
}

/// The messages of the cases and of the transcripts, one by one.
#[must_use]
pub fn messages() -> Vec<Vec<u8>> {
    let cases = files("jsonl");
    let transcripts = files("txt");
    let lines = cases.iter().chain(&transcripts).flat_map(|file| file.split(|b| *b == b'\n'));
    let messages = lines.map(|line| match line {
        [b'<' | b'>', b' ', message @ ..] => message,
        line => line,
    });
    messages.filter(|line| matches!(line.first(), Some(b'{' | b'['))).map(<[u8]>::to_vec).collect()
}

/// The examples of a revision: what each is (`params tools/call`), and its text.
#[must_use]
pub fn examples(revision: &str) -> Vec<(String, String)> {
    let path = folder().join("revisions").join(format!("{revision}.json"));
    let text = fs::read_to_string(path).unwrap_or_default();
    let examples: serde_json::Map<_, _> = serde_json::from_str(&text).unwrap_or_default();
    examples.into_iter().map(|(name, value)| (name, value.to_string())).collect()
}

/// The JSON Schemas of the tools in the cases, and some that use what is seldom
/// used.
#[must_use]
pub fn schemas() -> Vec<String> {
    let mut found: Vec<String> = MORE_SCHEMAS.iter().map(|text| (*text).to_owned()).collect();
    for file in files("json") {
        let Ok(value) = serde_json::from_slice(&file) else { continue };
        collect(&value, &mut found);
    }
    found
}

fn collect(value: &serde_json::Value, found: &mut Vec<String>) {
    if let Some(object) = value.as_object() {
        for (name, inner) in object {
            if name == "inputSchema" || name == "outputSchema" {
                found.push(inner.to_string());
            }
        }
        if object.contains_key("$schema") {
            found.push(value.to_string());
        }
    }
    let inner = value.as_object().map(|object| object.values().collect::<Vec<_>>());
    let inner = inner.or_else(|| value.as_array().map(|list| list.iter().collect()));
    inner.into_iter().flatten().for_each(|inner| collect(inner, found));
}

const MORE_SCHEMAS: [&str; 8] = [
    r#"{"type":"object","properties":{"a":{"type":"integer","minimum":1,"maximum":9}},"required":["a"],"additionalProperties":false}"#,
    r##"{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}"##,
    r#"{"oneOf":[{"type":"string","pattern":"^a+$"},{"type":"array","prefixItems":[{"const":1}],"items":{"enum":[1,"x",null]}}]}"#,
    r##"{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"p":{"type":"number","exclusiveMinimum":0}},"properties":{"p":{"$ref":"#/definitions/p"}}}"##,
    r#"{"if":{"required":["b"]},"then":{"properties":{"b":{"minLength":2}}},"else":{"maxProperties":1}}"#,
    r#"{"patternProperties":{"^x-":{"type":["string","null"]}},"unevaluatedProperties":false,"dependentRequired":{"x-a":["x-b"]}}"#,
    r#"{"type":"array","uniqueItems":true,"contains":{"multipleOf":0.5},"minContains":1,"maxItems":5}"#,
    r#"{"allOf":[{"$anchor":"one","type":"object"},{"not":{"required":["z"]}}],"propertyNames":{"maxLength":3}}"#,
];
