//! What outlasts a call, a connection to the server, or the server itself, and
//! what must not.

use crate::handed::opened;
use crate::owners::{Remembering, gateway, listen, over_http, remember, until};
use crate::raw::{Asking, MODERN, RawClient};
use carrick::Client;
use carrick::client::{Changed, ClientConfig, ClientEvent, Hooks};
use carrick::proto::revision::Revision;
use carrick::types::Implementation;
use carrick_gateway::{ConnectError, Connector, Gateway, GatewayOptions, Upstream};
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Nothing here takes as long, unless it never comes.
const NEVER: Duration = Duration::from_secs(30);

async fn remembered(client: &mut RawClient, what: &str) -> Value {
    let answer = client.call("remember", &json!({ "arguments": { "what": what } })).await;
    answer["result"]["content"][0]["text"].clone()
}

#[tokio::test]
async fn a_gateway_that_is_to_reconnect_has_nothing_left_of_the_sessions_before() {
    let server = Remembering::default();
    let gateway = gateway(&server, |_| {}).await;
    let mut client = RawClient::of(gateway.clone());
    assert_eq!(remembered(&mut client, "a").await, "a");
    assert_eq!(remembered(&mut client, "b").await, "a,b");
    gateway.reconnect().await;
    assert_eq!(remembered(&mut client, "c").await, "c");
}

#[tokio::test]
async fn a_question_after_the_answer_is_refused_and_not_put_to_the_next_call() {
    let server = Remembering::default();
    let gateway = gateway(&server, |_| {}).await;
    let mut client = RawClient::of(gateway.clone());
    for late in 1..=20 {
        let answer = client.call("ask_late", &json!({})).await;
        assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
        let refused = until(|| server.refused() == late);
        tokio::time::timeout(NEVER, refused).await.expect("it is refused");
    }
}

#[tokio::test]
async fn what_a_client_subscribes_to_and_what_it_calls_are_in_one_session() {
    let server = Remembering::default();
    let gateway = gateway(&server, |_| {}).await;
    let mut client = RawClient::of(gateway.clone());
    assert_eq!(remembered(&mut client, "a").await, "a");
    let filter = json!({ "notifications": { "resourceSubscriptions": ["a:b"] } });
    client.ask("subscriptions/listen", filter).await;
    client.hear().await;
    assert_eq!(remembered(&mut client, "b").await, "a,b");
}

#[tokio::test]
async fn what_was_subscribed_to_is_subscribed_to_again_in_a_new_session() {
    let server = Remembering::default();
    let gateway = gateway(&server, |_| {}).await;
    let mut client = RawClient::of(gateway.clone());
    let filter = json!({ "notifications": { "resourceSubscriptions": ["a:b"] } });
    client.ask("subscriptions/listen", filter).await;
    for _ in 0..2 {
        let told = async {
            loop {
                let message = client.hear().await;
                if message["method"] == "notifications/resources/updated" {
                    return message["params"]["uri"].clone();
                }
            }
        };
        assert_eq!(tokio::time::timeout(NEVER, told).await.expect("it is told"), "a:b");
        gateway.reconnect().await;
        let what = json!({ "name": "remember", "arguments": { "what": "a" } });
        client.ask("tools/call", what).await;
    }
}

