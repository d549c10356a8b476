//! Both engines over a network that is a pair of queues and a clock that is a
//! number: no sockets, no sleeping.

mod asks;
mod calls;
mod cases;
mod client;
mod forward;
mod listen;
mod listen_client;
mod opening;
mod pair;
mod reopen;
mod revisions;
mod rounds;
mod server;
mod spoken;

use super::*;
use crate::rpc::Limits;
use crate::types::{Implementation, ServerCapabilities};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use alloc::{format, vec};
use bytes::Bytes;
use core::time::Duration;
use serde_json::{Value, json};
use std::string::ToString;

const SECOND: Duration = Duration::from_secs(1);

fn identity() -> Arc<Identity> {
    let capabilities: ServerCapabilities =
        serde_json::from_value(json!({ "tools": {}, "resources": {}, "logging": {} })).unwrap();
    let info = Implementation::new("test-server", "1");
    Arc::new(Identity::new(&info, &capabilities, Some("be kind")).unwrap())
}

fn config() -> ClientConfig {
    ClientConfig::new(Implementation::new("test-client", "2"))
}

fn value(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// What a modern request carries.
fn meta(revision: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A client engine alone, with a test for a server.
struct Client {
    peer: ClientPeer,
    now: Duration,
    /// Messages the client has sent and the test has not yet looked at.
    sent: Vec<Value>,
    /// The exchange of the last one.
    lane: Lane,
    /// What it told its driver besides.
    heard: Vec<ClientOutput>,
}

impl Client {
    fn new(config: ClientConfig) -> Self {
        let mut client = Self {
            peer: ClientPeer::new(config),
            now: Duration::ZERO,
            sent: Vec::new(),
            lane: Lane::Connection,
            heard: Vec::new(),
        };
        client.peer.connect(client.now, None);
        client.drain();
        client
    }

    /// One that has shaken hands, or discovered, with a server of this revision.
    fn connected(revision: &str) -> Self {
        Self::connected_as(config(), revision)
    }

    fn connected_as(config: ClientConfig, revision: &str) -> Self {
        let mut client = Self::new(config);
        let probe = client.take_one();
        if revision == crate::revision::Revision::NEWEST.date() {
            client.answer(&probe, json!({ "supportedVersions": [revision], "capabilities": {} }));
        } else {
            client.fail(&probe, -32601);
            let hello = client.take_one();
            client.answer(&hello, initialized(revision));
        }
        assert!(matches!(client.heard.remove(0), ClientOutput::Ready(_)));
        assert!(client.heard.is_empty());
        client.sent.clear();
        client
    }

    fn drain(&mut self) {
        while let Some(output) = self.peer.poll_output() {
            match output {
                ClientOutput::Send { bytes, lane, .. } => {
                    self.lane = lane;
                    self.sent.push(value(&bytes));
                }
                other => self.heard.push(other),
            }
        }
    }

    /// The one message that the client has sent since the last look.
    fn take_one(&mut self) -> Value {
        assert_eq!(self.sent.len(), 1, "{:?}", self.sent);
        self.sent.remove(0)
    }

    fn call(&mut self, method: &str, params: Value, options: CallOptions) -> (u64, Value) {
        let params = serde_json::to_vec(&params).unwrap();
        let id = self.peer.call(self.now, method, &params, None, options);
        self.drain();
        (id, self.sent.pop().unwrap_or_default())
    }

    fn say(&mut self, line: &str) {
        self.say_on(Lane::Connection, line);
    }

    fn say_on(&mut self, lane: Lane, line: &str) {
        self.peer.handle_input(self.now, lane, Bytes::copy_from_slice(line.as_bytes()));
        self.drain();
    }

    fn answer(&mut self, request: &Value, result: Value) {
        let response = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        self.say(&response.to_string());
    }

    fn fail(&mut self, request: &Value, code: i64) {
        self.fail_with(request, json!({ "code": code, "message": "no" }));
    }

    fn fail_with(&mut self, request: &Value, error: Value) {
        let response = json!({ "jsonrpc": "2.0", "id": request["id"], "error": error });
        self.say(&response.to_string());
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.peer.handle_timeout(self.now);
        self.drain();
    }

    fn ready(&mut self) -> ServerDescription {
        match self.heard.pop() {
            Some(ClientOutput::Ready(description)) => description,
            other => panic!("expected the connection to be open, got {other:?}"),
        }
    }

    fn failed(&mut self) -> CallError {
        match self.heard.pop() {
            Some(ClientOutput::Failed(error)) => error,
            other => panic!("expected connecting to fail, got {other:?}"),
        }
    }

    fn resolved(&mut self, id: u64) -> Result<Value, CallError> {
        let at = self.heard.iter().position(
            |output| matches!(output, ClientOutput::Resolved(resolved, _) if *resolved == id),
        );
        let at = at.unwrap_or_else(|| panic!("{id} is not resolved: {:?}", self.heard));
        match self.heard.remove(at) {
            ClientOutput::Resolved(_, result) => result.map(|json| value(json.as_bytes())),
            _ => unreachable!(),
        }
    }
}

fn initialized(revision: &str) -> Value {
    json!({
        "protocolVersion": revision,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "old", "version": "1" },
    })
}

/// A server engine alone, with a test for a client and for an application.
struct Server {
    identity: Arc<Identity>,
    peer: ServerPeer,
    sent: Vec<Value>,
    calls: Vec<Call>,
    cancelled: Vec<CallKey>,
    ignored: Vec<String>,
}

impl Server {
    fn new() -> Self {
        Self::of(identity())
    }

    fn offering(capabilities: &Value) -> Self {
        let capabilities: ServerCapabilities =
            serde_json::from_value(capabilities.clone()).unwrap();
        let info = Implementation::new("test-server", "1");
        Self::of(Arc::new(Identity::new(&info, &capabilities, None).unwrap()))
    }

    fn of(identity: Arc<Identity>) -> Self {
        Self {
            peer: ServerPeer::new(identity.clone(), Limits::default()),
            identity,
            sent: Vec::new(),
            calls: Vec::new(),
            cancelled: Vec::new(),
            ignored: Vec::new(),
        }
    }

    /// One in a session of the newest revision that has sessions.
    fn in_session() -> Self {
        Self::in_session_of(crate::revision::Revision::NEWEST_HANDSHAKE.date())
    }

    fn in_session_of(revision: &str) -> Self {
        let mut server = Self::new();
        server.open_session(revision);
        server
    }

    fn open_session(&mut self, revision: &str) {
        self.say(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
            { "protocolVersion": revision, "capabilities": {},
              "clientInfo": { "name": "t", "version": "0" } } }));
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!(self.sent.len(), 1);
        self.sent.clear();
    }

    fn say(&mut self, message: &Value) {
        self.say_on(Lane::Connection, &message.to_string());
    }

    fn say_on(&mut self, lane: Lane, line: &str) {
        self.peer.handle_input(lane, Bytes::copy_from_slice(line.as_bytes()));
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.peer.poll_output() {
            match output {
                ServerOutput::Send { bytes, .. } => self.sent.push(value(&bytes)),
                ServerOutput::Call(call) => self.calls.push(call),
                ServerOutput::Cancel(key) => self.cancelled.push(key),
                ServerOutput::Answered(ask, answer) => {
                    self.ignored.push(format!("answered {ask:?}: {answer:?}"));
                }
                ServerOutput::AskReplied(ask, reply) => {
                    self.ignored.push(format!("replied {ask:?}: {:?}", reply.message().bytes()));
                }
                ServerOutput::LevelSet(level) => {
                    self.ignored.push(format!("level {}", level.name()));
                }
                ServerOutput::Notification(message) => {
                    let name = message.method_name();
                    self.ignored.push(format!("told {}", brief(name.as_bytes())));
                }
                ServerOutput::Ignored(what) => self.ignored.push(what),
                ServerOutput::Opened(revision) => {
                    assert_eq!(self.peer.session(), Some(revision));
                }
            }
        }
    }

    fn respond(&mut self, key: CallKey, body: Value) {
        let body = serde_json::to_vec(&body).unwrap();
        self.peer.respond(key, Outcome::Result { body, has_meta: false });
        self.drain();
    }

    /// The answer to the request with this id.
    fn answer(&self, id: &Value) -> &Value {
        let mut with_id = self.sent.iter().filter(|message| message["id"] == *id);
        let first = with_id.next().unwrap_or_else(|| panic!("no {id} in {:?}", self.sent));
        assert!(with_id.next().is_none(), "two answers to {id}");
        first
    }
}
