//! What a handler can do besides returning: report progress, log.

use super::ask::{Question, Round, offers_elicitation};
use super::{CallInfo, ConnectionInfo, Principal};
use carrick_proto::peer::{AskPlace, Call, CallKey, Changed, Outcome, Reply};
use carrick_proto::revision::Revision;
use carrick_proto::rpc::{Field, Message};
use carrick_proto::types::{ClientCapabilities, LogLevel, RpcError};
use futures_util::future::BoxFuture;
use http::HeaderMap;
use http::request::Parts;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Where what is said besides answers goes. Implemented by whatever drives a connection.
///
/// Progress and logs are taken at once. When the client reads too slowly, progress is
/// skipped and log messages are dropped and counted, never answers.
pub trait Outbox: Send + Sync {
    /// Passes on how far a call is.
    fn progress(&self, key: CallKey, done: f64, total: Option<f64>, message: Option<String>);

    /// Passes on a log message; `data` is JSON.
    fn log(&self, key: CallKey, level: LogLevel, logger: Option<String>, data: Vec<u8>);

    /// Passes on that the call's stream may be closed before the answer; without
    /// effect where streams cannot be resumed.
    fn close_stream(&self, key: CallKey, retry: Option<Duration>) {
        let _ = (key, retry);
    }

    /// Passes on a question to the client of a session; never lost while the
    /// connection lasts.
    fn ask(&self, key: CallKey, question: Question) -> BoxFuture<'_, ()>;

    /// Tells the client that something has changed, if it wants to hear of it.
    /// Taken at once and never lost; while one waits to be sent, equal ones add
    /// nothing.
    fn changed(&self, changed: Changed);

    /// Takes the answer to a call for which [`super::Dispatch::Later`] was
    /// returned; never lost while the connection lasts.
    fn answer(&self, key: CallKey, outcome: Outcome);

    /// Passes on a notification of another server's, written in `from`: about a
    /// call, or to the session as a whole. Like progress and logs it may be left
    /// out for a client that reads too slowly.
    fn pass_notice(&self, to: Option<CallKey>, message: Message, from: Revision);

    /// Passes on a request of another server's.
    fn pass_ask(&self, ask: PassedAsk);

    /// Takes back what was asked for somebody who no longer waits for it.
    fn sweep_asks(&self);

    /// Ends the session, after what was said before. Over HTTP its streams end, its calls are
    /// given up, and what comes in it is answered by 404, upon which its client opens a new one.
    /// Without effect where a session is the connection itself (stdio) and on a request of its
    /// own.
    fn close_session(&self) {}

    /// Whether the client holds the conversation open now: by its connection, or over HTTP by a
    /// request or a stream of the session. Between two requests a client may be gone for good.
    fn is_client_present(&self) -> bool {
        true
    }
}

/// A request of another server's, on its way to the client. Dropping it tells
/// whoever waits for the answer that there will be none.
#[derive(Debug)]
pub struct PassedAsk {
    /// Where it is put to the client.
    pub place: AskPlace,
    /// The request.
    pub message: Message,
    /// The revision it is written in.
    pub from: Revision,
    /// Where the answer goes, in the client's words. When nobody waits for it
    /// any more, [`Outbox::sweep_asks`] takes the request back.
    pub answer: oneshot::Sender<Result<Reply, RpcError>>,
}

/// The call a handler works on.
#[derive(Clone)]
pub struct Context {
    key: CallKey,
    revision: Revision,
    wants_progress: bool,
    info: CallInfo,
    outbox: Arc<dyn Outbox>,
    /// What the client can do, as JSON.
    capabilities: Option<Arc<str>>,
    /// This run of the handler, on a request without a session.
    round: Option<Arc<Round>>,
}

impl Context {
    pub(super) fn new(
        call: &Call,
        info: CallInfo,
        outbox: Arc<dyn Outbox>,
        round: Option<Arc<Round>>,
    ) -> Self {
        let own = || {
            let json = call.message.field(Field::MetaClientCapabilities)?;
            Some(String::from_utf8_lossy(json).into())
        };
        Self {
            key: call.key,
            revision: call.revision,
            wants_progress: call.wants_progress,
            info,
            outbox,
            capabilities: call.client_capabilities.clone().or_else(own),
            round,
        }
    }

    /// The revision the client speaks.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Who sent the call, and by which way.
    pub fn info(&self) -> &CallInfo {
        &self.info
    }

    /// The conversation that the call belongs to.
    pub fn connection(&self) -> &ConnectionInfo {
        self.info.connection()
    }

    /// Who the client acts for, if somebody has made sure of that.
    pub fn principal(&self) -> Option<&Principal> {
        self.info.principal()
    }

    /// The HTTP request that has brought the call; none on stdio.
    pub fn http(&self) -> Option<&Parts> {
        self.info.http().map(|request| &**request)
    }

    /// The headers of that request.
    pub fn headers(&self) -> Option<&HeaderMap> {
        self.info.headers()
    }

    /// As [`CallInfo::extension`].
    pub fn extension<T: Clone + Send + Sync + 'static>(&self) -> Option<&T> {
        self.info.extension()
    }

    /// Whether the client asked for progress.
    pub fn wants_progress(&self) -> bool {
        self.wants_progress
    }

    /// Reports `done` of `total` (any unit; must only grow), if the client
    /// asked for that.
    pub fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        if self.wants_progress && !self.is_replay() {
            self.outbox.progress(self.key, done, total, message.map(Into::into));
        }
    }

    /// Logs to the client, if it wants this level. (Deprecated by the protocol
    /// since 2026-07-28, and in daily use in the revisions before.)
    pub fn log(&self, level: LogLevel, data: &impl Serialize) {
        if self.is_replay() {
            return;
        }
        if let Ok(data) = serde_json::to_vec(data) {
            self.outbox.log(self.key, level, None, data);
        }
    }

    /// Lets go of the connection on which the client waits for the answer: it
    /// comes back for the rest, after `retry` if given (`basic/transports`,
    /// Sending Messages to the Server). For calls that take long, where holding
    /// a connection open costs something.
    ///
    /// Nothing is lost: what is said meanwhile is kept, within the session's
    /// bounds. Without effect where a client cannot come back: on stdio,
    /// without a session, and in revisions before 2025-11-25.
    pub fn close_stream(&self, retry: Option<Duration>) {
        self.outbox.close_stream(self.key, retry);
    }

    /// Whether the client can have its user fill in a form.
    pub(super) fn offers_forms(&self) -> bool {
        self.client_capabilities().is_some_and(|can| offers_elicitation(&can, true))
    }

    /// What the client can do.
    pub fn client_capabilities(&self) -> Option<ClientCapabilities> {
        serde_json::from_str(self.capabilities.as_ref()?).ok()
    }

    pub(super) fn key(&self) -> CallKey {
        self.key
    }

    pub(super) fn outbox(&self) -> &dyn Outbox {
        &*self.outbox
    }

    pub(super) fn round(&self) -> Option<&Round> {
        self.round.as_deref()
    }

    /// Whether this run only catches up with an earlier one, which has said
    /// all this before.
    fn is_replay(&self) -> bool {
        self.round.as_ref().is_some_and(|round| round.is_replay())
    }
}
