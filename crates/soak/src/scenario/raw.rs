//! Requests of clients that do as they like.

use std::error::Error;
use std::net::SocketAddr;

use bytes::Bytes;
use carrick::net::{Body, HttpClient, Options};
use carrick::proto::sse::{Decoder, Event, Limits};
use http::{Request, Response};
use serde_json::{Value, json};

pub(super) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const SESSION: &str = "mcp-session-id";
const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// Largest answer that is read whole.
const LARGEST: usize = 1 << 20;

/// Where to send requests, and over which connections.
#[derive(Clone)]
pub(super) struct Target {
    http: HttpClient,
    address: SocketAddr,
}

impl Target {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self { http: HttpClient::new(Options::default()), address }
    }

    /// Opens a session; its id.
    pub(super) async fn open(&self) -> Result<String> {
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": LEGACY, "capabilities": { "elicitation": {}, "roots": {} },
            "clientInfo": { "name": "soak", "version": "1.0.0" },
        }});
        let response = self.post(&hello, &[]).await?;
        let id = response.headers().get(SESSION).ok_or("no session")?.to_str()?.to_owned();
        whole(response).await?;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let taken = self.post(&ready, &[(SESSION, &id)]).await?;
        if taken.status() != 202 {
            return Err(format!("notifications/initialized: {}", taken.status()).into());
        }
        whole(taken).await?;
        Ok(id)
    }

    /// Calls a tool in a session.
    pub(super) async fn call(
        &self,
        session: &str,
        id: u64,
        tool: &str,
        arguments: &Value,
    ) -> Result<Response<Body>> {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": tool, "arguments": arguments, "_meta": { "progressToken": id },
        }});
        self.post(&call, &[(SESSION, session)]).await
    }

    /// Calls a tool without a session. `more` are further parameters.
    pub(super) async fn call_alone(
        &self,
        id: u64,
        tool: &str,
        more: &Value,
    ) -> Result<Response<Body>> {
        let mut params = json!({ "name": tool, "arguments": {}, "_meta": {
            "progressToken": id,
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        }});
        for (name, value) in more.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let headers =
            [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", tool)];
        self.post(&call, &headers).await
    }

    /// The status of a request in a session.
    pub(super) async fn ping(&self, session: &str) -> Result<u16> {
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        let response = self.post(&ping, &[(SESSION, session)]).await?;
        let status = response.status().as_u16();
        whole(response).await?;
        Ok(status)
    }

    async fn post(&self, body: &Value, headers: &[(&str, &str)]) -> Result<Response<Body>> {
        let mut request = Request::post(format!("http://{}/mcp", self.address))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Ok(self.http.send(request.body(Bytes::from(body.to_string()))?).await?)
    }
}

/// Reads an answer to its end; its messages.
pub(super) async fn whole(response: Response<Body>) -> Result<Vec<Value>> {
    let events = response
        .headers()
        .get("content-type")
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    let bytes = response.into_body().collect(LARGEST).await?;
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    if !events {
        return Ok(vec![serde_json::from_slice(&bytes)?]);
    }
    let mut decoder = Decoder::new(Limits::default());
    decoder.push(&bytes);
    let mut messages = Vec::new();
    for event in decoder {
        let Event { data, .. } = event?;
        if !data.is_empty() {
            messages.push(serde_json::from_str(&data)?);
        }
    }
    Ok(messages)
}
