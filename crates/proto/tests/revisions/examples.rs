//! The schemas' own examples go down to every revision, and examples of ours
//! of the older revisions go up.

use crate::pairs::check;
use crate::spec::{self, Spec};
use carrick_proto::method::Method;
use carrick_proto::revision::{Part, Revision, translate};
use carrick_proto::types;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Folders whose examples are no part of their own: errors, a preference, and
/// the rounds of a request, whose requests have a folder of their own.
const LEFT_OUT: [&str; 10] = [
    "HeaderMismatchError",
    "InternalError",
    "InvalidParamsError",
    "MethodNotFoundError",
    "MissingRequiredClientCapabilityError",
    "ParseError",
    "UnsupportedProtocolVersionError",
    "ModelPreferences",
    "InputRequiredResult",
    "InputResponses",
];

#[test]
fn the_schemas_own_examples_go_to_every_older_revision() {
    let Some(folder) = spec::folder("the schemas' own examples") else { return };
    let specs = spec::load("the schemas' own examples").expect("the folder is there");
    let newest = specs.last().expect("a revision");
    let mut seen = 0;
    for kind in entries(&folder.join(newest.revision.date()).join("examples")) {
        let name = kind.file_name().expect("a name").to_string_lossy().into_owned();
        for path in entries(&kind) {
            let text = std::fs::read_to_string(&path).expect("an example");
            let parts = parts_of(&name, &text, newest);
            assert!(!parts.is_empty() || LEFT_OUT.contains(&&*name), "{name}");
            for (part, text) in &parts {
                seen += 1;
                // One of them breaks its own schema, so only downwards.
                for target in specs.iter().filter(|spec| spec.revision.is_legacy()) {
                    check(*part, newest, target, text);
                }
            }
        }
    }
    assert!(seen > 90, "{seen} examples");
}

