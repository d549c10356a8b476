//! A reply as the events of an Anthropic message.

use super::{Reply, Request, pieces};
use serde_json::{Value, json};

pub(super) fn events(request: &Request, reply: &Reply) -> String {
    let mut events = vec![
        json!({ "type": "message_start", "message": { "id": "msg_1", "type": "message",
            "role": "assistant", "model": "scripted", "content": [], "stop_reason": null,
            "usage": { "input_tokens": reply.input_tokens, "output_tokens": 1 } } }),
        json!({ "type": "ping" }),
    ];
    let mut index = 0;
    if !reply.text.is_empty() {
        let deltas = pieces(&reply.text, 3).into_iter();
        let deltas = deltas.map(|piece| json!({ "type": "text_delta", "text": piece }));
        block(&mut events, index, &json!({ "type": "text", "text": "" }), deltas);
        index += 1;
    }
    for call in &reply.calls {
        let name = request.name_of(&call.tool);
        let start = json!({ "type": "tool_use", "id": call.id, "name": name, "input": {} });
        let deltas = pieces(&call.arguments, 5).into_iter();
        let deltas =
            deltas.map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
        block(&mut events, index, &start, deltas);
        index += 1;
    }
    let stop = match (reply.cut, reply.calls.is_empty()) {
        (true, _) => "max_tokens",
        (false, true) => "end_turn",
        (false, false) => "tool_use",
    };
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": stop },
        "usage": { "output_tokens": reply.output_tokens } }));
    events.push(json!({ "type": "message_stop" }));
    let event = |event: &Value| {
        let name = event["type"].as_str().unwrap_or_default();
        // Line ends of the other kind: the event stream's grammar has both.
        format!("event: {name}\r\ndata: {event}\r\n\r\n")
    };
    events.iter().map(event).collect()
}

fn block(
    events: &mut Vec<Value>,
    index: usize,
    start: &Value,
    deltas: impl Iterator<Item = Value>,
) {
    events.push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
    events.extend(
        deltas
            .map(|delta| json!({ "type": "content_block_delta", "index": index, "delta": delta })),
    );
    events.push(json!({ "type": "content_block_stop", "index": index }));
}
