//! Where requests come from.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use http::request::Parts;

use carrick_proto::rpc::Scanned;

use crate::server::{ConnectionInfo, Principal, TransportKind};

use super::conversation::Frame;
use super::lull::Lull;

/// One connection of a client's, on which one request follows another.
#[derive(Debug)]
pub(super) struct Socket {
    remote: SocketAddr,
    /// None when the system does not say.
    local: Option<SocketAddr>,
    /// What the last request without a session was told: the next one mostly has
    /// the same to be told.
    last: Mutex<Option<Arc<ConnectionInfo>>>,
    pub(super) lull: Lull,
}

impl Socket {
    pub(super) fn new(remote: SocketAddr, local: Option<SocketAddr>) -> Self {
        Self { remote, local, last: Mutex::default(), lull: Lull::default() }
    }

    fn info(&self, transport: TransportKind, principal: Option<&Principal>) -> ConnectionInfo {
        let mut info = ConnectionInfo::new(transport).with_remote_addr(self.remote);
        if let Some(local) = self.local {
            info = info.with_local_addr(local);
        }
        match principal {
            Some(principal) => info.with_principal(principal.clone()),
            None => info,
        }
    }
}

/// Where one request comes from.
pub(super) struct Origin<'a> {
    pub(super) socket: &'a Socket,
    pub(super) head: &'a Arc<Parts>,
}

impl Origin<'_> {
    /// Who the client acts for.
    pub(super) fn principal(&self) -> Option<&Principal> {
        self.head.extensions.get()
    }

    /// What a request is told that is a conversation of its own.
    pub(super) fn stateless(&self) -> Arc<ConnectionInfo> {
        let mut last = self.socket.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(info) if info.principal() == self.principal() => Arc::clone(info),
            _ => {
                let info = self.socket.info(TransportKind::Http, self.principal());
                let info = Arc::new(info.with_stateless_request());
                Arc::clone(last.insert(info))
            }
        }
    }

    /// What a session is told that begins with this request.
    pub(super) fn session(&self, transport: TransportKind) -> Arc<ConnectionInfo> {
        Arc::new(self.socket.info(transport, self.principal()))
    }

    /// A frame that this request has brought.
    pub(super) fn frame(&self, messages: Scanned) -> Frame {
        Frame { messages, request: Some(Arc::clone(self.head)) }
    }
}
