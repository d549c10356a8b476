//! Requests of the server's own, in revisions with sessions.

use super::{CallKey, Sent, ServerOutput, ServerPeer};
use crate::method::Method;
use crate::peer::{Lane, brief};
use crate::rpc::{self, Id, Json, Kind, Message};
use crate::types::{RawJson, RpcError};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use bytes::Bytes;
use serde::Deserialize;

/// Names a request of the server's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskKey(i64);

/// Those that wait for an answer.
#[derive(Default)]
pub(super) struct Asks {
    last: i64,
    open: BTreeMap<AskKey, CallKey>,
}

/// What a client says it can do, of an `initialize` request.
pub(super) fn capabilities(message: &Message) -> Option<Arc<str>> {
    #[derive(Deserialize)]
    struct Params {
        capabilities: RawJson,
    }
    let params: Params = serde_json::from_slice(message.body_bytes()).ok()?;
    Some(params.capabilities.get().into())
}

impl ServerPeer {
    /// Sends a request to the client on behalf of a call; its answer comes as
    /// [`ServerOutput::Answered`]. None when the call has ended, or when its
    /// revision has no requests from the server.
    pub fn ask(&mut self, key: CallKey, method: Method, params: &[u8]) -> Option<AskKey> {
        let call = self.active(key).filter(|call| call.revision.rules().server_requests)?;
        let lane = call.lane;
        self.asks.last += 1;
        let ask = AskKey(self.asks.last);
        let mut bytes = Vec::new();
        rpc::request(&mut bytes, &Id::Number(ask.0), method.name(), params);
        self.asks.open.insert(ask, key);
        self.out.push_back(ServerOutput::Send { lane, bytes, sent: Sent::Request, error: None });
        Some(ask)
    }

    /// Gives up an ask whose answer nobody waits for, and tells the client.
    pub fn drop_ask(&mut self, ask: AskKey) {
        let Some(key) = self.asks.open.remove(&ask) else { return };
        if let Some(call) = self.active(key) {
            let lane = call.lane;
            self.cancel_ask(ask, lane);
        }
    }

    pub(super) fn answered(&mut self, message: &Message) {
        let ask = match message.id() {
            Some(Id::Number(n)) => Some(AskKey(*n)),
            _ => None,
        };
        let Some(ask) = ask.filter(|ask| self.asks.open.remove(ask).is_some()) else {
            return self.ignore("a response to no request".into());
        };
        let body = message.body().unwrap_or_else(|| Json::scanned(Bytes::new()));
        let result = match message.kind() {
            Kind::Error => Err(body.read().unwrap_or_else(|_| {
                let text = brief(body.as_bytes());
                RpcError::internal(format!("an error without a code: {text}"))
            })),
            _ => Ok(body),
        };
        self.out.push_back(ServerOutput::Answered(ask, result));
    }

    /// Cancels what an ended call still asks.
    pub(super) fn drop_asks(&mut self, key: CallKey, lane: Lane) {
        if self.asks.open.is_empty() {
            return;
        }
        let open: Vec<AskKey> =
            self.asks.open.iter().filter(|(_, of)| **of == key).map(|(ask, _)| *ask).collect();
        for ask in open {
            self.asks.open.remove(&ask);
            self.cancel_ask(ask, lane);
        }
    }

    fn cancel_ask(&mut self, ask: AskKey, lane: Lane) {
        let params = format!("{{\"requestId\":{}}}", ask.0);
        self.notify(lane, Method::Cancelled, params.as_bytes());
    }
}
