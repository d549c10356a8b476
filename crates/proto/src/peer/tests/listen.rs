//! Who is told of changes, and when.

use super::*;
use crate::revision::Revision;
use crate::rpc::{Scanned, scan};
use crate::types::SubscriptionFilter;

const ID: &str = "io.modelcontextprotocol/subscriptionId";
const NEW: &str = "2026-07-28";

fn announcing() -> Server {
    Server::offering(&json!({
        "tools": { "listChanged": true }, "prompts": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
    }))
}

fn listen(id: Value, filter: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen",
        "params": { "_meta": meta(NEW), "notifications": filter } })
}

fn everything() -> Value {
    json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["a://1", "a://2"] })
}

impl Server {
    /// Agrees to the oldest call as far as it asks.
    fn agree(&mut self) -> CallKey {
        let call = self.calls.remove(0);
        let filter = SubscriptionFilter::of(&call.message).unwrap();
        self.peer.respond(call.key, Outcome::Listening(filter));
        self.drain();
        call.key
    }

    fn change(&mut self, changed: Changed) -> Vec<Value> {
        self.peer.changed(changed);
        self.drain();
        core::mem::take(&mut self.sent)
    }

    fn updated(&mut self, uri: &str) -> Vec<Value> {
        self.change(Changed::Resource(uri.into()))
    }

    fn subscribe(&mut self, verb: &str, uri: &str) {
        self.say(&json!({ "jsonrpc": "2.0", "id": format!("{verb} {uri}"),
            "method": format!("resources/{verb}"), "params": { "uri": uri } }));
    }
}

fn method(message: &Value) -> &str {
    message["method"].as_str().unwrap_or_default()
}

#[test]
fn d055_each_listen_is_acknowledged_first_and_told_under_its_own_id() {
    let mut server = announcing();
    for line in include_str!("../../../../../cases/handed/D055/in.jsonl").lines() {
        server.say_on(Lane::Connection, line);
    }
    // These happen before the acknowledgements are written.
    assert!(server.change(Changed::Tools).is_empty());
    assert!(server.updated("file:///a").is_empty());
    server.agree();
    server.agree();
    let told: Vec<(&str, &Value)> =
        server.sent.iter().map(|m| (method(m), &m["params"]["_meta"][ID])).collect();
    let (one, text) = (json!(1), json!("1"));
    assert_eq!(
        told,
        [
            ("notifications/subscriptions/acknowledged", &one),
            ("notifications/tools/list_changed", &one),
            ("notifications/subscriptions/acknowledged", &text),
            ("notifications/resources/updated", &text),
        ]
    );
    assert_eq!(server.sent[0]["params"]["notifications"], json!({ "toolsListChanged": true }));
    assert_eq!(server.sent[3]["params"]["uri"], "file:///a");
    server.sent.clear();
    let tools = server.change(Changed::Tools);
    assert_eq!((tools.len(), &tools[0]["params"]["_meta"][ID]), (1, &one));
    let file = server.updated("file:///a");
    assert_eq!((file.len(), &file[0]["params"]["_meta"][ID]), (1, &text));
    assert!(server.change(Changed::Prompts).is_empty());
}

#[test]
fn only_what_is_asked_agreed_and_declared_is_told() {
    let mut server = Server::offering(&json!({ "tools": { "listChanged": true }, "prompts": {},
        "resources": { "subscribe": true } }));
    server.say(&listen(json!("l"), everything()));
    let key = server.calls.remove(0).key;
    let agreed = SubscriptionFilter {
        tools_list_changed: true,
        prompts_list_changed: true,
        resource_subscriptions: vec!["a://2".into(), "a://3".into()],
        ..SubscriptionFilter::default()
    };
    server.peer.respond(key, Outcome::Listening(agreed));
    server.drain();
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["a://2"] });
    assert_eq!(server.sent.remove(0)["params"]["notifications"], filter);
    for silent in [Changed::Prompts, Changed::Resources, Changed::Resource("a://1".into())] {
        assert!(server.change(silent.clone()).is_empty(), "{silent:?}");
    }
    assert!(server.updated("a://3").is_empty());
    assert_eq!(server.updated("a://2").len(), 1);
    assert_eq!(server.change(Changed::Tools).len(), 1);
}

#[test]
fn a_client_ends_a_listen() {
    let mut server = announcing();
    server.say(&listen(json!(7), everything()));
    let key = server.agree();
    assert!(server.peer.is_listened_to());
    server.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": 7 } }));
    assert_eq!(server.cancelled, [key]);
    server.sent.clear();
    assert!(server.change(Changed::Tools).is_empty());
    assert!(!server.peer.is_listened_to());

    // Over HTTP its stream goes instead.
    let lane = Lane::Exchange(3);
    server.say_on(lane, &listen(json!(7), everything()).to_string());
    let key = server.agree();
    server.peer.drop_lane(lane);
    server.drain();
    assert_eq!(server.cancelled.pop(), Some(key));
    server.sent.clear();
    assert!(server.change(Changed::Tools).is_empty());
}

