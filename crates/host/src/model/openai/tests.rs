use proptest::prelude::*;
use serde_json::{Value, json};

use super::decode::Decoder;
use super::*;
use crate::model::drive::script::{Reply, ask, connection, decode, pieces, serve};
use crate::model::{Block, Image, Message, ModelErrorKind, ResultPart, Role, ToolCall, ToolSpec};

/// Feeds deltas of one choice, then a finish reason.
fn deltas(deltas: &[Value], finish: &str) -> String {
    let mut chunks: Vec<Value> =
        deltas.iter().map(|delta| json!({"choices": [{"index": 0, "delta": delta}]})).collect();
    chunks.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}));
    chunks_text(&chunks)
}

fn chunks_text(chunks: &[Value]) -> String {
    let stream: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    decode(&mut Decoder::new(4), [stream + "data: [DONE]\n\n"]).unwrap()
}

fn calls(list: &[Value]) -> String {
    let list: Vec<_> = list.iter().map(|call| json!({"tool_calls": [call]})).collect();
    deltas(&list, "tool_calls")
}

#[test]
fn calls_are_put_together_however_servers_cut_them() {
    let one = "call a f {\"x\":1}\nstop ToolUse";
    let both = "call a f {\"x\":1}\ncall b g {\"y\":2}\nstop ToolUse";
    let f = |arguments: Value| json!({"name": "f", "arguments": arguments});
    let g = |arguments: Value| json!({"name": "g", "arguments": arguments});
    let rest = |arguments: &str| json!({"arguments": arguments});
    let cases: &[(&str, Vec<Value>, &str)] = &[
        (
            "as OpenAI does",
            vec![
                json!({"index": 0, "id": "a", "type": "function", "function": f("".into())}),
                json!({"index": 0, "function": rest("{\"x\"")}),
                json!({"index": 0, "function": rest(":1}")}),
            ],
            one,
        ),
        (
            "interleaved by number",
            vec![
                json!({"index": 0, "id": "a", "function": f("{\"x\"".into())}),
                json!({"index": 1, "id": "b", "function": g("{\"y\"".into())}),
                json!({"index": 0, "function": rest(":1}")}),
                json!({"index": 1, "function": rest(":2}")}),
            ],
            both,
        ),
        (
            "whole, all numbered 0",
            vec![
                json!({"index": 0, "id": "a", "function": f("{\"x\":1}".into())}),
                json!({"index": 0, "id": "b", "function": g("{\"y\":2}".into())}),
            ],
            both,
        ),
        (
            "no numbers",
            vec![
                json!({"id": "a", "function": f("{\"x\"".into())}),
                json!({"function": rest(":1}")}),
                json!({"id": "b", "function": g("{\"y\":2}".into())}),
            ],
            both,
        ),
        (
            "interleaved by id",
            vec![
                json!({"id": "a", "function": f("{\"x\"".into())}),
                json!({"id": "b", "function": g("{\"y\"".into())}),
                json!({"id": "a", "function": rest(":1}")}),
                json!({"id": "b", "function": rest(":2}")}),
            ],
            both,
        ),
        (
            "an object for a string",
            vec![json!({"index": 0, "id": "a", "function": f(json!({"x": 1}))})],
            one,
        ),
        (
            "name and id repeated",
            vec![
                json!({"index": 0, "id": "a", "function": f("{\"x\"".into())}),
                json!({"index": 0, "id": "a", "function": f(":1}".into())}),
            ],
            one,
        ),
        (
            "name repeated without number or id",
            vec![
                json!({"id": "a", "function": f("{\"x\"".into())}),
                json!({"function": f(":1}".into())}),
            ],
            one,
        ),
        (
            "arguments sent again whole",
            vec![
                json!({"index": 0, "id": "a", "function": f("{\"x\":1}".into())}),
                json!({"index": 0, "id": "a", "function": f("{\"x\":1}".into())}),
            ],
            one,
        ),
        (
            "the id later",
            vec![
                json!({"index": 0, "function": f("{\"x\"".into())}),
                json!({"index": 0, "id": "a", "function": rest(":1}")}),
            ],
            one,
        ),
    ];
    for (what, list, expected) in cases {
        assert_eq!(calls(list), *expected, "{what}");
    }
}

#[test]
fn nulls_in_pieces_of_calls_count_as_absent() {
    let list = [
        json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": null}}),
        json!({"index": 0, "id": null, "function": {"name": null, "arguments": "{\"x\":1}"}}),
    ];
    assert_eq!(calls(&list), "call a f {\"x\":1}\nstop ToolUse");
}

