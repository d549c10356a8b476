//! The loop that joins a server, a transport and a clock.
//!
//! One task reads, dispatches, and writes. A handler is polled once where it
//! stands; only when it is not ready it moves to a task of its own, so that a
//! quick call costs neither a task nor a channel.

mod outbox;
mod stall;
#[cfg(test)]
mod tests;
mod waiting;

use crate::server::{
    Answering, Asks, CallInfo, Connection, ConnectionInfo, Dispatch, Elsewhere, Service,
};
use crate::transport::{Event, Outgoing, Transport, wire};
use carrick_proto::peer::{Call, CallKey, Lane, Outcome, ServerOutput, ServerPeer};
use carrick_proto::rpc::{self, Limits, Scanned};
use carrick_proto::types::RpcError;
use futures_util::FutureExt;
use outbox::{Inbox, Note};
use stall::Stall;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::{Sleep, sleep};
use waiting::{Waiting, cost};

/// How a server is driven.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServeOptions {
    /// How long running calls may go on after the client has closed its side.
    /// Default 5 s.
    pub grace: Duration,
    /// Calls that may run at once; more wait. Default 1,024.
    pub concurrency: usize,
    /// Bytes of requests that may wait, and of answers that may be unread,
    /// before more requests are refused. Progress and logs are left out then,
    /// at twice as many unread bytes nothing more is read, and at four times as many
    /// answers are replaced by errors. Default 16 MiB.
    pub backlog: usize,
    /// How long a client may read nothing while more than [`backlog`](Self::backlog)
    /// waits for it, before the connection is given up. Default 30 s.
    pub write_timeout: Duration,
    /// Bounds on one message.
    pub limits: Limits,
    /// What handlers learn of the connection. Default: the kind of the transport,
    /// and nothing else.
    pub connection: Option<Arc<ConnectionInfo>>,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(5),
            concurrency: 1024,
            backlog: 16 << 20,
            write_timeout: Duration::from_secs(30),
            limits: Limits::default(),
            connection: None,
        }
    }
}

/// Why serving ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Answers could not be written.
    #[error("writing to the client failed")]
    Write(#[source] io::Error),
}

/// Serves one connection until the client closes it.
///
/// # Errors
/// When answers can no longer be written.
pub async fn serve<T: Transport>(server: &impl Service, transport: T) -> Result<(), ServeError> {
    serve_with(server, transport, ServeOptions::default()).await
}

/// The same with options.
///
/// # Errors
/// When answers can no longer be written.
pub async fn serve_with<T: Transport>(
    server: &impl Service,
    transport: T,
    options: ServeOptions,
) -> Result<(), ServeError> {
    serve_until(server, transport, options, std::future::pending()).await
}

/// The same until `shutdown` is ready as well. Then nothing more is read,
/// running calls may go on for [`ServeOptions::grace`], and clients that listen
/// for changes are told that this has ended.
///
/// # Errors
/// When answers can no longer be written.
pub async fn serve_until<T: Transport>(
    server: &impl Service,
    transport: T,
    options: ServeOptions,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    let (outbox, inbox) = outbox::channel();
    let known = options.connection.clone();
    let info = known.unwrap_or_else(|| Arc::new(ConnectionInfo::new(transport.kind())));
    let mut driver = Driver {
        peer: ServerPeer::new(server.identity(), options.limits),
        connection: server.connect(info.clone(), outbox.clone()),
        info: CallInfo::new(info),
        transport,
        options,
        running: BTreeMap::new(),
        waiting: Waiting::default(),
        outbox,
        inbox,
        asks: Asks::default(),
        stalled: false,
        stall: Stall::default(),
        stage: Stage::Open(Box::pin(shutdown)),
    };
    poll_fn(|cx| driver.poll(cx)).await
}

