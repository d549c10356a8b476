//! A server's engine: which requests reach the application, and what comes back.

use super::*;
use crate::revision::Revision;
use crate::types::{LogLevel, RpcError};

const NEW: &str = "2026-07-28";

/// Every revision, newest first.
fn every() -> Value {
    Revision::ALL.iter().rev().map(|revision| revision.date()).collect()
}

pub(super) fn modern(id: Value, method: &str, mut params: Value) -> Value {
    params["_meta"] = meta(NEW);
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

#[test]
fn discovery_says_what_the_schema_asks_for() {
    let mut server = Server::new();
    server.say(&modern(json!("d"), "server/discover", json!({})));
    let result = &server.answer(&json!("d"))["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["supportedVersions"], every());
    assert_eq!(result["capabilities"]["tools"], json!({}));
    assert_eq!(result["instructions"], "be kind");
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "test-server");
    assert_eq!(server.peer.session(), None);
}

#[test]
fn a_handshake_settles_on_a_revision_with_sessions() {
    for (asked, answered) in
        [("2025-11-25", "2025-11-25"), ("1900-01-01", "2025-11-25"), (NEW, "2025-11-25")]
    {
        let mut server = Server::new();
        server.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": { "protocolVersion": asked, "capabilities": {} } }));
        let result = &server.answer(&json!(1))["result"];
        assert_eq!(result["protocolVersion"], answered, "{asked}");
        assert_eq!(result["serverInfo"]["name"], "test-server");
        assert!(result.get("resultType").is_none() && result.get("_meta").is_none());
        assert_eq!(server.peer.session(), Some(Revision::NEWEST_HANDSHAKE));
    }
    let mut server = Server::new();
    server.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize" }));
    assert_eq!(server.answer(&json!(1))["error"]["code"], -32602);
}

#[test]
fn requests_that_do_not_say_what_they_speak_are_told_how_to() {
    let mut server = Server::new();
    server.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
    let error = &server.answer(&json!(1))["error"];
    assert_eq!(error["code"], -32602);
    assert!(error["message"].as_str().unwrap().contains(NEW));

    let mut request = modern(json!(2), "tools/list", json!({}));
    request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("1900-01-01");
    server.say(&request);
    let error = &server.answer(&json!(2))["error"];
    assert_eq!(error["code"], -32022);
    assert_eq!(error["data"]["requested"], "1900-01-01");
    assert_eq!(error["data"]["supported"], every());

    for (id, name, wrong) in [
        (3, "io.modelcontextprotocol/protocolVersion", json!(7)),
        (4, "io.modelcontextprotocol/clientCapabilities", json!(null)),
        (5, "io.modelcontextprotocol/clientCapabilities", json!([])),
        (6, "io.modelcontextprotocol/logLevel", json!("loud")),
        (7, "io.modelcontextprotocol/logLevel", json!(3)),
    ] {
        let mut request = modern(json!(id), "tools/list", json!({}));
        request["params"]["_meta"][name] = wrong;
        server.say(&request);
        assert_eq!(server.answer(&json!(id))["error"]["code"], -32602, "{name}");
    }
    assert!(server.calls.is_empty());
}

#[test]
fn each_era_has_its_own_methods() {
    let mut server = Server::in_session();
    for method in
        ["server/discover", "subscriptions/listen", "sampling/createMessage", "roots/list"]
    {
        server.say(&json!({ "jsonrpc": "2.0", "id": method, "method": method }));
        assert_eq!(server.answer(&json!(method))["error"]["code"], -32601, "{method}");
    }
    for method in ["ping", "initialize", "logging/setLevel", "resources/subscribe", "tasks/get"] {
        let id = json!(format!("modern {method}"));
        server.say(&modern(id.clone(), method, json!({ "level": "info" })));
        assert_eq!(server.answer(&id)["error"]["code"], -32601, "{method}");
    }
    assert!(server.calls.is_empty());
    // Vendors have methods of their own: those are for the application to know.
    server.say(&modern(json!(1), "vendor/x", json!({})));
    assert_eq!(server.calls.len(), 1);
}

#[test]
fn results_have_the_shape_of_the_revision_they_are_asked_in() {
    let mut server = Server::in_session();
    let listed = json!({ "tools": [], "ttlMs": 5, "cacheScope": "public" });
    server.say(&modern(json!("m"), "tools/list", json!({})));
    server.say(&json!({ "jsonrpc": "2.0", "id": "l", "method": "tools/list" }));
    let keys: Vec<CallKey> = server.calls.iter().map(|call| call.key).collect();
    for key in keys {
        server.respond(key, listed.clone());
    }
    let modern = &server.answer(&json!("m"))["result"];
    assert_eq!((&modern["resultType"], &modern["ttlMs"]), (&json!("complete"), &json!(5)));
    assert!(modern["_meta"]["io.modelcontextprotocol/serverInfo"].is_object());
    assert_eq!(server.answer(&json!("l"))["result"], json!({ "tools": [] }));
}

#[test]
fn d045_both_eras_are_served_at_once() {
    let mut server = Server::new();
    for line in include_str!("../../../../../cases/handed/D045/in.jsonl").lines() {
        server.say_on(Lane::Connection, line);
    }
    let keys: Vec<CallKey> = server.calls.iter().map(|call| call.key).collect();
    for key in keys {
        server.respond(key, json!({ "tools": [] }));
    }
    for (id, modern) in
        [(json!("m1"), true), (json!(0), false), (json!("l1"), false), (json!("m2"), true)]
    {
        let result = &server.answer(&id)["result"];
        assert_eq!(result.get("resultType").is_some(), modern, "{id}: {result}");
    }
}

#[test]
fn d043_a_session_is_opened_once() {
    let mut server = Server::new();
    for line in include_str!("../../../../../cases/handed/D043/in.jsonl").lines() {
        server.say_on(Lane::Connection, line);
    }
    assert_eq!(server.answer(&json!(1))["error"]["code"], -32600);
    assert_eq!(server.answer(&json!(2))["result"], json!({}));
    assert_eq!(server.peer.session(), Some(Revision::NEWEST_HANDSHAKE));
    server.say(&json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" }));
    let info: Value =
        serde_json::from_str(server.calls[0].client_info.as_deref().unwrap()).unwrap();
    assert_eq!(info["name"], "t", "what it said of itself first stays");
}

#[test]
fn d014_what_may_come_before_the_session_is_ready() {
    let mut server = Server::new();
    for line in include_str!("../../../../../cases/handed/D014/in.jsonl").lines() {
        server.say_on(Lane::Connection, line);
        if line.contains("l1") {
            server.say(&json!({ "jsonrpc": "2.0", "id": "early", "method": "tools/list" }));
        }
    }
    for id in ["p0", "p1", "l1", "p2"] {
        assert_eq!(server.answer(&json!(id))["result"], json!({}), "{id}");
    }
    assert_eq!(server.answer(&json!("early"))["error"]["code"], -32600);
}

#[test]
fn d008_an_id_in_use_is_refused_and_a_used_one_is_not() {
    let mut server = Server::in_session();
    let request =
        json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": { "name": "x" } });
    server.say(&request);
    server.say(&request);
    assert_eq!(server.calls.len(), 1);
    assert_eq!(server.answer(&json!(5))["error"]["code"], -32600);
    server.sent.clear();
    server.respond(server.calls[0].key, json!({ "content": [] }));
    assert!(server.answer(&json!(5)).get("result").is_some(), "the first is not disturbed");
    server.say(&request);
    assert_eq!(server.calls.len(), 2);
    // A number and its spelling are two ids.
    server.say(&json!({ "jsonrpc": "2.0", "id": "5", "method": "ping" }));
    assert!(server.answer(&json!("5")).get("result").is_some());
}

#[test]
fn d006_ids_with_a_fraction_of_nought_are_answered_as_integers() {
    let mut server = Server::new();
    for line in include_str!("../../../../../cases/handed/D006/in.jsonl").lines() {
        server.say_on(Lane::Connection, line);
    }
    let text = serde_json::to_string(&server.sent).unwrap();
    assert!(text.contains("\"id\":1,") && text.contains("\"id\":100,"), "{text}");
    assert!(server.sent.iter().any(|m| m["error"]["code"] == -32600 && m.get("id").is_none()));
}

#[test]
fn d046_after_a_cancel_nothing_is_said_of_the_call() {
    let mut server = Server::new();
    for line in include_str!("../../../../../cases/handed/D046/in.jsonl").lines() {
        server.say_on(Lane::Connection, line);
    }
    let key = server.calls[0].key;
    assert_eq!(server.cancelled, [key]);
    assert_eq!(server.peer.in_flight(), 0);
    server.peer.progress(key, 1.0, None, None);
    server.peer.log(key, LogLevel::Error, None, b"1");
    server.respond(key, json!({ "content": [] }));
    let said = serde_json::to_string(&server.sent).unwrap();
    assert!(!said.contains("\"id\":1") && !said.contains("\"p\""), "{said}");
    assert_eq!(server.answer(&json!(2))["result"], json!({}));
    // The place is taken by another call, which the old key does not reach.
    server.say(&json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {} }));
    server.respond(key, json!({ "content": ["the wrong one"] }));
    assert!(!server.sent.iter().any(|m| m["id"] == 3));
}