/// What an example is, put into a whole part where it is a piece of one.
fn parts_of(name: &str, text: &str, spec: &Spec) -> Vec<(Part, String)> {
    use Method::*;
    let one = |part, text: String| vec![(part, text)];
    let member = |name: &str| {
        let object: BTreeMap<String, &RawValue> = serde_json::from_str(text).expect("an object");
        object[name].get().to_owned()
    };
    let block = || {
        one(Part::Result(ToolsCall), format!(r#"{{"content":[{text}],"resultType":"complete"}}"#))
    };
    let listed = |part, member: &str| {
        let hints = r#""resultType":"complete","ttlMs":0,"cacheScope":"public""#;
        one(part, format!(r#"{{"{member}":[{text}],{hints}}}"#))
    };
    let sampled = |text: &str| {
        let params = format!(r#"{{"messages":[{text}],"maxTokens":1}}"#);
        one(Part::Params(SamplingCreateMessage), params)
    };
    match name {
        "ClientCapabilities" => one(Part::ClientCapabilities, text.into()),
        "ServerCapabilities" => one(Part::ServerCapabilities, text.into()),
        "InputRequests" => inputs(text),
        left_out if LEFT_OUT.contains(&left_out) => Vec::new(),
        "PaginatedRequestParams" => one(Part::Params(ToolsList), text.into()),
        "ElicitRequestFormParams" | "ElicitRequestURLParams" => {
            one(Part::Params(ElicitationCreate), text.into())
        }
        "AudioContent" | "ImageContent" | "TextContent" | "EmbeddedResource" | "ResourceLink" => {
            block()
        }
        "ToolResultContent" | "ToolUseContent" => {
            sampled(&format!(r#"{{"role":"user","content":{text}}}"#))
        }
        "SamplingMessage" => sampled(text),
        "Tool" => listed(Part::Result(ToolsList), "tools"),
        "Resource" => listed(Part::Result(ResourcesList), "resources"),
        "TextResourceContents" | "BlobResourceContents" => {
            listed(Part::Result(ResourcesRead), "contents")
        }
        "Root" => one(Part::Result(RootsList), format!(r#"{{"roots":[{text}]}}"#)),
        schema if schema.ends_with("Schema") => {
            let properties = format!(r#"{{"type":"object","properties":{{"a":{text}}}}}"#);
            let params = format!(r#"{{"message":"m","requestedSchema":{properties}}}"#);
            one(Part::Params(ElicitationCreate), params)
        }
        message if message.ends_with("Request") || message.ends_with("Notification") => {
            let params = serde_json::from_str::<Value>(text).expect("JSON");
            if params.get("params").is_none() {
                return one(Part::Params(method_of(message, spec)), "{}".into());
            }
            one(Part::Params(method_of(message, spec)), member("params"))
        }
        params if params.ends_with("Params") => {
            let message = params.trim_end_matches("Params");
            one(Part::Params(method_of(message, spec)), text.into())
        }
        response if response.ends_with("ResultResponse") => {
            let message = response.replace("ResultResponse", "Request");
            one(Part::Result(method_of(&message, spec)), member("result"))
        }
        result if result.ends_with("Result") => {
            let message = result.replace("Result", "Request");
            one(Part::Result(method_of(&message, spec)), text.into())
        }
        _ => Vec::new(),
    }
}

fn inputs(text: &str) -> Vec<(Part, String)> {
    #[derive(serde::Deserialize)]
    struct Input<'a> {
        method: String,
        #[serde(borrow)]
        params: &'a RawValue,
    }
    let all: BTreeMap<String, Input<'_>> = serde_json::from_str(text).expect("requests");
    let part = |input: &Input<'_>| Part::Params(Method::from_name(input.method.as_bytes()));
    all.values().map(|input| (part(input), input.params.get().to_owned())).collect()
}

fn method_of(message: &str, spec: &Spec) -> Method {
    let name = spec.definitions[message].pointer("/properties/method/const");
    Method::from_name(name.and_then(Value::as_str).expect("a message").as_bytes())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

#[test]
fn examples_of_older_revisions_go_to_every_revision() {
    let Some(specs) = spec::load("examples of the older revisions") else { return };
    for spec in specs.iter().filter(|spec| spec.revision.is_legacy()) {
        let mut kinds = BTreeSet::new();
        for (part, text) in ours(spec.revision) {
            let value: Value = serde_json::from_str(&text).expect("JSON");
            let faults = spec.faults(part, &value);
            assert!(faults.is_empty(), "{} {part:?}: {faults:?}", spec.revision);
            kinds.insert(format!("{part:?}"));
            for target in &specs {
                check(part, spec, target, &text);
            }
        }
        let missing: Vec<String> = crate::pairs::parts()
            .into_iter()
            .filter(|part| matches!(part, Part::Params(_) | Part::Result(_)))
            .filter(|part| spec.schema(*part).is_some())
            .map(|part| format!("{part:?}"))
            .filter(|kind| !kinds.contains(kind))
            .collect();
        assert_eq!(missing, [""; 0], "{}", spec.revision);
    }
}

#[test]
fn every_revisions_results_are_read_in_the_newest_shape() {
    for &revision in Revision::ALL.iter().filter(|revision| revision.is_legacy()) {
        for (part, text) in ours(revision) {
            let json = crate::messages::json(&text);
            let Ok((json, _)) = translate(json, part, revision, Revision::NEWEST) else { continue };
            let text = std::str::from_utf8(json.as_bytes()).expect("text");
            let Part::Result(method) = part else { continue };
            match method {
                Method::ToolsCall => reads::<types::CallToolResult>(text),
                Method::ToolsList => reads::<types::ListToolsResult>(text),
                Method::PromptsList => reads::<types::ListPromptsResult>(text),
                Method::PromptsGet => reads::<types::GetPromptResult>(text),
                Method::ResourcesList => reads::<types::ListResourcesResult>(text),
                Method::ResourcesTemplatesList => {
                    reads::<types::ListResourceTemplatesResult>(text);
                }
                Method::ResourcesRead => reads::<types::ReadResourceResult>(text),
                Method::SamplingCreateMessage => reads::<types::CreateMessageResult>(text),
                Method::ElicitationCreate => reads::<types::ElicitResult>(text),
                Method::RootsList => reads::<types::ListRootsResult>(text),
                _ => {}
            }
        }
    }
}

fn reads<T: DeserializeOwned>(text: &str) {
    serde_json::from_str::<T>(text).unwrap_or_else(|e| panic!("{e}: {text}"));
}

/// Our examples of a revision: one of each message, with all it may hold.
fn ours(revision: Revision) -> Vec<(Part, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/revisions");
    let path = folder.join(revision.date()).with_extension("json");
    let text = std::fs::read_to_string(path).expect("examples of each older revision");
    let all: BTreeMap<String, &RawValue> = serde_json::from_str(&text).expect("an object");
    let part = |name: &str| match name.split_once(' ') {
        Some(("params", method)) => Part::Params(Method::from_name(method.as_bytes())),
        Some(("result", method)) => Part::Result(Method::from_name(method.as_bytes())),
        _ => panic!("{name} is no part"),
    };
    all.iter().map(|(name, body)| (part(name), body.get().to_owned())).collect()
}

#[test]
fn a_strict_schema_knows_its_own_members_only() {
    let Some(specs) = spec::load("strictness of the schemas") else { return };
    let first = &specs[0];
    let part = Part::Result(Method::ToolsList);
    let tool = |more: Value| {
        let mut tool = json!({"name": "a", "inputSchema": {"type": "object", "title": "any"}});
        tool.as_object_mut().expect("an object").extend(more.as_object().expect("one").clone());
        json!({"tools": [tool]})
    };
    assert_eq!(first.faults(part, &tool(json!({"x-own": 1}))), [""; 0]);
    assert_ne!(first.faults(part, &tool(json!({"title": "A"}))), [""; 0]);
}
