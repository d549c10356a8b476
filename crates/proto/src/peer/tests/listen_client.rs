//! How a client hears of changes, in both eras.

use super::*;
use crate::types::SubscriptionFilter;

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

fn offering() -> Value {
    json!({
        "tools": { "listChanged": true }, "prompts": { "listChanged": false },
        "resources": { "listChanged": true, "subscribe": true },
    })
}

/// A client of a modern server, and its first listen request.
fn listening() -> (Client, Value) {
    listening_as(config())
}

fn listening_as(config: ClientConfig) -> (Client, Value) {
    let mut client = Client::new(config);
    let probe = client.take_one();
    client.answer(&probe, json!({ "supportedVersions": [NEW], "capabilities": offering() }));
    client.ready();
    let listen = client.take_one();
    assert_eq!(listen["method"], "subscriptions/listen");
    (client, listen)
}

fn say(client: &mut Client, method: &str, id: &Value, mut params: Value) {
    params["_meta"] = json!({ "io.modelcontextprotocol/subscriptionId": id });
    client.say(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
}

/// Agrees to all that a stream asks for.
fn agree(client: &mut Client, listen: &Value) -> (SubscriptionFilter, bool) {
    let asked = &listen["params"]["notifications"];
    let params = json!({ "notifications": asked });
    say(client, "notifications/subscriptions/acknowledged", &listen["id"], params);
    let listening = |output: &ClientOutput| matches!(output, ClientOutput::Listening { .. });
    let at = client.heard.iter().position(listening).expect("it is told");
    match client.heard.remove(at) {
        ClientOutput::Listening { agreed, unheard } => (agreed, unheard),
        other => panic!("{other:?}"),
    }
}

fn subscribe(client: &mut Client, uri: &str) -> u64 {
    let key = client.peer.subscribe(client.now, uri, CallOptions::default());
    client.drain();
    key
}

fn unsubscribe(client: &mut Client, uri: &str) -> u64 {
    let key = client.peer.unsubscribe(client.now, uri, CallOptions::default());
    client.drain();
    key
}

/// Notes of what has no effect are for the log.
fn quiet(client: &mut Client) {
    client.heard.retain(|output| !matches!(output, ClientOutput::Ignored { .. }));
}

#[test]
fn a_server_that_announces_changes_is_listened_to() {
    let (mut client, listen) = listening();
    let filter = &listen["params"]["notifications"];
    assert_eq!(*filter, json!({ "toolsListChanged": true, "resourcesListChanged": true }));
    let (agreed, unheard) = agree(&mut client, &listen);
    assert!(unheard && agreed.tools_list_changed && !agreed.prompts_list_changed);
    say(&mut client, "notifications/tools/list_changed", &listen["id"], json!({}));
    assert!(matches!(client.heard.pop(), Some(ClientOutput::Changed(Changed::Tools))));
    // It is open without an end.
    client.pass(SECOND * 100_000);
    assert!(client.sent.is_empty() && client.heard.is_empty());
    assert_eq!(client.peer.poll_timeout(), None);
}

#[test]
fn nothing_is_listened_to_that_is_not_announced_or_not_wanted() {
    let capabilities = json!({ "tools": {}, "resources": { "subscribe": true } });
    let mut unwanted = config();
    unwanted.listen = false;
    for (config, capabilities) in [(config(), capabilities), (unwanted, offering())] {
        let mut client = Client::new(config);
        let probe = client.take_one();
        let result = json!({ "supportedVersions": [NEW], "capabilities": capabilities });
        client.answer(&probe, result);
        assert!(client.sent.is_empty());
    }
}

#[test]
fn d055_only_notifications_of_the_own_stream_count() {
    let (mut client, listen) = listening();
    // Before the acknowledgement there is nothing to hear, and then only by its id.
    for id in [listen["id"].clone(), json!(listen["id"].to_string()), json!(99)] {
        say(&mut client, "notifications/tools/list_changed", &id, json!({}));
        assert!(matches!(client.heard.pop(), Some(ClientOutput::Ignored { noise: false, .. })));
    }
    let text = json!(listen["id"].to_string());
    let params = json!({ "notifications": { "toolsListChanged": true } });
    say(&mut client, "notifications/subscriptions/acknowledged", &text, params);
    assert!(matches!(client.heard.pop(), Some(ClientOutput::Ignored { .. })), "1 is not \"1\"");
    agree(&mut client, &listen);
    say(&mut client, "notifications/tools/list_changed", &text, json!({}));
    assert!(matches!(client.heard.pop(), Some(ClientOutput::Ignored { .. })));
    say(&mut client, "notifications/tools/list_changed", &listen["id"], json!({}));
    assert!(matches!(client.heard.pop(), Some(ClientOutput::Changed(Changed::Tools))));
}

#[test]
fn another_stream_takes_over_before_the_old_one_is_closed() {
    let (mut client, first) = listening();
    agree(&mut client, &first);
    let one = subscribe(&mut client, "file:///a");
    let second = client.take_one();
    let two = subscribe(&mut client, "file:///b");
    let superseded = client.sent.remove(0);
    assert_eq!(superseded["params"]["requestId"], second["id"], "it would be out of date");
    let third = client.take_one();
    assert_eq!(
        third["params"]["notifications"]["resourceSubscriptions"],
        json!(["file:///a", "file:///b"])
    );
    assert_eq!(third["params"]["notifications"]["toolsListChanged"], true);
    client.heard.clear();
    let params = json!({ "notifications": { "toolsListChanged": true,
        "resourceSubscriptions": ["file:///a"] } });
    say(&mut client, "notifications/subscriptions/acknowledged", &third["id"], params);
    assert!(client.sent.is_empty(), "what happened before may be told late, on the old one");
    let listening =
        |out: &ClientOutput| matches!(out, ClientOutput::Listening { unheard: false, .. });
    assert!(client.heard.iter().any(listening), "nothing went unheard: {:?}", client.heard);
    assert!(client.resolved(one).is_ok());
    assert!(matches!(client.resolved(two), Err(CallError::NotOffered(_))), "it was not agreed to");
    client.heard.clear();
    for stream in [&first, &third] {
        say(&mut client, "notifications/tools/list_changed", &stream["id"], json!({}));
        assert!(matches!(client.heard.pop(), Some(ClientOutput::Changed(Changed::Tools))));
    }
    client.pass(SECOND * 2);
    let closed = client.take_one();
    assert_eq!(closed["params"]["requestId"], first["id"]);
    client.heard.clear();
    say(&mut client, "notifications/tools/list_changed", &first["id"], json!({}));
    assert!(matches!(client.heard.pop(), Some(ClientOutput::Ignored { .. })));
    let params = json!({ "uri": "file:///a" });
    say(&mut client, "notifications/resources/updated", &third["id"], params);
    let changed = client.heard.pop();
    assert!(
        matches!(&changed, Some(ClientOutput::Changed(Changed::Resource(u))) if u == "file:///a")
    );

    // What is there already needs no other stream; what is gone needs one without it.
    let again = subscribe(&mut client, "file:///a");
    assert!(client.sent.is_empty() && client.resolved(again).is_ok());
    let gone = unsubscribe(&mut client, "file:///a");
    assert!(client.resolved(gone).is_ok());
    let fourth = client.take_one();
    assert!(fourth["params"]["notifications"].get("resourceSubscriptions").is_none());
}

#[test]
fn when_nothing_is_wanted_the_stream_is_closed() {
    let mut client = Client::new(config());
    let probe = client.take_one();
    let capabilities = json!({ "resources": { "subscribe": true } });
    client.answer(&probe, json!({ "supportedVersions": [NEW], "capabilities": capabilities }));
    client.ready();
    let key = subscribe(&mut client, "a://b");
    let listen = client.take_one();
    let agreed = json!({ "notifications": { "resourceSubscriptions": ["a://b"] } });
    say(&mut client, "notifications/subscriptions/acknowledged", &listen["id"], agreed);
    assert!(client.resolved(key).is_ok());
    unsubscribe(&mut client, "a://b");
    assert_eq!(client.take_one()["params"]["requestId"], listen["id"]);
    client.pass(SECOND * 1000);
    assert!(client.sent.is_empty());
}

#[test]
fn a_stream_that_ends_is_opened_again_later_and_later() {
    let (mut client, mut listen) = listening();
    let mut waits = Vec::new();
    for round in 0.. {
        let (_, unheard) = agree(&mut client, &listen);
        assert!(unheard, "whatever happened in between");
        match round % 3 {
            // A graceful end, a cancellation and a break.
            0 => client.answer(&listen, json!({ "resultType": "complete" })),
            1 => client.say(
                &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                    "params": { "requestId": listen["id"] } })
                .to_string(),
            ),
            _ => {
                client.peer.handle_lane_end(client.now, client.lane, LaneEnd::Lost("x".into()));
                client.drain();
            }
        }
        quiet(&mut client);
        assert!(client.heard.is_empty() && client.sent.is_empty(), "{:?}", client.heard);
        let since = client.now;
        while client.sent.is_empty()
            && let Some(at) = client.peer.poll_timeout()
        {
            client.pass(at - client.now);
        }
        if client.sent.is_empty() {
            break;
        }
        waits.push((client.now - since).as_secs());
        listen = client.take_one();
        assert_eq!(listen["method"], "subscriptions/listen");
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60, 60], "and then it is given up");
    let (id, request) = client.call("tools/list", json!({}), CallOptions::default());
    client.answer(&request, json!({ "tools": [] }));
    assert!(client.resolved(id).is_ok(), "calls go on");
}

