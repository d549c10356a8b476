use proptest::prelude::*;
use serde_json::{Value, json};

use super::decode::Decoder;
use super::*;
use crate::model::drive::script::{Reply, ask, connection, decode, pieces, serve};
use crate::model::{
    Block, Image, Message, ModelErrorKind, Opaque, ResultPart, Role, ToolCall, ToolSpec,
};

const NAME: &str = "anthropic:m";

fn decoder() -> Decoder {
    Decoder::new(NAME.to_owned(), 4)
}

fn stream(events: &[Value]) -> String {
    let line =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(line).collect()
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn arguments(index: u64, part: &str) -> Value {
    delta(index, json!({"type": "input_json_delta", "partial_json": part}))
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn tool(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {}})
}

/// Frames blocks as a message that ends for `reason`.
fn message(blocks: &[Value], reason: &str) -> String {
    let mut events = vec![
        json!({"type": "message_start", "message": {"usage": {
            "input_tokens": 3, "cache_read_input_tokens": 10, "cache_creation_input_tokens": null, "output_tokens": 1,
        }}}),
        json!({"type": "ping"}),
    ];
    events.extend_from_slice(blocks);
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}}));
    events.push(json!({"type": "message_stop"}));
    stream(&events)
}

fn shown(blocks: &[Value], reason: &str) -> String {
    decode(&mut decoder(), [message(blocks, reason)]).unwrap()
}

#[test]
fn text_thinking_and_calls_come_in_order() {
    let blocks = [
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "let "})),
        delta(0, json!({"type": "thinking_delta", "thinking": "me"})),
        delta(0, json!({"type": "signature_delta", "signature": "c2ln"})),
        stop(0),
        start(1, json!({"type": "redacted_thinking", "data": "eA=="})),
        stop(1),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "I lo"})),
        delta(2, json!({"type": "text_delta", "text": "ok."})),
        delta(2, json!({"type": "citations_delta", "citation": {}})),
        stop(2),
        start(3, tool("t1", "f")),
        start(4, tool("t2", "g")),
        arguments(3, "{\"x\""),
        arguments(4, ""),
        arguments(3, ":1}"),
        stop(3),
        stop(4),
        start(5, json!({"type": "something_new", "deep": [1]})),
        delta(5, json!({"type": "something_delta"})),
        stop(5),
    ];
    assert_eq!(
        shown(&blocks, "tool_use"),
        "reasoning let me\n\
         opaque anthropic:m {\"type\":\"thinking\",\"thinking\":\"let me\",\"signature\":\"c2ln\"}\n\
         opaque anthropic:m {\"data\":\"eA==\",\"type\":\"redacted_thinking\"}\n\
         text I look.\ncall t1 f {\"x\":1}\ncall t2 g {}\nusage 13 9\nstop ToolUse"
    );
}

#[test]
fn d118_a_call_cut_by_the_token_limit_is_broken() {
    for blocks in [
        vec![start(0, tool("t", "f")), arguments(0, "{\"text\":\"hel"), stop(0)],
        vec![start(0, tool("t", "f")), arguments(0, "{\"text\":\"hel")],
        vec![start(0, tool("t", "f")), stop(0)],
        vec![start(0, tool("t", "f"))],
    ] {
        let shown = shown(&blocks, "max_tokens");
        assert!(shown.starts_with("broken t f ") && shown.contains("cut off"), "{shown}");
        assert!(shown.ends_with("stop MaxTokens"), "{shown}");
    }
    let whole = [start(0, tool("t", "f")), arguments(0, "{\"a\":1}"), stop(0)];
    assert_eq!(shown(&whole, "max_tokens"), "call t f {\"a\":1}\nusage 13 9\nstop MaxTokens");
    // A block that never ends is cut even if the reason says otherwise.
    let open = [start(0, tool("t", "f"))];
    assert!(shown(&open, "tool_use").starts_with("broken t f "));
}

#[test]
fn input_in_the_start_and_missing_ids_are_taken() {
    let blocks = [
        start(0, json!({"type": "tool_use", "name": "f", "input": {"x": 1}})),
        stop(0),
        start(1, json!({"type": "tool_use", "id": "", "name": "g"})),
        stop(1),
    ];
    assert_eq!(
        shown(&blocks, "tool_use"),
        "call call_4_0 f {\"x\":1}\ncall call_4_1 g {}\nusage 13 9\nstop ToolUse"
    );
}

