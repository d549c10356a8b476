//! What a client keeps, for how long, and what it is told of.

use super::scripted::{Heard, Script, connect, listener};
use super::*;
use serde_json::{Value, json};
use std::time::Duration;

/// A server in the hands of a test that counts what it is asked.
struct Modern {
    script: Script,
    /// The stream of changes.
    listen: Value,
}

impl Modern {
    async fn start(capabilities: Value) -> (Client, Self, Heard) {
        let (heard, events) = listener();
        let (transport, mut script) = Script::new();
        let (client, ()) = tokio::join!(connect(transport, Some(events)), async {
            let probe = script.hear().await.unwrap();
            let result =
                json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities });
            script.answer(&probe, &result).await;
        });
        (client.unwrap(), Self { script, listen: Value::Null }, heard)
    }

    async fn say(&mut self, method: &str, mut params: Value) {
        params["_meta"] = json!({ "io.modelcontextprotocol/subscriptionId": self.listen["id"] });
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.script.say(&message.to_string()).await;
    }

    /// Takes the next stream of changes, and agrees to all of it.
    async fn agree(&mut self) {
        self.listen = self.script.hear().await.unwrap();
        assert_eq!(self.listen["method"], "subscriptions/listen");
        let agreed = self.listen["params"]["notifications"].clone();
        let params = json!({ "notifications": agreed });
        self.say("notifications/subscriptions/acknowledged", params).await;
    }

    /// Answers requests while `work` is at it: what was asked.
    async fn during<T>(
        &mut self,
        work: impl Future<Output = T>,
        answer: impl Fn(&Value) -> Value,
    ) -> (T, Vec<Value>) {
        tokio::pin!(work);
        let mut asked = Vec::new();
        loop {
            tokio::select! {
                biased;
                done = &mut work => return (done, asked),
                request = self.script.hear() => {
                    let request = request.unwrap();
                    self.script.answer(&request, &answer(&request)).await;
                    asked.push(request);
                }
            }
        }
    }

    /// Until the client has taken all that was said so far.
    async fn settle(&mut self) {
        self.script.say(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).await;
        while self.script.hear().await.unwrap()["id"] != "p" {}
    }
}

fn page(ttl: u64, names: &[&str], next: Option<&str>) -> Value {
    let tools: Vec<_> = names
        .iter()
        .map(|name| json!({ "name": name, "inputSchema": { "type": "object" } }))
        .collect();
    let mut page =
        json!({ "resultType": "complete", "tools": tools, "ttlMs": ttl, "cacheScope": "private" });
    if let Some(next) = next {
        page["nextCursor"] = json!(next);
    }
    page
}

fn cursors(asked: &[Value]) -> Vec<&str> {
    asked.iter().map(|request| request["params"]["cursor"].as_str().unwrap_or("-")).collect()
}

#[tokio::test(start_paused = true)]
async fn pages_are_kept_each_for_its_own_time() {
    let (client, mut server, _) = Modern::start(json!({ "tools": {} })).await;
    let pages = |request: &Value| match request["params"]["cursor"].as_str() {
        None => page(5000, &["a"], Some("2")),
        _ => page(1000, &["b"], None),
    };
    let (tools, asked) = server.during(client.list_tools(), pages).await;
    assert_eq!((tools.unwrap().len(), cursors(&asked)), (2, vec!["-", "2"]));
    let (tools, asked) = server.during(client.list_tools(), pages).await;
    assert_eq!((tools.unwrap().len(), asked.len()), (2, 0));
    tokio::time::advance(Duration::from_secs(1)).await;
    let (_, asked) = server.during(client.list_tools(), pages).await;
    assert_eq!(cursors(&asked), ["2"], "the first page is still fresh");
    client.forget();
    let (_, asked) = server.during(client.list_tools(), pages).await;
    assert_eq!(cursors(&asked), ["-", "2"]);
    let client = client.with_cache(0);
    let (_, asked) = server.during(client.list_tools(), pages).await;
    assert_eq!(cursors(&asked), ["-", "2"], "nothing is kept");
}

#[tokio::test(start_paused = true)]
async fn a_cursor_that_the_server_no_longer_knows_starts_the_list_again() {
    let (client, mut server, _) = Modern::start(json!({ "tools": {} })).await;
    let first = |request: &Value| match request["params"]["cursor"].as_str() {
        None => page(5000, &["a"], Some("old")),
        _ => page(0, &["b"], None),
    };
    server.during(client.list_tools(), first).await.0.unwrap();
    let (tools, ()) = tokio::join!(client.list_tools(), async {
        let request = server.script.hear().await.unwrap();
        assert_eq!(request["params"]["cursor"], "old");
        let error = json!({ "code": -32602, "message": "no such cursor" });
        let refusal = json!({ "jsonrpc": "2.0", "id": request["id"], "error": error });
        server.script.say(&refusal.to_string()).await;
        let again = server.script.hear().await.unwrap();
        assert!(again["params"].get("cursor").is_none());
        server.script.answer(&again, &page(5000, &["c"], None)).await;
    });
    assert_eq!(tools.unwrap()[0].name, "c");
}

