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

/// What the client of some session said of itself: see
/// [`ServerPeer::share_client`].
#[derive(Default)]
pub struct KnownClient(Client);

impl KnownClient {
    /// Texts up to this size are shared, so that one session does not keep the
    /// large text of another that has ended. In bytes.
    const LARGEST: usize = 4 << 10;

    fn share(own: &mut Option<Arc<str>>, known: &mut Option<Arc<str>>) {
        if own == known {
            own.clone_from(known);
        } else if own.as_ref().is_none_or(|text| text.len() <= Self::LARGEST) {
            known.clone_from(own);
        }
    }
}

impl ServerPeer {
    /// Lets many sessions of the same client keep what it said of itself once: a
    /// session that has said the same as the one that was here last takes it from
    /// there, and any other leaves its own for the next.
    pub fn share_client(&mut self, known: &mut KnownClient) {
        if let Some(session) = &mut self.session {
            KnownClient::share(&mut session.client.info, &mut known.0.info);
            KnownClient::share(&mut session.client.capabilities, &mut known.0.capabilities);
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Identity;
    use crate::rpc::Limits;
    use crate::types::{Implementation, ServerCapabilities};

    /// A session whose client has this to say of itself.
    fn session(info: &str) -> ServerPeer {
        let own = Implementation::new("s", "1");
        let identity = Identity::new(&own, &ServerCapabilities::default(), None).unwrap();
        let mut peer = ServerPeer::new(Arc::new(identity), Limits::default());
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"{info}","version":"1"}}}}}}"#
        );
        peer.handle_input(Lane::Connection, Bytes::from(text));
        peer
    }

    fn texts(peer: &ServerPeer) -> Vec<Arc<str>> {
        let client = peer.session.as_ref().map(|session| session.client.clone());
        client.into_iter().flat_map(|client| [client.info, client.capabilities]).flatten().collect()
    }

    #[test]
    fn sessions_of_the_same_client_keep_what_it_said_once() {
        let mut known = KnownClient::default();
        let large = "x".repeat(KnownClient::LARGEST);
        let [mut one, mut same, mut other, mut loud, mut again] =
            ["a", "a", "b", &large, "b"].map(session);
        for peer in [&mut one, &mut same, &mut other, &mut loud, &mut again] {
            let before = texts(peer);
            peer.share_client(&mut known);
            assert_eq!(texts(peer), before, "nothing is lost");
        }
        let is_shared = |left: &ServerPeer, right: &ServerPeer| {
            let (left, right) = (texts(left), texts(right));
            [0, 1].map(|at| Arc::ptr_eq(&left[at], &right[at]))
        };
        assert_eq!(is_shared(&one, &same), [true, true]);
        assert_eq!(is_shared(&one, &other), [false, true]);
        assert_eq!(is_shared(&other, &again), [true, true], "what is large is not kept");
    }
}