#[test]
fn a_server_ends_a_listen_with_its_result() {
    let mut server = announcing();
    server.say(&listen(json!("a"), everything()));
    let key = server.agree();
    server.say(&listen(json!("b"), everything()));
    server.sent.clear();
    server.peer.end_listens();
    server.drain();
    let told: Vec<(&str, &Value)> = server
        .sent
        .iter()
        .map(|m| (method(m), if m["id"].is_null() { &m["params"]["_meta"][ID] } else { &m["id"] }))
        .collect();
    let (a, b) = (json!("a"), json!("b"));
    assert_eq!(
        told,
        [
            ("notifications/cancelled", &a),
            ("", &a),
            // Nobody has agreed to it yet, but the acknowledgement is first.
            ("notifications/subscriptions/acknowledged", &b),
            ("notifications/cancelled", &b),
            ("", &b),
        ]
    );
    assert_eq!(server.sent[0]["params"]["requestId"], a);
    let result = &server.answer(&a)["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["_meta"][ID], a);
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "test-server");
    assert_eq!(server.cancelled[0], key);
    assert_eq!((server.cancelled.len(), server.peer.in_flight()), (2, 0));
}

#[test]
fn an_answer_of_the_application_ends_a_listen_too() {
    let mut server = announcing();
    server.say(&listen(json!("a"), everything()));
    let key = server.agree();
    server.respond(key, json!({}));
    assert_eq!(server.answer(&json!("a"))["result"]["_meta"][ID], "a");
    server.say(&listen(json!("b"), everything()));
    let key = server.calls.remove(0).key;
    server.peer.respond(key, Outcome::Error(crate::types::RpcError::internal("no")));
    server.drain();
    assert_eq!(server.answer(&json!("b"))["error"]["code"], -32603);
    assert!(!server.peer.is_listened_to());
    server.say(&json!({ "jsonrpc": "2.0", "id": "c", "method": "tools/list",
        "params": { "_meta": meta(NEW) } }));
    let key = server.calls.remove(0).key;
    server.peer.respond(key, Outcome::Listening(SubscriptionFilter::default()));
    server.drain();
    assert_eq!(server.answer(&json!("c"))["error"]["code"], -32603);
}

#[test]
fn what_is_no_filter_is_refused() {
    let mut server = announcing();
    for (id, params) in [
        json!({}),
        json!({ "notifications": null }),
        json!({ "notifications": [true] }),
        json!({ "notifications": { "toolsListChanged": "yes" } }),
        json!({ "notifications": { "resourceSubscriptions": [1] } }),
    ]
    .into_iter()
    .enumerate()
    {
        let mut request = listen(json!(id), json!({}));
        request["params"] = params;
        request["params"]["_meta"] = meta(NEW);
        server.say(&request);
        assert_eq!(server.answer(&json!(id))["error"]["code"], -32602, "{request}");
    }
    // A kind of change that is not known here is not agreed to.
    server.say(&listen(json!("new"), json!({ "moonPhases": true, "toolsListChanged": false })));
    server.sent.clear();
    server.agree();
    assert_eq!(server.sent[0]["params"]["notifications"], json!({}));
}

#[test]
fn what_one_connection_asks_for_is_bounded_and_given_back() {
    let limits = SubscriptionLimits { listens: 2, resources: 3, bytes: 18 };
    let mut server = announcing();
    server.peer = ServerPeer::new(server.identity.clone(), Limits::default())
        .with_subscription_limits(limits);
    let uris = |uris: &[&str]| json!({ "resourceSubscriptions": uris });
    for round in 0..3 {
        let (a, b) = (format!("a{round}"), format!("b{round}"));
        server.say(&listen(json!(a), uris(&["a://1", "a://2", "a://2"])));
        server.say(&listen(json!(b), uris(&["a://3"])));
        let mut keys = [server.agree(), server.agree()];
        keys.sort();
        let c = json!(format!("c{round}"));
        server.say(&listen(c.clone(), json!({})));
        let error = &server.answer(&c)["error"];
        assert_eq!(error["code"], -32602);
        assert!(error["message"].as_str().unwrap().contains("at most 2 open"), "{error}");
        server.peer.end_listens();
        server.drain();
        assert_eq!(server.cancelled.split_off(0), keys);
    }
    for (id, filter, what) in [
        ("many", uris(&["a", "b", "c", "d"]), "at most 3 resources"),
        ("long", uris(&["a://a-longer-address"]), "at most 18 bytes"),
    ] {
        server.say(&listen(json!(id), filter));
        let error = &server.answer(&json!(id))["error"];
        assert!(error["message"].as_str().unwrap().contains(what), "{error}");
    }
    assert!(server.calls.is_empty() && !server.peer.is_listened_to());
}

