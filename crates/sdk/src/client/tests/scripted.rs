//! A client with servers that a test plays line by line.

use super::super::*;
use crate::transport::{LineTransport, MemoryTransport};
use carrick_proto::revision::Revision;
use carrick_proto::types::Implementation;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};

/// The server's end of a connection, in the hands of a test.
pub(in crate::client) struct Script {
    stream: BufReader<DuplexStream>,
}

impl Script {
    pub(in crate::client) fn new() -> (MemoryTransport, Self) {
        let (ours, theirs) = duplex(256 << 10);
        let (reader, writer) = split(ours);
        (LineTransport::new(reader, writer), Self { stream: BufReader::new(theirs) })
    }

    /// The client's next message; none when it has closed its side.
    pub(super) async fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        let n = self.stream.read_line(&mut line).await.unwrap();
        (n > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    pub(super) async fn say(&mut self, line: &str) {
        self.stream.write_all(line.as_bytes()).await.unwrap();
        self.stream.write_all(b"\n").await.unwrap();
    }

    pub(super) async fn answer(&mut self, request: &Value, result: &Value) {
        let response = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        self.say(&response.to_string()).await;
    }

    /// Answers the probe as a modern server.
    pub(in crate::client) async fn open(&mut self) {
        let probe = self.hear().await.unwrap();
        assert_eq!(probe["method"], "server/discover");
        let result = json!({ "supportedVersions": [Revision::NEWEST.date()], "capabilities": { "tools": {} } });
        self.answer(&probe, &result).await;
    }
}

/// What the client told of, as text.
pub(super) type Heard = Arc<Mutex<Vec<String>>>;

pub(super) fn listener() -> (Heard, EventHandler) {
    let heard = Heard::default();
    let told = heard.clone();
    (heard, Arc::new(move |event| told.lock().unwrap().push(format!("{event:?}"))))
}

pub(super) async fn connect(
    transport: MemoryTransport,
    events: Option<EventHandler>,
) -> Result<Client, ClientError> {
    Client::connect(transport, ClientConfig::new(Implementation::new("tests", "0")), events).await
}

async fn open(events: Option<EventHandler>) -> (Client, Script) {
    let (transport, mut script) = Script::new();
    let (client, ()) = tokio::join!(connect(transport, events), script.open());
    (client.unwrap(), script)
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_server() {
    let (client, mut script) = open(None).await;
    let mut call = Box::pin(client.call_tool("slow", b"{}"));
    let request = tokio::select! {
        _ = &mut call => panic!("nobody has answered"),
        request = script.hear() => request.unwrap(),
    };
    drop(call);
    let cancel = script.hear().await.unwrap();
    assert_eq!(cancel["method"], "notifications/cancelled");
    assert_eq!(cancel["params"]["requestId"], request["id"]);
    // An answer that was on its way meets nobody, and the next call its own.
    script.answer(&request, &json!({ "content": [] })).await;
    let (result, ()) = tokio::join!(client.call_tool("quick", b"{\n}"), async {
        let request = script.hear().await.unwrap();
        assert_eq!(request["params"]["name"], "quick");
        script.answer(&request, &json!({ "content": [{ "type": "text", "text": "x" }] })).await;
    });
    assert_eq!(result.unwrap().content[0].as_text(), Some("x"));
}

/// Lists tools from a server that answers every request with this page.
async fn listed(page: impl Fn(usize) -> Value) -> (Vec<String>, usize) {
    let (client, mut script) = open(None).await;
    let mut requests = 0;
    let tools = {
        let listing = client.list_tools();
        tokio::pin!(listing);
        loop {
            tokio::select! {
                tools = &mut listing => break tools.unwrap(),
                request = script.hear() => {
                    script.answer(&request.unwrap(), &page(requests)).await;
                    requests += 1;
                }
            }
        }
    };
    (tools.into_iter().map(|tool| tool.name).collect(), requests)
}

#[tokio::test]
async fn d058_a_cursor_that_comes_again_ends_the_list() {
    let page: Value =
        serde_json::from_str(include_str!("../../../../../cases/handed/D058/page.json")).unwrap();
    let (names, requests) = listed(|_| page.clone()).await;
    assert_eq!((names, requests), (vec!["a".to_owned(), "b".to_owned()], 2));
}

#[tokio::test]
async fn d058_pages_without_end_come_to_one() {
    let (names, requests) = listed(|n| json!({ "tools": [], "nextCursor": n.to_string() })).await;
    assert_eq!((names.len(), requests), (0, 1000));
}

#[tokio::test]
async fn pages_are_joined_and_an_empty_cursor_is_one() {
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let (names, requests) = listed(|n| match n {
        0 => json!({ "tools": [tool("a")], "nextCursor": "" }),
        1 => json!({ "tools": [tool("b"), tool("a")], "nextCursor": "x" }),
        _ => json!({ "tools": [tool("c")], "nextCursor": null }),
    })
    .await;
    assert_eq!((names.join(""), requests), ("abc".to_owned(), 3));
}

#[tokio::test]
async fn d061_malformed_entries_leave_the_others() {
    let page: Value =
        serde_json::from_str(include_str!("../../../../../cases/handed/D061/tools.json")).unwrap();
    let (names, _) = listed(|_| page.clone()).await;
    assert_eq!(names, ["ok1", "ok2"]);
}

#[tokio::test]
async fn f45_one_tool_that_cannot_be_read_costs_no_other() {
    let (client, mut script) = open(None).await;
    let tool = |name: &str, schema: &str| format!(r#"{{"name":"{name}","inputSchema":{schema}}}"#);
    let deep = format!("{}{{}}{}", "{\"not\":".repeat(500), "}".repeat(500));
    let good = r#"{"type":"object"}"#;
    let tools =
        [tool("a", good), tool("deep", &deep), tool("no", "true"), tool("b", good)].join(",");
    let (listed, ()) = tokio::join!(client.list_tools(), async {
        let request = script.hear().await.unwrap();
        let id = &request["id"];
        script
            .say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{tools}]}}}}"#))
            .await;
    });
    let names: Vec<String> = listed.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["a", "b"]);
}

