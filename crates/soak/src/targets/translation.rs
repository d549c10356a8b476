//! Translation between all pairs of revisions: nothing that is JSON breaks it, a
//! revision to itself changes nothing, and what came up without loss goes down to
//! what it was.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use bytes::Bytes;
use carrick::proto::method::Method;
use carrick::proto::revision::{Part, Revision, is_touched, translate};
use carrick::proto::rpc::{Json, Limits};

use serde_json::Value;

use super::head;
use crate::corpus;

/// Everything that can be translated.
fn parts() -> Vec<Part> {
    let mut parts = vec![Part::ClientCapabilities, Part::ServerCapabilities, Part::Implementation];
    for &method in Method::ALL {
        parts.extend([Part::Params(method), Part::Result(method), Part::Error(method)]);
    }
    parts
}

/// All examples, with their revision and what they are.
fn examples() -> Vec<(Revision, Part, String)> {
    let parts = parts();
    let mut found = Vec::new();
    for &revision in Revision::ALL {
        for (name, text) in corpus::examples(revision.date()) {
            let part = parts.iter().find(|part| is_named(**part, &name));
            found.extend(part.map(|part| (revision, *part, text)));
        }
    }
    found
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let parts = parts();
    let place = |part| parts.iter().position(|other| *other == part).unwrap_or_default() as u8;
    let mut seeds = Vec::new();
    for (revision, part, text) in examples() {
        let from = Revision::ALL.iter().position(|other| *other == revision).unwrap_or_default();
        for to in (0_u8..).take(Revision::ALL.len()) {
            let mut seed = vec![place(part), from as u8, to];
            seed.extend_from_slice(text.as_bytes());
            seeds.push(seed);
        }
    }
    seeds
}

fn is_named(part: Part, name: &str) -> bool {
    match (part, name.split_once(' ')) {
        (Part::Params(method), Some(("params", name))) => method.name() == name,
        (Part::Result(method), Some(("result", name))) => method.name() == name,
        _ => false,
    }
}

pub(super) fn run(data: &[u8]) {
    let ([part, from, to], text) = head(data);
    let parts = parts();
    let part = parts[usize::from(part) % parts.len()];
    let revision = |choice: u8| Revision::ALL[usize::from(choice) % Revision::ALL.len()];
    let (from, to) = (revision(from), revision(to));
    let Ok(json) = Json::parse(Bytes::copy_from_slice(text), Limits::default()) else { return };

    let (same, losses) = translate(json.clone(), part, from, from).expect("nothing to translate");
    assert!(losses.is_empty() && is_same_slice(&same, &json));
    let Ok((there, losses)) = translate(json.clone(), part, from, to) else { return };
    let valid = Json::parse(Bytes::copy_from_slice(there.as_bytes()), Limits::default());
    assert!(valid.is_ok(), "{:?}", there.as_bytes().escape_ascii().to_string());
    // Names written with escapes are seen by the translation and not by this look.
    if !text.contains(&b'\\') && !is_touched(text, part, from, to) {
        assert!(losses.is_empty() && is_same_slice(&there, &json));
    }
    if from < to && losses.is_empty() && is_shaped(part, from, text) {
        let (back, _) = translate(there.clone(), part, to, from).expect("the way back");
        assert_eq!(back.as_bytes().escape_ascii().to_string(), text.escape_ascii().to_string());
    }
    // What came down has lost what the target does not know, and stays as it is.
    if from > to
        && let Ok((up, again)) = translate(there.clone(), part, to, from)
        && let Ok((down, _)) = translate(up, part, from, to)
        && again.is_empty()
    {
        assert!(same_value(&down, &there), "{from:?} -> {to:?} {part:?}");
    }
}

/// Whether this has the members of an example of this part, at each place: others
/// might be ones that a newer revision takes for its own.
fn is_shaped(part: Part, revision: Revision, text: &[u8]) -> bool {
    static SHAPES: OnceLock<BTreeSet<(String, String)>> = OnceLock::new();
    let shapes = SHAPES.get_or_init(|| {
        let mut shapes = BTreeSet::new();
        for (revision, part, text) in examples() {
            let Ok(value) = serde_json::from_str(&text) else { continue };
            shapes.insert((format!("{revision:?} {part:?}"), shape(&value)));
        }
        shapes
    });
    let Ok(value) = serde_json::from_slice(text) else { return false };
    shapes.contains(&(format!("{revision:?} {part:?}"), shape(&value)))
}

fn shape(value: &Value) -> String {
    let members = |object: &serde_json::Map<String, Value>| {
        object.iter().map(|(name, inner)| format!("{name:?}:{}", shape(inner))).collect::<String>()
    };
    match value {
        Value::Null => "0".into(),
        Value::Bool(_) => "?".into(),
        Value::Number(_) => "1".into(),
        // Those that say what an object is are read.
        Value::String(text) if text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') => {
            text.clone()
        }
        Value::String(_) => "s".into(),
        Value::Array(list) => format!("[{}]", list.iter().map(shape).collect::<String>()),
        Value::Object(object) => format!("{{{}}}", members(object)),
    }
}

fn is_same_slice(one: &Json, other: &Json) -> bool {
    std::ptr::eq(one.as_bytes(), other.as_bytes())
}

/// Whether they say the same; values that serde_json cannot hold are left out.
fn same_value(one: &Json, other: &Json) -> bool {
    let read = |json: &Json| serde_json::from_slice::<Value>(json.as_bytes());
    match (read(one), read(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => true,
    }
}
