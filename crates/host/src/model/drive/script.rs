//! Test support: scripted HTTP servers, and answers as readable text.

use core::time::Duration;
use std::collections::VecDeque;

use carrick::net::{HttpClient, Options};
use carrick::proto::sse;
use futures_util::StreamExt;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::{Connection, Decode, Fault, Limits};
use crate::model::{Event, Model, ModelError, Request, Secret};

/// The key in every test; it must never show.
pub(in crate::model) const KEY: &str = "sk-very-secret";

/// What a server answers: a head, and the chunks of the body in the order of the writes.
pub(in crate::model) struct Reply {
    head: String,
    chunks: Vec<Vec<u8>>,
    /// Ends the connection in the middle of the body.
    cut: bool,
}

impl Reply {
    /// A status with a whole body.
    pub(in crate::model) fn status(status: u16, headers: &str, body: &str) -> Self {
        let head = format!("HTTP/1.1 {status} X\r\n{headers}");
        Self { head, chunks: vec![body.as_bytes().to_vec()], cut: false }
    }

    /// An event stream, written in the given pieces.
    pub(in crate::model) fn stream<B: AsRef<[u8]>>(pieces: &[B]) -> Self {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n".to_owned();
        let chunks = pieces.iter().map(|piece| piece.as_ref().to_vec()).collect();
        Self { head, chunks, cut: false }
    }

    /// No answer at all: the connection ends.
    pub(in crate::model) fn hang_up() -> Self {
        Self { head: String::new(), chunks: Vec::new(), cut: true }
    }

    pub(in crate::model) fn cut(mut self) -> Self {
        self.cut = true;
        self
    }
}

/// A request as a scripted server got it.
pub(in crate::model) struct Received {
    /// Request line and headers, in lower case.
    pub(in crate::model) head: String,
    /// The body; null if there is none.
    pub(in crate::model) body: Value,
    /// The number of the connection it came on, from 0.
    pub(in crate::model) connection: usize,
}

/// Starts a server that gives each request the next reply, and ends after the last.
pub(in crate::model) async fn serve(replies: Vec<Reply>) -> (String, JoinHandle<Vec<Received>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let mut received = Vec::new();
        let mut open: Option<TcpStream> = None;
        let mut connections = 0;
        let mut replies = VecDeque::from(replies);
        while let Some(reply) = replies.front() {
            let mut stream = match open.take() {
                Some(stream) => stream,
                None => {
                    connections += 1;
                    listener.accept().await.unwrap().0
                }
            };
            // A client may close a kept connection and come back on a new one.
            let Some(request) = read_request(&mut stream).await else { continue };
            received.push(Received { connection: connections - 1, ..request });
            if write_reply(&mut stream, reply).await {
                open = Some(stream);
            }
            replies.pop_front();
        }
        received
    });
    (base, task)
}

async fn write_reply(stream: &mut TcpStream, reply: &Reply) -> bool {
    if reply.head.is_empty() {
        return false;
    }
    stream.set_nodelay(true).unwrap();
    let head = format!("{}transfer-encoding: chunked\r\n\r\n", reply.head);
    let mut sent = stream.write_all(head.as_bytes()).await.is_ok();
    for chunk in reply.chunks.iter().filter(|chunk| !chunk.is_empty()) {
        let mut framed = format!("{:x}\r\n", chunk.len()).into_bytes();
        framed.extend_from_slice(chunk);
        framed.extend_from_slice(b"\r\n");
        // A client that has read enough may be gone.
        sent = sent && stream.write_all(&framed).await.is_ok();
        tokio::task::yield_now().await;
    }
    sent && !reply.cut && stream.write_all(b"0\r\n\r\n").await.is_ok()
}

pub(in crate::model) async fn read_request(stream: &mut TcpStream) -> Option<Received> {
    let mut got = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&got);
        if let Some(end) = text.find("\r\n\r\n") {
            let head = text[..end].to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .map_or(0, |length| length.parse::<usize>().unwrap());
            if got.len() >= end + 4 + length {
                let body = serde_json::from_slice(&got[end + 4..]).unwrap_or(Value::Null);
                return Some(Received { head, body, connection: 0 });
            }
        }
        if stream.read_buf(&mut got).await.unwrap_or(0) == 0 {
            return None;
        }
    }
}

/// A connection to a scripted server. Its timeouts are out of the way of a paused clock.
pub(in crate::model) fn connection(base: &str) -> Connection {
    Connection {
        client: client(),
        base_url: base.to_owned(),
        key: Secret::new(KEY),
        limits: Limits::default(),
    }
}

pub(in crate::model) fn client() -> HttpClient {
    let mut options = Options::default();
    options.connect_timeout = Duration::from_secs(100_000);
    HttpClient::new(options)
}

/// Asks a model and gives what came before the end or the error.
pub(in crate::model) async fn ask(
    model: &dyn Model,
    request: &Request,
) -> (String, Option<ModelError>) {
    let mut stream = model.stream(request);
    let mut events = Vec::new();
    let mut failure = None;
    while let Some(item) = stream.next().await {
        assert!(failure.is_none(), "an error ends the stream");
        match item {
            Ok(event) => events.push(event),
            Err(error) => failure = Some(error),
        }
    }
    (show(&events), failure)
}

/// Decodes an event stream cut into pieces, as the driver does.
pub(in crate::model) fn decode<B: AsRef<[u8]>>(
    decoder: &mut dyn Decode,
    pieces: impl IntoIterator<Item = B>,
) -> Result<String, Fault> {
    let mut events = VecDeque::new();
    let mut reader = sse::Decoder::new(sse::Limits::default());
    for piece in pieces {
        reader.push(piece.as_ref());
        for event in reader.by_ref() {
            if !decoder.is_done() {
                decoder.event(&event.unwrap().data, &mut events)?;
            }
        }
    }
    if !decoder.is_done() {
        decoder.end(&mut events)?;
    }
    Ok(show(events.make_contiguous()))
}

/// Events as text, one a line; runs of text are joined, since where they are cut means nothing.
pub(in crate::model) fn show(events: &[Event]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for event in events {
        let line = match event {
            Event::Text(text) => match lines.last_mut() {
                Some(last) if last.starts_with("text ") => {
                    last.push_str(text);
                    continue;
                }
                _ => format!("text {text}"),
            },
            Event::Reasoning(text) => match lines.last_mut() {
                Some(last) if last.starts_with("reasoning ") => {
                    last.push_str(text);
                    continue;
                }
                _ => format!("reasoning {text}"),
            },
            Event::Opaque(opaque) => format!("opaque {} {}", opaque.model, opaque.raw),
            Event::ToolCall(call) => format!("call {} {} {}", call.id, call.name, call.arguments),
            Event::BrokenCall(call) => {
                format!("broken {} {} {:?}: {}", call.id, call.name, call.arguments, call.problem)
            }
            Event::Usage(usage) => format!("usage {} {}", usage.input_tokens, usage.output_tokens),
            Event::Stop(reason) => format!("stop {reason:?}"),
        };
        lines.push(line);
    }
    lines.join("\n")
}

/// Cuts bytes at the given places (taken modulo the length).
pub(in crate::model) fn pieces(bytes: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|ends| bytes[ends[0]..ends[1]].to_vec()).collect()
}