#[tokio::test]
async fn d003_prints_on_stdout_are_told_once_and_disturb_nothing() {
    let (heard, events) = listener();
    let (client, mut script) = open(Some(events)).await;
    let (tools, ()) = tokio::join!(client.list_tools(), async {
        let request = script.hear().await.unwrap();
        for line in ["Welcome!", "[index] ready", r#"{"level":"info"}"#] {
            script.say(line).await;
        }
        script.answer(&request, &json!({ "tools": [] })).await;
    });
    assert!(tools.unwrap().is_empty());
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains("Noise") && heard[0].contains("Welcome!"));
}

#[tokio::test]
async fn an_end_is_told_before_the_calls_that_it_ends() {
    let (heard, events) = listener();
    let (client, mut script) = open(Some(events)).await;
    let (result, ()) = tokio::join!(client.call_tool("x", b"{}"), async {
        script.hear().await.unwrap();
        drop(script);
    });
    assert!(matches!(result.unwrap_err().call(), Some(CallError::Closed(_))));
    assert!(heard.lock().unwrap()[0].starts_with("Closed"));
    let later = client.call_tool("x", b"{}").await.unwrap_err();
    assert!(matches!(later.call(), Some(CallError::Closed(_))));
}

#[tokio::test]
async fn a_connection_that_never_opened_is_not_told_to_have_ended() {
    let (heard, events) = listener();
    let (transport, mut script) = Script::new();
    let (result, ()) = tokio::join!(connect(transport, Some(events)), async {
        script.hear().await.unwrap();
        drop(script);
    });
    assert!(matches!(result.map(|_| ()).unwrap_err().call(), Some(CallError::Closed(_))));
    assert!(heard.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_answer_too_large_to_read_ends_the_connection_and_says_why() {
    let (transport, mut script) = Script::new();
    let (client, ()) = tokio::join!(connect(transport.limit(1000), None), script.open());
    let client = client.unwrap();
    let (result, ()) = tokio::join!(client.call_tool("x", b"{}"), async {
        let request = script.hear().await.unwrap();
        script.answer(&request, &json!({ "content": [], "x": "y".repeat(2000) })).await;
    });
    assert!(result.unwrap_err().to_string().contains("more than 1000 bytes"));
}

#[tokio::test]
async fn arguments_that_are_no_object_are_not_sent() {
    let (client, mut script) = open(None).await;
    for bad in [&b"[1]"[..], b"{", b"{} {}", b"7"] {
        let error = client.request("x", bad.to_vec(), None, None).await.unwrap_err();
        assert!(matches!(error.call(), Some(CallError::Params(_))), "{error}");
    }
    let error = client.call_tool("x", b"{\"a\":").await.unwrap_err();
    assert!(matches!(error.call(), Some(CallError::Params(_))));
    client.close().await;
    assert!(script.hear().await.is_none(), "nothing was sent");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_and_does_not_read_is_not_answered_for_ever() {
    let (_client, mut script) = open(None).await;
    let ping =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{}\",\"method\":\"ping\"}}", "x".repeat(100_000));
    for _ in 0..400 {
        script.say(&ping).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut answers = 0;
    while let Ok(Some(answer)) = tokio::time::timeout(Duration::from_secs(1), script.hear()).await {
        assert_eq!(answer["result"], json!({}));
        answers += 1;
    }
    assert!((100..200).contains(&answers), "{answers} answers of 100 kB were kept");
}

#[tokio::test]
async fn dropping_the_last_handle_closes_the_connection() {
    let (client, mut script) = open(None).await;
    let other = client.clone();
    drop(client);
    assert!(other.ping_refused(&mut script).await);
    drop(other);
    assert!(script.hear().await.is_none());
}

impl Client {
    /// Whether the connection still carries a request and its refusal.
    async fn ping_refused(&self, script: &mut Script) -> bool {
        let (result, ()) = tokio::join!(self.ping(), async {
            let request = script.hear().await.unwrap();
            let error = json!({ "code": -32601, "message": "" });
            let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "error": error });
            script.say(&answer.to_string()).await;
        });
        matches!(result.unwrap_err().call(), Some(CallError::Rpc(e)) if e.code == -32601)
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_is_answered_without_anything_else_happening() {
    let handlers = Handlers::new().roots(|| async { Ok(Vec::new()) });
    let (transport, mut script) = Script::new();
    let mut config = ClientConfig::new(Implementation::new("tests", "0"));
    config.era = Some(Era::Legacy);
    let (client, ()) = tokio::join!(Client::connect(transport, config, handlers), async {
        let hello = script.hear().await.unwrap();
        let revision = Revision::NEWEST_HANDSHAKE.date();
        let result = json!({ "protocolVersion": revision, "capabilities": {} });
        script.answer(&hello, &result).await;
        script.hear().await.unwrap();
    });
    let _client = client.unwrap();
    let asked = tokio::time::Instant::now();
    script.say(r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#).await;
    assert_eq!(script.hear().await.unwrap()["result"], json!({ "roots": [] }));
    assert_eq!(asked.elapsed(), Duration::ZERO, "it was not by a timer that it went on");
}

#[tokio::test]
async fn f21_calls_to_a_server_that_does_not_read_are_refused_and_leave_when_cancelled() {
    let (client, mut script) = open(None).await;
    let large = format!(r#"{{"t":"{}"}}"#, "x".repeat(4 << 20));
    let call = || client.call_tool("large", large.as_bytes());
    let calls = || futures_util::future::join_all((0..20).map(|_| call()));
    // Seven have room, and the first is in part in the pipe.
    let mut waiting = Box::pin(calls());
    let larger = format!(r#"{{"t":"{}"}}"#, "x".repeat(8 << 20));
    let mut refused = Box::pin(client.call_tool("large", larger.as_bytes()));
    let refusal = tokio::select! {
        _ = &mut waiting => panic!("nobody has answered"),
        refusal = async {
            // Those before it are taken first.
            tokio::task::yield_now().await;
            (&mut refused).await
        } => refusal.unwrap_err(),
    };
    match refusal {
        ClientError::Call(CallError::Backlog { waiting, limit }) => {
            assert!(waiting <= limit && limit == 32 << 20, "{waiting} of {limit}");
        }
        other => panic!("{other}"),
    }
    // A small one has room.
    let mut small = Box::pin(client.call_tool("small", b"{}"));
    assert!(futures_util::FutureExt::now_or_never(&mut small).is_none());
    drop((waiting, small));
    // What was given up is gone, and with it what it would have had to wait for.
    let mut again = Box::pin(call());
    let first = tokio::select! {
        _ = &mut again => panic!("nobody has answered, and there is room"),
        first = script.hear() => first.unwrap(),
    };
    assert_eq!(first["method"], "tools/call", "it was begun");
    loop {
        let next = tokio::select! {
            _ = &mut again => panic!("nobody has answered"),
            next = script.hear() => next.unwrap(),
        };
        if next["method"] == "tools/call" && next["params"]["name"] == "large" {
            break script.answer(&next, &json!({ "resultType": "complete", "content": [] })).await;
        }
    }
    again.await.unwrap();
}

/// A transport whose other side is at work for as long as there is something left.
struct Working(MemoryTransport, u32);

impl crate::transport::Transport for Working {
    fn poll_recv(
        &mut self,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<crate::transport::Event> {
        self.0.poll_recv(cx)
    }

    fn send(&mut self, message: crate::transport::Outgoing) {
        self.0.send(message);
    }

    fn poll_flush(
        &mut self,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        self.0.poll_flush(cx)
    }

    fn queued(&self) -> usize {
        self.0.queued()
    }

    fn is_active(&mut self) -> bool {
        let active = self.1 > 0;
        self.1 = self.1.saturating_sub(1);
        active
    }

    fn poll_close(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        self.0.poll_close(cx)
    }
}

#[tokio::test(start_paused = true)]
async fn f11_connecting_takes_longer_while_the_other_side_is_at_work() {
    for (active, waited) in [(0, 10_000), (1, 10_000), (2, 12_500), (5, 20_000)] {
        let (transport, _script) = Script::new();
        let config = ClientConfig::new(Implementation::new("tests", "0"));
        let began = Instant::now();
        let error = Client::connect(Working(transport, active), config, None).await.unwrap_err();
        assert!(matches!(error.call(), Some(CallError::Timeout(_))));
        // It is asked first when the probe is given up for the handshake.
        assert_eq!(began.elapsed(), Duration::from_millis(waited), "{active}");
    }
}
