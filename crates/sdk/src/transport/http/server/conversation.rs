//! A protocol engine together with the handlers that work for it.

use std::any::Any;
use std::collections::HashMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt};
use futures_util::FutureExt;

use carrick_proto::peer::{Call, CallKey, Lane, Outcome, ServerOutput, ServerPeer};
use carrick_proto::rpc::{Limits, Message};
use carrick_proto::types::RpcError;

use crate::server::{Dispatch, Outbox, Server};

use super::mailbox::Outgoing;
use super::signals::Signals;

type Answered = (CallKey, Outcome);

/// One side of one conversation: a session, or a single request.
///
/// Handlers run only while it is polled, and end when it is dropped.
pub(super) struct Conversation {
    server: Server,
    peer: ServerPeer,
    signals: Arc<Signals>,
    outbox: Arc<dyn Outbox>,
    running: FuturesUnordered<Abortable<BoxFuture<'static, Answered>>>,
    handles: HashMap<CallKey, AbortHandle>,
}

impl Conversation {
    pub(super) fn new(server: Server) -> Self {
        let signals = Arc::new(Signals::default());
        let outbox = Arc::clone(&signals) as Arc<dyn Outbox>;
        let peer = ServerPeer::new(server.identity(), Limits::default());
        let running = FuturesUnordered::new();
        Self { server, peer, signals, outbox, running, handles: HashMap::new() }
    }

    /// Takes a message from the client.
    pub(super) fn take(&mut self, lane: Lane, message: Message) {
        self.peer.handle_message(lane, message);
    }

    /// Whether no handler runs.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// The next message for the client.
    pub(super) async fn next(&mut self) -> (Lane, Outgoing) {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// As [`next`](Self::next). Everything a handler says comes before its answer.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<(Lane, Outgoing)> {
        loop {
            if let Some(message) = self.outputs() {
                return Poll::Ready(message);
            }
            if self.signals.drain(&mut self.peer, Some(cx.waker())) {
                continue;
            }
            match self.running.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok((key, outcome)))) => {
                    self.handles.remove(&key);
                    self.signals.drain(&mut self.peer, None);
                    self.peer.respond(key, outcome);
                }
                // A call that was cancelled; its handler is dropped by now.
                Poll::Ready(Some(Err(_))) => {}
                Poll::Ready(None) | Poll::Pending => {
                    if !self.signals.drain(&mut self.peer, Some(cx.waker())) {
                        return Poll::Pending;
                    }
                }
            }
        }
    }

    /// Does what the engine wants until it wants a message sent.
    fn outputs(&mut self) -> Option<(Lane, Outgoing)> {
        while let Some(output) = self.peer.poll_output() {
            match output {
                ServerOutput::Send { lane, bytes, last, error } => {
                    return Some((lane, Outgoing { bytes: Bytes::from(bytes), last, error }));
                }
                ServerOutput::Call(call) => self.start(call),
                ServerOutput::Cancel(key) => {
                    if let Some(handle) = self.handles.remove(&key) {
                        handle.abort();
                    }
                }
                ServerOutput::Ignored(what) => tracing::debug!(what, "a message has no effect"),
                _ => {}
            }
        }
        None
    }

    fn start(&mut self, call: Call) {
        let key = call.key;
        let dispatched = catch_unwind(AssertUnwindSafe(|| self.server.dispatch(call, &self.outbox)));
        match dispatched {
            Ok(Dispatch::Ready(outcome)) => self.peer.respond(key, outcome),
            Ok(Dispatch::Pending(handler)) => {
                let caught = AssertUnwindSafe(handler).catch_unwind();
                let answer = caught.map(move |outcome| match outcome {
                    Ok(outcome) => (key, outcome),
                    Err(panic) => (key, panicked(&*panic)),
                });
                let (handle, registration) = AbortHandle::new_pair();
                self.running.push(Abortable::new(answer.boxed(), registration));
                self.handles.insert(key, handle);
            }
            Err(panic) => self.peer.respond(key, panicked(&*panic)),
        }
    }
}

/// The client learns that the handler failed, the log learns how.
fn panicked(panic: &(dyn Any + Send)) -> Outcome {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = text.unwrap_or("no text"), "a handler panicked");
    Outcome::Error(RpcError::internal("the handler failed"))
}
