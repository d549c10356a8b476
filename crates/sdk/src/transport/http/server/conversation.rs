//! A protocol engine together with the handlers that work for it.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::request::Parts;
use tokio::task::JoinSet;

use carrick_proto::peer::{
    AskKey, Call, CallKey, KnownClient, Lane, Outcome, ServerOutput, ServerPeer,
};
use carrick_proto::revision::Revision;
use carrick_proto::rpc::{Limits, Scanned};
use carrick_proto::types::RpcError;

use crate::drive::{Work, caught, run};
use crate::server::{Asks, CallInfo, Connection, ConnectionInfo, Dispatch, Principal, Service};

use super::budget::Purse;
use super::mailbox::Outgoing;
use super::signals::{Leaving, Signals};

/// What a client says at once.
pub(super) struct Frame {
    pub(super) messages: Scanned,
    /// The request that has brought it.
    pub(super) request: Option<Arc<Parts>>,
}

/// What the server's side of a conversation does next.
pub(super) enum Said {
    /// It sends this.
    Message(Lane, Outgoing),
    /// Nothing more will come on this lane: what it waited for was cancelled.
    End(Lane),
    /// The client may come back for the rest of this lane, after this long. Only
    /// in sessions whose clients do.
    Pause(Lane, Option<Duration>),
    /// The session is to end. Said once, and by sessions only.
    Over,
}

/// How far the end of a session is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    No,
    /// It has to be said.
    Due,
    Said,
}

/// One side of one conversation: a session, or a single request.
///
/// A handler that does not answer at once gets a task of its own, which ends
/// when the conversation is dropped.
pub(super) struct Conversation {
    connection: Box<dyn Connection>,
    peer: ServerPeer,
    /// Of the calls that are new now.
    info: CallInfo,
    /// Frames that come while not all calls of the last one are taken up.
    waiting: VecDeque<(Lane, Frame)>,
    /// Whether they are.
    is_drained: bool,
    signals: Arc<Signals>,
    asks: Asks,
    leaving: Leaving,
    /// How far its end is, which somebody has asked for.
    ending: Ending,
    /// None while none has been needed: most handlers answer at once.
    running: Option<JoinSet<(CallKey, Outcome)>>,
    /// The calls that are not answered yet.
    handles: BTreeMap<CallKey, (Lane, Work)>,
    /// Whether a handler was called since memory was given back.
    is_warm: bool,
    max_calls: usize,
    purse: Purse,
}

impl Conversation {
    /// A conversation in which up to `max_calls` handlers run at once; further
    /// calls are answered with an error.
    pub(super) fn new(
        service: &dyn Service,
        info: Arc<ConnectionInfo>,
        limits: Limits,
        max_calls: usize,
        purse: Purse,
    ) -> Self {
        let signals = Arc::new(Signals::default());
        let connection = service.connect(Arc::clone(&info), signals.clone());
        let peer = ServerPeer::new(service.identity(), limits);
        let (running, handles) = (None, BTreeMap::new());
        let (asks, leaving) = (Asks::default(), Leaving::default());
        Self {
            connection,
            peer,
            info: CallInfo::new(info),
            waiting: VecDeque::new(),
            is_drained: true,
            signals,
            asks,
            leaving,
            ending: Ending::No,
            running,
            handles,
            is_warm: false,
            max_calls,
            purse,
        }
    }

    /// What reaches the engine from outside of its calls.
    pub(super) fn signals(&self) -> &Arc<Signals> {
        &self.signals
    }

    /// Takes a frame from the client.
    pub(super) fn take(&mut self, lane: Lane, frame: Frame) {
        if self.is_drained {
            self.begin(lane, frame);
        } else {
            self.waiting.push_back((lane, frame));
        }
    }

    /// Hands a frame to the engine. Its calls come out before those of the next
    /// one go in, so that each is known by the request that has brought it.
    fn begin(&mut self, lane: Lane, frame: Frame) {
        self.is_drained = false;
        self.info.set_http(frame.request);
        self.peer.handle_scanned(lane, frame.messages);
    }

    /// The revision of the session, once there is one.
    pub(super) fn session(&self) -> Option<Revision> {
        self.peer.session()
    }

    /// What its messages are counted by.
    pub(super) fn purse(&self) -> &Purse {
        &self.purse
    }

    /// Who its client acts for.
    pub(super) fn principal(&self) -> Option<&Principal> {
        self.info.principal()
    }

    /// As [`ServerPeer::share_client`].
    pub(super) fn share_client(&mut self, known: &mut KnownClient) {
        self.peer.share_client(known);
    }

    /// A request of the server's own cannot reach the client now.
    pub(super) fn unreachable(&mut self, ask: AskKey, why: &str) {
        self.asks.unreachable(&mut self.peer, ask, why);
    }

    /// What a session does between two frames. One that calls handlers keeps the
    /// memory for the next call, until it has been idle for a while; of those that
    /// do not there may be very many.
    pub(super) fn rest(&mut self) {
        if !self.is_warm {
            self.shrink();
        }
    }

