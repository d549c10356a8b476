//! A client at an address of HTTP, with a session or without.

use super::known::Known;
use super::says;
use bytes::Bytes;
use carrick::net::HttpClient;
use http::{HeaderMap, Method, Request};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::task::AbortHandle;

/// Its exchanges; they are cut when this is dropped.
pub(super) struct Posts {
    http: HttpClient,
    url: String,
    known: Arc<Known>,
    exchanges: BTreeMap<u64, AbortHandle>,
    others: Vec<AbortHandle>,
}

impl Posts {
    pub(super) fn new(http: HttpClient, url: String, known: Arc<Known>) -> Self {
        Self { http, url, known, exchanges: BTreeMap::new(), others: Vec::new() }
    }

    pub(super) fn send(&mut self, message: &Value) {
        let meta = &message["params"]["_meta"];
        let modern = meta["io.modelcontextprotocol/protocolVersion"].is_string();
        let mut request =
            self.request(Method::POST, if modern { says::MODERN } else { says::LEGACY });
        request = request.header("content-type", "application/json");
        if modern && let Some(method) = message["method"].as_str() {
            request = request.header("mcp-method", method);
            let params = &message["params"];
            let named = params["name"].as_str().or(params["uri"].as_str());
            if let Some(name) = named {
                request = request.header("mcp-name", name);
            }
        }
        let request = request.body(Bytes::from(message.to_string())).unwrap();
        let task = self.exchange(request);
        match message["id"].as_u64().filter(|_| !message["method"].is_null()) {
            Some(id) => drop(self.exchanges.insert(id, task)),
            None => self.others.push(task),
        }
    }

    /// Opens the stream of the server's own messages, if it is wanted.
    pub(super) fn listen(&mut self, wanted: bool) {
        if wanted {
            let request = self.request(Method::GET, says::LEGACY).body(Bytes::new()).unwrap();
            let task = self.exchange(request);
            self.others.push(task);
        }
    }

    /// Waits for an answer no longer.
    pub(super) fn give_up(&mut self, id: u64) {
        if let Some(exchange) = self.exchanges.remove(&id) {
            exchange.abort();
        }
    }

    fn request(&self, method: Method, revision: &str) -> http::request::Builder {
        let accept = match method {
            Method::GET => "text/event-stream",
            _ => "application/json, text/event-stream",
        };
        let mut request = Request::builder()
            .method(method)
            .uri(&self.url)
            .header("accept", accept)
            .header("mcp-protocol-version", revision);
        if let Some(session) = self.known.session() {
            request = request.header("mcp-session-id", session);
        }
        request
    }

    fn exchange(&self, request: Request<Bytes>) -> AbortHandle {
        let (http, known) = (self.http.clone(), self.known.clone());
        tokio::spawn(async move {
            let Ok(response) = http.send(request).await else { return };
            heard(&known, response.headers());
            if response.status() == 404 {
                known.set_gone();
            }
            let events = response.headers().get("content-type");
            let events = events.is_some_and(|kind| kind == "text/event-stream");
            let mut body = response.into_body();
            let mut rest = Vec::new();
            while let Ok(Some(chunk)) = body.chunk().await {
                rest.extend_from_slice(&chunk);
                known.raw(&rest);
                if events {
                    take_events(&known, &mut rest);
                }
            }
            if !events && rest.first() == Some(&b'{') {
                known.message(&rest);
            }
        })
        .abort_handle()
    }
}

impl Drop for Posts {
    fn drop(&mut self) {
        let all = self.exchanges.values().chain(&self.others);
        all.for_each(AbortHandle::abort);
    }
}

fn heard(known: &Known, headers: &HeaderMap) {
    for value in headers.values() {
        known.raw(value.as_bytes());
    }
    if let Some(session) = headers.get("mcp-session-id") {
        known.set_session(session.to_str().unwrap());
    }
}

/// Takes whole events out of what has arrived.
fn take_events(known: &Known, rest: &mut Vec<u8>) {
    while let Some(end) = memchr::memmem::find(rest, b"\n\n") {
        let event: Vec<u8> = rest.drain(..end + 2).collect();
        let lines = event.split(|byte| *byte == b'\n');
        let data: Vec<_> = lines.filter_map(|line| line.strip_prefix(b"data:")).collect();
        let data = data.join(&b'\n');
        if !data.trim_ascii().is_empty() {
            known.message(data.trim_ascii());
        }
    }
}
