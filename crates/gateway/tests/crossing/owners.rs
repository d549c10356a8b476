//! Whose connections to a server of sessions are, how many there are, and when
//! they end.

use crate::raw::{RawClient, answers};
use carrick::Client;
use carrick::client::{ClientConfig, Handlers, Hooks};
use carrick::net::{HttpClient, Options};
use carrick::proto::revision::Revision;
use carrick::server::Principal;
use carrick::transport::LineTransport;
use carrick::transport::http::{
    HttpOptions, HttpServer, HttpServerOptions, HttpTransport, Identify,
};
use carrick::types::{ElicitAction, ElicitResult, Implementation};
use carrick_gateway::{ConnectError, Connector, Gateway, GatewayOptions, Sharing, Upstream};
use futures_util::future::{BoxFuture, FutureExt, TryFutureExt};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split,
};
use tokio::sync::oneshot;

/// The id of a late question.
const LATE: u64 = 98;

/// A server of sessions on stdio. `remember` answers with all `what` that it was
/// given on its connection; `ask` asks for a name, `ask_late` once it has answered.
/// A resource changes as soon as it is subscribed to.
#[derive(Clone, Default)]
pub(crate) struct Remembering {
    /// Whether it is as one over HTTP, where a connection is no process.
    apart: bool,
    /// Connections that are open.
    open: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    /// Late questions that were refused.
    refused: Arc<AtomicUsize>,
}

impl Remembering {
    async fn speak(self, stream: DuplexStream) {
        let now = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let mut stream = BufReader::new(stream);
        let (mut line, mut memory, mut asked) = (String::new(), Vec::new(), Value::Null);
        let mut after = None;
        while stream.read_line(&mut line).await.is_ok_and(|n| n > 0) {
            let message: Value = serde_json::from_str(&line).unwrap();
            line.clear();
            let id = &message["id"];
            let what = &message["params"]["arguments"]["what"];
            let answer = match (message["method"].as_str(), &message["params"]["name"]) {
                (Some("server/discover"), _) => {
                    json!({ "id": id, "error": { "code": -32601, "message": "no" } })
                }
                (Some("initialize"), _) => json!({ "id": id, "result": {
                    "protocolVersion": "2025-11-25",
                    "capabilities": { "tools": {}, "resources": { "subscribe": true } },
                    "serverInfo": { "name": "remembering", "version": "1" } } }),
                (Some("tools/call"), name) if name == "ask" => {
                    asked = id.clone();
                    question(99)
                }
                (Some("tools/call"), name) if name == "ask_late" => {
                    after = Some(question(LATE));
                    json!({ "id": id, "result": { "content": [] } })
                }
                (Some("resources/subscribe"), _) => {
                    let params = json!({ "uri": message["params"]["uri"] });
                    let method = "notifications/resources/updated";
                    after = Some(json!({ "method": method, "params": params }));
                    json!({ "id": id, "result": {} })
                }
                (Some("tools/call"), _) => {
                    memory.push(what.as_str().unwrap().to_owned());
                    let text = memory.join(",");
                    json!({ "id": id, "result": { "content": [{ "type": "text", "text": text }] } })
                }
                (None, _) if *id == LATE => {
                    self.refused.fetch_add(message["error"].is_object().into(), Ordering::SeqCst);
                    continue;
                }
                (None, _) if *id == 99 => {
                    json!({ "id": asked, "result": { "content": [{ "type": "text", "text": "asked" }] } })
                }
                _ if id.is_null() => continue,
                _ => json!({ "id": id, "result": {} }),
            };
            for mut said in [Some(answer), after.take()].into_iter().flatten() {
                said["jsonrpc"] = json!("2.0");
                if stream.write_all(format!("{said}\n").as_bytes()).await.is_err() {
                    break;
                }
            }
        }
        self.open.fetch_sub(1, Ordering::SeqCst);
    }

    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    pub(crate) fn refused(&self) -> usize {
        self.refused.load(Ordering::SeqCst)
    }
}

fn question(id: u64) -> Value {
    let schema = json!({ "type": "object", "properties": {} });
    json!({ "id": id, "method": "elicitation/create",
        "params": { "message": "?", "requestedSchema": schema } })
}