    /// Gives back memory that only work needs, when there is none.
    pub(super) fn shrink(&mut self) {
        self.is_warm = false;
        self.peer.shrink();
        self.signals.shrink();
        if self.handles.is_empty() {
            self.handles = BTreeMap::new();
            self.waiting.shrink_to_fit();
            self.leaving = Leaving::new();
            self.running = self.running.take().filter(|running| !running.is_empty());
        }
    }

    /// Whether no handler is at work.
    pub(super) fn is_idle(&self) -> bool {
        self.handles.is_empty()
    }

    /// What comes next.
    pub(super) async fn next(&mut self) -> Said {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// As [`next`](Self::next). Everything a handler says comes before its answer.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Said> {
        loop {
            if let Some(said) = self.outputs().or_else(|| self.pause()) {
                return Poll::Ready(said);
            }
            if self.drain(Some(cx.waker())) {
                continue;
            }
            if self.ending == Ending::Due {
                self.ending = Ending::Said;
                return Poll::Ready(Said::Over);
            }
            let joined = match &mut self.running {
                Some(running) => running.poll_join_next(cx),
                None => Poll::Ready(None),
            };
            match joined {
                Poll::Ready(Some(Ok((key, outcome)))) => {
                    self.handles.remove(&key);
                    self.drain(None);
                    self.respond(key, outcome);
                }
                // A call that was cancelled.
                Poll::Ready(Some(Err(_))) => {}
                Poll::Ready(None) | Poll::Pending => {
                    if !self.drain(Some(cx.waker())) {
                        return Poll::Pending;
                    }
                }
            }
        }
    }

    /// Hands what handlers and others say to the engine; whether there was any.
    fn drain(&mut self, waker: Option<&Waker>) -> bool {
        let Self { signals, peer, asks, leaving, handles, .. } = self;
        let mut over = false;
        let answered = |key| drop(handles.remove(&key));
        let some = signals.drain(peer, asks, leaving, &mut over, waker, answered);
        if over && self.ending == Ending::No && self.peer.session().is_some() {
            self.ending = Ending::Due;
        }
        some
    }

    /// Does what the engine wants until there is something to say.
    fn outputs(&mut self) -> Option<Said> {
        loop {
            let Some(output) = self.peer.poll_output() else {
                self.is_drained = true;
                self.info.set_http(None);
                let (lane, frame) = self.waiting.pop_front()?;
                self.begin(lane, frame);
                continue;
            };
            match output {
                ServerOutput::Send { lane, bytes, sent, error } => {
                    let message = Outgoing { bytes: self.purse.keep(bytes), sent, error };
                    return Some(Said::Message(lane, message));
                }
                ServerOutput::Answered(ask, answer) => self.asks.answered(ask, answer),
                ServerOutput::AskReplied(ask, reply) => self.asks.replied(ask, reply),
                ServerOutput::LevelSet(level) => self.connection.level_set(level),
                ServerOutput::Opened(revision) => self.connection.opened(revision),
                ServerOutput::Call(call) => self.start(call),
                ServerOutput::Cancel(key) => {
                    self.connection.cancelled(key);
                    if let Some((lane, _)) = self.handles.remove(&key) {
                        // Others of its batch may still be at work.
                        if !self.handles.values().any(|(other, _)| *other == lane) {
                            return Some(Said::End(lane));
                        }
                    }
                }
                ServerOutput::Notification(message) => self.connection.notified(message),
                ServerOutput::Ignored(what) => tracing::debug!(what, "a message has no effect"),
                _ => {}
            }
        }
    }

    /// The next stream to close before its answer.
    fn pause(&mut self) -> Option<Said> {
        let may = self.session().is_some_and(|revision| revision.rules().early_close);
        while let Some((key, retry)) = self.leaving.pop_front() {
            // A call that has ended meanwhile needs no other stream.
            if let Some((lane, _)) = self.handles.get(&key).filter(|_| may) {
                return Some(Said::Pause(*lane, retry));
            }
        }
        None
    }

    /// Answers a call, unless far too much waits to be read already: then by an error.
    fn respond(&mut self, key: CallKey, outcome: Outcome) {
        let outcome = match self.purse.far_exceeded() {
            Some(full) if !matches!(outcome, Outcome::Error(_)) => {
                Outcome::Error(RpcError::overloaded(format!("the answer was left out: {full}")))
            }
            _ => outcome,
        };
        self.peer.respond(key, outcome);
    }

    fn start(&mut self, call: Call) {
        let (key, lane) = (call.key, call.lane);
        self.is_warm = true;
        if self.handles.len() >= self.max_calls {
            let error = RpcError::overloaded(format!(
                "{} calls run already in this session, as many as may (max_calls); try again later",
                self.max_calls
            ));
            return self.peer.respond(key, Outcome::Error(error));
        }
        match run(&mut *self.connection, call, &self.info) {
            Dispatch::Ready(outcome) => {
                self.drain(None);
                self.respond(key, outcome);
            }
            Dispatch::Pending(handler) => {
                let running = self.running.get_or_insert_default();
                let handle = running.spawn(async move { (key, caught(handler).await) });
                self.handles.insert(key, (lane, Work::Task(handle)));
            }
            Dispatch::Later(work) => {
                self.handles.insert(key, (lane, Work::Elsewhere(work)));
            }
        }
    }
}

#[cfg(test)]
mod tests;
