//! A client and a server that a test plays message by message.

use bytes::Bytes;
use carrick::Client;
use carrick::client::{ClientConfig, Hooks};
use carrick::proto::method::Method;
use carrick::proto::peer::Lane;
use carrick::server::Service;
use carrick::transport::{Event, LineTransport, Outgoing, Transport};
use carrick_gateway::{ConnectError, Connector, Upstream};
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};
use tokio::sync::Notify;

pub(crate) const MODERN: &str = "2026-07-28";

/// A client of no revision in particular.
pub(crate) struct RawClient {
    stream: BufReader<DuplexStream>,
    next: u64,
}

impl RawClient {
    pub(crate) fn of(service: impl Service) -> Self {
        let (ours, theirs) = duplex(1 << 20);
        let (reader, writer) = split(theirs);
        tokio::spawn(
            async move { carrick::serve(&service, LineTransport::new(reader, writer)).await },
        );
        Self { stream: BufReader::new(ours), next: 1 }
    }

    pub(crate) async fn say(&mut self, message: &Value) {
        self.stream.write_all(message.to_string().as_bytes()).await.unwrap();
        self.stream.write_all(b"\n").await.unwrap();
    }

    pub(crate) async fn hear(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.stream.read_line(&mut line).await.unwrap() > 0, "the gateway has gone");
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a request that needs no session; its id.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.ask_with(method, params, json!({})).await
    }

    /// The same with more in `_meta`.
    pub(crate) async fn ask_with(&mut self, method: &str, mut params: Value, meta: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        params["_meta"] = meta;
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "elicitation": {}, "sampling": {} });
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.say(&request).await;
        id
    }

    /// The same with its answer; what comes before is passed over.
    pub(crate) async fn call(&mut self, tool: &str, more: &Value) -> Value {
        let mut params = json!({ "name": tool, "arguments": {} });
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        let id = self.ask("tools/call", params).await;
        loop {
            let message = self.hear().await;
            if message["id"] == id {
                return message;
            }
        }
    }
}

/// What a retry carries: the state that came, and an answer to each question.
pub(crate) fn answers(asked: &Value, answer: &Value) -> Value {
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let requests = result["inputRequests"].as_object().unwrap();
    let answers: serde_json::Map<_, _> =
        requests.keys().map(|key| (key.clone(), answer.clone())).collect();
    json!({ "requestState": result["requestState"], "inputResponses": answers })
}

/// A server of sessions that says which call each message belongs to, and asks
/// in the middle of every call.
#[derive(Clone, Default)]
pub(crate) struct Asking {
    heard: Arc<Mutex<Heard>>,
    lines: Arc<Mutex<Vec<Line>>>,
    changed: Arc<Notify>,
}

/// One connection to it.
#[derive(Clone)]
struct Line {
    heard: Arc<Mutex<Heard>>,
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    waker: Option<Waker>,
}

/// What it has heard.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) calls: usize,
    pub(crate) answers: usize,
    pub(crate) refusals: usize,
    pub(crate) cancels: usize,
    pub(crate) connections: usize,
    pub(crate) closed: usize,
}

impl Asking {
    pub(crate) fn heard(&self) -> Heard {
        self.heard.lock().unwrap().clone()
    }

    /// Waits until so many connections have been closed in good order.
    pub(crate) async fn closed(&self, connections: usize) {
        self.wait(|heard| heard.closed >= connections).await;
    }

    /// Waits until so many calls have been cancelled.
    pub(crate) async fn cancelled(&self, calls: usize) {
        self.wait(|heard| heard.cancels >= calls).await;
    }

    /// Waits until so many questions have been refused.
    pub(crate) async fn refused(&self, questions: usize) {
        self.wait(|heard| heard.refusals >= questions).await;
    }

    async fn wait(&self, until: impl Fn(&Heard) -> bool) {
        loop {
            let changed = self.changed.notified();
            if until(&self.heard()) {
                return;
            }
            changed.await;
        }
    }

    /// Every connection breaks.
    pub(crate) fn break_down(&self) {
        for line in self.lines.lock().unwrap().drain(..) {
            let mut state = line.state.lock().unwrap();
            state.events.push_back(Event::Closed("it broke down".into()));
            state.wake();
        }
    }
}

impl State {
    fn tell(&mut self, lane: Lane, message: &Value) {
        let bytes = Bytes::from(message.to_string());
        self.events.push_back(Event::Message { lane, bytes });
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Line {
    fn take(&self, lane: Lane, message: &Value) {
        let (mut heard, mut state) = (self.heard.lock().unwrap(), self.state.lock().unwrap());
        let (id, method) = (&message["id"], message["method"].as_str());
        match method.map(|name| Method::from_name(name.as_bytes())) {
            Some(Method::Initialize) => {
                heard.connections += 1;
                let result = json!({ "protocolVersion": "2025-11-25", "capabilities":
                    { "tools": { "listChanged": true }, "novel": { "a": 1.5 } },
                    "serverInfo": { "name": "asking", "version": "1", "odd": true } });
                state.tell(lane, &json!({ "jsonrpc": "2.0", "id": id, "result": result }));
            }
            Some(Method::ToolsCall | Method::ToolsList) => {
                heard.calls += 1;
                let params = json!({ "message": "?", "requestedSchema":
                    { "type": "object", "properties": {} } });
                state.tell(
                    lane,
                    &json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create",
                        "params": params }),
                );
            }
            Some(Method::Cancelled) => heard.cancels += 1,
            Some(Method::ServerDiscover) => {
                let error = json!({ "code": -32601, "message": "no" });
                state.tell(lane, &json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            }
            Some(_) => {}
            None if message["error"].is_object() => heard.refusals += 1,
            None => {
                heard.answers += 1;
                let result = json!({ "content": [{ "type": "text",
                    "text": message["result"].to_string() }] });
                // A question has the id of its call.
                let call = Lane::Exchange(id.as_u64().unwrap());
                state.tell(call, &json!({ "jsonrpc": "2.0", "id": id, "result": result }));
            }
        }
    }
}

impl Transport for Line {
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        let mut state = self.state.lock().unwrap();
        state.waker = Some(cx.waker().clone());
        state.events.pop_front().map_or(Poll::Pending, Poll::Ready)
    }

    fn send(&mut self, message: Outgoing) {
        let value = serde_json::from_slice(&message.bytes).unwrap();
        self.take(message.lane, &value);
        self.changed.notify_waiters();
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn queued(&self) -> usize {
        0
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<()> {
        self.heard.lock().unwrap().closed += 1;
        self.changed.notify_waiters();
        Poll::Ready(())
    }
}

impl Upstream for Asking {
    fn tells_calls_apart(&self) -> bool {
        true
    }
}

impl Connector for Asking {
    fn name(&self) -> &str {
        "asking"
    }

    fn connect(
        &self,
        config: ClientConfig,
        hooks: Hooks,
    ) -> BoxFuture<'_, Result<Client, ConnectError>> {
        let (heard, changed) = (self.heard.clone(), self.changed.clone());
        let line = Line { heard, state: Arc::default(), changed };
        self.lines.lock().unwrap().push(line.clone());
        async move { Client::connect(line, config, hooks).await.map_err(ConnectError::from) }
            .boxed()
    }
}
