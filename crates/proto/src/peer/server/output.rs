//! What passes between the engine, its driver and the application.

use super::{AskKey, Identity};
use crate::peer::{Lane, Reply};
use crate::revision::Revision;
use crate::rpc::{self, Id, Json, Message};
use crate::types::{CallToolResult, LogLevel, RpcError, SubscriptionFilter};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use bytes::Bytes;

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
    /// The least severe log level to send about it, if any.
    pub log: Option<LogLevel>,
    /// Who the client of the session is, as JSON. None for a request without a
    /// session, which says it in its own `_meta`.
    pub client_info: Option<Arc<str>>,
    /// What the client of the session can do, as JSON. None for a request
    /// without a session, which says it in its own `_meta`.
    pub client_capabilities: Option<Arc<str>>,
    pub(super) identity: Arc<Identity>,
}

impl Call {
    /// What wraps a plain result of this call.
    pub fn envelope(&self) -> Envelope {
        let typed = self.revision.rules().result_type.then(|| self.identity.clone());
        Envelope { id: self.message.id().cloned(), typed }
    }
}

/// Makes the response to one call out of its result, where that takes no look
/// at the result's text: so it is written once, and not copied again.
#[derive(Clone, Debug)]
pub struct Envelope {
    id: Option<Id>,
    /// Whose answers carry members of their own.
    typed: Option<Arc<Identity>>,
}

impl Envelope {
    /// The response, if the result [is plain](CallToolResult::is_plain).
    pub fn wrap(&self, result: &CallToolResult) -> Option<Vec<u8>> {
        let id = self.id.as_ref().filter(|_| result.is_plain())?;
        let members = self.typed.as_ref().map_or(&b""[..], |identity| &identity.complete);
        let mut out = Vec::with_capacity(plain_len(result, members));
        write_plain(&mut out, id, members, result);
        Some(out)
    }
}

/// About how long a response with a plain result is.
pub(super) fn plain_len(result: &CallToolResult, members: &[u8]) -> usize {
    result.plain_len() + members.len() + 64
}

/// Appends a response with a plain result, which gets more members in front.
pub(super) fn write_plain(out: &mut Vec<u8>, id: &Id, members: &[u8], result: &CallToolResult) {
    rpc::open_result(out, id);
    out.push(b'{');
    if !members.is_empty() {
        out.extend_from_slice(members);
        out.push(b',');
    }
    result.write_plain(out);
    out.extend_from_slice(b"}}");
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
    },
    /// The result of a tool, which is written by the engine.
    Called(CallToolResult),
    /// A result in the shape of the call's own revision, kept ready: a JSON object
    /// without a `_meta` of its own, and without `resultType`.
    Shaped(Bytes),
    /// The whole response, as [`Envelope::wrap`] of this very call made it.
    Response(Vec<u8>),
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
    /// What another server answered, in whatever revision that was.
    Forwarded(Reply),
}

impl Outcome {
    /// Whether what was asked for has been done.
    pub(super) fn is_success(&self) -> bool {
        match self {
            Self::Result { .. } | Self::Called(_) | Self::Shaped(_) | Self::Response(_) => true,
            Self::Forwarded(reply) => !reply.is_error() && !reply.is_input_required(),
            Self::InputRequired(_) | Self::Listening(_) | Self::Error(_) => false,
        }
    }
}

/// What a message to the client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The response that its exchange waits for.
    Response,
    /// A request of the server's own, which must not be lost: whoever cannot
    /// send it says so by [`ServerPeer::forget_ask`](super::ServerPeer::forget_ask).
    Request(AskKey),
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
    /// The client has answered what was put to it by [`super::ServerPeer::pass_ask`].
    AskReplied(AskKey, Reply),
    /// The client of the session wants log messages from this level on.
    LevelSet(LogLevel),
    /// The client tells something that the engine has no use for itself, as
    /// that its roots have changed. What came before it has been handed out.
    Notification(Message),
    /// Something came that has no answer and no effect: worth a log line.
    Ignored(String),
}
