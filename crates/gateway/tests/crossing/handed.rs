//! Several clients of one gateway, whose ids, tokens and lists are their own.

use crate::raw::{MODERN, RawClient};
use crate::support::{Over, client, gateway};
use carrick::client::{ClientConfig, Hooks};
use carrick::proto::revision::Revision;
use carrick::server::{Cacheable, Context, Tool};
use carrick::transport::LineTransport;
use carrick::types::{CacheHints, Implementation};
use carrick::{Client, Server, State, tool, tools};
use carrick_gateway::{ConnectError, Connector, Gateway, GatewayOptions, Upstream};
use futures_util::future::{BoxFuture, FutureExt, TryFutureExt};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};
use tokio::sync::{Semaphore, mpsc};

/// What happens to the calls of `held`.
struct Calls {
    started: mpsc::UnboundedSender<String>,
    dropped: mpsc::UnboundedSender<String>,
    go: Semaphore,
}

struct Inside(mpsc::UnboundedSender<String>, String);

impl Drop for Inside {
    fn drop(&mut self) {
        // The test may have ended.
        let _ = self.0.send(self.1.clone());
    }
}

/// Reports progress, and waits for the test.
#[tool]
async fn held(who: String, context: Context, calls: State<Arc<Calls>>) -> String {
    let _inside = Inside(calls.dropped.clone(), who.clone());
    context.progress(1.0, None, Some(&who));
    calls.started.send(who.clone()).unwrap();
    calls.go.acquire().await.unwrap().forget();
    who
}

struct Held {
    gateway: Gateway,
    calls: Arc<Calls>,
    started: mpsc::UnboundedReceiver<String>,
    dropped: mpsc::UnboundedReceiver<String>,
}

async fn held_in(revision: Revision, over: Over) -> Held {
    let (started, has_started) = mpsc::unbounded_channel();
    let (dropped, was_dropped) = mpsc::unbounded_channel();
    let calls = Arc::new(Calls { started, dropped, go: Semaphore::new(0) });
    let server = Server::builder("held", "1")
        .revisions([revision])
        .state(calls.clone())
        .tools(tools![held])
        .build();
    let gateway = gateway(server, over).await;
    Held { gateway, calls, started: has_started, dropped: was_dropped }
}

/// Opens a session where the revision has them.
pub(crate) async fn opened(gateway: &Gateway, revision: &str) -> RawClient {
    let mut client = RawClient::of(gateway.clone());
    if revision != MODERN {
        client
            .say(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize",
                "params": { "protocolVersion": revision, "capabilities": {} } }))
            .await;
        assert_eq!(client.hear().await["result"]["protocolVersion"], revision);
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    }
    client
}

/// A call whose id and token are 1, whoever makes it.
fn first_call(revision: &str, who: &str) -> Value {
    let mut meta = json!({ "progressToken": 1 });
    if revision == MODERN {
        meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "held", "arguments": { "who": who }, "_meta": meta } })
}

#[tokio::test]
async fn d048_d051_equal_ids_and_tokens_of_two_clients_do_not_meet() {
    for (over, theirs) in [
        (Over::Memory, Revision::NEWEST),
        (Over::Memory, Revision::NEWEST_HANDSHAKE),
        (Over::Http, Revision::NEWEST),
        (Over::Http, Revision::NEWEST_HANDSHAKE),
    ] {
        for ours in [MODERN, "2025-06-18"] {
            let mut held = held_in(theirs, over).await;
            let mut clients = Vec::new();
            for who in ["one", "two"] {
                let mut client = opened(&held.gateway, ours).await;
                client.say(&first_call(ours, who)).await;
                assert_eq!(held.started.recv().await.unwrap(), who);
                clients.push(client);
            }
            for (client, who) in clients.iter_mut().zip(["one", "two"]) {
                let progress = client.hear().await;
                assert_eq!(progress["method"], "notifications/progress", "{progress}");
                assert_eq!(progress["params"]["progressToken"], 1);
                assert_eq!(progress["params"]["message"], who);
            }
            let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": { "requestId": 1 } });
            clients[0].say(&cancel).await;
            assert_eq!(held.dropped.recv().await.unwrap(), "one", "{ours} {theirs} {over:?}");
            held.calls.go.add_permits(1);
            let answer = clients[1].hear().await;
            assert_eq!(
                (&answer["id"], &answer["result"]["content"][0]["text"]),
                (&json!(1), &json!("two"))
            );
            // The one that was cancelled gets no answer; its id is free again.
            clients[0].say(&first_call(ours, "again")).await;
            assert_eq!(held.started.recv().await.unwrap(), "again");
            held.calls.go.add_permits(1);
            let progress = clients[0].hear().await;
            assert_eq!(progress["params"]["message"], "again", "{progress}");
            assert_eq!(clients[0].hear().await["result"]["content"][0]["text"], "again");
        }
    }
}

fn many(revision: Revision, hints: CacheHints) -> Server {
    let tools = (0..250).map(|n| Tool::new(format!("t{n:03}"), async || "x".to_owned()));
    Server::builder("many", "1")
        .revisions([revision])
        .tools(tools)
        .cache(Cacheable::Tools, hints)
        .build()
}

#[tokio::test]
async fn d059_every_tool_of_every_page_comes_once() {
    for over in [Over::Memory, Over::Http] {
        for theirs in Revision::ALL {
            let gateway = gateway(many(*theirs, CacheHints::default()), over).await;
            for ours in Revision::ALL {
                let client = client(gateway.clone(), over, *ours, Hooks::default()).await;
                let tools = client.list_tools().await.unwrap();
                let names: BTreeSet<&str> = tools.iter().map(|tool| &*tool.name).collect();
                assert_eq!((tools.len(), names.len()), (250, 250), "{ours} {theirs} {over:?}");
            }
        }
    }
}