#[test]
fn stop_reasons_are_told_apart() {
    for (reason, expected) in [
        ("end_turn", "End"),
        ("stop_sequence", "End"),
        ("tool_use", "Other(\"tool_use\")"),
        ("refusal", "Refusal"),
        ("model_context_window_exceeded", "MaxTokens"),
        ("pause_turn", "Other(\"pause_turn\")"),
    ] {
        assert_eq!(shown(&[], reason), format!("usage 13 9\nstop {expected}"));
    }
}

#[test]
fn errors_and_cuts_in_the_stream_are_errors() {
    for (data, kind) in [
        (
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}})
                .to_string(),
            ModelErrorKind::Overloaded,
        ),
        (
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}})
                .to_string(),
            ModelErrorKind::BadRequest,
        ),
        (json!({"type": "error"}).to_string(), ModelErrorKind::Protocol),
        (
            json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}})
                .to_string(),
            ModelErrorKind::Protocol,
        ),
        (json!({"type": "content_block_start", "index": 0}).to_string(), ModelErrorKind::Protocol),
        ("nonsense".to_owned(), ModelErrorKind::Protocol),
        (json!({"type": "ping"}).to_string(), ModelErrorKind::Protocol),
    ] {
        let fault = decode(&mut decoder(), [format!("data: {data}\n\n")]).unwrap_err();
        assert_eq!(fault.kind, kind, "{data}");
    }
}

#[test]
fn a_whole_answer_in_place_of_a_stream_is_read() {
    let mut events = Default::default();
    let body = json!({
        "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "hi"},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"x": 1}},
            {"type": "tool_use", "id": "u", "name": "g", "input": {}},
        ],
        "usage": {"input_tokens": 1, "output_tokens": 2},
    });
    decoder().whole(body.to_string().as_bytes(), &mut events).unwrap();
    assert_eq!(
        crate::model::drive::script::show(events.make_contiguous()),
        "reasoning hm\n\
         opaque anthropic:m {\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"}\n\
         text hi\ncall t f {\"x\":1}\ncall u g {}\nusage 1 2\nstop ToolUse"
    );
    let error = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "m"}});
    let fault = decoder().whole(error.to_string().as_bytes(), &mut events).unwrap_err();
    assert_eq!(fault.kind, ModelErrorKind::RateLimited);
}

fn raw(text: &str) -> Box<serde_json::value::RawValue> {
    serde_json::value::RawValue::from_string(text.to_owned()).unwrap()
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&encode::body(request, "m", Some(NAME)).unwrap()).unwrap()
}

#[test]
fn d124_the_request_is_in_the_providers_form() {
    let picture = Image { mime: "image/png".into(), base64: "AAAA".into() };
    let call = |id: &str| {
        Block::ToolCall(ToolCall {
            id: id.into(),
            name: "s__f".into(),
            arguments: raw("{\"x\":1}"),
        })
    };
    let thinking = |model: &str| {
        Block::Opaque(Opaque {
            model: model.into(),
            raw: raw("{\"type\":\"thinking\",\"signature\":\"s\"}"),
        })
    };
    let result = Block::ToolResult {
        call_id: "a".into(),
        name: "s__f".into(),
        content: vec![ResultPart::Text("one".into()), ResultPart::Image(picture.clone())],
        is_error: false,
    };
    let mut request = Request::new(
        "rules",
        vec![
            Message::user("look"),
            Message { role: Role::User, content: vec![Block::Image(picture)] },
            Message {
                role: Role::Assistant,
                content: vec![
                    thinking("other:m"),
                    thinking(NAME),
                    Block::Text("so".into()),
                    call("a"),
                    call("b"),
                ],
            },
            Message { role: Role::User, content: vec![result] },
            Message::user("next"),
        ],
    );
    request.tools = vec![ToolSpec {
        name: "s__f".into(),
        description: String::new(),
        input_schema: raw("{\"type\":\"object\",\"x-own\":1}"),
    }];
    request.max_tokens = 100;
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    let uses = |id: &str| json!({"type": "tool_use", "id": id, "name": "s__f", "input": {"x": 1}});
    let cancelled = "Cancelled: this call has no result; whether it took effect is unknown.";
    assert_eq!(
        body(&request),
        json!({
            "model": "m",
            "max_tokens": 100,
            "stream": true,
            "system": "rules",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "signature": "s"}, {"type": "text", "text": "so"}, uses("a"), uses("b"),
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "one"}, image]},
                    {"type": "tool_result", "tool_use_id": "b", "is_error": true, "content": [{"type": "text", "text": cancelled}]},
                    {"type": "text", "text": "next"},
                ]},
            ],
            "tools": [{"name": "s__f", "input_schema": {"type": "object", "x-own": 1}}],
        })
    );
}