#[test]
fn missing_and_doubled_ids_are_made_up_and_stay_the_same() {
    let list = [
        json!({"index": 0, "function": {"name": "f", "arguments": "{}"}}),
        json!({"index": 0, "function": {"name": "f", "arguments": "{}"}}),
        json!({"index": 1, "id": "a", "function": {"name": "g", "arguments": ""}}),
        json!({"index": 2, "id": "a", "function": {"name": "h", "arguments": "{}"}}),
    ];
    let expected =
        "call call_4_0 f {}\ncall call_4_1 f {}\ncall a g {}\ncall call_4_3 h {}\nstop ToolUse";
    assert_eq!(calls(&list), expected);
    assert_eq!(calls(&list), expected);
}

#[test]
fn d118_a_call_cut_by_the_token_limit_is_broken() {
    let call = |arguments: &str| json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": arguments}}]});
    for arguments in ["{\"text\":\"hel", ""] {
        let shown = deltas(&[call(arguments)], "length");
        assert!(shown.starts_with("broken a f "), "{shown}");
        assert!(shown.contains("cut off") && shown.ends_with("stop MaxTokens"), "{shown}");
    }
    assert_eq!(deltas(&[call("{\"a\":1}")], "length"), "call a f {\"a\":1}\nstop MaxTokens");
    let shown = deltas(&[call("{'a':1}")], "tool_calls");
    assert!(shown.starts_with("broken a f ") && shown.contains("not valid JSON"), "{shown}");
}

#[test]
fn text_thinking_refusals_and_ends_are_told_apart() {
    let text = |text: &str| json!({"content": text});
    for (list, finish, expected) in [
        (
            vec![json!({"role": "assistant", "content": ""}), text("a"), text("b")],
            "stop",
            "text ab\nstop End",
        ),
        (
            vec![json!({"reasoning_content": "hm"}), json!({"reasoning": "m"}), text("a")],
            "stop",
            "reasoning hmm\ntext a\nstop End",
        ),
        (
            vec![json!({"content": [{"type": "text", "text": "a"}, {"type": "thinking"}]})],
            "stop",
            "text a\nstop End",
        ),
        (vec![json!({"content": null, "refusal": "no"})], "stop", "text no\nstop Refusal"),
        (vec![text("a")], "content_filter", "text a\nstop Refusal"),
        (vec![text("a")], "length", "text a\nstop MaxTokens"),
        (vec![], "tool_calls", "stop Other(\"tool_calls\")"),
        (
            vec![json!({"function_call": {"name": "f", "arguments": "{}"}})],
            "function_call",
            "call call_4_0 f {}\nstop ToolUse",
        ),
        (
            vec![
                json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]}),
            ],
            "stop",
            "call a f {}\nstop ToolUse",
        ),
    ] {
        assert_eq!(deltas(&list, finish), expected, "{list:?}");
    }
}