impl Upstream for Remembering {
    fn tells_calls_apart(&self) -> bool {
        self.apart
    }
}

impl Connector for Remembering {
    fn name(&self) -> &str {
        "remembering"
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

pub(crate) async fn gateway(
    server: &Remembering,
    change: impl FnOnce(&mut GatewayOptions),
) -> Gateway {
    let mut options = GatewayOptions::new(Implementation::new("gateway", "1"));
    change(&mut options);
    Gateway::open(server.clone(), options).await.unwrap()
}

/// The gateway over HTTP, where the header `who` names a principal.
pub(crate) async fn listen(gateway: &Gateway) -> String {
    let mut options = HttpServerOptions::default();
    options.identify = Some(Identify::new(|request| {
        let who = request.headers.get("who").and_then(|who| who.to_str().ok());
        if let Some(principal) = who.map(|who| Principal::new("test", who)) {
            request.extensions.insert(principal);
        }
        Ok(())
    }));
    let http = HttpServer::bind(gateway.clone(), ([127, 0, 0, 1], 0).into(), options).await;
    let http = http.unwrap();
    let url = format!("http://{}/mcp", http.local_addr());
    tokio::spawn(http.serve(std::future::pending()));
    url
}

pub(crate) async fn over_http(
    url: &str,
    who: Option<&str>,
    revision: Revision,
    hooks: Hooks,
) -> Client {
    let http = HttpClient::new(Options::default());
    let headers = who.map(|who| ("who", who));
    let transport = HttpTransport::new(http, url, headers, HttpOptions::default()).unwrap();
    let mut config = ClientConfig::new(Implementation::new("client", "1"));
    config.revision = Some(revision);
    Client::connect(transport, config, hooks).await.unwrap()
}

pub(crate) async fn remember(client: &Client, what: &str) -> String {
    let arguments = json!({ "what": what }).to_string();
    let result = client.call_tool("remember", arguments.as_bytes()).await.unwrap();
    serde_json::to_value(&result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned()
}

pub(crate) async fn until(what: impl Fn() -> bool) {
    while !what() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_call_that_nothing_ties_to_others_has_a_session_of_its_own() {
    let server = Remembering::default();
    let gateway = gateway(&server, |_| {}).await;
    let url = listen(&gateway).await;
    let client = over_http(&url, None, Revision::NEWEST, Hooks::default()).await;
    for what in ["a", "b", "c"] {
        assert_eq!(remember(&client, what).await, what);
    }
    // The first one, and one that is opened ahead.
    until(|| server.open() == 2).await;
}

#[tokio::test]
async fn where_the_config_says_so_all_calls_share_a_session() {
    let server = Remembering::default();
    let gateway = gateway(&server, |options| options.sharing = Sharing::Shared).await;
    let url = listen(&gateway).await;
    let one = over_http(&url, None, Revision::NEWEST, Hooks::default()).await;
    let two = over_http(&url, None, Revision::NEWEST, Hooks::default()).await;
    assert_eq!(remember(&one, "a").await, "a");
    assert_eq!(remember(&two, "b").await, "a,b");
    assert_eq!(server.open(), 1);
    // Whoever can be told from others has a session of its own there too.
    let ada = over_http(&url, Some("ada"), Revision::NEWEST, Hooks::default()).await;
    let old = over_http(&url, None, Revision::NEWEST_HANDSHAKE, Hooks::default()).await;
    assert_eq!(remember(&ada, "c").await, "c");
    assert_eq!(remember(&old, "d").await, "d");
}

#[tokio::test]
async fn the_calls_of_a_principal_and_of_a_session_stay_together() {
    let server = Remembering::default();
    let gateway = gateway(&server, |_| {}).await;
    let url = listen(&gateway).await;
    let connect = |who, revision| over_http(&url, who, revision, Hooks::default());
    let ada = connect(Some("ada"), Revision::NEWEST).await;
    let bob = connect(Some("bob"), Revision::NEWEST).await;
    let (old, older) = (
        connect(None, Revision::NEWEST_HANDSHAKE).await,
        connect(Some("ada"), Revision::NEWEST_HANDSHAKE).await,
    );
    for turn in 1..=3 {
        for (client, what) in [(&ada, "a"), (&bob, "b"), (&old, "o"), (&older, "p")] {
            assert_eq!(remember(client, what).await, vec![what; turn].join(","));
        }
    }
    let again = connect(Some("ada"), Revision::NEWEST).await;
    assert_eq!(remember(&again, "a").await, "a,a,a,a", "the principal's other connection");
}

#[tokio::test]
async fn a_connection_over_stdio_has_its_own_until_it_ends() {
    let server = Remembering::default();
    let gateway = gateway(&server, |_| {}).await;
    let (mut one, mut two) = (RawClient::of(gateway.clone()), RawClient::of(gateway.clone()));
    for (client, what, all) in
        [(0, "a", "a"), (1, "b", "b"), (0, "c", "a,c"), (1, "d", "b,d"), (0, "e", "a,c,e")]
    {
        let client = if client == 0 { &mut one } else { &mut two };
        let answer = client.call("remember", &json!({ "arguments": { "what": what } })).await;
        assert_eq!(answer["result"]["content"][0]["text"], all);
    }
    drop((one, two));
    until(|| server.open() == 1).await;
}

#[tokio::test]
async fn f20_sessions_of_clients_that_have_gone_make_room() {
    let server = Remembering::default();
    let gateway = gateway(&server, |options| options.max_processes = 5).await;
    let url = listen(&gateway).await;
    // Clients that hold a stream open are there: they are not taken for gone.
    let mut there = Vec::new();
    for n in 0..4 {
        let client = over_http(&url, None, Revision::NEWEST_HANDSHAKE, Hooks::default()).await;
        assert_eq!(remember(&client, &n.to_string()).await, n.to_string());
        there.push(client);
    }
    let late = over_http(&url, None, Revision::NEWEST_HANDSHAKE, Hooks::default()).await;
    let error = late.call_tool("remember", br#"{"what":"x"}"#).await.unwrap_err().to_string();
    assert!(error.contains("all 5 connections") && error.contains("try again later"), "{error}");
    for (n, client) in there.iter().enumerate() {
        assert_eq!(remember(client, "y").await, format!("{n},y"), "nobody lost anything");
    }
    there.pop().unwrap().close().await;
    until(|| server.open() < 5).await;
    assert_eq!(remember(&late, "z").await, "z");
    assert!(server.most.load(Ordering::SeqCst) <= 5);
}

/// One POST, and nothing held open after it: its status, the session that it was
/// given, and the body.
async fn post(url: &str, session: Option<&str>, body: &Value) -> (u16, Option<String>, String) {
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let (body, session) = (body.to_string(), session.map(|id| format!("Mcp-Session-Id: {id}\r\n")));
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{}\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Content-Length: {}\r\n\r\n{body}",
        session.unwrap_or_default(),
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let id = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("mcp-session-id").then(|| value.to_owned())
    });
    (status, id, body.to_owned())
}

/// Opens a session, calls once in it, and goes without a word; its id, or the
/// status of the call.
async fn call_and_leave(url: &str) -> Result<String, u16> {
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "c", "version": "1" } } });
    let (_, id, _) = post(url, None, &initialize).await;
    let id = id.unwrap();
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    post(url, Some(&id), &ready).await;
    match post(url, Some(&id), &call_in_session()).await.0 {
        200 => Ok(id),
        status => Err(status),
    }
}