#[test]
fn the_user_has_the_first_and_the_last_word() {
    let messages = body(&Request::new("", vec![Message::assistant("hello"), Message::user("hi")]));
    assert_eq!(messages["messages"][0]["role"], "user");
    assert_eq!(messages["messages"][1]["content"][0]["text"], "hello");
    let messages = body(&Request::new("", vec![Message::user("a"), Message::assistant("b")]));
    assert_eq!(messages["messages"].as_array().unwrap().len(), 3);
    assert_eq!(messages["messages"][2]["role"], "user");
    assert!(messages.get("system").is_none() && messages.get("tools").is_none());
}

#[tokio::test]
async fn thinking_that_the_provider_no_longer_knows_is_left_out() {
    let refusal = json!({"type": "error", "error": {
        "type": "invalid_request_error", "message": "messages.1: invalid signature in thinking block",
    }});
    let refuse = || Reply::status(400, "", &refusal.to_string());
    let done = Reply::stream(&[message(&[], "end_turn")]);
    let (base, server) = serve(vec![refuse(), done, refuse(), refuse()]).await;
    let model = AnthropicMessages::new("m", connection(&base)).unwrap();
    let block = Opaque { model: NAME.into(), raw: raw("{\"type\":\"thinking\"}") };
    let said = vec![Block::Opaque(block), Block::Text("a".into())];
    let answer = Message { role: Role::Assistant, content: said };
    let request = Request::new("", vec![Message::user("q"), answer, Message::user("r")]);
    let (events, failure) = ask(&model, &request).await;
    assert!(failure.is_none(), "{failure:?}");
    assert_eq!(events, "usage 13 9\nstop End");
    let (_, failure) = ask(&model, &request).await;
    assert_eq!(failure.unwrap().kind(), ModelErrorKind::BadRequest);
    let blocks: Vec<_> = server
        .await
        .unwrap()
        .iter()
        .map(|request| request.body["messages"][1]["content"].as_array().unwrap().len())
        .collect();
    assert_eq!(blocks, [2, 1, 2, 1]);
}

fn transcript() -> String {
    message(
        &[
            start(0, json!({"type": "text", "text": ""})),
            delta(0, json!({"type": "text_delta", "text": "Żółw 🐢 查"})),
            stop(0),
            start(1, tool("t", "f")),
            arguments(1, "{\"q\":\"天"),
            arguments(1, "气\"}"),
            stop(1),
        ],
        "tool_use",
    )
}

const TRANSCRIPT_EVENTS: &str =
    "text Żółw 🐢 查\ncall t f {\"q\":\"天气\"}\nusage 13 9\nstop ToolUse";

#[tokio::test]
async fn a_stream_over_a_socket_survives_cuts_inside_characters() {
    let bytes: Vec<[u8; 1]> = transcript().bytes().map(|byte| [byte]).collect();
    let (base, server) = serve(vec![Reply::stream(&bytes)]).await;
    let model = AnthropicMessages::new("m", connection(&base)).unwrap();
    let (events, failure) = ask(&model, &Request::new("", vec![Message::user("?")])).await;
    assert!(failure.is_none(), "{failure:?}");
    assert_eq!(events, TRANSCRIPT_EVENTS);
    assert_eq!(server.await.unwrap()[0].body["stream"], true);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_cut_of_the_stream_gives_the_same_events(cuts in prop::collection::vec(any::<usize>(), 0..40)) {
        let pieces = pieces(transcript().as_bytes(), &cuts);
        prop_assert_eq!(decode(&mut decoder(), pieces).unwrap(), TRANSCRIPT_EVENTS);
    }

    #[test]
    fn arbitrary_data_never_panics(data in "(data: )?[{}\\[\\]\":,a-z0-9\\n]{0,80}") {
        let _ = decode(&mut decoder(), [data.clone(), "\n\n".to_owned()]);
        let _ = decoder().whole(data.as_bytes(), &mut Default::default());
    }
}
