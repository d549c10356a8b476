//! The typed views keep what the newest revision's examples say.

use crate::spec;
use carrick_proto::revision::Revision;
use carrick_proto::types;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::Path;

#[test]
fn every_typed_view_writes_what_it_has_read() {
    let Some(folder) = spec::folder("typed views of the newest examples") else { return };
    let folder = folder.join(Revision::NEWEST.date()).join("examples");
    let checked = [
        kept::<types::ContentBlock>(&folder, &["TextContent", "ImageContent", "AudioContent"]),
        kept::<types::ContentBlock>(&folder, &["EmbeddedResource", "ResourceLink"]),
        kept::<types::ContentBlock>(&folder, &["ToolUseContent", "ToolResultContent"]),
        kept::<types::ResourceContents>(&folder, &["TextResourceContents", "BlobResourceContents"]),
        kept::<types::Tool>(&folder, &["Tool"]),
        kept::<types::Resource>(&folder, &["Resource"]),
        kept::<types::CallToolResult>(&folder, &["CallToolResult"]),
        kept::<types::ListToolsResult>(&folder, &["ListToolsResult"]),
        kept::<types::ListResourcesResult>(&folder, &["ListResourcesResult"]),
        kept::<types::ListResourceTemplatesResult>(&folder, &["ListResourceTemplatesResult"]),
        kept::<types::ReadResourceResult>(&folder, &["ReadResourceResult"]),
        kept::<types::ListPromptsResult>(&folder, &["ListPromptsResult"]),
        kept::<types::GetPromptResult>(&folder, &["GetPromptResult"]),
        kept::<types::ClientCapabilities>(&folder, &["ClientCapabilities"]),
        kept::<types::ServerCapabilities>(&folder, &["ServerCapabilities"]),
        kept::<types::CreateMessageResult>(&folder, &["CreateMessageResult"]),
        kept::<types::ElicitResult>(&folder, &["ElicitResult"]),
        kept::<types::ListRootsResult>(&folder, &["ListRootsResult"]),
        kept::<types::RpcError>(&folder, &["InvalidParamsError", "InternalError"]),
        kept::<types::RpcError>(&folder, &["ParseError", "MethodNotFoundError"]),
    ];
    let empty: Vec<usize> = (0..checked.len()).filter(|&at| checked[at] == 0).collect();
    assert!(empty.is_empty(), "no example of the views {empty:?}");
}

/// Reads and writes each example of these kinds as a `T`; how many there were.
fn kept<T: DeserializeOwned + Serialize>(folder: &Path, kinds: &[&str]) -> usize {
    let mut checked = 0;
    for kind in kinds {
        let Ok(entries) = std::fs::read_dir(folder.join(kind)) else { continue };
        for entry in entries {
            let path = entry.expect("an entry").path();
            let text = std::fs::read_to_string(&path).expect("an example");
            let mut before: Value = serde_json::from_str(&text).expect("an example is JSON");
            // Some errors are shown within their responses.
            if let Some(error) = before.get_mut("error") {
                before = error.take();
            }
            let text = before.to_string();
            let view: T =
                serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let mut after = serde_json::to_value(view).expect("it can be written");
            leave_out(&mut before);
            leave_out(&mut after);
            assert_eq!(after, before, "{}", path.display());
            checked += 1;
        }
    }
    checked
}

/// Takes out what the engines read and write themselves, and members whose
/// absence says the same.
fn leave_out(value: &mut Value) {
    if let Some(members) = value.as_object_mut() {
        for own in ["resultType", "ttlMs", "cacheScope"] {
            members.remove(own);
        }
    }
    absent(value);
}

fn absent(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for name in ["isError", "listChanged", "subscribe", "required"] {
                if members.get(name) == Some(&Value::Bool(false)) {
                    members.remove(name);
                }
            }
            members.values_mut().for_each(absent);
        }
        Value::Array(items) => items.iter_mut().for_each(absent),
        _ => {}
    }
}
