//! The forms of what a server says.

use crate::evidence::MARKERS;
use serde_json::{Value, json};

fn capabilities() -> Value {
    json!({ "tools": { "listChanged": true }, "prompts": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true }, "logging": {},
        "completions": {} })
}

pub(super) fn initialized() -> Value {
    json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities(),
        "serverInfo": { "name": "worst", "version": "1" } })
}

pub(super) fn discovered() -> Value {
    json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": capabilities(), "ttlMs": 0, "cacheScope": "private",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "worst", "version": "1" } } })
}

/// A list, if that is what is asked for. There is more of it after the first page.
pub(super) fn listed(method: &str, params: &Value, memory: &str, modern: bool) -> Option<Value> {
    let mut list = match method {
        "tools/list" => json!({ "tools": [
            { "name": "run", "description": memory, "inputSchema": { "type": "object" } },
            mirrored(memory) ] }),
        "prompts/list" => json!({ "prompts": [{ "name": "run", "description": memory }] }),
        "resources/list" => json!({ "resources": [{ "uri": "memory://all", "name": memory }] }),
        "resources/templates/list" => json!({ "resourceTemplates":
            [{ "uriTemplate": "memory://{all}", "name": memory }] }),
        _ => return None,
    };
    list["_meta"] = json!({ "memory": memory });
    if params["cursor"].is_null() {
        list["nextCursor"] = json!(format!("after {memory}"));
    }
    if modern {
        add_modern(&mut list);
    }
    Some(list)
}

/// A tool that has an argument travel in a header too, which it names by whom it
/// has heard of.
fn mirrored(memory: &str) -> Value {
    let known = MARKERS.iter().find(|marker| memory.contains(**marker));
    let of = json!({ "type": "string", "x-mcp-header": known.unwrap_or(&"of") });
    json!({ "name": "mirrored", "inputSchema": { "type": "object", "properties": { "of": of } } })
}

/// The result of a call.
pub(super) fn result(method: &str, uri: &Value, memory: &str, is_error: bool) -> Value {
    let text = json!({ "type": "text", "text": memory });
    match method {
        "tools/call" => json!({ "content": [text], "isError": is_error,
            "_meta": { "memory": memory } }),
        "prompts/get" => json!({ "description": memory, "messages":
            [{ "role": "user", "content": text }] }),
        "resources/read" => json!({ "contents": [{ "uri": uri, "text": memory }] }),
        _ => json!({ "completion": { "values": [memory] } }),
    }
}

/// The members that results have since 2026-07-28.
pub(super) fn add_modern(result: &mut Value) {
    result["resultType"] = json!("complete");
    result["ttlMs"] = json!(0);
    result["cacheScope"] = json!("private");
}

/// The parameters of a question.
pub(super) fn question(method: &str, memory: &str) -> Value {
    match method {
        "elicitation/create" => json!({ "message": format!("Remember {memory}?"),
            "requestedSchema": { "type": "object",
                "properties": { "name": { "type": "string" } } } }),
        "sampling/createMessage" => json!({ "maxTokens": 10, "messages":
            [{ "role": "user", "content": { "type": "text", "text": memory } }] }),
        _ => json!({ "_meta": { "memory": memory } }),
    }
}

/// A request without the answers that it brings.
pub(super) fn without_answers(message: &Value) -> Vec<u8> {
    let mut message = message.clone();
    if let Some(params) = message["params"].as_object_mut() {
        params.remove("inputResponses");
    }
    message.to_string().into_bytes()
}
