//! Both engines in every revision: each speaks only what its session knows.

use super::*;
use crate::method::Method;
use crate::revision::Revision;
use crate::rpc;

fn sessions() -> impl Iterator<Item = Revision> {
    Revision::ALL.iter().copied().filter(|revision| revision.is_legacy())
}

/// A server that says all it can of itself.
fn talkative() -> Server {
    let capabilities: ServerCapabilities = serde_json::from_value(json!({
        "tools": {}, "prompts": {}, "completions": {}, "extensions": { "example.com/x": {} },
    }))
    .unwrap();
    let mut info = Implementation::new("test-server", "1");
    info.title = Some("The server".into());
    info.website_url = Some("https://a.example/".into());
    let identity = Arc::new(Identity::new(&info, &capabilities, None).unwrap());
    Server { peer: ServerPeer::new(identity, Limits::default()), ..Server::new() }
}

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(|key| &**key).collect()
}

#[test]
fn d044_a_handshake_is_answered_in_the_shape_of_its_revision() {
    for revision in sessions() {
        let mut server = talkative();
        server.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": { "protocolVersion": revision.date(), "capabilities": {} } }));
        let result = server.answer(&json!(1))["result"].clone();
        assert_eq!(server.peer.session(), Some(revision));
        assert_eq!(result["protocolVersion"], revision.date());
        let (capabilities, info) = match revision.date() {
            "2024-11-05" => (vec!["prompts", "tools"], vec!["name", "version"]),
            "2025-03-26" => (vec!["completions", "prompts", "tools"], vec!["name", "version"]),
            "2025-06-18" => {
                (vec!["completions", "prompts", "tools"], vec!["name", "title", "version"])
            }
            _ => (
                vec!["completions", "prompts", "tools"],
                vec!["name", "title", "version", "websiteUrl"],
            ),
        };
        assert_eq!(keys(&result["capabilities"]), capabilities, "{revision}");
        assert_eq!(keys(&result["serverInfo"]), info, "{revision}");
    }
}

#[test]
fn d044_results_and_progress_have_the_shape_of_their_session() {
    for revision in sessions() {
        let mut server = Server::in_session_of(revision.date());
        server.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "a", "_meta": { "progressToken": 5 } } }));
        let call = server.calls.pop().unwrap();
        assert_eq!(call.revision, revision);
        server.peer.progress(call.key, 0.5, None, Some("half"));
        server.respond(call.key, json!({ "content": [], "structuredContent": { "n": 1 } }));
        let progress = &server.sent[0]["params"];
        assert_eq!(progress.get("message").is_some(), revision.date() != "2024-11-05");
        let result = &server.answer(&json!(1))["result"];
        let structured = matches!(revision.date(), "2025-06-18" | "2025-11-25");
        match structured {
            true => assert_eq!(*result, json!({ "content": [], "structuredContent": { "n": 1 } })),
            false => assert_eq!(result["content"][0]["text"], "{\"n\":1}", "{revision}"),
        }
        assert_eq!(result.get("structuredContent").is_some(), structured, "{revision}");
    }
}

#[test]
fn a_client_goes_on_in_whatever_revision_the_server_has() {
    for revision in sessions() {
        let mut client = Client::connected(revision.date());
        assert_eq!(client.peer.revision(), revision);
        let params = json!({
            "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "" },
            "context": { "arguments": {} },
        });
        let (id, request) = client.call("completion/complete", params, CallOptions::default());
        let knows = !matches!(revision.date(), "2024-11-05" | "2025-03-26");
        assert_eq!(request["params"].get("context").is_some(), knows, "{revision}");
        client.answer(&request, json!({ "completion": { "values": ["x"] } }));
        let result = client.resolved(id).unwrap();
        assert_eq!(result["resultType"], "complete", "results come in the newest shape");
    }
}

#[test]
fn what_the_servers_revision_cannot_say_is_not_sent() {
    let mut client = Client::connected("2025-11-25");
    let params = json!({ "name": "a", "requestState": "s" });
    let (id, sent) = client.call("tools/call", params, CallOptions::default());
    assert_eq!(sent, Value::Null);
    assert!(
        matches!(client.resolved(id), Err(CallError::Params(text)) if text.contains("requestState"))
    );
}

#[test]
fn completion_is_offered_where_it_needed_no_capability() {
    let mut client = Client::new(config());
    let probe = client.take_one();
    client.fail(&probe, -32601);
    let hello = client.take_one();
    let mut answer = initialized("2024-11-05");
    answer["capabilities"] = json!({ "prompts": {} });
    client.answer(&hello, answer);
    assert!(client.ready().capabilities.completions.is_some());
}

/// The lines of D002: a batch of two requests and a notification, `[]`, `[1]`.
fn d002() -> Vec<&'static str> {
    include_str!("../../../../../cases/handed/D002/in.jsonl").lines().collect()
}

