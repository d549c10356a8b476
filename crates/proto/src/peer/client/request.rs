//! Requests of the server's own, in revisions with sessions.

use super::{ClientOutput, ClientPeer, number};
use crate::method::Method;
use crate::peer::brief;
use crate::rpc::{self, Field, Id, Json, Message};
use crate::types::{ClientCapabilities, RpcError};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;
use bytes::Bytes;
use core::time::Duration;

/// Requests of a server that may wait for an answer at once.
const MOST: usize = 256;

/// What the server may ask, and what it has asked.
#[derive(Default)]
pub(super) struct Asked {
    elicitation: bool,
    sampling: bool,
    roots: bool,
    open: BTreeSet<Id>,
}

impl Asked {
    pub(super) fn new(capabilities: &str) -> Self {
        let offered: ClientCapabilities = serde_json::from_str(capabilities).unwrap_or_default();
        Self {
            elicitation: offered.elicitation.is_some(),
            sampling: offered.sampling.is_some(),
            roots: offered.roots.is_some(),
            open: BTreeSet::new(),
        }
    }

    /// Forgets what waits for an answer: nobody will take it.
    pub(super) fn forget(&mut self) -> impl Iterator<Item = Id> + use<> {
        core::mem::take(&mut self.open).into_iter()
    }

    fn offers(&self, method: Method) -> bool {
        match method {
            Method::ElicitationCreate => self.elicitation,
            Method::SamplingCreateMessage => self.sampling,
            Method::RootsList => self.roots,
            _ => false,
        }
    }
}

impl ClientPeer {
    /// Answers a request of the server's own with a result in the newest
    /// revision's shape, a JSON object; without effect when the server has
    /// cancelled it.
    pub fn respond(&mut self, id: &Id, answer: Result<Vec<u8>, RpcError>) {
        if !self.asked.open.remove(id) {
            return;
        }
        match answer {
            Ok(result) => {
                let mut bytes = Vec::new();
                rpc::result_response(&mut bytes, id, &result);
                self.push_plain(bytes, Method::Unknown, "");
            }
            Err(error) => self.refuse(id, &error),
        }
    }

    pub(super) fn server_request(&mut self, message: &Message) {
        let Some(id) = message.id() else { return };
        let method = message.method();
        if method == Method::Ping {
            let mut bytes = Vec::new();
            rpc::result_response(&mut bytes, id, b"{}");
            return self.push_plain(bytes, Method::Unknown, "");
        }
        // Without a session the server has no requests of its own.
        if !self.asked.offers(method) || !self.revision().rules().server_requests {
            let name = message.method_name();
            let text = format!("this client does not offer {:?}", brief(name.as_bytes()));
            return self.refuse(id, &RpcError::new(RpcError::METHOD_NOT_FOUND, text));
        }
        if self.asked.open.len() >= MOST || !self.asked.open.insert(id.clone()) {
            let text = "too many requests wait for an answer, or one of this id does";
            return self.refuse(id, &RpcError::new(RpcError::INVALID_REQUEST, text));
        }
        let params = message.body().unwrap_or_else(|| Json::scanned(Bytes::from_static(b"{}")));
        self.out.push_back(ClientOutput::Request { id: id.clone(), method, params });
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
        self.asked.open.remove(&id).then_some(ClientOutput::RequestCancelled(id))
    }

    fn refuse(&mut self, id: &Id, error: &RpcError) {
        let mut bytes = Vec::new();
        let data = error.data.as_ref().map(|raw| raw.get().as_bytes());
        rpc::error_response(&mut bytes, Some(id), error.code, &error.message, data);
        self.push_plain(bytes, Method::Unknown, "");
    }
}
