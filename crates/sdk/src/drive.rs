//! The loop that joins a server, a transport and a clock.
//!
//! One task reads, dispatches, and writes. A handler is polled once where it
//! stands; only when it is not ready it moves to a task of its own, so that a
//! quick call costs neither a task nor a channel.

mod outbox;
#[cfg(test)]
mod tests;

use crate::server::{Asks, Dispatch, Outbox, Server};
use crate::transport::{Event, Outgoing, Transport};
use carrick_proto::peer::{Call, CallKey, Lane, Outcome, ServerOutput, ServerPeer};
use carrick_proto::rpc::{self, Limits};
use carrick_proto::types::RpcError;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use outbox::{Inbox, Note};
use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::io;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::Sleep;

/// How a server is driven.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ServeOptions {
    /// How long running calls may go on after the client has closed its side.
    /// Default 5 s.
    pub grace: Duration,
    /// Calls that may run at once; more wait. Default 1,024.
    pub concurrency: usize,
    /// Bytes of requests that may wait, and of answers that may be unread,
    /// before more requests are refused. Default 16 MiB.
    pub backlog: usize,
    /// Bounds on one message.
    pub limits: Limits,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(5),
            concurrency: 1024,
            backlog: 16 << 20,
            limits: Limits::default(),
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
pub async fn serve<T: Transport>(server: &Server, transport: T) -> Result<(), ServeError> {
    serve_with(server, transport, ServeOptions::default()).await
}

/// The same with options.
///
/// # Errors
/// When answers can no longer be written.
pub async fn serve_with<T: Transport>(
    server: &Server,
    transport: T,
    options: ServeOptions,
) -> Result<(), ServeError> {
    let (outbox, inbox) = outbox::channel();
    let mut driver = Driver {
        peer: ServerPeer::new(server.identity(), options.limits),
        server: server.clone(),
        transport,
        options,
        running: BTreeMap::new(),
        waiting: VecDeque::new(),
        waiting_bytes: 0,
        outbox,
        inbox,
        asks: Asks::default(),
        closing: None,
    };
    poll_fn(|cx| driver.poll(cx)).await
}

struct Driver<T> {
    server: Server,
    peer: ServerPeer,
    transport: T,
    options: ServeOptions,
    /// Calls whose handlers have tasks of their own.
    running: BTreeMap<CallKey, AbortHandle>,
    /// Calls that wait for others to end.
    waiting: VecDeque<Call>,
    waiting_bytes: usize,
    outbox: Arc<outbox::Sender>,
    inbox: Inbox,
    asks: Asks,
    /// Set once the client has closed its side.
    closing: Option<Pin<Box<Sleep>>>,
}

/// Messages taken in one go before what they caused is written.
const BURST: usize = 256;