#[test]
fn d002_a_batch_is_answered_by_an_array_where_there_are_batches() {
    let mut server = Server::new();
    server.say(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": { "protocolVersion": "2025-03-26", "capabilities": {} } }));
    server.sent.clear();
    let lines = d002();
    server.say_on(Lane::Connection, lines[0]);
    assert!(server.sent.is_empty(), "the application has not answered: {:?}", server.sent);
    let call = server.calls.pop().unwrap();
    server.respond(call.key, json!({ "tools": [], "ttlMs": 1, "cacheScope": "public" }));
    assert_eq!(
        server.sent,
        [json!([
            { "jsonrpc": "2.0", "id": 1, "result": {} },
            { "jsonrpc": "2.0", "id": 2, "result": { "tools": [] } },
        ])]
    );
    server.sent.clear();
    server.say_on(Lane::Connection, lines[1]);
    assert_eq!(server.sent.pop().unwrap()["error"]["code"], -32600);
    server.say_on(Lane::Connection, lines[2]);
    assert_eq!(server.sent.pop().unwrap()[0]["error"]["code"], -32600);
}

#[test]
fn d002_a_batch_is_refused_everywhere_else() {
    for revision in Revision::ALL.iter().filter(|revision| !revision.rules().batching) {
        let mut server = match revision.is_legacy() {
            true => Server::in_session_of(revision.date()),
            false => Server::new(),
        };
        for line in d002() {
            server.say_on(Lane::Connection, line);
            let answer = server.sent.pop().unwrap();
            assert_eq!(answer["error"]["code"], -32600, "{revision}");
            assert!(answer.get("id").is_none(), "{revision}");
        }
        server.say(&json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" }));
        assert_eq!(server.answer(&json!(9))["result"], json!({}));
    }
}

#[test]
fn a_batch_waits_for_its_last_answer_and_for_none_that_is_not_wanted() {
    let mut server = Server::in_session_of("2025-03-26");
    let call = |id: u32| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": { "name": "a" } })
    };
    server.say(&json!([call(1), call(2), call(3)]));
    let keys: Vec<_> = server.calls.iter().map(|call| call.key).collect();
    server.respond(keys[2], json!({ "content": [] }));
    server.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": 2 } }));
    assert!(server.sent.is_empty());
    server.respond(keys[0], json!({ "content": [] }));
    let ids: Vec<_> = server.sent[0].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [3, 1], "in the order they were answered");

    // One of whose calls none is wanted any more is not answered at all.
    server.sent.clear();
    server.say(&json!([call(4)]));
    server.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": 4 } }));
    server.say(&json!([{ "jsonrpc": "2.0", "method": "notifications/progress" }]));
    assert!(server.sent.is_empty(), "{:?}", server.sent);
    assert_eq!(server.peer.in_flight(), 0);
}

#[test]
fn plain_results_are_alike_in_every_session() {
    let mut plain = crate::types::CallToolResult::error("no: \"a\"\n");
    plain.content.push(crate::types::ContentBlock::text("more"));
    let body = Bytes::from(serde_json::to_vec(&plain).unwrap());
    for revision in sessions() {
        let json = rpc::Json::parse(body.clone(), Limits::default()).unwrap();
        let part = crate::revision::Part::Result(Method::ToolsCall);
        let (there, losses) =
            crate::revision::translate(json, part, Revision::NEWEST, revision).unwrap();
        assert!(losses.is_empty());
        assert_eq!(there.as_bytes().as_ptr(), body.as_ptr(), "the same slice in {revision}");
    }
}

#[test]
fn an_envelope_says_what_the_engine_would() {
    let mut plain = crate::types::CallToolResult::error("no: \"a\"\n");
    plain.content.push(crate::types::ContentBlock::text("more"));
    let call = |n| super::server::modern(json!(n), "tools/call", json!({ "name": "x" }));
    let in_session = |n| {
        json!({ "jsonrpc": "2.0", "id": n, "method": "tools/call",
        "params": { "name": "x" } })
    };
    for mut server in [Server::new(), Server::in_session()] {
        let ask = if server.peer.session().is_some() { in_session } else { call };
        server.say(&ask(1));
        server.respond(server.calls[0].key, serde_json::to_value(&plain).unwrap());
        server.say(&ask(2));
        let response = server.calls[1].envelope().wrap(&plain).unwrap();
        server.peer.respond(server.calls[1].key, Outcome::Response(response));
        server.say(&ask(3));
        server.peer.respond(server.calls[2].key, Outcome::Called(plain.clone()));
        server.drain();
        assert_eq!(server.answer(&json!(1))["result"], server.answer(&json!(2))["result"]);
        assert_eq!(server.answer(&json!(1))["result"], server.answer(&json!(3))["result"]);
    }
    plain.meta = serde_json::value::to_raw_value(&json!({})).ok();
    assert!(!plain.is_plain());
}