#[tokio::test]
async fn d059_cursors_are_opaque_and_made_up_ones_are_refused() {
    let gateway = gateway(many(Revision::NEWEST, CacheHints::default()), Over::Memory).await;
    let mut client = RawClient::of(gateway);
    for cursor in ["", "1", "made up", "游标"] {
        client.ask("tools/list", json!({ "cursor": cursor })).await;
        assert_eq!(client.hear().await["error"]["code"], -32602, "{cursor:?}");
    }
}

#[tokio::test]
async fn d060_what_one_client_may_keep_is_not_given_to_another() {
    // The gateway keeps no lists: each client's request reaches the server, and
    // how long and for whom its answer is good comes through as it was said.
    let hints = CacheHints::public(Duration::from_secs(60));
    for (hints, scope) in [(hints, "public"), (CacheHints::default(), "private")] {
        let gateway = gateway(many(Revision::NEWEST, hints), Over::Memory).await;
        for _ in 0..2 {
            let mut client = RawClient::of(gateway.clone());
            client.ask("tools/list", json!({})).await;
            let page = client.hear().await["result"].clone();
            assert_eq!(page["cacheScope"], scope);
            assert_eq!(page["ttlMs"], hints.ttl_ms);
        }
    }
}

/// A server of sessions that says that its tools have changed whenever it is
/// asked for them, and a thousand times when a tool is called.
#[derive(Clone, Default)]
struct Restless {
    lists: Arc<AtomicUsize>,
}

impl Restless {
    async fn speak(self, stream: DuplexStream) {
        const CHANGED: &str =
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n";
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        while stream.read_line(&mut line).await.is_ok_and(|n| n > 0) {
            let message: Value = serde_json::from_str(&line).unwrap();
            line.clear();
            let (result, changes) = match message["method"].as_str() {
                Some("initialize") => {
                    let tools = json!({ "tools": { "listChanged": true } });
                    (json!({ "protocolVersion": "2025-11-25", "capabilities": tools }), 0)
                }
                Some("tools/list") => {
                    self.lists.fetch_add(1, Ordering::SeqCst);
                    (json!({ "tools": [] }), 1)
                }
                Some("tools/call") => (json!({ "content": [] }), 1000),
                _ => (json!({}), 0),
            };
            let mut said = CHANGED.repeat(changes);
            if !message["id"].is_null() {
                let answer = match message["method"] == "server/discover" {
                    true => json!({ "jsonrpc": "2.0", "id": message["id"],
                        "error": { "code": -32601, "message": "no" } }),
                    false => json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }),
                };
                said = format!("{answer}\n{said}");
            }
            stream.write_all(said.as_bytes()).await.unwrap();
        }
    }
}

impl Upstream for Restless {
    fn tells_calls_apart(&self) -> bool {
        false
    }
}

impl Connector for Restless {
    fn name(&self) -> &str {
        "restless"
    }

    fn connect(
        &self,
        config: ClientConfig,
        hooks: Hooks,
    ) -> BoxFuture<'_, Result<Client, ConnectError>> {
        let (ours, theirs) = duplex(1 << 20);
        tokio::spawn(self.clone().speak(theirs));
        let (reader, writer) = split(ours);
        let transport = LineTransport::new(reader, writer);
        Client::connect(transport, config, hooks).map_err(ConnectError::from).boxed()
    }
}

const MINUTE: Duration = Duration::from_secs(60);

/// How many changes a client hears of within a minute; it does this at each.
async fn changes_heard(
    client: &mut RawClient,
    mut at_each: impl AsyncFnMut(&mut RawClient),
) -> usize {
    let mut heard = 0;
    let end = tokio::time::Instant::now() + MINUTE;
    while let Ok(message) = tokio::time::timeout_at(end, client.hear()).await {
        if message["method"] == "notifications/tools/list_changed" {
            heard += 1;
            at_each(client).await;
        }
    }
    heard
}

#[tokio::test(start_paused = true)]
async fn d056_changes_are_told_at_a_pace_that_a_client_can_follow() {
    for revision in ["2025-11-25", MODERN] {
        let restless = Restless::default();
        let options = GatewayOptions::new(Implementation::new("gateway", "1"));
        let gateway = Gateway::open(restless.clone(), options).await.unwrap();
        let mut client = opened(&gateway, revision).await;
        let mut call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": { "name": "any", "arguments": {} } });
        let mut list = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {} });
        if revision == MODERN {
            let filter = json!({ "notifications": { "toolsListChanged": true } });
            client.ask("subscriptions/listen", filter).await;
            client.hear().await;
            for request in [&mut call, &mut list] {
                request["params"]["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": MODERN,
                    "io.modelcontextprotocol/clientCapabilities": {},
                });
            }
        }
        client.say(&call).await;
        let heard = changes_heard(&mut client, async |_| {}).await;
        assert!((1..=2).contains(&heard), "{heard} of a thousand in {revision}");

        // A client that asks whenever it is told, and a server that tells whenever
        // it is asked.
        let before = restless.lists.load(Ordering::SeqCst);
        client.say(&list).await;
        let heard = changes_heard(&mut client, async |client| client.say(&list).await).await;
        let lists = restless.lists.load(Ordering::SeqCst) - before;
        assert!((2..=20).contains(&heard) && lists <= 20, "{heard}, {lists} in {revision}");
    }
}
