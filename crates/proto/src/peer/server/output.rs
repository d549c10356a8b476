//! What passes between the engine, its driver and the application.

use super::AskKey;
use crate::peer::Lane;
use crate::revision::Revision;
use crate::rpc::{Json, Message};
use crate::types::{RpcError, SubscriptionFilter};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Names a request that the application is to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallKey {
    pub(super) slot: u32,
    /// Tells a slot's calls apart, so that a late answer meets no other call.
    pub(super) turn: u32,
}

/// A request for the application.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Call {
    /// What to answer it by.
    pub key: CallKey,
    /// The exchange that waits for the answer.
    pub lane: Lane,
    /// The revision it is made in.
    pub revision: Revision,
    /// The request itself.
    pub message: Message,
    /// Whether progress was asked for.
    pub wants_progress: bool,
    /// What the client of the session can do, as JSON. None for a request
    /// without a session, which says it in its own `_meta`.
    pub client_capabilities: Option<Arc<str>>,
}

/// What the application answers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// A result in the newest revision's shape, without `resultType`.
    Result {
        /// A JSON object.
        body: Vec<u8>,
        /// Whether it has a `_meta` of its own.
        has_meta: bool,
        /// Whether it is the result of a tool call with nothing in it that some
        /// revision writes otherwise, so that it need not be looked through
        /// ([`CallToolResult::is_plain`](crate::types::CallToolResult::is_plain)).
        plain: bool,
    },
    /// A request for input, without `resultType`: a JSON object with
    /// `inputRequests`, `requestState` or both. Only for revisions in which the
    /// server sends no requests of its own (`basic/patterns/mrtr`).
    InputRequired(Vec<u8>),
    /// Only for `subscriptions/listen`: the call stays open, and is told what
    /// changes. What was not asked for, or is no capability of the server, is
    /// left out. It ends by [`super::ServerPeer::end_listens`], by an answer, or
    /// when the client wants no more ([`ServerOutput::Cancel`]).
    Listening(SubscriptionFilter),
    /// An error.
    Error(RpcError),
}

/// What a message to the client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The response that its exchange waits for.
    Response,
    /// A request of the server's own, which must not be lost.
    Request,
    /// A notification.
    Notification,
    /// A notification that something has changed. It must not be lost, but one
    /// that waits already stands for an equal one.
    Change,
}

/// What the driver has to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerOutput {
    /// Send this message.
    Send {
        /// Where.
        lane: Lane,
        /// The message, without a line end.
        bytes: Vec<u8>,
        /// What it is.
        sent: Sent,
        /// The code, of an error response.
        error: Option<i64>,
    },
    /// A session is open. Its client can be told what changes from now on.
    Opened(Revision),
    /// Let the application answer this.
    Call(Call),
    /// Stop working on this; its answer will not be sent.
    Cancel(CallKey),
    /// The client has answered an ask: a result in the newest shape, or its error.
    Answered(AskKey, Result<Json, RpcError>),
    /// The client tells something that the engine has no use for itself, as
    /// that its roots have changed. What came before it has been handed out.
    Notification(Message),
    /// Something came that has no answer and no effect: worth a log line.
    Ignored(String),
}
