//! Clients of one gateway are kept apart, and what is opened for one is closed
//! with it.

use crate::raw::{Asking, MODERN, RawClient};
use crate::support::{Over, client, gateway};
use carrick::client::{CallError, Handlers};
use carrick::proto::revision::Revision;
use carrick::types::{Elicit, ElicitAction, ElicitResult, Implementation};
use carrick::{Context, Server, ToolError, tool, tools};
use carrick_gateway::{Gateway, GatewayOptions};
use carrick_testkit::crossing::server;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

async fn behind_asking(asking: &Asking) -> Gateway {
    let options = GatewayOptions::new(Implementation::new("gateway", "1"));
    Gateway::open(asking.clone(), options).await.unwrap()
}

async fn text_of(client: &mut RawClient, tool: &str, arguments: Value) -> String {
    let answer = client.call(tool, &json!({ "arguments": arguments })).await;
    answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Starts a call that does not end, and waits until it runs.
async fn begin_stuck(client: &mut RawClient) -> u64 {
    let params = json!({ "name": "stuck", "arguments": {} });
    let id = client.ask_with("tools/call", params, json!({ "progressToken": 1 })).await;
    let progress = client.hear().await;
    assert_eq!(progress["params"]["progressToken"], 1, "each hears its own: {progress}");
    id
}

#[tokio::test]
async fn d048_equal_ids_and_tokens_of_two_clients_are_told_apart() {
    for revision in [Revision::NEWEST, Revision::NEWEST_HANDSHAKE] {
        let gateway = gateway(server(revision), Over::Memory).await;
        let (mut one, mut two) = (RawClient::of(gateway.clone()), RawClient::of(gateway.clone()));
        let ids = (begin_stuck(&mut one).await, begin_stuck(&mut two).await);
        assert_eq!(ids.0, ids.1);
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "requestId": ids.0 } });
        one.say(&cancel).await;
        assert_eq!(text_of(&mut one, "given_up", json!({ "calls": 1 })).await, "1");
        assert_eq!(text_of(&mut two, "given_up", json!({ "calls": 0 })).await, "1");
        two.say(&cancel).await;
        assert_eq!(text_of(&mut two, "given_up", json!({ "calls": 2 })).await, "2");
    }
}

#[tokio::test]
async fn one_client_does_not_hear_the_logs_of_another() {
    let gateway = gateway(server(Revision::NEWEST), Over::Memory).await;
    let (mut one, mut two) = (RawClient::of(gateway.clone()), RawClient::of(gateway.clone()));
    let level = json!({ "io.modelcontextprotocol/logLevel": "debug" });
    let log = json!({ "name": "logs", "arguments": {} });
    let id = one.ask_with("tools/call", log.clone(), level.clone()).await;
    let heard = [one.hear().await, one.hear().await, one.hear().await];
    assert_eq!(heard[1]["params"]["data"], "bad");
    assert_eq!(heard[2]["id"], id);
    // While both may hear logs, whose they are cannot be told.
    let mut both = level.clone();
    both["progressToken"] = json!(1);
    let stuck = json!({ "name": "stuck", "arguments": {} });
    one.ask_with("tools/call", stuck, both).await;
    assert_eq!(one.hear().await["method"], "notifications/progress");
    let id = two.ask_with("tools/call", log, level).await;
    assert_eq!(two.hear().await["id"], id, "left out");
    let id = one.ask("tools/list", json!({})).await;
    assert_eq!(one.hear().await["id"], id, "nothing of the other's came before");
}

/// A raw client in a session of the oldest revision with elicitation.
async fn in_session(gateway: &Gateway) -> RawClient {
    let mut client = RawClient::of(gateway.clone());
    let revision = Revision::NEWEST_HANDSHAKE.date();
    client
        .say(&json!({ "jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {
            "protocolVersion": revision, "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "c", "version": "1" } } }))
        .await;
    let opened = client.hear().await;
    assert_eq!(opened["result"]["serverInfo"]["name"], "asking", "{opened}");
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    client
}

#[tokio::test]
async fn a_session_is_opened_when_it_is_needed_and_closed_with_its_client() {
    let asking = Asking::default();
    let gateway = behind_asking(&asking).await;
    let mut client = in_session(&gateway).await;
    assert_eq!(asking.heard().connections, 1, "nothing was needed yet");
    client
        .say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "any", "traceparent": "x" } }))
        .await;
    let ask = client.hear().await;
    assert_eq!(ask["method"], "elicitation/create", "{ask}");
    assert_eq!(asking.heard().connections, 2);
    let action = json!({ "action": "decline", "odd": 1.5 });
    client.say(&json!({ "jsonrpc": "2.0", "id": ask["id"], "result": action })).await;
    let answer = client.hear().await;
    assert_eq!(answer["id"], 1);
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"action":"decline","odd":1.5}"#);
    drop(client);
    asking.closed(1).await;
    gateway.close().await;
    asking.closed(2).await;
}

#[tokio::test]
async fn a_call_that_is_given_up_takes_its_question_along() {
    let asking = Asking::default();
    let gateway = behind_asking(&asking).await;
    let mut client = in_session(&gateway).await;
    client
        .say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "any" } }))
        .await;
    let ask = client.hear().await;
    client
        .say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "requestId": 1 } }))
        .await;
    let taken = client.hear().await;
    assert_eq!(taken["method"], "notifications/cancelled");
    assert_eq!(taken["params"]["requestId"], ask["id"]);
    client.say(&json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" })).await;
    assert_eq!(client.hear().await["id"], 2, "nothing more is said of the call");
    asking.cancelled(1).await;
}

/// Asks for as long as it is answered.
#[tool]
async fn insatiable(context: Context) -> Result<String, ToolError> {
    let schema = serde_json::value::to_raw_value(&json!({ "type": "object", "properties": {} }))?;
    loop {
        let requested_schema = schema.clone();
        context.elicit(&Elicit::Form { message: "more?".into(), requested_schema }).await?;
    }
}

#[tokio::test]
async fn rounds_come_to_an_end() {
    let server =
        Server::builder("s", "1").tools(tools![insatiable]).revisions([Revision::NEWEST]).build();
    let gateway = gateway(server, Over::Memory).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let handlers = Handlers::new().elicit(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(ElicitResult::without_content(ElicitAction::Decline)) }
    });
    let client = client(gateway, Over::Memory, Revision::NEWEST_HANDSHAKE, handlers).await;
    let error = client.call_tool("insatiable", b"{}").await.unwrap_err();
    let Some(CallError::Rpc(error)) = error.call() else { panic!("{error}") };
    assert!(error.message.contains("more than 20 times"), "{error}");
    assert_eq!(asked.load(Ordering::SeqCst), 20);
}

#[tokio::test]
async fn what_the_server_says_of_itself_passes_with_what_is_not_known() {
    let asking = Asking::default();
    let gateway = behind_asking(&asking).await;
    let mut client = RawClient::of(gateway);
    let id = client.ask("server/discover", json!({})).await;
    let said = client.hear().await;
    assert_eq!(said["id"], id);
    assert_eq!(said["result"]["supportedVersions"][0], MODERN);
    assert_eq!(said["result"]["capabilities"]["novel"], json!({ "a": 1.5 }));
    let info = &said["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!((&info["name"], &info["odd"]), (&json!("asking"), &json!(true)));
}
