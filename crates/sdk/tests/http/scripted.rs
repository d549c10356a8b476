//! A server that answers as a test says.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::raw::Wire;

/// A request that the server received.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) verb: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Seen {
    /// The method of the message in the body; the verb when there is none.
    pub(crate) fn method(&self) -> String {
        let body: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        body["method"].as_str().map_or_else(|| self.verb.clone(), str::to_owned)
    }

    /// The id of the message in the body, as JSON.
    pub(crate) fn id(&self) -> String {
        let body: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        body["id"].to_string()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// The server; it ends when it is dropped.
pub(crate) struct Scripted {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    count: watch::Receiver<usize>,
    connections: Arc<Mutex<usize>>,
    task: JoinHandle<()>,
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Scripted {
    /// Answers every request by the bytes that `answer` gives, and then closes
    /// the connection if they say so.
    pub(crate) async fn start(answer: impl Fn(&Seen) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (seen, connections) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(0)));
        let (counter, count) = watch::channel(0);
        let state = (Arc::new(answer), Arc::clone(&seen), Arc::new(counter));
        let accepted = Arc::clone(&connections);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                *accepted.lock().unwrap() += 1;
                let (answer, seen, counter) = state.clone();
                tokio::spawn(async move {
                    let mut wire = Wire::over(stream);
                    while !wire.is_closed().await {
                        let (start, headers, body) = wire.message().await;
                        let mut words = start.split(' ').map(str::to_owned);
                        let verb = words.next().unwrap();
                        let path = words.next().unwrap();
                        let request = Seen { verb, path, headers, body };
                        let bytes = answer(&request);
                        seen.lock().unwrap().push(request);
                        counter.send_modify(|count| *count += 1);
                        wire.write(&bytes).await;
                        if bytes.to_lowercase().contains("connection: close") {
                            return;
                        }
                    }
                });
            }
        });
        Self { url, seen, count, connections, task }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The methods received so far (verbs, where there was no message).
    pub(crate) fn methods(&self) -> Vec<String> {
        self.seen().iter().map(Seen::method).collect()
    }

    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }

    /// Waits until the requests so far satisfy a condition.
    pub(crate) async fn wait_until(&self, mut condition: impl FnMut(&[Seen]) -> bool) {
        let mut count = self.count.clone();
        count.wait_for(|_| condition(&self.seen.lock().unwrap())).await.unwrap();
    }
}

/// An answer with a JSON body.
pub(crate) fn json(status: u16, more: &[&str], body: &str) -> String {
    let mut text = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
        body.len()
    );
    for header in more {
        text.push_str(header);
        text.push_str("\r\n");
    }
    text + "\r\n" + body
}

/// An answer without a body.
pub(crate) fn empty(status: u16) -> String {
    format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n")
}

/// An event stream that ends with the connection.
pub(crate) fn events(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{body}")
}

/// A response with this result.
pub(crate) fn result(seen: &Seen, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, seen.id())
}

/// The same as a whole answer.
pub(crate) fn answer(seen: &Seen, of: &str) -> String {
    json(200, &[], &result(seen, of))
}

/// What a modern server answers to the probe.
pub(crate) const DISCOVERED: &str =
    r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#;

/// What a legacy server answers to the handshake.
pub(crate) const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;

/// A tool result.
pub(crate) const TOOL_OK: &str =
    r#"{"resultType":"complete","content":[{"type":"text","text":"ok"}]}"#;