#[test]
fn d007_nought_and_nothing_are_ordinary_ids_and_tokens() {
    let mut server = Server::in_session();
    for line in include_str!("../../../../../cases/handed/D007/in.jsonl").lines() {
        server.say_on(Lane::Connection, line);
        if let (Some(call), true) = (server.calls.first(), server.cancelled.is_empty()) {
            let key = call.key;
            server.peer.progress(key, 1.0, None, None);
            server.drain();
        }
    }
    assert_eq!(server.sent[0]["params"]["progressToken"], 0);
    assert_eq!(server.cancelled.len(), 1);
    assert_eq!(server.answer(&json!(""))["result"], json!({}));
    assert_eq!(server.sent.len(), 2, "no answer to 0: {:?}", server.sent);
}

fn call_with(meta: Value) -> (Server, CallKey) {
    let mut server = Server::in_session();
    server.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                        "params": { "name": "x", "_meta": meta } }));
    let key = server.calls[0].key;
    (server, key)
}

#[test]
fn d049_whole_numbers_are_written_without_a_fraction() {
    let (mut server, key) = call_with(json!({ "progressToken": "t" }));
    for (done, total) in
        [(0.2, Some(1.0)), (50.0, Some(100.0)), (50.5, None), (1e2, None), (1e300, None)]
    {
        server.peer.progress(key, done, total, Some("进度"));
    }
    let mut lines = Vec::new();
    while let Some(ServerOutput::Send { bytes, sent, .. }) = server.peer.poll_output() {
        assert_eq!(sent, Sent::Notification);
        lines.push(String::from_utf8(bytes).unwrap());
    }
    assert!(lines[0].contains(r#""progress":0.2,"total":1,"#), "{}", lines[0]);
    assert!(lines[1].contains(r#""progress":50,"total":100,"message":"进度""#), "{}", lines[1]);
    assert!(lines[2].contains(r#""progress":50.5,"#) && lines[3].contains(r#""progress":100,"#));
    assert_eq!(value(lines[4].as_bytes())["params"]["progress"], 1e300);
}

#[test]
fn progress_needs_a_token_and_only_grows() {
    let (mut server, key) = call_with(json!({}));
    assert!(!server.calls[0].wants_progress);
    server.peer.progress(key, 1.0, None, None);
    server.drain();
    assert!(server.sent.is_empty());

    let (mut server, key) = call_with(json!({ "progressToken": "" }));
    for done in [f64::NAN, 1.0, 1.0, 0.5, f64::INFINITY, 2.0] {
        server.peer.progress(key, done, Some(f64::NAN), None);
    }
    server.drain();
    let said: Vec<_> = server.sent.iter().map(|m| m["params"]["progress"].clone()).collect();
    assert_eq!(said, [json!(1), json!(2)]);
    assert!(server.sent[0]["params"].get("total").is_none());
}

#[test]
fn logs_follow_the_sessions_level() {
    let (mut server, key) = call_with(json!({}));
    let logged = |server: &mut Server| {
        for level in [LogLevel::Debug, LogLevel::Info, LogLevel::Error] {
            server.peer.log(key, level, Some("a\"b"), br#"{"x":1}"#);
        }
        server.drain();
        let messages = server.sent.iter().filter(|m| m["method"] == "notifications/message");
        let said: Vec<_> = messages.map(|m| m["params"]["level"].clone()).collect();
        assert!(
            server.sent.iter().all(|m| m["params"]["logger"] == "a\"b" || m.get("id").is_some())
        );
        server.sent.clear();
        said
    };
    assert_eq!(logged(&mut server), ["info", "error"]);
    for (level, code) in [("error", None), ("loud", Some(-32602))] {
        server.say(&json!({ "jsonrpc": "2.0", "id": level, "method": "logging/setLevel",
                            "params": { "level": level } }));
        assert_eq!(server.answer(&json!(level))["error"]["code"].as_i64(), code);
        server.sent.clear();
    }
    // It holds for later calls; this one began under the older level.
    assert_eq!(logged(&mut server), ["info", "error"]);
    server.say(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {} }));
    let key = server.calls[1].key;
    server.peer.log(key, LogLevel::Warning, None, b"1");
    server.peer.log(key, LogLevel::Error, None, b"1");
    server.drain();
    assert_eq!(server.sent.len(), 1);
}

#[test]
fn logs_of_a_modern_request_are_sent_only_when_it_asks() {
    let mut server = Server::new();
    server.say(&modern(json!(1), "tools/call", json!({ "name": "x" })));
    let mut asks = modern(json!(2), "tools/call", json!({ "name": "x" }));
    asks["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("warning");
    server.say(&asks);
    for call in &server.calls {
        server.peer.log(call.key, LogLevel::Notice, None, b"1");
        server.peer.log(call.key, LogLevel::Emergency, None, br#""text""#);
    }
    server.drain();
    assert_eq!(server.sent.len(), 1);
    assert_eq!(server.sent[0]["params"], json!({ "level": "emergency", "data": "text" }));
}

#[test]
fn a_lane_that_goes_takes_its_calls_along() {
    let mut server = Server::in_session();
    let call =
        |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {} });
    for (lane, id) in [(1, 10), (2, 20), (1, 11)] {
        server.say_on(Lane::Exchange(lane), &call(id).to_string());
    }
    server.peer.drop_lane(Lane::Exchange(1));
    server.drain();
    assert_eq!(server.cancelled.len(), 2);
    assert_eq!(server.peer.in_flight(), 1);
    let keys: Vec<CallKey> = server.calls.iter().map(|call| call.key).collect();
    for key in keys {
        server.respond(key, json!({}));
    }
    assert_eq!(server.sent.len(), 1);
    assert_eq!(server.sent[0]["id"], 20);
    server.say(&call(10));
    assert_eq!(server.calls.len(), 4, "the id is free again");
}

#[test]
fn errors_of_the_application_reach_the_client_whole() {
    let (mut server, key) = call_with(json!({}));
    let error = RpcError::invalid_params("no").with_data(&json!({ "uri": "x" }));
    server.peer.respond(key, Outcome::Error(error));
    let Some(ServerOutput::Send { bytes, sent, error, .. }) = server.peer.poll_output() else {
        panic!("an answer")
    };
    assert!(sent == Sent::Response && error == Some(-32602));
    assert_eq!(
        value(&bytes)["error"],
        json!({ "code": -32602, "message": "no", "data": { "uri": "x" } })
    );
}

#[test]
fn notifications_are_never_answered_however_broken() {
    let mut server = Server::in_session();
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/x","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"method":"notifications/x"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
    ] {
        server.say_on(Lane::Connection, line);
        assert!(server.sent.is_empty(), "{line}: {:?}", server.sent);
    }
    let long = json!({ "jsonrpc": "2.0", "method": "n".repeat(9000) });
    server.say(&long);
    assert!(server.ignored.iter().all(|what| what.len() < 400));
}

#[test]
fn errors_do_not_repeat_all_that_they_are_about() {
    let mut server = Server::in_session();
    server.say(&modern(json!(1), &"m".repeat(9000), json!({})));
    let mut odd = modern(json!(2), "tools/list", json!({}));
    odd["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("v".repeat(9000));
    server.say(&odd);
    let message = server.answer(&json!(2))["error"]["message"].as_str().unwrap().len();
    assert!(message < 500, "{message}");
}

#[test]
fn d002_an_array_is_refused_and_the_connection_stays() {
    let mut server = Server::in_session();
    for line in include_str!("../../../../../cases/handed/D002/in.jsonl").lines() {
        server.say_on(Lane::Connection, line);
        let answer = server.sent.pop().unwrap();
        assert_eq!(answer["error"]["code"], -32600);
        assert!(answer.get("id").is_none() && server.sent.is_empty());
    }
    server.say(&json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" }));
    assert_eq!(server.answer(&json!(9))["result"], json!({}));
}

#[test]
fn d072_slots_are_used_again_and_not_piled_up() {
    let mut server = Server::in_session();
    for id in 0..10_000 {
        server.say(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {} }));
        let key = server.calls.pop().unwrap().key;
        server.respond(key, json!({}));
    }
    assert_eq!(server.sent.len(), 10_000);
    assert_eq!((server.peer.in_flight(), server.peer.slots()), (0, 1));
}

#[test]
fn many_calls_at_once_are_known_by_their_ids() {
    let mut server = Server::in_session();
    let call =
        |id: usize| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {} });
    for id in 0..50 {
        server.say(&call(id));
    }
    server.say(&call(3));
    server.say(&call(40));
    let refused = server.sent.iter().filter(|sent| sent["error"]["code"] == -32600).count();
    assert_eq!((refused, server.calls.len()), (2, 50));
    for id in [3, 40] {
        server.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "requestId": id } }));
    }
    assert_eq!(server.peer.in_flight(), 48);
    // Their places, and their ids, are free again.
    server.say(&call(40));
    server.say(&call(3));
    assert_eq!((server.peer.in_flight(), server.peer.slots()), (50, 50));
    let keys: Vec<_> = server.calls.iter().map(|call| call.key).collect();
    keys.into_iter().for_each(|key| server.respond(key, json!({})));
    assert_eq!(server.peer.in_flight(), 0);
}

#[test]
fn a_peer_that_gives_back_its_memory_never_gives_a_key_out_twice() {
    let mut server = Server::in_session();
    let mut keys = Vec::new();
    for id in 0..6 {
        server.say(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {} }));
        let key = server.calls.pop().unwrap().key;
        assert!(!keys.contains(&key), "{keys:?}");
        keys.push(key);
        // A call that runs keeps its place.
        server.peer.shrink();
        assert_eq!(server.peer.in_flight(), 1);
        server.respond(key, json!({}));
        if id % 2 == 0 {
            server.peer.shrink();
            assert_eq!(server.peer.slots(), 0);
        }
        keys.iter().for_each(|old| server.respond(*old, json!({})));
    }
    assert_eq!(server.sent.len(), 6);
}
