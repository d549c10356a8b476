//! Requests of the server's own, in revisions with sessions.

use super::{CallKey, Sent, ServerOutput, ServerPeer};
use crate::method::Method;
use crate::peer::{Lane, Reply, brief};
use crate::revision::{Part, Revision, method_row, translate};
use crate::rpc::{self, Id, Json, Kind, Message};
use crate::types::{RawJson, RpcError};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
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
    open: BTreeMap<AskKey, Open>,
}

#[derive(Clone, Copy)]
pub(super) struct Open {
    /// The call whose end takes it back, if there is one.
    pub(super) call: Option<CallKey>,
    pub(super) lane: Lane,
    pub(super) method: Method,
    pub(super) revision: Revision,
    /// Whether the answer is handed out as it comes.
    pub(super) raw: bool,
}

/// What a client said of itself when it opened the session, as JSON.
#[derive(Clone, Default)]
pub(super) struct Client {
    pub(super) info: Option<Arc<str>>,
    pub(super) capabilities: Option<Arc<str>>,
}

impl Client {
    /// Of an `initialize` request.
    pub(super) fn of(message: &Message) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            client_info: Option<RawJson>,
            capabilities: Option<RawJson>,
        }
        let params: Params = serde_json::from_slice(message.body_bytes()).unwrap_or_default();
        let text = |raw: Option<RawJson>| raw.map(|raw| raw.get().into());
        Self { info: text(params.client_info), capabilities: text(params.capabilities) }
    }
}

impl ServerPeer {
    /// Sends a request to the client on behalf of a call; `params` is in the
    /// newest revision's shape, and the answer comes as
    /// [`ServerOutput::Answered`].
    ///
    /// # Errors
    /// When the call has ended, or its revision has no such request or no form
    /// for these parameters; the text says which.
    pub fn ask(&mut self, key: CallKey, method: Method, params: &[u8]) -> Result<AskKey, RpcError> {
        let Some(call) = self.active(key) else {
            return Err(RpcError::internal("the call has ended"));
        };
        let (lane, revision) = (call.place.lane, call.revision);
        let there = method_row(method).is_some_and(|row| row.exists_in(revision));
        if !revision.rules().server_requests || !there {
            let text = format!("revision {revision} has no {} from a server", method.name());
            return Err(RpcError::internal(text));
        }
        let params = Bytes::copy_from_slice(params);
        let params = self.older(params, Part::Params(method), revision)?;
        let open = Open { call: Some(key), lane, method, revision, raw: false };
        Ok(self.send_ask(open, &params))
    }

    pub(super) fn send_ask(&mut self, open: Open, params: &[u8]) -> AskKey {
        self.asks.last += 1;
        let ask = AskKey(self.asks.last);
        let (lane, sent) = (open.lane, Sent::Request(ask));
        let mut bytes = Vec::new();
        rpc::request(&mut bytes, &Id::Number(ask.0), open.method.name(), params);
        self.asks.open.insert(ask, open);
        self.out.push_back(ServerOutput::Send { lane, bytes, sent, error: None });
        ask
    }

    /// Gives up an ask whose answer nobody waits for, and tells the client.
    pub fn drop_ask(&mut self, ask: AskKey) {
        if let Some(open) = self.asks.open.remove(&ask) {
            self.cancel_ask(ask, open);
        }
    }

    /// Gives up an ask that was not sent: the client has not heard of it.
    pub fn forget_ask(&mut self, ask: AskKey) {
        self.asks.open.remove(&ask);
    }

    pub(super) fn answered(&mut self, message: Message) {
        let ask = match message.id() {
            Some(Id::Number(n)) => Some(AskKey(*n)),
            _ => None,
        };
        let Some((ask, open)) = ask.and_then(|ask| Some((ask, self.asks.open.remove(&ask)?)))
        else {
            return self.ignore("a response to no request".into());
        };
        if open.raw {
            let reply = Reply::new(message, open.revision);
            let output = reply.map(|reply| ServerOutput::AskReplied(ask, reply));
            return self.out.extend(output);
        }
        let body = message.body().unwrap_or_else(|| Json::scanned(Bytes::new()));
        let result = match message.kind() {
            Kind::Error => Err(body.read().unwrap_or_else(|_| {
                let text = brief(body.as_bytes());
                RpcError::internal(format!("an error without a code: {text}"))
            })),
            _ => translate(body, Part::Result(open.method), open.revision, Revision::NEWEST)
                .map(|(json, _)| json)
                .map_err(|e| RpcError::internal(e.to_string())),
        };
        self.out.push_back(ServerOutput::Answered(ask, result));
    }

    /// Cancels what an ended call still asks.
    pub(super) fn drop_asks(&mut self, key: CallKey) {
        if self.asks.open.is_empty() {
            return;
        }
        let of_call = self.asks.open.iter().filter(|(_, open)| open.call == Some(key));
        let open: Vec<(AskKey, bool)> = of_call.map(|(ask, open)| (*ask, open.raw)).collect();
        for (ask, raw) in open {
            self.drop_ask(ask);
            if raw {
                // Whoever asked is elsewhere and waits.
                let error = RpcError::internal("the call has ended");
                self.out.push_back(ServerOutput::Answered(ask, Err(error)));
            }
        }
    }

    fn cancel_ask(&mut self, ask: AskKey, open: Open) {
        let params = format!("{{\"requestId\":{}}}", ask.0).into_bytes();
        self.notify(open.lane, open.revision, Method::Cancelled, params);
    }
}
