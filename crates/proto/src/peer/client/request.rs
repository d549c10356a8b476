//! Requests of the server's own, in revisions with sessions.

use super::{ClientOutput, ClientPeer, Pending, number};
use crate::method::Method;
use crate::peer::pass::{self, Reply};
use crate::peer::{Lane, brief};
use crate::rpc::{self, Field, Id, Json, Message};
use crate::types::{ClientCapabilities, RpcError};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use bytes::Bytes;
use core::time::Duration;

/// Questions that one call may lead to.
const MAX_ASKED: u32 = 100;

/// What the server may ask, and what it has asked.
#[derive(Default)]
pub(super) struct Asked {
    offered: ClientCapabilities,
    /// Those that wait for an answer, and the call that each belongs to, if
    /// that is known.
    open: BTreeMap<Id, (Method, Option<u64>)>,
}

impl Asked {
    pub(super) fn new(capabilities: &str) -> Self {
        let offered = serde_json::from_str(capabilities).unwrap_or_default();
        Self { offered, open: BTreeMap::new() }
    }

    /// Forgets what waits for an answer: nobody will take it.
    pub(super) fn forget(&mut self) -> impl Iterator<Item = Id> + use<> {
        core::mem::take(&mut self.open).into_keys()
    }

    /// What the client has declared.
    pub(super) fn offered(&self) -> &ClientCapabilities {
        &self.offered
    }
}

impl ClientPeer {
    /// Answers a request of the server's own with a result in the newest
    /// revision's shape, a JSON object; without effect when the server has
    /// cancelled it. The time of the call that it belongs to goes on from here.
    pub fn respond(&mut self, now: Duration, id: &Id, answer: Result<Vec<u8>, RpcError>) {
        if self.asked.open.remove(id).is_none() {
            return;
        }
        self.resume(now);
        match answer {
            Ok(result) => {
                let mut bytes = Vec::new();
                rpc::result_response(&mut bytes, id, &result);
                self.push_plain(bytes, Method::Unknown, "");
            }
            Err(error) => self.refuse(id, &error),
        }
    }

    /// The same with a response that is passed on.
    pub fn pass_answer(&mut self, now: Duration, id: &Id, answer: &Reply) {
        let Some((method, call)) = self.asked.open.remove(id) else { return };
        if let Some(pending) = call.and_then(|call| self.pending.get_mut(&call)) {
            pending.heard(now);
        }
        match answer.body_in(method, self.revision) {
            Ok((body, losses)) => {
                if !losses.is_empty() {
                    let what = pass::describe(&losses, method.name());
                    self.out.push_back(ClientOutput::Ignored { what, noise: false });
                }
                let mut bytes = Vec::new();
                let write = match answer.is_error() {
                    true => rpc::error_response_of,
                    false => rpc::result_response,
                };
                write(&mut bytes, id, body.as_bytes());
                self.push_plain(bytes, Method::Unknown, "");
            }
            Err(error) => self.refuse(id, &RpcError::internal(format!("{error}"))),
        }
    }

    /// Whether this call may wait for an answer of ours, which a person may take
    /// their time for.
    pub(super) fn waits_for_us(&self, call: u64) -> bool {
        // What is passed on has its bounds where it is passed to.
        !self.config.forwarding
            && !self.is_opening(call)
            && self.asked.open.values().any(|(_, of)| of.is_none_or(|of| of == call))
    }

    /// The calls that a question may belong to: one, or all where it is not known which.
    fn calls_of(&mut self, call: Option<u64>) -> impl Iterator<Item = &mut Pending> {
        let of = move |id: &u64| call.is_none_or(|call| call == *id);
        self.pending.iter_mut().filter(move |(id, _)| of(id)).map(|(_, pending)| pending)
    }

    /// Lets the time of calls go on for which nothing waits for us any more: what took
    /// no time, as an answer that no person gave, has cost them none and brought none.
    pub(super) fn resume(&mut self, now: Duration) {
        let paused = self.pending.iter().filter(|(_, pending)| pending.paused.is_some());
        let over: Vec<u64> =
            paused.map(|(id, _)| *id).filter(|id| !self.waits_for_us(*id)).collect();
        for id in over {
            if let Some(pending) = self.pending.get_mut(&id) {
                pending.resume(now);
                self.wake = super::listen::earliest(self.wake, Some(pending.deadline));
            }
        }
    }

    pub(super) fn server_request(&mut self, now: Duration, lane: Lane, message: Message) {
        let Some(id) = message.id() else { return };
        let method = message.method();
        if method == Method::Ping {
            let mut bytes = Vec::new();
            rpc::result_response(&mut bytes, id, b"{}");
            return self.push_plain(bytes, Method::Unknown, "");
        }
        // Without a session the server has no requests of its own.
        if !self.asked.offered.offers(method) || !self.revision().rules().server_requests {
            let name = message.method_name();
            let text = format!("this client does not offer {:?}", brief(name.as_bytes()));
            return self.refuse(id, &RpcError::new(RpcError::METHOD_NOT_FOUND, text));
        }
        // What is passed on is read where it is passed to.
        if !self.config.forwarding
            && let Err(error) = self.asked.offered.admit(method, message.body_bytes())
        {
            return self.refuse(id, &error);
        }
        let id = id.clone();
        if self.asked.open.len() >= self.config.max_asks || self.asked.open.contains_key(&id) {
            let text = "too many requests wait for an answer, or one of this id does";
            return self.refuse(&id, &RpcError::new(RpcError::INVALID_REQUEST, text));
        }
        let call = match lane {
            Lane::Exchange(call) if self.pending.contains_key(&call) => Some(call),
            _ => None,
        };
        if !self.config.forwarding {
            let fewest = self.calls_of(call).map(|call| call.asked).min();
            if fewest.is_some_and(|asked| asked >= MAX_ASKED) {
                let text = format!("one call may lead to {MAX_ASKED} questions");
                return self.refuse(&id, &RpcError::new(RpcError::INVALID_REQUEST, text));
            }
            for call in self.calls_of(call) {
                call.asked += 1;
                call.pause(now);
            }
        }
        self.asked.open.insert(id.clone(), (method, call));
        if !self.config.forwarding {
            let params = message.body().unwrap_or_else(|| Json::scanned(Bytes::from_static(b"{}")));
            return self.out.push_back(ClientOutput::Request { id, method, params });
        }
        if let Some(pending) = call.and_then(|call| self.pending.get_mut(&call)) {
            pending.heard(now);
        }
        self.out.push_back(ClientOutput::Asked { call, message });
    }

    pub(super) fn request_cancelled(
        &mut self,
        now: Duration,
        message: &Message,
    ) -> Option<ClientOutput> {
        let id = message.id_at(Field::RequestId)?;
        // Some servers end a stream of changes this way.
        if let Some(id) = number(Some(&id)).filter(|id| self.is_listen(*id)) {
            self.pending.remove(&id);
            self.listen_ended(now, id, None);
            return self.out.pop_back();
        }
        let open = self.asked.open.remove(&id);
        self.resume(now);
        open.map(|_| ClientOutput::RequestCancelled(id))
    }

    fn refuse(&mut self, id: &Id, error: &RpcError) {
        let mut bytes = Vec::new();
        let data = error.data.as_ref().map(|raw| raw.get().as_bytes());
        rpc::error_response(&mut bytes, Some(id), error.code, &error.message, data);
        self.push_plain(bytes, Method::Unknown, "");
    }
}
