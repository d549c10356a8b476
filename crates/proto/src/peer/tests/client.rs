//! A client's calls: answers, times, progress, and what is no answer.

use super::*;
use crate::types::RpcError;

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

fn options(timeout: u64, reset: bool, total: u64) -> CallOptions {
    CallOptions {
        timeout: SECOND * timeout as u32,
        reset_on_progress: reset,
        max_total: SECOND * total as u32,
        progress: true,
    }
}

fn progress(token: &Value, progress: f64) -> String {
    json!({ "jsonrpc": "2.0", "method": "notifications/progress",
            "params": { "progressToken": token, "progress": progress } })
    .to_string()
}

#[test]
fn d052_without_resetting_a_call_ends_at_its_timeout() {
    let mut client = Client::connected(NEW);
    let (id, request) = client.call("tools/call", json!({ "name": "x" }), options(3, false, 10));
    for step in 1..=2 {
        client.pass(SECOND);
        client.say(&progress(&request["id"], f64::from(step)));
    }
    client.pass(SECOND);
    assert!(matches!(client.resolved(id), Err(CallError::Timeout(t)) if t == SECOND * 3));
    let cancel = client.take_one();
    assert_eq!(cancel["method"], "notifications/cancelled");
    assert_eq!(cancel["params"]["requestId"], request["id"]);
}

#[test]
fn d052_with_resetting_it_ends_at_its_ceiling() {
    let mut client = Client::connected(NEW);
    let (id, request) = client.call("tools/call", json!({ "name": "x" }), options(3, true, 10));
    for step in 1..=9 {
        client.pass(SECOND);
        client.say(&progress(&request["id"], f64::from(step)));
        assert!(matches!(client.heard.pop(), Some(ClientOutput::Progress(..))), "{step}");
    }
    assert!(client.sent.is_empty());
    client.pass(SECOND);
    assert!(matches!(client.resolved(id), Err(CallError::Timeout(t)) if t == SECOND * 10));
    assert_eq!(client.take_one()["method"], "notifications/cancelled");
}

#[test]
fn d052_only_the_calls_own_token_counts() {
    let mut client = Client::connected(NEW);
    let (slow, _) = client.call("tools/call", json!({ "name": "x" }), options(3, true, 10));
    let (_, other) = client.call("tools/call", json!({ "name": "y" }), options(3, true, 10));
    let silent = CallOptions { progress: false, ..options(3, true, 10) };
    let (unasked, request) = client.call("tools/call", json!({ "name": "z" }), silent);
    client.pass(SECOND * 2);
    for token in [&other["id"], &json!(99), &json!("1"), &request["id"]] {
        client.say(&progress(token, 1.0));
    }
    let heard = client.heard.iter().filter(|o| matches!(o, ClientOutput::Progress(..)));
    assert_eq!(heard.count(), 1, "{:?}", client.heard);
    client.pass(SECOND);
    assert!(matches!(client.resolved(slow), Err(CallError::Timeout(_))));
    assert!(matches!(client.resolved(unasked), Err(CallError::Timeout(_))));
    assert_eq!(client.peer.poll_timeout(), Some(SECOND * 5), "the other one was told of progress");
}

#[test]
fn d049_any_number_is_progress() {
    let mut client = Client::connected(OLD);
    let (_, request) = client.call("tools/call", json!({ "name": "x" }), CallOptions::default());
    let lines = include_str!("../../../../../cases/handed/D049/server.jsonl");
    for line in lines.lines() {
        let mut message: Value = serde_json::from_str(line).unwrap();
        message["params"]["progressToken"] = request["id"].clone();
        client.say(&message.to_string());
    }
    let heard = client.heard.iter().map(|output| match output {
        ClientOutput::Progress(_, p) => (p.progress, p.total, p.message.as_deref()),
        other => panic!("{other:?}"),
    });
    let expected = [
        (0.2, Some(1.0), None),
        (50.0, Some(100.0), None),
        (50.5, None, Some("进度")),
        (100.0, None, None),
    ];
    assert_eq!(heard.collect::<Vec<_>>(), expected);
}

