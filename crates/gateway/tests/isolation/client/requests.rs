//! A client whose requests come each by itself, as over HTTP without a session.

use super::known::Known;
use carrick::ServeOptions;
use carrick::server::{ConnectionInfo, Principal, TransportKind};
use carrick::transport::LineTransport;
use carrick_gateway::Gateway;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};
use tokio::task::AbortHandle;

/// Its requests; they are cut when this is dropped.
pub(super) struct Requests {
    gateway: Gateway,
    principal: Option<Principal>,
    known: Arc<Known>,
    running: BTreeMap<u64, AbortHandle>,
}

impl Requests {
    pub(super) fn new(gateway: Gateway, principal: Option<Principal>, known: Arc<Known>) -> Self {
        Self { gateway, principal, known, running: BTreeMap::new() }
    }

    pub(super) fn send(&mut self, message: &Value) {
        // Without a session nothing but requests has anybody to go to.
        let Some(id) = message["id"].as_u64() else { return };
        let mut info = ConnectionInfo::new(TransportKind::Http).with_stateless_request();
        if let Some(principal) = &self.principal {
            info = info.with_principal(principal.clone());
        }
        let stream = serve(&self.gateway, info, Duration::ZERO);
        let known = self.known.clone();
        let task = tokio::spawn(exchange(stream, format!("{message}\n"), known));
        self.running.insert(id, task.abort_handle());
    }

    /// Waits for an answer no longer.
    pub(super) fn give_up(&mut self, id: u64) {
        if let Some(request) = self.running.remove(&id) {
            request.abort();
        }
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        self.running.values().for_each(AbortHandle::abort);
    }
}

/// The client's end of a pipe to the gateway. `grace`: how long calls go on
/// when it has been closed.
pub(super) fn serve(gateway: &Gateway, info: ConnectionInfo, grace: Duration) -> DuplexStream {
    let (ours, theirs) = duplex(1 << 20);
    let mut options = ServeOptions::default();
    (options.connection, options.grace) = (Some(Arc::new(info)), grace);
    let gateway = gateway.clone();
    tokio::spawn(async move {
        let (reader, writer) = split(theirs);
        // How it ended the client sees.
        let _ = carrick::serve_with(&gateway, LineTransport::new(reader, writer), options).await;
    });
    ours
}

/// Sends a request, and hears what comes up to its answer.
async fn exchange(mut stream: DuplexStream, request: String, known: Arc<Known>) {
    if stream.write_all(request.as_bytes()).await.is_err() {
        return;
    }
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    while stream.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
        if known.message(&line) {
            return;
        }
        line.clear();
    }
}