#[test]
fn chance_lengthens_the_wait_for_a_stream_by_a_quarter_at_most() {
    for spread in [0, 1, 128, 255] {
        let mut config = config();
        config.spread = spread;
        let (mut client, listen) = listening_as(config);
        agree(&mut client, &listen);
        client.answer(&listen, json!({ "resultType": "complete" }));
        let wait = client.peer.poll_timeout().unwrap() - client.now;
        let least = SECOND + SECOND / 4 * u32::from(spread) / 300;
        assert!((least..=SECOND * 5 / 4).contains(&wait), "{wait:?} with {spread}");
    }
}

#[test]
fn a_stream_that_came_to_something_is_opened_again_soon() {
    let (mut client, mut listen) = listening();
    for round in 0..40 {
        agree(&mut client, &listen);
        if round % 2 == 0 {
            client.pass(SECOND * 10);
        } else {
            say(&mut client, "notifications/tools/list_changed", &listen["id"], json!({}));
        }
        client.answer(&listen, json!({ "resultType": "complete" }));
        client.heard.clear();
        client.pass(SECOND);
        listen = client.take_one();
    }
}

#[test]
fn a_server_that_knows_no_listening_is_not_asked_again() {
    let (mut client, listen) = listening();
    client.fail(&listen, -32601);
    client.pass(SECOND * 1000);
    assert_eq!(client.peer.poll_timeout(), None);
    assert!(client.sent.is_empty());
}