#[test]
fn d006_an_answer_to_one_point_nought_is_an_answer_to_one() {
    let mut client = Client::connected(OLD);
    let (id, request) = client.call("ping", json!({}), CallOptions::default());
    client.say(&format!(r#"{{"jsonrpc":"2.0","id":{}.0,"result":{{}}}}"#, request["id"]));
    assert!(client.resolved(id).is_ok());
}

#[test]
fn late_and_repeated_answers_meet_no_call() {
    let mut client = Client::connected(NEW);
    let (timed_out, first) = client.call("tools/list", json!({}), options(1, false, 1));
    client.pass(SECOND);
    assert!(client.resolved(timed_out).is_err());
    let (given_up, second) = client.call("tools/list", json!({}), options(9, false, 9));
    client.peer.cancel(given_up, "changed \"my\" mind\n");
    client.drain();
    let cancel = client.sent.pop().unwrap();
    assert_eq!(cancel["params"]["reason"], "changed \"my\" mind\n");
    let (id, third) = client.call("tools/list", json!({}), options(9, false, 9));
    client.answer(&third, json!({ "tools": [] }));
    assert!(client.resolved(id).is_ok());
    client.heard.clear();
    client.sent.clear();
    for request in [first, second, third] {
        client.answer(&request, json!({ "tools": [] }));
        assert!(matches!(client.heard.pop(), Some(ClientOutput::Ignored { noise: false, .. })));
        assert!(client.heard.is_empty() && client.sent.is_empty());
    }
    client.peer.cancel(given_up, "twice");
    client.drain();
    assert!(client.sent.is_empty(), "what has ended is not cancelled");
}

#[test]
fn d062_a_body_of_another_family_is_no_empty_result() {
    let results = include_str!("../../../../../cases/handed/D062/results.jsonl");
    let mut outcomes = results.lines().map(|line| {
        // Only there results have a type.
        let typed = line.contains("resultType");
        let mut client = Client::connected(if typed { NEW } else { OLD });
        let (id, request) =
            client.call("tools/call", json!({ "name": "x" }), CallOptions::default());
        client.answer(&request, serde_json::from_str(line).unwrap());
        client.resolved(id)
    });
    assert_eq!(outcomes.next().unwrap().unwrap()["structuredContent"], json!({ "a": 1 }));
    assert!(outcomes.next().unwrap().is_ok());
    assert!(outcomes.next().unwrap().is_ok());
    assert!(matches!(outcomes.next().unwrap(), Err(CallError::Protocol(_))));
    assert!(matches!(outcomes.next().unwrap(), Err(CallError::InputRequired(_))));

    let untyped = json!({ "inputRequests": {}, "requestState": "s" });
    let mut client = Client::connected(NEW);
    let (id, request) = client.call("tools/call", json!({ "name": "x" }), CallOptions::default());
    client.answer(&request, untyped);
    assert!(matches!(client.resolved(id), Err(CallError::InputRequired(_))));
}

#[test]
fn a_result_that_does_not_say_its_type_is_complete() {
    let mut client = Client::connected(NEW);
    let (id, request) = client.call("tools/call", json!({ "name": "x" }), CallOptions::default());
    client.answer(&request, json!({ "content": [{ "type": "text", "text": "there" }] }));
    let result = client.resolved(id).unwrap();
    assert_eq!(result["content"][0]["text"], "there");
    assert!(client.sent.is_empty(), "it is not asked again: {:?}", client.sent);
}

#[test]
fn answers_that_break_the_protocol_end_their_call() {
    let call = |response: &str| {
        let mut client = Client::connected(NEW);
        let (id, request) =
            client.call("tools/call", json!({ "name": "x" }), CallOptions::default());
        client.say(&response.replace('@', &request["id"].to_string()));
        client.resolved(id)
    };
    for broken in [
        r#"{"jsonrpc":"2.0","id":@,"result":7}"#,
        r#"{"jsonrpc":"2.0","id":@,"result":null}"#,
        r#"{"jsonrpc":"2.0","id":@,"result":[]}"#,
        r#"{"jsonrpc":"2.0","id":@,"result":{"resultType":"teapot"}}"#,
        r#"{"jsonrpc":"2.0","id":@,"result":{"resultType":1}}"#,
        r#"{"jsonrpc":"2.0","id":@,"result":{},"error":{"code":1,"message":""}}"#,
        r#"{"jsonrpc":"2.0","id":@,"result":{"_meta":{},"_meta":{}}}"#,
        r#"{"jsonrpc":"1.0","id":@,"result":{}}"#,
    ] {
        assert!(matches!(call(broken), Err(CallError::Protocol(_))), "{broken}");
    }
    for (error, code) in [
        (r#"{"code":-32602,"message":"no","data":[1]}"#, -32602),
        (r#"{"code":-32602.0}"#, -32602),
        (r#"{"code":7,"message":null}"#, 7),
        (r#"{"message":"no code"}"#, RpcError::INTERNAL),
        (r#""just text""#, RpcError::INTERNAL),
        ("null", RpcError::INTERNAL),
    ] {
        let response = format!(r#"{{"jsonrpc":"2.0","id":@,"error":{error}}}"#);
        assert!(matches!(call(&response), Err(CallError::Rpc(e)) if e.code == code), "{error}");
    }
}

#[test]
fn f13_an_answer_that_cannot_be_read_ends_its_call_at_once() {
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    for revision in [OLD, NEW] {
        for broken in [
            &br#"{"jsonrpc":"2.0","id":@}"#[..],
            br#"{"jsonrpc":"2.0","id":@,"value":{}}"#,
            br#"{"jsonrpc":"2.0","id":@,"id":@,"result":{}}"#,
            br#"{"jsonrpc":"2.0","id":77,"id":@,"result":{}}"#,
            br#"{"jsonrpc":"2.0","id":@,"result":{"content":[{"type":"text","text":"\xff"}]}}"#,
            br#"{"result":{"content":[1,]},"jsonrpc":"2.0","id":@}"#,
            br#"{"jsonrpc":"2.0","id":@,"result":{"content":["#,
            format!(r#"{{"jsonrpc":"2.0","id":@,"result":{{"x":{deep}}}}}"#).as_bytes(),
        ] {
            let mut client = Client::connected(revision);
            let (other, second) = client.call("ping", json!({}), CallOptions::default());
            let (id, request) = client.call("ping", json!({}), CallOptions::default());
            let digit = request["id"].to_string();
            let line = broken.split(|byte| *byte == b'@').collect::<Vec<_>>();
            let line = line.join(digit.as_bytes());
            client.peer.handle_input(client.now, Lane::Connection, line.into());
            client.drain();
            let text = String::from_utf8_lossy(broken);
            assert!(matches!(client.resolved(id), Err(CallError::Protocol(_))), "{text}");
            assert!(client.sent.is_empty(), "a response is not answered: {:?}", client.sent);
            // The other call goes on.
            client.answer(&second, json!({}));
            assert!(client.resolved(other).is_ok());
        }
    }
}

#[test]
fn f13_what_may_answer_either_of_two_calls_or_none_ends_neither() {
    let mut client = Client::connected(NEW);
    let (one, first) = client.call("tools/list", json!({}), CallOptions::default());
    let (two, second) = client.call("tools/list", json!({}), CallOptions::default());
    let (a, b) = (&first["id"], &second["id"]);
    for line in [
        format!(r#"{{"jsonrpc":"2.0","id":{a},"id":{b},"result":{{}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":{a},"method":"x","params":[}}"#),
        format!(r#"{{"jsonrpc":"2.0","params":{{"id":{a}}}"#),
        String::from(r#"{"jsonrpc":"2.0","id":99,"result":{"#),
    ] {
        client.say(&line);
        assert!(matches!(client.heard.pop(), Some(ClientOutput::Ignored { .. })), "{line}");
        assert!(client.heard.is_empty(), "{line}");
    }
    client.answer(&first, json!({ "tools": [] }));
    client.answer(&second, json!({ "tools": [] }));
    assert!(client.resolved(one).is_ok() && client.resolved(two).is_ok());
}

#[test]
fn d003_what_is_no_message_is_skipped_and_never_answered() {
    let mut client = Client::new(config());
    let probe = client.take_one();
    client.fail(&probe, -32601);
    let hello = client.take_one();
    let lines = include_str!("../../../../../cases/handed/D003/server_stdout.txt");
    let mut noise = 0;
    for line in lines.lines() {
        let line = line.replace(r#""id": 0"#, &format!(r#""id": {}"#, hello["id"]));
        client.say(&line);
        if let Some(ClientOutput::Ignored { noise: true, what }) = client.heard.last() {
            assert!(what.len() < 400);
            noise += 1;
            client.heard.pop();
        }
        if let Some(ClientOutput::Ready(_)) = client.heard.last() {
            client.heard.pop();
            assert_eq!(client.take_one()["method"], "notifications/initialized");
        }
        assert!(client.sent.is_empty(), "{:?}", client.sent);
    }
    assert_eq!(noise, 4);
}

#[test]
fn d014_pings_are_answered_before_the_connection_is_open() {
    let mut client = Client::new(config());
    client.take_one();
    client.say(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#);
    assert_eq!(client.take_one(), json!({ "jsonrpc": "2.0", "id": "a", "result": {} }));
    client.say(r#"{"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{}}"#);
    assert_eq!(client.take_one()["error"]["code"], -32601);
}

#[test]
fn notifications_are_told_and_unknown_ones_are_not_lost() {
    let mut client = Client::connected(OLD);
    let mut hear = |method: &str, params: Value| {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        client.say(&message.to_string());
        assert!(client.sent.is_empty());
        client.heard.pop().unwrap()
    };
    let changed = |output, what| matches!(output, ClientOutput::Changed(w) if w == what);
    assert!(changed(hear("notifications/tools/list_changed", json!({})), Changed::Tools));
    assert!(changed(hear("notifications/prompts/list_changed", json!(null)), Changed::Prompts));
    assert!(changed(hear("notifications/resources/list_changed", json!({})), Changed::Resources));
    let updated = hear("notifications/resources/updated", json!({ "uri": "a://b" }));
    assert!(changed(updated, Changed::Resource("a://b".into())));
    let log = hear("notifications/message", json!({ "level": "info", "data": 1 }));
    assert!(matches!(log, ClientOutput::Log(_)));
    for (method, params) in [
        ("notifications/x", json!({})),
        ("notifications/message", json!(null)),
        ("notifications/resources/updated", json!({})),
        ("notifications/progress", json!({ "progressToken": 1 })),
        (&*"n".repeat(5000), json!({ "x": "y".repeat(5000) })),
    ] {
        let ClientOutput::Ignored { what, noise } = hear(method, params) else {
            panic!("{method}")
        };
        assert!(!noise && what.len() < 600, "{}", what.len());
    }
}

#[test]
fn parameters_are_checked_and_keep_what_they_say_of_themselves() {
    let mut client = Client::connected(NEW);
    for bad in ["[]", "7", "{", "{\"a\":}", "{} {}", "{\"a\":\"\n\"}"] {
        let id = client.peer.call(client.now, "x", bad.as_bytes(), None, CallOptions::default());
        client.drain();
        assert!(matches!(client.resolved(id), Err(CallError::Params(_))), "{bad}");
        assert!(client.sent.is_empty());
    }
    let params = json!({ "name": "x", "_meta": {
        "traceparent": "00-1", "progressToken": "mine",
        "io.modelcontextprotocol/protocolVersion": "1900-01-01" } });
    let (_, request) = client.call("tools/call", params, CallOptions::default());
    let meta = &request["params"]["_meta"];
    assert_eq!(meta["traceparent"], "00-1");
    assert_eq!(meta["progressToken"], request["id"]);
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], NEW);
    assert_eq!(request["params"]["name"], "x");
    let (_, request) = client.call("tools/list", json!({}), CallOptions::default());
    assert_eq!(request["params"]["_meta"]["progressToken"], request["id"]);
}

#[test]
fn calls_outside_of_an_open_connection_resolve_at_once() {
    let mut client = Client::new(config());
    client.take_one();
    let (early, _) = client.call("tools/list", json!({}), CallOptions::default());
    assert!(matches!(client.resolved(early), Err(CallError::NotConnected)));

    let mut client = Client::connected(NEW);
    let (running, _) = client.call("tools/list", json!({}), CallOptions::default());
    client.peer.handle_closed("it died");
    client.drain();
    assert!(matches!(client.resolved(running), Err(CallError::Closed(how)) if how == "it died"));
    let (late, request) = client.call("tools/list", json!({}), CallOptions::default());
    assert!(matches!(client.resolved(late), Err(CallError::Closed(how)) if how == "it died"));
    assert_eq!(request, Value::Null, "nothing is sent");
    assert_eq!(client.peer.poll_timeout(), None);
}

#[test]
fn an_exchange_that_ends_early_ends_its_call_only() {
    let mut client = Client::connected(NEW);
    let (first, _) = client.call("tools/list", json!({}), CallOptions::default());
    let lane = client.lane;
    let (second, request) = client.call("tools/list", json!({}), CallOptions::default());
    client.peer.handle_lane_end(client.now, lane, LaneEnd::Lost("reset".into()));
    client.peer.handle_lane_end(client.now, lane, LaneEnd::Lost("again".into()));
    client.peer.handle_lane_end(client.now, Lane::Connection, LaneEnd::Lost("x".into()));
    client.drain();
    assert!(matches!(client.resolved(first), Err(CallError::Exchange(LaneEnd::Lost(_)))));
    assert!(client.heard.is_empty());
    client.answer(&request, json!({ "tools": [] }));
    assert!(client.resolved(second).is_ok());
}

#[test]
fn the_level_of_logs_is_asked_for_as_the_era_has_it() {
    for revision in [OLD, NEW] {
        let mut config = config();
        config.revision = crate::revision::Revision::from_date(revision);
        let mut client = Client::new(config);
        let first = client.take_one();
        let mut said = initialized(revision);
        (said["capabilities"], said["supportedVersions"]) =
            (json!({ "logging": {} }), json!([revision]));
        client.answer(&first, said);
        client.ready();
        client.sent.clear();
        let level = crate::types::LogLevel::Warning;
        let key = client.peer.set_log_level(client.now, level, CallOptions::default());
        client.drain();
        if revision == OLD {
            let request = client.take_one();
            assert_eq!(request["method"], "logging/setLevel");
            assert_eq!(request["params"]["level"], "warning");
            client.answer(&request, json!({}));
        }
        assert!(client.resolved(key).is_ok());
        let (_, request) = client.call("tools/list", json!({}), CallOptions::default());
        let level = request["params"]["_meta"].get("io.modelcontextprotocol/logLevel");
        assert_eq!(level, (revision == NEW).then_some(&json!("warning")));
    }
    let mut client = Client::connected(NEW);
    let level = crate::types::LogLevel::Warning;
    let key = client.peer.set_log_level(client.now, level, CallOptions::default());
    client.drain();
    assert!(matches!(client.resolved(key), Err(CallError::NotOffered(_))));
}

#[test]
fn a_timeout_says_how_long_was_waited_in_seconds() {
    for (milliseconds, text) in [(2000, "2 s"), (1500, "1.5 s"), (60_040, "60 s")] {
        let error = CallError::Timeout(Duration::from_millis(milliseconds)).to_string();
        assert!(error.contains(&format!(" {text}")), "{error}");
    }
}

/// Over HTTP each request of a client without a session has an exchange of its own, and
/// the calls beside it may be of other clients.
#[test]
fn f04_what_comes_on_an_exchange_is_about_its_own_call_only() {
    let mut client = Client::connected(NEW);
    let calls = options(30, true, 60);
    let (one, first) = client.call("tools/call", json!({ "name": "x" }), calls);
    let (two, second) = client.call("tools/call", json!({ "name": "y" }), calls);
    let answer = |request: &Value, text: &str| {
        json!({ "jsonrpc": "2.0", "id": request["id"], "result": {
            "resultType": "complete", "content": [{ "type": "text", "text": text }] } })
        .to_string()
    };
    let broken = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}},"error":{{}}}}"#, second["id"]);
    for line in [answer(&second, "of another"), progress(&second["id"], 1.0), broken] {
        client.say_on(Lane::Exchange(one), &line);
        let heard = client.heard.pop();
        assert!(matches!(heard, Some(ClientOutput::Ignored { .. })), "{line}: {heard:?}");
    }
    client.say_on(Lane::Exchange(two), &progress(&second["id"], 1.0));
    assert!(matches!(client.heard.pop(), Some(ClientOutput::Progress(id, _)) if id == two));
    client.say_on(Lane::Exchange(two), &answer(&second, "its own"));
    assert_eq!(client.resolved(two).unwrap()["content"][0]["text"], "its own");
    client.say_on(Lane::Exchange(one), &answer(&first, "its own"));
    assert_eq!(client.resolved(one).unwrap()["content"][0]["text"], "its own");
}