struct Driver<T> {
    connection: Box<dyn Connection>,
    /// Of every call.
    info: CallInfo,
    peer: ServerPeer,
    transport: T,
    options: ServeOptions,
    /// Calls that are not answered yet.
    running: BTreeMap<CallKey, Work>,
    /// Calls that wait for others to end.
    waiting: Waiting,
    outbox: Arc<outbox::Sender>,
    inbox: Inbox,
    asks: Asks,
    /// Whether reading has stopped for a client that does not read.
    stalled: bool,
    stall: Stall,
    stage: Stage,
}

/// How far the connection is.
enum Stage {
    /// Until the client closes its side, or this is ready.
    Open(Pin<Box<dyn Future<Output = ()> + Send>>),
    /// Nothing more is read: running calls may end until then.
    Grace(Pin<Box<Sleep>>),
    /// The last answers are written, or given up then.
    Leaving(Pin<Box<Sleep>>),
}

/// Messages taken in one go before what they caused is written.
const BURST: usize = 256;

impl<T: Transport> Driver<T> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ServeError>> {
        loop {
            if let Stage::Leaving(patience) = &mut self.stage {
                let given_up = patience.as_mut().poll(cx).is_ready();
                let closed = self.transport.poll_close(cx).is_ready();
                return if closed || given_up { Poll::Ready(Ok(())) } else { Poll::Pending };
            }
            let more = self.poll_inputs(cx);
            let before = self.transport.queued();
            let flushed = match self.transport.poll_flush(cx) {
                Poll::Ready(Ok(())) => true,
                Poll::Pending => false,
                // A client that has closed its side may be gone altogether.
                Poll::Ready(Err(_)) if !matches!(self.stage, Stage::Open(_)) => {
                    return Poll::Ready(Ok(()));
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(ServeError::Write(error))),
            };
            self.reuse();
            let (unread, progress) = (self.is_unread(), self.transport.queued() < before);
            if self.stall.is_over(unread, progress, self.options.write_timeout, cx) {
                let text = "the client reads nothing, and too much waits for it (backlog)";
                let error = io::Error::new(io::ErrorKind::TimedOut, text);
                return Poll::Ready(Err(ServeError::Write(error)));
            }
            // What was written may have made room for what waits for it.
            if more || self.has_room() {
                continue;
            }
            let Stage::Grace(grace) = &mut self.stage else { return Poll::Pending };
            let expired = grace.as_mut().poll(cx).is_ready();
            let idle = self.running.is_empty() && self.waiting.is_empty();
            let over = expired || (idle && flushed);
            if !over {
                return Poll::Pending;
            }
            self.abort();
            self.stage = Stage::Leaving(Box::pin(sleep(self.options.grace)));
        }
    }

    /// Takes what has arrived; true when it stopped before there was nothing.
    fn poll_inputs(&mut self, cx: &mut Context<'_>) -> bool {
        while let Poll::Ready(note) = self.inbox.poll(cx) {
            self.note(note);
            self.drain();
        }
        self.outbox.wake_at_change(cx);
        self.tell_changes();
        self.start_waiting();
        if let Stage::Open(shutdown) = &mut self.stage
            && shutdown.as_mut().poll(cx).is_ready()
        {
            self.close();
        }
        for _ in 0..BURST {
            if !matches!(self.stage, Stage::Open(_)) {
                return false;
            }
            self.stalled = self.transport.queued() / 2 > self.options.backlog;
            if self.stalled {
                return false;
            }
            let Poll::Ready(event) = self.transport.poll_recv(cx) else { return false };
            self.event(event);
            self.drain();
        }
        true
    }

    /// Whether something stands still that need not.
    fn has_room(&self) -> bool {
        let stalled = self.stalled && self.transport.queued() / 2 <= self.options.backlog;
        let untold = self.outbox.has_changes() && !self.is_unread();
        stalled || untold || (!self.waiting.is_empty() && self.may_start())
    }

    fn may_start(&self) -> bool {
        self.running.len() < self.options.concurrency && !self.is_unread()
    }

    /// Whether the client leaves more unread than it may.
    fn is_unread(&self) -> bool {
        self.transport.queued() > self.options.backlog
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Message { lane, bytes } => {
                wire::received(&bytes);
                self.peer.handle_input(lane, bytes);
            }
            Event::Scanned { lane, message } => {
                wire::received(message.bytes());
                self.peer.handle_scanned(lane, Scanned::One(message));
            }
            Event::LaneEnd { lane, .. } => self.peer.drop_lane(lane),
            // Sessions and streams of theirs are lost by clients.
            Event::SessionLost | Event::StreamClosed { .. } | Event::ListenEnded(_) => {}
            Event::Oversize { limit } => self.refuse_oversize(limit),
            Event::Closed(how) => {
                tracing::debug!(how, "the client closed the connection");
                self.close();
            }
        }
    }

    /// Reads nothing more, and lets what runs come to its end.
    fn close(&mut self) {
        self.stage = Stage::Grace(Box::pin(sleep(self.options.grace)));
        self.peer.end_listens();
        self.drain();
    }

    /// Gives the engine back what the transport has written.
    fn reuse(&mut self) {
        while let Some(buffer) = self.transport.spent() {
            self.peer.reuse(buffer);
        }
    }

    /// Hands what has changed to the engine, unless the client does not read:
    /// then it waits, and grows no further.
    fn tell_changes(&mut self) {
        if self.is_unread() {
            return;
        }
        if let Some(changes) = self.outbox.take_changes() {
            self.peer.tell(changes);
            self.drain();
        }
    }

    fn refuse_oversize(&mut self, limit: usize) {
        let mut bytes = Vec::new();
        let text = format!("a message may have at most {limit} bytes");
        rpc::error_response(&mut bytes, None, RpcError::INVALID_REQUEST, &text, None);
        self.transport.send(Outgoing::from_server(Lane::Connection, bytes));
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Done(key, outcome) => {
                self.running.remove(&key);
                // What a handler changes is told before its answer.
                self.tell_changes();
                self.respond(key, outcome);
            }
            // Nobody would see these in time, and they would pile up.
            Note::Progress { .. } if self.is_unread() => {}
            Note::Log { .. } if self.is_unread() => self.outbox.count_dropped(),
            Note::Progress { key, done, total, message } => {
                self.peer.progress(key, done, total, message.as_deref());
            }
            Note::Log { key, level, logger, data } => {
                self.peer.log(key, level, logger.as_deref(), &data);
            }
            Note::Ask { key, question } => self.asks.ask(&mut self.peer, key, question),
            Note::Notice { .. } if self.is_unread() => self.outbox.count_dropped(),
            Note::Notice { to, message, from } => self.peer.pass_notice(to, &message, from),
            Note::PassAsk(ask) => self.asks.pass(&mut self.peer, *ask),
            Note::SweepAsks => self.asks.sweep(&mut self.peer),
        }
    }

    /// Does what the engine asks for.
    fn drain(&mut self) {
        while let Some(output) = self.peer.poll_output() {
            match output {
                ServerOutput::Send { lane, bytes, .. } => {
                    wire::sent(&bytes);
                    self.transport.send(Outgoing::from_server(lane, bytes));
                    self.reuse();
                }
                ServerOutput::Answered(ask, answer) => self.asks.answered(ask, answer),
                ServerOutput::AskReplied(ask, reply) => self.asks.replied(ask, reply),
                ServerOutput::LevelSet(level) => self.connection.level_set(level),
                ServerOutput::Opened(revision) => self.connection.opened(revision),
                ServerOutput::Call(call) => self.admit(call),
                ServerOutput::Cancel(key) => self.cancel(key),
                ServerOutput::Notification(message) => self.connection.notified(message),
                ServerOutput::Ignored(what) => tracing::debug!(what, "ignored"),
                _ => {}
            }
        }
    }

    fn admit(&mut self, call: Call) {
        if self.waiting.is_empty() && self.may_start() {
            return self.start(call);
        }
        if self.waiting.bytes() + cost(&call) > self.options.backlog {
            let error = RpcError::overloaded(
                "the server has too many requests waiting (backlog); try later",
            );
            return self.peer.respond(call.key, Outcome::Error(error));
        }
        self.waiting.push(call);
    }

    fn start_waiting(&mut self) {
        while self.may_start() {
            let Some(call) = self.waiting.pop() else { return };
            self.start(call);
            self.drain();
        }
    }

    fn start(&mut self, call: Call) {
        let key = call.key;
        match run(&mut *self.connection, call, &self.info) {
            Dispatch::Ready(outcome) => {
                // Progress and logs sent on the way precede the answer.
                while let Some(note) = self.inbox.try_next() {
                    self.note(note);
                }
                self.tell_changes();
                self.respond(key, outcome);
            }
            Dispatch::Pending(future) => {
                let done = self.outbox.clone();
                let task = tokio::spawn(async move { done.done(key, caught(future).await).await });
                self.running.insert(key, Work::Task(task.abort_handle()));
            }
            Dispatch::Later(work) => {
                self.running.insert(key, Work::Elsewhere(work));
            }
        }
    }

    /// Answers a call, unless far too much is unread: then by an error.
    fn respond(&mut self, key: CallKey, outcome: Outcome) {
        let outcome = match outcome {
            Outcome::Error(_) => outcome,
            _ if self.transport.queued() / 4 > self.options.backlog => {
                let text = "the answer was left out: too many others are not read (backlog)";
                Outcome::Error(RpcError::overloaded(text))
            }
            _ => outcome,
        };
        self.peer.respond(key, outcome);
    }

    fn cancel(&mut self, key: CallKey) {
        self.running.remove(&key);
        self.waiting.remove(key);
        self.connection.cancelled(key);
    }
}

