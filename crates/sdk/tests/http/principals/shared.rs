//! Two principals, and what one of them has.

use carrick::server::{ResourceSource, not_found};
use carrick::types::{ListResourcesResult, ReadResourceResult, RpcError};
use futures_util::future::BoxFuture;

use super::*;

const ACCEPT: &str = "Accept: text/event-stream";

/// A call of `folders` in a session, and the question on its stream.
async fn asking(address: SocketAddr, user: &str, session: &str) -> (Wire, Value) {
    let body = call(7, "folders").to_string();
    let mut wire = streaming(address, request("POST", address, &[user, session], &body)).await;
    let question = next(&mut wire).await;
    assert_eq!(question["method"], "roots/list");
    (wire, question["id"].clone())
}

fn told(id: &Value, uri: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": { "roots": [{ "uri": uri }] } })
}

#[tokio::test]
async fn a_session_of_another_principal_is_none() {
    let running = start(server(), identified()).await;
    let address = running.address;
    let session = open(address, ALICE).await;
    let unknown = format!("Mcp-Session-Id: {:032x}", 7);
    for body in [
        call(1, "whoami"),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 3, "result": {} }),
    ] {
        // Bob is told what he would be told of an id that there never was.
        let refused = post(address, &[BOB, &session], &body).await;
        let nothing = post(address, &[BOB, &unknown], &body).await;
        assert_eq!((refused.status, &refused.body), (404, &nothing.body), "{body}");
        let nobody = post(address, &["X-User: anybody", &session], &body).await;
        assert_eq!(nobody.status, 404, "without a principal it is none either");
    }
    for verb in ["GET", "DELETE"] {
        let refused = exchange(address, request(verb, address, &[BOB, &session, ACCEPT], "")).await;
        assert_eq!(refused.status, 404, "{verb}");
    }
    let answer = post(address, &[ALICE, &session], &call(2, "whoami")).await;
    assert_eq!(said(&answer.json())["who"], "alice", "it goes on");
    let ended = exchange(address, request("DELETE", address, &[ALICE, &session], "")).await;
    assert_eq!(ended.status, 204);
}

#[tokio::test]
async fn a_session_without_a_principal_is_not_that_of_one() {
    let running = start(server(), identified()).await;
    let session = open(running.address, "X-User: anybody").await;
    assert_eq!(post(running.address, &[ALICE, &session], &call(1, "whoami")).await.status, 404);
}

#[tokio::test]
async fn a_question_is_answered_by_the_principal_that_was_asked() {
    let running = start(server(), identified()).await;
    let address = running.address;
    let alice = open(address, ALICE).await;
    let bob = open(address, BOB).await;
    let (mut wire, id) = asking(address, ALICE, &alice).await;
    // Neither by her session, nor by one of his own, in which the id means nothing.
    let forged = told(&id, "file:///bob");
    assert_eq!(post(address, &[BOB, &alice], &forged).await.status, 404);
    assert_eq!(post(address, &[BOB, &bob], &forged).await.status, 202);
    assert_eq!(post(address, &[BOB], &forged).await.status, 400);
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": 7 } });
    assert_eq!(post(address, &[BOB, &alice], &cancel).await.status, 404);
    assert_eq!(post(address, &[BOB, &bob], &cancel).await.status, 202);
    let version = format!("MCP-Protocol-Version: {VERSION}");
    let headers = [BOB, version.as_str(), "Mcp-Method: notifications/cancelled"];
    assert_eq!(post(address, &headers, &cancel).await.status, 202, "which has no effect");
    assert_eq!(post(address, &[ALICE, &alice], &told(&id, "file:///alice")).await.status, 202);
    let answer = next(&mut wire).await;
    assert_eq!(answer["result"]["content"][0]["text"], "file:///alice");
}

#[tokio::test]
async fn a_stream_is_resumed_by_its_own_principal() {
    let mut options = identified();
    options.event_store = Some(Arc::new(MemoryEventStore::new(EventLimits::default())));
    let running = start(server(), options).await;
    let address = running.address;
    let (alice, bob) = (open(address, ALICE).await, open(address, BOB).await);
    let answer = post(address, &[ALICE, &alice], &call(1, "whoami")).await;
    let first = answer.events()[0].id.clone().unwrap();
    let resume = format!("Last-Event-ID: {first}");
    let get = |headers: &[&str]| {
        exchange(address, request("GET", address, &[headers, &[ACCEPT, &resume]].concat(), ""))
    };
    assert_eq!(get(&[BOB, &alice]).await.status, 404);
    assert_eq!(get(&[BOB, &bob]).await.status, 400, "his session has no such event");
    let again = get(&[ALICE, &alice]).await;
    assert!(again.events()[0].data.contains("alice"), "{again:?}");
}