fn call_in_session() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "remember", "arguments": { "what": "a" } } })
}

#[tokio::test]
async fn f20_processes_are_bounded_and_the_longest_idle_session_ends_first() {
    tokio::join!(bounded(false), bounded(true));
}

/// With four connections at most, to a server over stdio or over HTTP.
fn at_most_four(options: &mut GatewayOptions) {
    (options.max_processes, options.max_sessions) = (4, 4);
}

async fn bounded(apart: bool) {
    let server = Remembering { apart, ..Remembering::default() };
    let gateway = gateway(&server, at_most_four).await;
    let url = listen(&gateway).await;
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(call_and_leave(&url).await.unwrap());
    }
    assert_eq!(gateway.connections(), 4);
    // A client that was there a moment ago has not gone.
    assert_eq!(call_and_leave(&url).await, Err(503));
    until_some(async || call_and_leave(&url).await.ok()).await;
    assert!(server.most.load(Ordering::SeqCst) <= 5, "one may end while another begins");
    let of = async |id: &str| post(&url, Some(id), &call_in_session()).await.0;
    assert_eq!(of(&sessions[0]).await, 404, "so that its client knows that all is forgotten");
    assert_eq!(of(&sessions[2]).await, 200);
}

#[tokio::test]
async fn f20_what_was_only_opened_ahead_goes_before_a_session() {
    let server = Remembering::default();
    let gateway = gateway(&server, |options| options.max_processes = 5).await;
    let url = listen(&gateway).await;
    let first = call_and_leave(&url).await.unwrap();
    call_and_leave(&url).await.unwrap();
    // Longer than a client counts as there.
    tokio::time::sleep(Duration::from_millis(2100)).await;
    let client = over_http(&url, None, Revision::NEWEST, Hooks::default()).await;
    assert_eq!(remember(&client, "a").await, "a");
    until(|| gateway.connections() == 4).await;
    call_and_leave(&url).await.unwrap();
    call_and_leave(&url).await.unwrap();
    assert_eq!(post(&url, Some(&first), &call_in_session()).await.0, 200);
}