#[test]
fn usage_is_taken_wherever_it_stands() {
    let usage = json!({"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12});
    let answer = json!({"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"});
    let expected = "text a\nusage 5 7\nstop End";
    let answers = json!({"choices": [answer], "usage": null});
    assert_eq!(chunks_text(&[answers, json!({"choices": [], "usage": usage})]), expected);
    assert_eq!(chunks_text(&[json!({"choices": [answer], "usage": usage})]), expected);
    // Another choice beside the first, and a count that is none.
    let other = json!({"index": 1, "delta": {"content": "z"}});
    let odd = json!({"choices": [other, answer], "usage": {"prompt_tokens": "many"}});
    assert_eq!(chunks_text(&[odd]), "text a\nstop End");
}

#[test]
fn errors_in_the_stream_are_errors() {
    for (data, kind) in [
        (
            json!({"error": {"message": "m", "type": "server_error"}}).to_string(),
            ModelErrorKind::Overloaded,
        ),
        (
            json!({"error": {"message": "m", "code": 429}, "choices": [{"index": 0, "delta": {}}]})
                .to_string(),
            ModelErrorKind::RateLimited,
        ),
        (json!({"error": "m"}).to_string(), ModelErrorKind::Overloaded),
        (
            json!({"object": "error", "message": "m", "code": 400}).to_string(),
            ModelErrorKind::BadRequest,
        ),
        ("{\"choices\"".to_owned(), ModelErrorKind::Protocol),
        ("[]".to_owned(), ModelErrorKind::Protocol),
    ] {
        let fault = decode(&mut Decoder::new(0), [format!("data: {data}\n\n")]).unwrap_err();
        assert_eq!(fault.kind, kind, "{data}");
    }
    let cut =
        decode(&mut Decoder::new(0), ["data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"]);
    assert_eq!(cut.unwrap_err().kind, ModelErrorKind::Protocol);
}

/// A conversation with everything in it.
fn conversation() -> Request {
    let raw = |text: &str| serde_json::value::RawValue::from_string(text.to_owned()).unwrap();
    let call = |id: &str| {
        Block::ToolCall(ToolCall {
            id: id.into(),
            name: "s__f".into(),
            arguments: raw("{\"x\": 1.0}"),
        })
    };
    let picture = Image { mime: "image/png".into(), base64: "AAAA".into() };
    let result = |id: &str, content, is_error| Block::ToolResult {
        call_id: id.into(),
        name: "s__f".into(),
        content,
        is_error,
    };
    let mut request = Request::new(
        "rules",
        vec![
            Message {
                role: Role::User,
                content: vec![Block::Text("look".into()), Block::Image(picture.clone())],
            },
            Message {
                role: Role::Assistant,
                content: vec![Block::Text("so".into()), call("a"), call("b")],
            },
            Message {
                role: Role::User,
                content: vec![
                    result(
                        "a",
                        vec![ResultPart::Text("one".into()), ResultPart::Image(picture)],
                        false,
                    ),
                    result("b", vec![], true),
                ],
            },
            Message::user("go on"),
        ],
    );
    request.tools = vec![ToolSpec {
        name: "s__f".into(),
        description: "does".into(),
        input_schema: raw("{\"type\":\"object\"}"),
    }];
    request.max_tokens = 100;
    request
}

fn body(request: &Request, dialect: Dialect) -> Value {
    serde_json::from_slice(&encode::body(request, "m", dialect).unwrap()).unwrap()
}

#[test]
fn the_request_is_in_the_providers_form() {
    let url = json!({"url": "data:image/png;base64,AAAA"});
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "s__f", "arguments": "{\"x\": 1.0}"}});
    assert_eq!(
        body(&conversation(), Dialect::default()),
        json!({
            "model": "m",
            "stream": true,
            "stream_options": {"include_usage": true},
            "max_tokens": 100,
            "messages": [
                {"role": "system", "content": "rules"},
                {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": url}]},
                {"role": "assistant", "content": "so", "tool_calls": [call("a"), call("b")]},
                {"role": "tool", "tool_call_id": "a", "content": "one\n[pictures follow in the next message]"},
                {"role": "tool", "tool_call_id": "b", "content": "Error: (empty result)"},
                {"role": "user", "content": [
                    {"type": "text", "text": "[pictures from s__f, call a]"},
                    {"type": "image_url", "image_url": url},
                    {"type": "text", "text": "go on"},
                ]},
            ],
            "tools": [{"type": "function", "function": {
                "name": "s__f", "description": "does", "parameters": {"type": "object", "properties": {}},
            }}],
        })
    );
}

#[test]
fn what_is_not_there_is_left_out() {
    let mut request = Request::new("", vec![Message::user("a"), Message::user("b")]);
    request.temperature = Some(0.5);
    assert_eq!(
        body(
            &request,
            Dialect { new_limit: true, no_effort: true, no_stream_options: true, narrow: true }
        ),
        json!({
            "model": "m",
            "stream": true,
            "max_completion_tokens": 8192,
            "temperature": 0.5,
            "messages": [{"role": "user", "content": "a\n\nb"}],
        })
    );
}

