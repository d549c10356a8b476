//! A client that says what a test wants.

use super::*;
use crate::transport::{Event, MemoryTransport, Outgoing, Transport};
use carrick_proto::peer::Lane;
use std::future::poll_fn;

pub(super) const NEW: &str = "2026-07-28";
pub(super) const ID: &str = "io.modelcontextprotocol/subscriptionId";

/// One connection to a server.
pub(super) struct Talk {
    transport: MemoryTransport,
    /// What the server said of itself.
    pub(super) capabilities: Value,
    meta: Option<Value>,
    last: u64,
}

impl Talk {
    /// A connection in this revision, ready for requests.
    pub(super) async fn with(server: &Server, revision: &str) -> Self {
        let (transport, theirs) = memory();
        let server = server.clone();
        tokio::spawn(async move { serve(&server, theirs).await });
        let mut talk = Self::over(transport);
        let result = if revision == NEW {
            talk.ask("server/discover", json!({})).await
        } else {
            talk.meta = None;
            let hello = json!({ "protocolVersion": revision, "capabilities": {} });
            let result = talk.ask("initialize", hello).await;
            talk.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
            result
        };
        talk.capabilities = result["result"]["capabilities"].clone();
        talk
    }

    /// One over a connection of the test's, in the newest revision.
    pub(super) fn over(transport: MemoryTransport) -> Self {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": NEW,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        Self { transport, capabilities: Value::Null, meta: Some(meta), last: 0 }
    }

    /// A request, without waiting for what it brings.
    pub(super) fn begin(&mut self, id: &Value, method: &str, mut params: Value) {
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    /// A request and the next message, which must be its answer.
    pub(super) async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = json!(self.last);
        self.begin(&id, method, params);
        let answer = self.next().await;
        assert_eq!(answer["id"], id, "{method}: {answer}");
        answer
    }

    /// The same of a request that succeeds.
    pub(super) async fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params).await;
        assert!(answer["result"].is_object(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The code of the error that answers a request.
    pub(super) async fn code(&mut self, method: &str, params: Value) -> i64 {
        let answer = self.ask(method, params).await;
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {answer}"))
    }

    /// Listens, and hands out what was agreed to.
    pub(super) async fn listen(&mut self, id: Value, filter: Value) -> Value {
        self.begin(&id, "subscriptions/listen", json!({ "notifications": filter }));
        let first = self.next().await;
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
        assert_eq!(first["params"]["_meta"][ID], id);
        first["params"]["notifications"].clone()
    }

    pub(super) fn say(&mut self, message: &Value) {
        let bytes = message.to_string().into_bytes();
        self.transport.send(Outgoing::from_server(Lane::Connection, bytes));
    }

    /// The next message.
    pub(super) async fn next(&mut self) -> Value {
        let event = poll_fn(|cx| {
            let _ = self.transport.poll_flush(cx);
            self.transport.poll_recv(cx)
        });
        match event.await {
            Event::Message { bytes, .. } => serde_json::from_slice(&bytes).unwrap(),
            other => panic!("{other:?}"),
        }
    }
}