#[tokio::test]
async fn f20_a_session_that_keeps_a_process_ends_soon_when_its_client_is_away() {
    let server = Remembering::default();
    let idle = Duration::from_millis(100);
    let gateway = gateway(&server, |options| options.session_idle = idle).await;
    let url = listen(&gateway).await;
    let there = over_http(&url, None, Revision::NEWEST_HANDSHAKE, Hooks::default()).await;
    assert_eq!(remember(&there, "a").await, "a");
    for _ in 0..10 {
        call_and_leave(&url).await.unwrap();
    }
    until(|| server.open() == 2).await;
    assert_eq!(remember(&there, "b").await, "a,b", "this one holds a stream open");
}

async fn until_some<T>(what: impl AsyncFn() -> Option<T>) -> T {
    loop {
        if let Some(some) = what().await {
            return some;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Begins a call whose server asks, and answers nothing; tells when it has been asked.
async fn ask_and_leave_open(url: &str) -> (tokio::task::JoinHandle<()>, oneshot::Receiver<()>) {
    let (asked, was_asked) = oneshot::channel();
    let asked = std::sync::Mutex::new(Some(asked));
    let handlers = Handlers::new().elicit(move |_| {
        asked.lock().unwrap().take().unwrap().send(()).unwrap();
        async {
            std::future::pending::<()>().await;
            Ok(ElicitResult::without_content(ElicitAction::Decline))
        }
    });
    let client = over_http(url, None, Revision::NEWEST, handlers.into()).await;
    let call = tokio::spawn(async move { drop(client.call_tool("ask", b"{}").await) });
    (call, was_asked)
}

/// Three calls that are parked at a gateway with four processes, so that none is
/// free, and nobody answers.
async fn parked_by_all(gateway: &Gateway, url: &str) -> Vec<tokio::task::JoinHandle<()>> {
    let mut parked = Vec::new();
    for _ in 0..3 {
        let (call, was_asked) = ask_and_leave_open(url).await;
        parked.push(call);
        was_asked.await.unwrap();
    }
    assert_eq!(gateway.parked().0, 3);
    parked
}

#[tokio::test]
async fn f22_where_none_is_free_the_call_that_was_parked_longest_is_given_up() {
    // For a call of its own, and for a session.
    for (revision, apart) in [
        (Revision::NEWEST, false),
        (Revision::NEWEST, true),
        (Revision::NEWEST_HANDSHAKE, false),
        (Revision::NEWEST_HANDSHAKE, true),
    ] {
        let server = Remembering { apart, ..Remembering::default() };
        let gateway = gateway(&server, at_most_four).await;
        let url = listen(&gateway).await;
        let parked = parked_by_all(&gateway, &url).await;
        let client = over_http(&url, None, revision, Hooks::default()).await;
        assert_eq!(remember(&client, "a").await, "a");
        assert_eq!(gateway.parked().0, 2, "one had to go");
        parked.iter().for_each(|call| call.abort());
    }
}

#[tokio::test]
async fn f22_who_waits_already_gets_the_connection_of_a_call_that_is_parked_later() {
    let server = Remembering::default();
    let gateway = gateway(&server, |options| options.max_processes = 4).await;
    let url = listen(&gateway).await;
    // Most of them wait for a connection before the first is parked.
    let calls = (0..10).map(|_| ask_and_leave_open(&url));
    for (_, was_asked) in futures_util::future::join_all(calls).await {
        was_asked.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_over_stdio_is_never_away() {
    let server = Remembering::default();
    let gateway = gateway(&server, |_| {}).await;
    let mut client = RawClient::of(gateway.clone());
    let what = json!({ "arguments": { "what": "a" } });
    client.call("remember", &what).await;
    tokio::time::sleep(Duration::from_secs(7200)).await;
    let answer = client.call("remember", &what).await;
    assert_eq!(answer["result"]["content"][0]["text"], "a,a");
}

/// A server that takes long to start, and then speaks as the other one.
#[derive(Clone)]
struct Late(Remembering, Arc<tokio::sync::Semaphore>);

impl Upstream for Late {
    fn tells_calls_apart(&self) -> bool {
        false
    }
}

impl Connector for Late {
    fn name(&self) -> &str {
        "late"
    }

    fn connect(
        &self,
        config: ClientConfig,
        hooks: Hooks,
    ) -> BoxFuture<'_, Result<Client, ConnectError>> {
        async move {
            self.1.acquire().await.unwrap().forget();
            self.0.connect(config, hooks).await
        }
        .boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn f11_clients_do_not_wait_for_a_server_that_takes_long_to_start() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let late = Late(Remembering::default(), Arc::new(tokio::sync::Semaphore::new(0)));
        let mut options = GatewayOptions::new(Implementation::new("gateway", "1"));
        options.startup_wait = Some(Duration::from_secs(10));
        let gateway = Gateway::open(late.clone(), options).await.unwrap();
        assert!(!gateway.is_ready());
        let mut client = RawClient::of(gateway.clone());
        if revision == "2025-11-25" {
            client
                .say(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize",
                    "params": { "protocolVersion": revision, "capabilities": {} } }))
                .await;
            let can = client.hear().await["result"]["capabilities"].clone();
            assert_eq!(can["tools"]["listChanged"], true, "{can}");
            client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        } else {
            let filter = json!({ "notifications": { "toolsListChanged": true } });
            client.ask("subscriptions/listen", filter).await;
            client.hear().await;
        }
        let id = client.ask("tools/list", json!({})).await;
        let list = client.hear().await;
        assert_eq!((&list["id"], &list["result"]["tools"]), (&json!(id), &json!([])));
        let what = json!({ "arguments": { "what": "a" } });
        let refused = client.call("remember", &what).await;
        let text = refused["error"]["message"].as_str().unwrap();
        assert!(text.contains("late") && text.contains("still starting"), "{text}");
        late.1.add_permits(9);
        while client.hear().await["method"] != "notifications/tools/list_changed" {}
        assert!(gateway.is_ready());
        assert_eq!(client.call("remember", &what).await["result"]["content"][0]["text"], "a");
    }
}

#[tokio::test]
async fn a_question_goes_to_the_one_client_of_its_connection() {
    let server = Remembering::default();
    let gateway = gateway(&server, |_| {}).await;
    let (mut one, mut two) = (RawClient::of(gateway.clone()), RawClient::of(gateway.clone()));
    let asked = one.call("ask", &json!({})).await;
    let what = json!({ "arguments": { "what": "b" } });
    assert_eq!(two.call("remember", &what).await["result"]["content"][0]["text"], "b");
    let accepted = json!({ "action": "accept", "content": {} });
    let done = one.call("ask", &answers(&asked, &accepted)).await;
    assert_eq!(done["result"]["content"][0]["text"], "asked");
}
