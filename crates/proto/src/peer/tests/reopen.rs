//! A session that the server has lost.

use super::*;

const OLD: &str = "2025-11-25";

/// Loses the session, and says what the client sends for another.
fn lose(client: &mut Client) -> Value {
    client.peer.handle_session_lost(client.now);
    client.drain();
    let hello = client.take_one();
    assert_eq!(hello["method"], "initialize");
    hello
}

fn reopened(client: &mut Client, hello: &Value) {
    client.answer(hello, initialized(OLD));
    assert_eq!(client.sent.remove(0)["method"], "notifications/initialized");
    let at = client.heard.iter().position(|out| matches!(out, ClientOutput::Reopened(_)));
    client.heard.remove(at.expect("the session is open again"));
}

fn gone(client: &mut Client) -> String {
    match client.heard.remove(0) {
        ClientOutput::Gone(how) => how,
        other => panic!("{other:?}"),
    }
}

#[test]
fn d035_one_session_takes_the_place_of_the_lost_one() {
    let mut client = Client::connected(OLD);
    let calls: Vec<_> =
        (0..10).map(|_| client.call("tools/list", json!({}), CallOptions::default())).collect();
    let hello = lose(&mut client);
    // Each of the ten is refused.
    for _ in 0..9 {
        client.peer.handle_session_lost(client.now);
    }
    let (early, request) = client.call("tools/list", json!({}), CallOptions::default());
    assert_eq!(request["method"], "tools/list", "it waits in the transport");
    assert!(client.sent.is_empty());
    reopened(&mut client, &hello);
    for (id, request) in calls {
        client.answer(&request, json!({ "tools": [] }));
        assert!(client.resolved(id).is_ok());
    }
    client.answer(&request, json!({ "tools": [] }));
    assert!(client.resolved(early).is_ok());
    // The next loss is another one.
    let hello = lose(&mut client);
    reopened(&mut client, &hello);
}

#[test]
fn d035_a_session_that_is_lost_before_it_answers_is_the_last() {
    let mut client = Client::connected(OLD);
    let (call, _) = client.call("tools/list", json!({}), CallOptions::default());
    let hello = lose(&mut client);
    reopened(&mut client, &hello);
    client.peer.handle_session_lost(client.now);
    client.drain();
    assert!(client.sent.is_empty());
    let how = gone(&mut client);
    assert!(how.contains("session"), "{how}");
    assert!(matches!(client.resolved(call), Err(CallError::Closed(text)) if text == how));
}

#[test]
fn a_session_that_cannot_be_opened_again_ends_the_connection() {
    type End = fn(&mut Client, &Value);
    let ends: [(End, &str); 5] = [
        (|client, hello| client.fail(hello, -32603), "no"),
        (|client, _| client.pass(SECOND * 10), "no answer within"),
        (|client, hello| client.answer(hello, initialized("2025-06-18")), "2025-06-18"),
        (|client, hello| client.answer(hello, json!({})), "initialize"),
        (
            |client, _| {
                client.peer.handle_lane_end(client.now, client.lane, LaneEnd::Lost("cut".into()));
                client.drain();
            },
            "cut",
        ),
    ];
    for (end, text) in ends {
        let mut client = Client::connected(OLD);
        let (call, _) = client.call("tools/list", json!({}), CallOptions::default());
        let hello = lose(&mut client);
        end(&mut client, &hello);
        let how = gone(&mut client);
        assert!(how.contains("session") && how.contains(text), "{how}");
        assert!(matches!(client.resolved(call), Err(CallError::Closed(_))));
        let (late, _) = client.call("tools/list", json!({}), CallOptions::default());
        assert!(matches!(client.resolved(late), Err(CallError::Closed(_))));
    }
}

#[test]
fn what_was_asked_in_the_lost_session_is_forgotten_and_what_was_subscribed_is_not() {
    let mut config = config();
    config.capabilities = r#"{"roots":{}}"#.into();
    let mut client = Client::new(config);
    let probe = client.take_one();
    client.fail(&probe, -32601);
    let hello = client.take_one();
    let mut said = initialized(OLD);
    said["capabilities"] = json!({ "resources": { "subscribe": true }, "logging": {} });
    client.answer(&hello, said);
    client.ready();
    client.sent.clear();
    for uri in ["a://1", "a://2"] {
        let key = client.peer.subscribe(client.now, uri, CallOptions::default());
        client.drain();
        let request = client.take_one();
        client.answer(&request, json!({}));
        assert!(client.resolved(key).is_ok());
    }
    client.peer.set_log_level(client.now, crate::types::LogLevel::Info, CallOptions::default());
    client.drain();
    let request = client.take_one();
    client.answer(&request, json!({}));
    client.heard.clear();
    client.say(r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#);
    assert!(matches!(client.heard.pop(), Some(ClientOutput::Request { .. })));
    let hello = lose(&mut client);
    assert!(matches!(client.heard.pop(), Some(ClientOutput::RequestCancelled(_))));
    client.peer.respond(client.now, &crate::rpc::Id::Text("q".into()), Ok(b"{}".to_vec()));
    client.drain();
    assert!(client.sent.is_empty(), "nobody waits for that answer");
    reopened(&mut client, &hello);
    let again: Vec<_> = client.sent.iter().map(|request| &request["params"]).collect();
    assert_eq!(again[..2], [&json!({ "uri": "a://1" }), &json!({ "uri": "a://2" })]);
    assert_eq!(again[2..], [&json!({ "level": "info" })]);
}

#[test]
fn without_a_session_there_is_none_to_lose() {
    let mut client = Client::connected("2026-07-28");
    client.peer.handle_session_lost(client.now);
    client.drain();
    assert!(client.sent.is_empty() && client.heard.is_empty());
}