#[tokio::test]
async fn the_request_changes_when_the_server_asks_for_it() {
    let refuse = |param: &str, message: &str| {
        let error =
            json!({"error": {"message": message, "type": "invalid_request_error", "param": param}});
        Reply::status(400, "", &error.to_string())
    };
    let done = || {
        Reply::stream(&[
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n",
        ])
    };
    let (base, server) = serve(vec![
        refuse("reasoning_effort", "set reasoning_effort to 'none'"),
        refuse("max_tokens", "use max_completion_tokens"),
        Reply::status(422, "", r#"{"detail":[{"loc":["body","stream_options"]}]}"#),
        done(),
        done(),
        refuse("reasoning_effort", "no such thing"),
    ])
    .await;
    let model = OpenAiChat::new(Service::OpenAi, "m", connection(&base)).unwrap();
    for _ in 0..2 {
        let (events, failure) = ask(&model, &conversation()).await;
        assert!(failure.is_none(), "{failure:?}");
        assert_eq!(events, "text a\nstop End");
    }
    // Refused although changed already: the error comes out.
    let (_, failure) = ask(&model, &conversation()).await;
    assert_eq!(failure.unwrap().kind(), ModelErrorKind::BadRequest);
    let members = ["max_tokens", "max_completion_tokens", "reasoning_effort", "stream_options"];
    let sent = |body: &Value| {
        let present = members.into_iter().filter(|member| body.get(member).is_some());
        present.collect::<Vec<_>>().join(" ")
    };
    let requests: Vec<_> =
        server.await.unwrap().iter().map(|request| sent(&request.body)).collect();
    assert_eq!(
        requests,
        [
            "max_tokens stream_options",
            "max_tokens reasoning_effort stream_options",
            "max_completion_tokens reasoning_effort stream_options",
            "max_completion_tokens reasoning_effort",
            "max_completion_tokens reasoning_effort",
            "max_completion_tokens reasoning_effort",
        ]
    );
}

#[tokio::test]
async fn d123_schemas_are_narrowed_for_those_who_ask_for_it_and_for_nobody_else() {
    let schema = include_str!("../../../../../cases/handed/D123/schema.json");
    let schema = serde_json::value::RawValue::from_string(schema.trim().into()).unwrap();
    let mut request = conversation();
    request.tools[0].input_schema = schema.clone();
    let done = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let refusal = r#"{"error":{"message":"Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters'"}}"#;
    let (base, server) = serve(vec![
        Reply::status(400, "", refusal),
        Reply::stream(&[done]),
        Reply::stream(&[done]),
        Reply::status(400, "", refusal),
    ])
    .await;
    let model = OpenAiChat::new(Service::OpenAi, "m", connection(&base)).unwrap();
    for _ in 0..2 {
        assert!(ask(&model, &request).await.1.is_none());
    }
    // Refused although narrow already: the error comes out.
    let (_, failure) = ask(&model, &request).await;
    assert_eq!(failure.unwrap().kind(), ModelErrorKind::BadRequest);
    let sent: Vec<Value> = server
        .await
        .unwrap()
        .iter()
        .map(|request| request.body["tools"][0]["function"]["parameters"].clone())
        .collect();
    let whole: Value = serde_json::from_str(schema.get()).unwrap();
    assert_eq!(sent[0], whole, "others get what the server wrote");
    assert_eq!(sent[1]["properties"]["d"], json!({ "type": "string", "enum": ["a", "b"] }));
    assert_eq!((&sent[1], &sent[1]), (&sent[2], &sent[3]), "it is remembered");

    let google = connection("https://generativelanguage.googleapis.com/v1beta/openai");
    let model = OpenAiChat::new(Service::OpenAi, "m", google).unwrap();
    assert!(model.quirks.dialect().narrow, "it is known from the start");
}

const TRANSCRIPT: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Żółw 🐢 \"}}]}\r\n\r\n: ping\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"查询\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"q\\\":\\\"天气\"}}]}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";
const TRANSCRIPT_EVENTS: &str =
    "text Żółw 🐢 查询\ncall a f {\"q\":\"天气\"}\nusage 1 2\nstop ToolUse";

#[tokio::test]
async fn a_stream_over_a_socket_survives_cuts_inside_characters() {
    let bytes: Vec<[u8; 1]> = TRANSCRIPT.bytes().map(|byte| [byte]).collect();
    let (base, server) = serve(vec![Reply::stream(&bytes)]).await;
    let model = OpenAiChat::new(Service::OpenAi, "m", connection(&base)).unwrap();
    let (events, failure) = ask(&model, &Request::new("", vec![Message::user("?")])).await;
    assert!(failure.is_none(), "{failure:?}");
    assert_eq!(events, TRANSCRIPT_EVENTS);
    server.await.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_cut_of_the_stream_gives_the_same_events(cuts in prop::collection::vec(any::<usize>(), 0..40)) {
        let pieces = pieces(TRANSCRIPT.as_bytes(), &cuts);
        prop_assert_eq!(decode(&mut Decoder::new(0), pieces).unwrap(), TRANSCRIPT_EVENTS);
    }

    #[test]
    fn any_cut_of_the_arguments_gives_the_same_call(
        text in "[a-z\"\\\\é🐢{}]{0,30}",
        cuts in prop::collection::vec(any::<usize>(), 0..10),
    ) {
        let arguments = json!({"text": text, "n": [1, 2]}).to_string();
        let mut list = vec![json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}})];
        let chars: Vec<char> = arguments.chars().collect();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut % chars.len()).collect();
        places.extend([0, chars.len()]);
        places.sort_unstable();
        for ends in places.windows(2) {
            let piece: String = chars[ends[0]..ends[1]].iter().collect();
            list.push(json!({"index": 0, "function": {"arguments": piece}}));
        }
        prop_assert_eq!(calls(&list), format!("call a f {arguments}\nstop ToolUse"));
    }

    #[test]
    fn arbitrary_data_never_panics(data in "(data: )?[{}\\[\\]\":,a-z0-9\\n]{0,80}") {
        let _ = decode(&mut Decoder::new(0), [data.clone(), "\n\n".to_owned()]);
        let _ = Decoder::new(0).whole(data.as_bytes(), &mut Default::default());
    }
}