impl<T: Transport> Driver<T> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ServeError>> {
        loop {
            let more = self.poll_inputs(cx);
            let flushed = match self.transport.poll_flush(cx) {
                Poll::Ready(Err(error)) => return Poll::Ready(Err(ServeError::Write(error))),
                Poll::Ready(Ok(())) => true,
                Poll::Pending => false,
            };
            if more {
                continue;
            }
            let Some(grace) = &mut self.closing else { return Poll::Pending };
            let idle = self.running.is_empty() && self.waiting.is_empty();
            let expired = grace.as_mut().poll(cx).is_ready();
            if (idle && flushed) || expired {
                return self.transport.poll_close(cx).map(Ok);
            }
            return Poll::Pending;
        }
    }

    /// Takes what has arrived; true when it stopped before there was nothing.
    fn poll_inputs(&mut self, cx: &mut Context<'_>) -> bool {
        while let Poll::Ready(note) = self.inbox.poll(cx) {
            self.note(note);
            self.drain();
        }
        self.start_waiting();
        for _ in 0..BURST {
            if self.closing.is_some() {
                return false;
            }
            let Poll::Ready(event) = self.transport.poll_recv(cx) else { return false };
            self.event(event);
            self.drain();
        }
        true
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Message { lane, bytes } => self.peer.handle_input(lane, bytes),
            Event::LaneEnd { lane, .. } => self.peer.drop_lane(lane),
            Event::Oversize { limit } => self.refuse_oversize(limit),
            Event::Closed(how) => {
                tracing::debug!(how, "the client closed the connection");
                self.closing = Some(Box::pin(tokio::time::sleep(self.options.grace)));
            }
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
                self.peer.respond(key, outcome);
            }
            Note::Progress { key, done, total, message } => {
                self.peer.progress(key, done, total, message.as_deref());
            }
            Note::Log { key, level, logger, data } => {
                self.peer.log(key, level, logger.as_deref(), &data);
            }
            Note::Ask { key, question } => self.asks.ask(&mut self.peer, key, question),
        }
    }

    /// Does what the engine asks for.
    fn drain(&mut self) {
        while let Some(output) = self.peer.poll_output() {
            match output {
                ServerOutput::Send { lane, bytes, .. } => {
                    self.transport.send(Outgoing::from_server(lane, bytes));
                }
                ServerOutput::Answered(ask, answer) => self.asks.answered(ask, answer),
                ServerOutput::Call(call) => self.admit(call),
                ServerOutput::Cancel(key) => self.cancel(key),
                ServerOutput::Ignored(what) => tracing::debug!(what, "ignored"),
                _ => {}
            }
        }
    }

    fn admit(&mut self, call: Call) {
        let unread = self.transport.queued() > self.options.backlog;
        if self.running.len() < self.options.concurrency && self.waiting.is_empty() && !unread {
            return self.start(call);
        }
        let size = call.message.bytes().len();
        if self.waiting_bytes + size > self.options.backlog {
            let error = RpcError::internal("the server has too many requests waiting; try later");
            return self.peer.respond(call.key, Outcome::Error(error));
        }
        self.waiting_bytes += size;
        self.waiting.push_back(call);
    }

    fn start_waiting(&mut self) {
        while self.running.len() < self.options.concurrency
            && self.transport.queued() <= self.options.backlog
        {
            let Some(call) = self.waiting.pop_front() else { return };
            self.waiting_bytes -= call.message.bytes().len();
            self.start(call);
            self.drain();
        }
    }

    fn start(&mut self, call: Call) {
        let key = call.key;
        let outbox: Arc<dyn Outbox> = self.outbox.clone();
        match run(&self.server, call, &outbox) {
            Dispatch::Ready(outcome) => {
                // Progress and logs sent on the way precede the answer.
                while let Some(note) = self.inbox.try_next() {
                    self.note(note);
                }
                self.peer.respond(key, outcome);
            }
            Dispatch::Pending(future) => {
                let done = self.outbox.clone();
                let task = tokio::spawn(async move { done.done(key, caught(future).await).await });
                self.running.insert(key, task.abort_handle());
            }
        }
    }

    fn cancel(&mut self, key: CallKey) {
        if let Some(task) = self.running.remove(&key) {
            task.abort();
        }
        let waiting = self.waiting.iter().position(|call| call.key == key);
        if let Some(call) = waiting.and_then(|at| self.waiting.remove(at)) {
            self.waiting_bytes -= call.message.bytes().len();
        }
    }
}

impl<T> Drop for Driver<T> {
    fn drop(&mut self) {
        for task in self.running.values() {
            task.abort();
        }
    }
}

/// Dispatches a call and polls its handler once.
pub(crate) fn run(server: &Server, call: Call, outbox: &Arc<dyn Outbox>) -> Dispatch {
    let dispatched = std::panic::catch_unwind(AssertUnwindSafe(|| server.dispatch(call, outbox)));
    let mut future = match dispatched {
        Ok(Dispatch::Pending(future)) => future,
        Ok(ready) => return ready,
        Err(_) => return Dispatch::Ready(panicked()),
    };
    // Whoever polls it next registers a real waker, so none is needed here.
    let mut cx = Context::from_waker(Waker::noop());
    let polled = std::panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut cx)));
    match polled {
        Ok(Poll::Ready(outcome)) => Dispatch::Ready(outcome),
        Ok(Poll::Pending) => Dispatch::Pending(future),
        Err(_) => Dispatch::Ready(panicked()),
    }
}

/// The handler's outcome; a panic becomes an error without its details.
pub(crate) async fn caught(future: BoxFuture<'static, Outcome>) -> Outcome {
    AssertUnwindSafe(future).catch_unwind().await.unwrap_or_else(|_| panicked())
}

fn panicked() -> Outcome {
    Outcome::Error(RpcError::internal("the handler failed unexpectedly"))
}
