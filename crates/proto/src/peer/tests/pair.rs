//! The two engines joined by queues, and a clock that only moves when told.

use super::*;
use crate::rpc::Json;
use crate::types::RpcError;
use alloc::collections::VecDeque;

/// A client and a server, and everything that passes between them.
pub(super) struct Pair {
    pub(super) client: ClientPeer,
    pub(super) server: ServerPeer,
    pub(super) now: Duration,
    to_server: VecDeque<Bytes>,
    to_client: VecDeque<Bytes>,
    /// Requests that the server's application has not answered yet.
    pub(super) calls: Vec<Call>,
    pub(super) cancelled: Vec<CallKey>,
    /// What the client answered to the server's own requests.
    pub(super) answered: Vec<(AskKey, Result<Json, RpcError>)>,
    /// What the client told its driver.
    pub(super) heard: Vec<ClientOutput>,
    /// Every message, in the order of its arrival.
    pub(super) log: Vec<String>,
}

impl Pair {
    /// A connection that is open.
    pub(super) fn open(era: Era) -> Self {
        Self::with_capabilities(era, "{}")
    }

    /// The same with a client that offers something.
    pub(super) fn with_capabilities(era: Era, capabilities: &str) -> Self {
        let mut config = config();
        config.era = Some(era);
        config.capabilities = capabilities.into();
        let mut pair = Self {
            client: ClientPeer::new(config),
            server: ServerPeer::new(identity(), Limits::default()),
            now: Duration::ZERO,
            to_server: VecDeque::new(),
            to_client: VecDeque::new(),
            calls: Vec::new(),
            cancelled: Vec::new(),
            answered: Vec::new(),
            heard: Vec::new(),
            log: Vec::new(),
        };
        pair.client.connect(pair.now, None);
        pair.drive();
        match pair.heard.pop() {
            Some(ClientOutput::Ready(server)) => assert_eq!(server.era(), era),
            other => panic!("{other:?}"),
        }
        pair
    }

    /// Carries messages until nothing is left to carry.
    pub(super) fn drive(&mut self) {
        loop {
            self.client.handle_timeout(self.now);
            self.collect();
            let Some(bytes) = self.to_server.pop_front() else {
                let Some(bytes) = self.to_client.pop_front() else { return };
                self.log.push(format!("< {}", String::from_utf8_lossy(&bytes)));
                self.client.handle_input(self.now, Lane::Connection, bytes);
                continue;
            };
            self.log.push(format!("> {}", String::from_utf8_lossy(&bytes)));
            self.server.handle_input(Lane::Connection, bytes);
        }
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now += time;
        self.drive();
    }

    pub(super) fn call(&mut self, method: &str, params: &Value) -> u64 {
        let params = serde_json::to_vec(params).unwrap();
        self.client.call(self.now, method, &params, None, CallOptions::default())
    }

    pub(super) fn respond(&mut self, key: CallKey, body: &Value) {
        let body = serde_json::to_vec(body).unwrap();
        self.server.respond(key, Outcome::Result { body, has_meta: false });
        self.drive();
    }

    pub(super) fn resolved(&mut self, id: u64) -> Option<Result<Value, CallError>> {
        let at = self.heard.iter().position(
            |output| matches!(output, ClientOutput::Resolved(resolved, _) if *resolved == id),
        )?;
        match self.heard.remove(at) {
            ClientOutput::Resolved(_, result) => Some(result.map(|json| value(json.as_bytes()))),
            _ => None,
        }
    }

    fn collect(&mut self) {
        while let Some(output) = self.client.poll_output() {
            match output {
                ClientOutput::Send { bytes, .. } => self.to_server.push_back(bytes.into()),
                other => self.heard.push(other),
            }
        }
        while let Some(output) = self.server.poll_output() {
            match output {
                ServerOutput::Send { bytes, .. } => self.to_client.push_back(bytes.into()),
                ServerOutput::Call(call) => self.calls.push(call),
                ServerOutput::Cancel(key) => self.cancelled.push(key),
                ServerOutput::Answered(ask, answer) => self.answered.push((ask, answer)),
                ServerOutput::Notification(message) => panic!("told {}", message.method_name()),
                ServerOutput::AskReplied(..) | ServerOutput::LevelSet(_) => {}
                ServerOutput::Opened(_) => {}
                ServerOutput::Ignored(what) => panic!("our own client said {what}"),
            }
        }
    }
}
