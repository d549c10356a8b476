//! A reply as the chunks of a chat completion.

use super::{Reply, Request, pieces};
use serde_json::{Value, json};

pub(super) fn events(request: &Request, reply: &Reply) -> String {
    let mut chunks = vec![choice(&json!({ "role": "assistant", "content": "" }), None)];
    for piece in pieces(&reply.text, 3) {
        chunks.push(choice(&json!({ "content": piece }), None));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        let name = request.name_of(&call.tool);
        let head = json!({ "index": index, "id": call.id, "type": "function",
            "function": { "name": name, "arguments": "" } });
        chunks.push(choice(&json!({ "tool_calls": [head] }), None));
        for piece in pieces(&call.arguments, 5) {
            let more = json!({ "index": index, "function": { "arguments": piece } });
            chunks.push(choice(&json!({ "tool_calls": [more] }), None));
        }
    }
    let finish = match (reply.cut, reply.calls.is_empty()) {
        (true, _) => "length",
        (false, true) => "stop",
        (false, false) => "tool_calls",
    };
    chunks.push(choice(&json!({}), Some(finish)));
    let total = reply.input_tokens + reply.output_tokens;
    chunks.push(json!({ "id": "c", "object": "chat.completion.chunk", "choices": [], "usage": {
        "prompt_tokens": reply.input_tokens, "completion_tokens": reply.output_tokens,
        "total_tokens": total } }));
    let mut text = String::from(": scripted\n\n");
    for chunk in chunks {
        text.push_str(&format!("data: {chunk}\n\n"));
    }
    text.push_str("data: [DONE]\n\n");
    text
}

fn choice(delta: &Value, finish: Option<&str>) -> Value {
    json!({ "id": "c", "object": "chat.completion.chunk", "model": "scripted",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
}