#[tokio::test]
async fn whoever_gets_a_connection_that_was_opened_ahead_hears_of_its_resources() {
    let server = Remembering::default();
    let gateway = gateway(&server, |_| {}).await;
    let url = listen(&gateway).await;
    let nobody = over_http(&url, None, Revision::NEWEST, Hooks::default()).await;
    assert_eq!(remember(&nobody, "a").await, "a");
    until(|| server.open() == 2).await;

    let (told, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let mut hooks = Hooks::default();
    hooks.events = Some(Arc::new(move |event| {
        if let ClientEvent::Changed(changed) = event {
            drop(told.send(changed));
        }
    }));
    let ada = over_http(&url, Some("ada"), Revision::NEWEST, hooks).await;
    ada.subscribe("a:b").await.unwrap();
    let changed = Changed::Resource("a:b".into());
    let heard = async { while hears.recv().await.unwrap() != changed {} };
    tokio::time::timeout(NEVER, heard).await.expect("it is heard");
}

#[tokio::test(start_paused = true)]
async fn whoever_hears_of_changes_goes_on_hearing_when_the_server_has_broken_down() {
    let asking = Asking::default();
    let options = GatewayOptions::new(Implementation::new("gateway", "1"));
    let gateway = Gateway::open(asking.clone(), options).await.unwrap();
    let mut client = RawClient::of(gateway);
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    client.ask("subscriptions/listen", filter).await;
    client.hear().await;
    for times in 1..=3 {
        asking.break_down();
        let told = tokio::time::timeout(NEVER, client.hear()).await.expect("it is told");
        assert_eq!(told["method"], "notifications/tools/list_changed", "{told}");
        assert_eq!(asking.heard().connections, 1 + times, "opened again without a call");
    }
}

#[tokio::test(start_paused = true)]
async fn the_session_of_a_client_that_is_there_is_not_taken_from_it_for_another() {
    let server = Remembering::default();
    let gateway = gateway(&server, |options| options.max_processes = 2).await;
    let (mut one, mut two) = (RawClient::of(gateway.clone()), RawClient::of(gateway.clone()));
    assert_eq!(remembered(&mut one, "a").await, "a");
    tokio::time::sleep(Duration::from_secs(7200)).await;
    let what = json!({ "arguments": { "what": "b" } });
    let refused = two.call("remember", &what).await;
    let text = refused["error"]["message"].as_str().unwrap();
    assert!(text.contains("all 2 connections") && text.contains("try again later"), "{text}");
    assert_eq!(remembered(&mut one, "c").await, "a,c");
}

#[tokio::test(start_paused = true)]
async fn the_first_connection_stays_however_long_nobody_uses_it() {
    let server = Remembering::default();
    let gateway = gateway(&server, |_| {}).await;
    tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
    assert_eq!((gateway.connections(), server.open()), (1, 1));
}

/// A server that takes as long to start as the test likes.
struct Slow {
    server: Remembering,
    may_start: watch::Receiver<bool>,
}

impl Upstream for Slow {
    fn tells_calls_apart(&self) -> bool {
        self.server.tells_calls_apart()
    }
}

impl Connector for Slow {
    fn name(&self) -> &str {
        self.server.name()
    }

    fn connect(
        &self,
        config: ClientConfig,
        hooks: Hooks,
    ) -> BoxFuture<'_, Result<Client, ConnectError>> {
        let mut may_start = self.may_start.clone();
        async move {
            may_start.wait_for(|may| *may).await.map_err(ConnectError::new)?;
            self.server.connect(config, hooks).await
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_call_that_was_given_up_before_the_server_had_started_never_runs() {
    for revision in ["2025-11-25", MODERN] {
        let server = Remembering::default();
        let (start, may_start) = watch::channel(true);
        let options = GatewayOptions::new(Implementation::new("gateway", "1"));
        let gateway = Gateway::open(Slow { server, may_start }, options).await.unwrap();
        let mut client = opened(&gateway, revision).await;
        start.send_replace(false);
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {} });
        let call = |id: u64, what: &str| {
            let mut params = json!({ "name": "remember", "arguments": { "what": what } });
            if revision == MODERN {
                params["_meta"] = meta.clone();
            }
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
        };
        client.say(&call(1, "a")).await;
        client
            .say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": { "requestId": 1 } }))
            .await;
        // What the gateway answers by itself comes once it has heard all before.
        let method = if revision == MODERN { "server/discover" } else { "ping" };
        client
            .say(&json!({ "jsonrpc": "2.0", "id": 3, "method": method,
                "params": { "_meta": meta } }))
            .await;
        assert_eq!(client.hear().await["id"], 3);
        start.send_replace(true);
        client.say(&call(2, "b")).await;
        let answer = client.hear().await;
        assert_eq!(answer["id"], 2);
        assert_eq!(answer["result"]["content"][0]["text"], "b", "in {revision}");
        // What ran before is told by what runs later.
        client.say(&call(4, "c")).await;
        let answer = client.hear().await;
        assert_eq!(answer["result"]["content"][0]["text"], "b,c", "in {revision}");
    }
}
