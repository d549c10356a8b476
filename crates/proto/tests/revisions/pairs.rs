//! Translation between all pairs of revisions.

use crate::generate::Generator;
use crate::messages::json;
use crate::spec::{self, Spec};
use carrick_proto::method::Method;
use carrick_proto::revision::{
    Direction, Lifecycle, Losses, Part, Revision, Untranslatable, method_row, translate,
};
use proptest::prelude::*;
use serde_json::{Value, json as value};

thread_local! {
    /// Read once a thread: compiling the schemas takes longer than using them.
    static SPECS: Option<Vec<Spec>> = spec::load("translations checked against the schemas");
}

/// Everything that can be translated.
pub(crate) fn parts() -> Vec<Part> {
    let mut parts = vec![Part::ClientCapabilities, Part::ServerCapabilities, Part::Implementation];
    for &method in Method::ALL {
        parts.push(Part::Params(method));
        if method_row(method).is_some_and(|row| row.is_request) {
            parts.push(Part::Result(method));
        }
    }
    parts
}

/// Few cases, since each meets every part and pair; `PROPTEST_CASES` asks for
/// more.
fn config() -> ProptestConfig {
    let default = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    if asked { default } else { ProptestConfig { cases: 12, ..default } }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_part_is_valid_in_every_target(seed: u64) {
        SPECS.with(|specs| {
            for spec in specs.iter().flatten() {
                for part in parts() {
                    let Some(before) = Generator::new(spec, seed).part(part) else { continue };
                    for target in specs.iter().flatten() {
                        check(part, spec, target, &before);
                    }
                }
            }
        });
    }
}

#[test]
fn full_messages_are_valid_in_every_target() {
    SPECS.with(|specs| {
        for spec in specs.iter().flatten() {
            for part in parts() {
                // Enough seeds to meet each alternative of a union.
                for seed in 0..16 {
                    let Some(before) = Generator::full(spec, seed).part(part) else { continue };
                    for target in specs.iter().flatten() {
                        check(part, spec, target, &before);
                    }
                }
            }
        }
    });
}

/// Translates one value and holds the outcome against the target's schema.
pub(crate) fn check(part: Part, from: &Spec, to: &Spec, before: &str) -> Option<String> {
    let case = || format!("{} -> {} {part:?} {before}", from.revision, to.revision);
    let (after, losses) = match translate(json(before), part, from.revision, to.revision) {
        Ok(done) => done,
        Err(why) => {
            assert!(may_fail(part, to.revision, &why), "{why}: {}", case());
            return None;
        }
    };
    let after = std::str::from_utf8(after.as_bytes()).expect("text").to_owned();
    if from.revision == to.revision {
        assert_eq!(after, before);
    }
    if to.schema(part).is_none() {
        return Some(after);
    }
    let mut value = serde_json::from_str(&after).unwrap_or_else(|e| panic!("{e}: {after}"));
    converse(part, from.revision, to.revision, &mut value);
    let faults = to.faults(part, &value);
    assert!(faults.is_empty(), "{faults:?} in {after}: {}", case());
    survives(before, &after, &losses, &case);
    if from.revision < to.revision && losses.is_empty() {
        let (again, _) =
            translate(json(&after), part, to.revision, from.revision).expect("the way back");
        assert_eq!(std::str::from_utf8(again.as_bytes()).expect("text"), before, "{}", case());
    }
    Some(after)
}

/// What the conversation adds to requests, which no translation makes up.
fn converse(part: Part, from: Revision, to: Revision, value: &mut Value) {
    let lifecycle = |revision: Revision| revision.rules().lifecycle;
    let Part::Params(method) = part else { return };
    let asks =
        method_row(method).is_some_and(|r| r.is_request && r.direction == Direction::FromClient);
    if !asks || lifecycle(to) != Lifecycle::PerRequest || lifecycle(from) == lifecycle(to) {
        return;
    }
    let meta = &mut value["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = value!(to.date());
    meta["io.modelcontextprotocol/clientCapabilities"] = value!({});
}

/// Where a target may have no form for something, and for what.
fn may_fail(part: Part, to: Revision, why: &Untranslatable) -> bool {
    match (part, why) {
        (Part::Params(method), Untranslatable::Method(named)) => {
            *named == method && method_row(method).is_some_and(|row| !row.exists_in(to))
        }
        (Part::Params(Method::Cancelled), Untranslatable::Missing(path)) => path == "requestId",
        (Part::Params(method), Untranslatable::Value { path, .. }) => match method {
            Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead => {
                path == "inputResponses" || path == "requestState"
            }
            Method::SamplingCreateMessage => path == "tools",
            Method::ElicitationCreate => {
                path == "mode" || path.starts_with("requestedSchema.properties.")
            }
            _ => false,
        },
        (Part::Result(Method::SamplingCreateMessage), Untranslatable::Value { path, .. }) => {
            path == "content"
        }
        (Part::Result(Method::ElicitationCreate), Untranslatable::Value { path, .. }) => {
            path == "content.*"
        }
        _ => false,
    }
}

/// Unknown members come through as they were written, unless what they stand
/// in was lost.
fn survives(before: &str, after: &str, losses: &Losses, case: &dyn Fn() -> String) {
    let value: Value = serde_json::from_str(before).expect("JSON");
    let mut unknown = Vec::new();
    find_unknown(&value, &mut Vec::new(), &mut unknown);
    let lost: Vec<Vec<&str>> =
        losses.iter().map(|loss| without_lists(loss.path.split('.'))).collect();
    for (path, name) in unknown {
        let place = without_lists(path.iter().map(|step| &**step));
        let inside = |lost: &Vec<&str>| {
            lost.len() <= place.len() && lost.iter().zip(&place).all(|(l, p)| *l == "*" || l == p)
        };
        // Dropped without a word: the conversation says it.
        let said = path.iter().any(|step| step.starts_with("io.modelcontextprotocol/"))
            || path.iter().any(|step| step == "completions" || step == "form");
        if said || lost.iter().any(inside) {
            continue;
        }
        let text = member_text(before, &name);
        assert!(after.contains(text), "{text} at {path:?} is gone from {after}: {}", case());
    }
}

/// A path that is the same for one block and for a list of blocks.
fn without_lists<'a>(steps: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut path: Vec<&str> = Vec::new();
    for step in steps {
        if step != "*" || path.last() != Some(&"content") {
            path.push(step);
        }
    }
    path
}

fn find_unknown(value: &Value, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, String)>) {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(object) => object.iter().map(|(k, v)| (k.clone(), v)).collect(),
        Value::Array(list) => list.iter().map(|v| ("*".into(), v)).collect(),
        _ => return,
    };
    for (name, inner) in members {
        if name.starts_with("x-") && name[2..].parse::<u32>().is_ok() {
            found.push((path.clone(), name.clone()));
        }
        path.push(name);
        find_unknown(inner, path, found);
        path.pop();
    }
}

/// An unknown member as it was written, from its name on.
fn member_text<'a>(text: &'a str, name: &str) -> &'a str {
    let escaped = format!("\"\\u{:04x}{}\"", 'x' as u32, &name[1..]);
    let plain = format!("\"{name}\"");
    let start = text.find(&plain).or_else(|| text.find(&escaped)).expect("a name made once");
    let value = text[start..].find(':').expect("a colon") + start + 1;
    let mut stream = serde_json::Deserializer::from_str(&text[value..])
        .into_iter::<&serde_json::value::RawValue>();
    stream.next().expect("a value").expect("JSON");
    &text[start..value + stream.byte_offset()]
}