#[test]
fn d057_a_session_hears_of_changes_once_it_is_ready_and_of_what_was_declared() {
    for revision in Revision::ALL.iter().filter(|revision| revision.is_legacy()) {
        let mut server = Server::offering(
            &json!({ "tools": { "listChanged": true }, "prompts": {}, "resources": {} }),
        );
        assert!(server.change(Changed::Tools).is_empty(), "nobody is there");
        server.say(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
            { "protocolVersion": revision.date(), "capabilities": {} } }));
        server.sent.clear();
        for _ in 0..3 {
            assert!(server.change(Changed::Tools).is_empty());
        }
        assert!(server.change(Changed::Prompts).is_empty());
        server.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        let expected = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
        assert_eq!(server.sent.split_off(0), core::slice::from_ref(&expected), "{revision}");
        assert_eq!(server.change(Changed::Tools), [expected]);
        assert!(server.change(Changed::Prompts).is_empty());
        assert!(server.change(Changed::Resources).is_empty());
    }
}

#[test]
fn a_session_subscribes_to_resources() {
    let mut server = announcing();
    server.open_session("2025-06-18");
    server.subscribe("subscribe", "a://1");
    assert!(server.updated("a://1").is_empty(), "the application has not agreed yet");
    let key = server.calls.remove(0).key;
    server.respond(key, json!({}));
    assert_eq!(server.answer(&json!("subscribe a://1"))["result"], json!({}));
    server.sent.clear();
    let expected = json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated",
        "params": { "uri": "a://1" } });
    assert_eq!(server.updated("a://1"), [expected]);
    assert!(server.updated("a://2").is_empty());

    // What is refused has no effect, either way.
    server.subscribe("subscribe", "a://2");
    let key = server.calls.remove(0).key;
    server.peer.respond(key, Outcome::Error(crate::types::RpcError::internal("no")));
    server.subscribe("unsubscribe", "a://1");
    let key = server.calls.remove(0).key;
    server.peer.respond(key, Outcome::Error(crate::types::RpcError::internal("no")));
    server.drain();
    server.sent.clear();
    assert!(server.updated("a://2").is_empty());
    assert_eq!(server.updated("a://1").len(), 1);

    server.subscribe("unsubscribe", "a://1");
    let key = server.calls.remove(0).key;
    server.respond(key, json!({}));
    server.sent.clear();
    assert!(server.updated("a://1").is_empty());
}

#[test]
fn a_subscription_that_another_server_refuses_is_none() {
    let mut server = announcing();
    server.open_session("2025-06-18");
    for (uri, answer, holds) in [
        ("a://1", r#""error":{"code":-32602,"message":"no such resource"}"#, false),
        ("a://2", r#""result":{}"#, true),
    ] {
        server.subscribe("subscribe", uri);
        let key = server.calls.remove(0).key;
        let line = format!(r#"{{"jsonrpc":"2.0","id":9,{answer}}}"#);
        let reply = match scan(line.into(), Limits::default()) {
            Ok(Scanned::One(message)) => {
                Reply::new(message, Revision::from_date("2025-06-18").unwrap())
            }
            other => panic!("{other:?}"),
        };
        server.peer.respond(key, Outcome::Forwarded(reply.unwrap()));
        server.drain();
        server.sent.clear();
        assert_eq!(server.updated(uri).len(), usize::from(holds), "{uri}");
    }
}

#[test]
fn a_session_subscribes_to_so_much_and_no_more() {
    let limits = SubscriptionLimits { listens: 0, resources: 2, bytes: 100 };
    let mut server = announcing();
    server.peer = ServerPeer::new(server.identity.clone(), Limits::default())
        .with_subscription_limits(limits);
    server.open_session("2025-11-25");
    for (verb, uri) in [
        ("subscribe", "a://1"),
        ("unsubscribe", "a://never"),
        ("subscribe", "a://2"),
        ("unsubscribe", "a://1"),
        ("subscribe", "a://3"),
    ] {
        server.subscribe(verb, uri);
        let key = server.calls.remove(0).key;
        server.respond(key, json!({}));
    }
    server.subscribe("subscribe", "a://4");
    assert!(server.calls.is_empty());
    let error = &server.answer(&json!("subscribe a://4"))["error"];
    assert!(error["message"].as_str().unwrap().contains("at most 2 resources"), "{error}");
    server.say(&json!({ "jsonrpc": "2.0", "id": "no uri", "method": "resources/subscribe" }));
    assert_eq!(server.answer(&json!("no uri"))["error"]["code"], -32602);
}