impl<T> Driver<T> {
    /// Ends all work that nobody waits for any more.
    fn abort(&mut self) {
        self.waiting.clear();
        self.running.clear();
    }
}

impl<T> Drop for Driver<T> {
    fn drop(&mut self) {
        self.abort();
    }
}

/// What is done for a call that is not answered yet. Dropping it ends that.
pub(crate) enum Work {
    /// In a task of its own.
    Task(AbortHandle),
    /// By somebody else.
    Elsewhere(Arc<dyn Elsewhere>),
}

impl Drop for Work {
    fn drop(&mut self) {
        match self {
            Self::Task(task) => task.abort(),
            Self::Elsewhere(work) => work.give_up(),
        }
    }
}

/// Dispatches a call and polls its handler once.
pub(crate) fn run(connection: &mut dyn Connection, call: Call, info: &CallInfo) -> Dispatch {
    let dispatched = std::panic::catch_unwind(AssertUnwindSafe(|| connection.call(call, info)));
    let mut future = match dispatched {
        Ok(Dispatch::Pending(future)) => future,
        Ok(other) => return other,
        Err(_) => return Dispatch::Ready(panicked()),
    };
    // Whoever polls it next registers a real waker, so none is needed here.
    let mut cx = Context::from_waker(Waker::noop());
    let polled = std::panic::catch_unwind(AssertUnwindSafe(|| future.poll_here(&mut cx)));
    match polled {
        Ok(Poll::Ready(outcome)) => Dispatch::Ready(outcome),
        Ok(Poll::Pending) => Dispatch::Pending(future),
        Err(_) => Dispatch::Ready(panicked()),
    }
}

/// The handler's outcome; a panic becomes an error without its details.
pub(crate) async fn caught(future: Answering) -> Outcome {
    AssertUnwindSafe(future).catch_unwind().await.unwrap_or_else(|_| panicked())
}

fn panicked() -> Outcome {
    Outcome::Error(RpcError::internal("the handler failed unexpectedly"))
}