#[tokio::test]
async fn a_change_that_is_told_drops_what_was_kept_first() {
    let capabilities = json!({ "tools": { "listChanged": true } });
    let (client, mut server, heard) = Modern::start(capabilities).await;
    server.agree().await;
    server.settle().await;
    assert!(heard.lock().unwrap().is_empty(), "nobody had a list that could be out of date");
    let tools = |_: &Value| page(60_000, &["a"], None);
    server.during(client.list_tools(), tools).await.0.unwrap();
    server.say("notifications/tools/list_changed", json!({})).await;
    server.settle().await;
    assert_eq!(*heard.lock().unwrap(), ["Changed(Tools)"]);
    let (_, asked) = server.during(client.list_tools(), tools).await;
    assert_eq!(asked.len(), 1);
}

#[tokio::test]
async fn what_was_fetched_before_the_stream_was_open_is_fetched_again() {
    let capabilities = json!({ "tools": { "listChanged": true } });
    let (client, mut server, heard) = Modern::start(capabilities).await;
    server.listen = server.script.hear().await.unwrap();
    let tools = |_: &Value| page(60_000, &["a"], None);
    server.during(client.list_tools(), tools).await.0.unwrap();
    let params = json!({ "notifications": { "toolsListChanged": true } });
    server.say("notifications/subscriptions/acknowledged", params).await;
    server.settle().await;
    assert_eq!(*heard.lock().unwrap(), ["Changed(Tools)"]);
    let (_, asked) = server.during(client.list_tools(), tools).await;
    assert_eq!(asked.len(), 1);
}

fn contents(request: &Value) -> Value {
    json!({ "resultType": "complete", "ttlMs": 60_000, "cacheScope": "public",
        "contents": [{ "uri": request["params"]["uri"], "text": "x" }] })
}

#[tokio::test]
async fn a_resource_is_kept_until_it_is_updated() {
    let capabilities = json!({ "resources": { "subscribe": true } });
    let (client, mut server, heard) = Modern::start(capabilities).await;
    let (subscribed, ()) = tokio::join!(client.subscribe("a://1"), server.agree());
    subscribed.unwrap();
    for uri in ["a://1", "a://2", "a://1", "a://2"] {
        server.during(client.read_resource(uri), contents).await.0.unwrap();
    }
    server.say("notifications/resources/updated", json!({ "uri": "a://1" })).await;
    server.settle().await;
    assert_eq!(*heard.lock().unwrap(), [r#"Changed(Resource("a://1"))"#]);
    let (_, asked) = server.during(client.read_resource("a://2"), contents).await;
    assert!(asked.is_empty());
    let (_, asked) = server.during(client.read_resource("a://1"), contents).await;
    assert_eq!(asked.len(), 1);
}

#[tokio::test]
async fn an_answer_that_needed_input_is_not_kept() {
    let handlers = Handlers::new().roots(|| async { Ok(Vec::new()) });
    let (transport, mut script) = Script::new();
    let config = ClientConfig::new(carrick_proto::types::Implementation::new("tests", "0"));
    let (client, ()) = tokio::join!(Client::connect(transport, config, handlers), async {
        let probe = script.hear().await.unwrap();
        let result = json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} });
        script.answer(&probe, &result).await;
    });
    let (client, mut server) = (client.unwrap(), Modern { script, listen: Value::Null });
    let answer = |request: &Value| match request["params"].get("inputResponses") {
        None => json!({ "resultType": "input_required",
            "inputRequests": { "r": { "method": "roots/list" } } }),
        Some(_) => contents(request),
    };
    for _ in 0..2 {
        let (_, asked) = server.during(client.read_resource("a://1"), answer).await;
        assert_eq!(asked.len(), 2);
    }
}

#[tokio::test]
async fn d042_what_says_nothing_of_its_freshness_is_stale() {
    let (client, mut server, _) = Modern::start(json!({ "tools": {} })).await;
    let tools = |_: &Value| json!({ "tools": [] });
    for _ in 0..2 {
        let (_, asked) = server.during(client.list_tools(), tools).await;
        assert_eq!(asked.len(), 1);
    }
}

#[tokio::test]
async fn logs_are_asked_for_by_every_request() {
    let (client, mut server, heard) = Modern::start(json!({ "tools": {}, "logging": {} })).await;
    client.set_log_level(carrick_proto::types::LogLevel::Info).await.unwrap();
    let tools = |_: &Value| page(0, &[], None);
    let (_, asked) = server.during(client.list_tools(), tools).await;
    assert_eq!(asked[0]["params"]["_meta"]["io.modelcontextprotocol/logLevel"], "info");
    server.say("notifications/message", json!({ "level": "info", "data": "x" })).await;
    server.settle().await;
    assert!(heard.lock().unwrap()[0].starts_with("Log"));
}