#[tokio::test]
async fn a_stream_of_http_sse_takes_messages_of_its_own_principal() {
    let running = start(server(), identified()).await;
    let address = running.address;
    let (mut wire, path) = open_sse(address, ALICE).await;
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        { "protocolVersion": "2024-11-05", "capabilities": {} } });
    for user in [BOB, "X-User: anybody"] {
        assert_eq!(post_sse(address, &path, &[user], &hello).await, 404);
    }
    assert_eq!(post_sse(address, &path, &[ALICE], &hello).await, 202);
    assert_eq!(next(&mut wire).await["id"], 0);
}

/// Drawers that only their owners hear of.
struct Drawers;

impl ResourceSource for Drawers {
    fn list<'a>(
        &'a self,
        _: Option<&'a str>,
        _: &'a CallInfo,
    ) -> BoxFuture<'a, Result<ListResourcesResult, RpcError>> {
        Box::pin(async { Ok(ListResourcesResult::default()) })
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        _: &'a CallInfo,
    ) -> BoxFuture<'a, Result<ReadResourceResult, RpcError>> {
        Box::pin(async move { Err(not_found(uri)) })
    }

    fn subscribe<'a>(
        &'a self,
        uri: &'a str,
        info: &'a CallInfo,
    ) -> BoxFuture<'a, Result<(), RpcError>> {
        let owns = uri.strip_prefix("drawer://") == info.principal().map(Principal::subject);
        Box::pin(async move { if owns { Ok(()) } else { Err(not_found(uri)) } })
    }
}

#[tokio::test]
async fn a_subscription_is_its_principals() {
    let server = Server::builder("d", "1").resources(Drawers).resource_subscriptions().build();
    let running = start(server.clone(), identified()).await;
    let address = running.address;
    let subscribe = |uri: &str| json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": { "uri": uri } });
    let mut streams = Vec::new();
    for (user, own, other) in
        [(ALICE, "drawer://alice", "drawer://bob"), (BOB, "drawer://bob", "drawer://alice")]
    {
        let session = open(address, user).await;
        let get = request("GET", address, &[user, &session, ACCEPT], "");
        let mut both = vec![streaming(address, get).await];
        let refused = post(address, &[user, &session], &subscribe(other)).await.json();
        assert_eq!(refused["error"]["code"], -32002, "{refused}");
        let agreed = post(address, &[user, &session], &subscribe(own)).await.json();
        assert!(agreed["error"].is_null(), "{agreed}");
        // The same without a session, of both drawers.
        let filter = format!(r#""notifications":{{"resourceSubscriptions":["{own}","{other}"]}}"#);
        let body = modern_body("subscriptions/listen", &filter);
        let version = format!("MCP-Protocol-Version: {VERSION}");
        let headers = [user, &version, "Mcp-Method: subscriptions/listen"];
        let mut listen = streaming(address, request("POST", address, &headers, &body)).await;
        let agreed = next(&mut listen).await;
        assert_eq!(agreed["params"]["notifications"]["resourceSubscriptions"], json!([own]));
        both.push(listen);
        streams.push((own, both));
    }
    server.notify_resource_updated("drawer://alice");
    server.notify_resource_updated("drawer://bob");
    for (own, both) in &mut streams {
        for stream in both {
            // The first that comes is one's own.
            assert_eq!(next(stream).await["params"]["uri"], **own);
        }
    }
}

#[tokio::test]
async fn a_sealed_state_is_good_for_the_principal_that_it_was_given() {
    let running = start(server(), identified()).await;
    let address = running.address;
    let call = |user: &str, more: &str| {
        let able = r#"/clientCapabilities":{"roots":{}}"#;
        let body =
            modern_body("tools/call", &format!(r#""name":"folders","arguments":{{}}{more}"#))
                .replace(r#"/clientCapabilities":{}"#, able);
        let version = format!("MCP-Protocol-Version: {VERSION}");
        let headers = [user, &version, "Mcp-Method: tools/call", "Mcp-Name: folders"];
        exchange(address, request("POST", address, &headers, &body))
    };
    for (owner, others) in [(ALICE, [BOB, "X-User: anybody"]), ("X-User: anybody", [ALICE, BOB])] {
        let asked = call(owner, "").await.json();
        let result = &asked["result"];
        assert_eq!(result["resultType"], "input_required", "{asked}");
        let key = result["inputRequests"].as_object().unwrap().keys().next().unwrap();
        let more = format!(
            r#","requestState":{},"inputResponses":{{"{key}":{{"roots":[{{"uri":"file:///x"}}]}}}}"#,
            result["requestState"]
        );
        for other in others {
            let refused = call(other, &more).await.json();
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
        }
        let answered = call(owner, &more).await.json();
        assert_eq!(answered["result"]["content"][0]["text"], "file:///x", "{answered}");
    }
}
