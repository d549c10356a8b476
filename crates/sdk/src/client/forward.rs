//! Requests that are passed on for somebody else, and what the server says of
//! them meanwhile.

use super::drive::Command;
use super::{CallError, Client};
use carrick_proto::peer::{Forward, Reply};
use carrick_proto::revision::Revision;
use carrick_proto::rpc::{Id, Message};
use carrick_proto::types::RpcError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Hears what a server says outside of answers, in its own words. All methods
/// are called by the connection's task and must return at once.
pub trait Relay: Send + Sync {
    /// A notification, written in `revision`.
    fn notice(&self, message: Message, revision: Revision);

    /// A request of the server's own.
    fn asked(&self, ask: ServerAsk);
}

/// Hears what a server says of one request that was passed on.
pub trait CallRelay: Relay {
    /// The server closed the stream of the request before its answer, which will
    /// be fetched, after `retry` if the server said so (HTTP, 2025-11-25
    /// `basic/transports`, Sending Messages to the Server). May come several
    /// times.
    fn stream_closed(&self, retry: Option<Duration>) {
        let _ = retry;
    }

    /// The end of it: the answer, or why there is none. Called once, unless the
    /// request is given up.
    fn done(self: Arc<Self>, result: Result<Reply, CallError>);
}

impl Client {
    /// Passes on a request for somebody else; `relay` hears what comes of it.
    /// Dropping what is returned gives the request up.
    ///
    /// Which call a notification or a request of the server's belongs to is
    /// known for progress, and for the rest over transports with exchanges of
    /// their own, as HTTP. What belongs to none goes to [`super::Hooks::relay`].
    pub fn forward(&self, forward: Forward, relay: Arc<dyn CallRelay>) -> Forwarded {
        let ticket = super::call::ticket();
        let call = Arc::new(Call { over: AtomicBool::new(false), relay });
        let waiter = Waiter(call.clone());
        let command = Command::Forward { ticket, forward, waiter };
        // Without a loop the waiter, which is dropped then, tells of the end.
        let _ = self.commands.send(command);
        Forwarded { commands: self.commands.clone(), ticket, call }
    }

    /// Passes on a notification.
    pub fn notify(&self, message: Message, from: Revision) {
        // Without a connection there is nobody to tell.
        let _ = self.commands.send(Command::Notify(Box::new(message), from));
    }
}

/// A request on its way: dropping it gives it up.
#[derive(Debug)]
pub struct Forwarded {
    commands: mpsc::UnboundedSender<Command>,
    ticket: u64,
    call: Arc<Call>,
}

impl Drop for Forwarded {
    fn drop(&mut self) {
        if !self.call.over.swap(true, Ordering::AcqRel) {
            // Without a loop there is nothing left to cancel.
            let _ = self.commands.send(Command::Cancel(self.ticket));
        }
    }
}

struct Call {
    over: AtomicBool,
    relay: Arc<dyn CallRelay>,
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("over", &self.over).finish_non_exhaustive()
    }
}

/// The loop's end of a request that was passed on.
pub(super) struct Waiter(Arc<Call>);

impl Waiter {
    pub(super) fn done(self, result: Result<Reply, CallError>) {
        if !self.0.over.swap(true, Ordering::AcqRel) {
            self.0.relay.clone().done(result);
        }
    }

    pub(super) fn relay(&self) -> &dyn CallRelay {
        &*self.0.relay
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if !self.0.over.swap(true, Ordering::AcqRel) {
            let how = "the connection has been closed".into();
            self.0.relay.clone().done(Err(CallError::Closed(how)));
        }
    }
}

/// A request of a server's own, to be answered. Dropping it refuses it.
#[derive(Debug)]
pub struct ServerAsk {
    message: Message,
    id: Id,
    revision: Revision,
    /// None once it is answered.
    commands: Option<mpsc::WeakUnboundedSender<Command>>,
    withdrawn: oneshot::Receiver<()>,
}

impl ServerAsk {
    pub(super) fn new(
        message: Message,
        id: Id,
        revision: Revision,
        commands: mpsc::WeakUnboundedSender<Command>,
        withdrawn: oneshot::Receiver<()>,
    ) -> Self {
        Self { message, id, revision, commands: Some(commands), withdrawn }
    }

    /// The request as it came.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// The revision that it is written in.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Answers it in somebody else's words.
    pub fn answer(mut self, reply: Reply) {
        self.send(Ok(reply));
    }

    /// Refuses it.
    pub fn refuse(mut self, error: RpcError) {
        self.send(Err(error));
    }

    /// Waits until the server no longer wants an answer, or is gone.
    pub async fn withdrawn(&mut self) {
        // The loop says nothing here: it drops its end.
        let _ = (&mut self.withdrawn).await;
    }

    /// Whether the server no longer wants an answer.
    pub fn is_withdrawn(&mut self) -> bool {
        let open = matches!(self.withdrawn.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        !open
    }

    fn send(&mut self, answer: Result<Reply, RpcError>) {
        let commands = self.commands.take().and_then(|commands| commands.upgrade());
        if let Some(commands) = commands {
            // Without a loop the server is gone.
            let _ = commands.send(Command::Answer(self.id.clone(), answer.map(Box::new)));
        }
    }
}

impl Drop for ServerAsk {
    fn drop(&mut self) {
        if self.commands.is_some() {
            self.send(Err(RpcError::internal("nobody is left to answer this")));
        }
    }
}