#[test]
fn a_subscription_that_fails_says_why_and_leaves_the_rest() {
    let (mut client, first) = listening();
    agree(&mut client, &first);
    let key = subscribe(&mut client, "a://b");
    let second = client.take_one();
    client.fail(&second, -32602);
    assert!(matches!(client.resolved(key), Err(CallError::Rpc(e)) if e.code == -32602));
    say(&mut client, "notifications/tools/list_changed", &first["id"], json!({}));
    assert!(matches!(client.heard.pop(), Some(ClientOutput::Changed(Changed::Tools))));
    assert!(client.sent.is_empty(), "the first stream is still there");

    let key = subscribe(&mut client, "a://b");
    client.take_one();
    client.pass(SECOND * 30);
    assert!(matches!(client.resolved(key), Err(CallError::Timeout(_))), "nothing acknowledged it");
    assert_eq!(client.take_one()["method"], "notifications/cancelled");

    let key = subscribe(&mut client, "a://b");
    client.take_one();
    client.peer.handle_closed("it died");
    client.drain();
    assert!(matches!(client.resolved(key), Err(CallError::Closed(_))));
}

#[test]
fn in_a_session_resources_are_subscribed_to_one_by_one() {
    let mut client = Client::new(config());
    let probe = client.take_one();
    client.fail(&probe, -32601);
    let hello = client.take_one();
    let mut said = initialized(OLD);
    said["capabilities"] = offering();
    client.answer(&hello, said);
    client.ready();
    client.sent.clear();
    let key = subscribe(&mut client, "a://\"b\"");
    let request = client.take_one();
    assert_eq!(request["method"], "resources/subscribe");
    assert_eq!(request["params"]["uri"], "a://\"b\"");
    client.answer(&request, json!({}));
    assert!(client.resolved(key).is_ok());
    let message = json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated",
        "params": { "uri": "a://\"b\"" } });
    client.say(&message.to_string());
    assert!(matches!(client.heard.pop(), Some(ClientOutput::Changed(Changed::Resource(_)))));
    let key = unsubscribe(&mut client, "a://\"b\"");
    let request = client.take_one();
    assert_eq!(request["method"], "resources/unsubscribe");
    client.fail(&request, -32602);
    assert!(client.resolved(key).is_err());
}

#[test]
fn what_a_server_does_not_offer_is_not_asked_for() {
    for revision in [OLD, NEW] {
        let mut client = Client::connected(revision);
        let key = subscribe(&mut client, "a://b");
        assert!(matches!(client.resolved(key), Err(CallError::NotOffered(_))));
        assert!(client.sent.is_empty());
    }
}

#[test]
fn a_past_stream_may_end_by_itself_and_there_are_never_many() {
    let (mut client, first) = listening();
    agree(&mut client, &first);
    subscribe(&mut client, "a://b");
    let second = client.take_one();
    agree(&mut client, &second);
    client.heard.clear();
    client.answer(&first, json!({ "resultType": "complete" }));
    client.pass(SECOND * 100);
    assert!(client.sent.is_empty() && client.heard.is_empty(), "{:?}", client.heard);
    say(&mut client, "notifications/tools/list_changed", &second["id"], json!({}));
    assert!(matches!(client.heard.pop(), Some(ClientOutput::Changed(Changed::Tools))));
    for n in 0..20 {
        subscribe(&mut client, &format!("a://{n}"));
        let listen = client.sent.pop().unwrap();
        client.heard.clear();
        agree(&mut client, &listen);
    }
    let closed = client.sent.iter().filter(|sent| sent["method"] == "notifications/cancelled");
    assert_eq!(closed.count(), 16, "of twenty past ones");
}
