//! Requests and answers byte by byte, and servers to send them to.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use carrick::Server;
use carrick::proto::sse::{Decoder, Event, Limits};
use carrick::server::Service;
use carrick::transport::http::{AccessRules, Hosts, HttpServer, HttpServerOptions};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

pub(crate) const VERSION: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

/// Reads a file of the handed cases.
macro_rules! handed {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/handed/", $path))
    };
}
pub(crate) use handed;

/// A server that runs until it is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves with the default host rule.
pub(crate) async fn start(server: Server, options: HttpServerOptions) -> Running {
    serve_any(server, options).await
}

/// Serves what is not a server of the SDK.
pub(crate) async fn serve_any(service: impl Service, options: HttpServerOptions) -> Running {
    let bound = HttpServer::bind(service, ([127, 0, 0, 1], 0).into(), options).await.unwrap();
    let address = bound.local_addr();
    let task = tokio::spawn(async move {
        bound.serve(std::future::pending()).await.unwrap();
    });
    Running { address, task }
}

/// Serves the fixture to requests that name the host of the handed files.
pub(crate) async fn start_handed() -> Running {
    let mut options = HttpServerOptions::default();
    options.access = Some(AccessRules::new(Hosts::Listed(vec!["127.0.0.1:8000".into()])));
    start(carrick_testkit::fixture::server(), options).await
}

pub(crate) async fn start_fixture() -> Running {
    start(carrick_testkit::fixture::server(), HttpServerOptions::default()).await
}

/// An answer read whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    #[track_caller]
    pub(crate) fn error_code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {self:?}"))
    }

    pub(crate) fn is_events(&self) -> bool {
        self.headers["content-type"] == "text/event-stream"
    }

    /// The events of a body that is an event stream.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut decoder = Decoder::new(Limits::default());
        decoder.push(self.body.as_bytes());
        decoder.map(|event| event.unwrap()).collect()
    }
}

/// A connection to a server.
pub(crate) struct Wire {
    stream: TcpStream,
    read: Vec<u8>,
    decoder: Decoder,
}

impl Wire {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        Self::over(stream)
    }

    pub(crate) fn over(stream: TcpStream) -> Self {
        Self { stream, read: Vec::new(), decoder: Decoder::new(Limits::default()) }
    }

    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// False when the other side takes no more.
    pub(crate) async fn try_write(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).await.is_ok()
    }

    /// The start line and the headers, names in lower case.
    pub(crate) async fn head(&mut self) -> (String, BTreeMap<String, String>) {
        loop {
            if let Some(end) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8(self.read.drain(..end + 4).collect()).unwrap();
                let mut lines = head.lines();
                let start = lines.next().unwrap().to_owned();
                let pairs = lines.filter_map(|line| line.split_once(": "));
                let headers =
                    pairs.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
                return (start, headers);
            }
            assert!(self.fill().await, "the connection ended before a head: {:?}", self.read);
        }
    }

    /// A whole message: its start line, headers and body.
    pub(crate) async fn message(&mut self) -> (String, BTreeMap<String, String>, String) {
        let (start, headers) = self.head().await;
        let mut body = Vec::new();
        if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
            while let Some(chunk) = self.chunk().await {
                body.extend(chunk);
            }
        } else if let Some(length) = headers.get("content-length") {
            let length: usize = length.parse().unwrap();
            while self.read.len() < length {
                assert!(self.fill().await, "the connection ended inside a body");
            }
            body = self.read.drain(..length).collect();
        }
        (start, headers, String::from_utf8(body).unwrap())
    }

    pub(crate) async fn answer(&mut self) -> Answer {
        let (start, headers, body) = self.message().await;
        Answer { status: start.split(' ').nth(1).unwrap().parse().unwrap(), headers, body }
    }

    /// The next event of a chunked event stream; `None` at its end.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.decoder.next() {
                return Some(event.unwrap());
            }
            let chunk = self.chunk().await?;
            self.decoder.push(&chunk);
        }
    }

    /// Reads the head of an answer that is a stream, and its first event.
    pub(crate) async fn event_of_answer(&mut self) -> bool {
        self.head().await.0.contains("200") && self.event().await.is_some()
    }

    /// Whether the other side has closed the connection and left nothing.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.read.is_empty() && !self.fill().await
    }

    async fn chunk(&mut self) -> Option<Vec<u8>> {
        let end = loop {
            if let Some(end) = self.read.windows(2).position(|two| two == b"\r\n") {
                break end;
            }
            if !self.fill().await {
                return None;
            }
        };
        let size = std::str::from_utf8(&self.read[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        while self.read.len() < end + 2 + size + 2 {
            assert!(self.fill().await, "the connection ended inside a chunk");
        }
        let chunk = self.read[end + 2..end + 2 + size].to_vec();
        self.read.drain(..end + 2 + size + 2);
        (size > 0).then_some(chunk)
    }

    /// Reads some more and forgets it: how much; none at the end.
    pub(crate) async fn take(&mut self) -> Option<usize> {
        let read = std::mem::take(&mut self.read).len();
        if read > 0 {
            return Some(read);
        }
        self.fill().await.then_some(0)
    }

    async fn fill(&mut self) -> bool {
        matches!(self.stream.read_buf(&mut self.read).await, Ok(read) if read > 0)
    }
}

/// Sends raw bytes on a connection of their own and reads the whole answer.
pub(crate) async fn exchange(address: SocketAddr, request: impl AsRef<[u8]>) -> Answer {
    let mut wire = Wire::open(address).await;
    wire.write(request).await;
    wire.answer().await
}

/// A request with a JSON body (or none) and further header lines.
pub(crate) fn request(verb: &str, address: SocketAddr, headers: &[&str], body: &str) -> String {
    let mut text = format!("{verb} /mcp HTTP/1.1\r\nHost: {address}\r\n");
    if !body.is_empty() {
        text.push_str("Content-Type: application/json\r\n");
        text.push_str("Accept: application/json, text/event-stream\r\n");
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    text + "\r\n" + body
}

/// A POST with exactly these header lines besides host and length.
pub(crate) fn bare_post(address: SocketAddr, headers: &[&str], body: &str) -> String {
    let mut text =
        format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n", body.len());
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    text + "\r\n" + body
}

/// The body of a modern request.
pub(crate) fn modern_body(method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{comma}"_meta":{{"io.modelcontextprotocol/protocolVersion":"{VERSION}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

/// A modern call of a tool, with the headers it needs.
pub(crate) fn modern_call(
    address: SocketAddr,
    tool: &str,
    arguments: &str,
    more: &[&str],
) -> String {
    let body = modern_body("tools/call", &format!(r#""name":"{tool}","arguments":{arguments}"#));
    let name = format!("Mcp-Name: {tool}");
    let version = format!("MCP-Protocol-Version: {VERSION}");
    let mut headers = vec![version.as_str(), "Mcp-Method: tools/call", name.as_str()];
    headers.extend(more);
    request("POST", address, &headers, &body)
}

/// A modern request without a name.
pub(crate) fn modern(address: SocketAddr, method: &str) -> String {
    modern_in(VERSION, address, method)
}

/// The same in any revision.
pub(crate) fn modern_in(version: &str, address: SocketAddr, method: &str) -> String {
    let version_header = format!("MCP-Protocol-Version: {version}");
    let method_header = format!("Mcp-Method: {method}");
    let body = modern_body(method, "").replace(VERSION, version);
    request("POST", address, &[&version_header, &method_header], &body)
}
