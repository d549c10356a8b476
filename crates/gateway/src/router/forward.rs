//! A call that passes through to a server that asks its client the way the
//! client is asked, or in rounds.

use super::may_ask;
use super::rounds;
use crate::backend::{Backend, Conn, Level, Line, Running, Session, number};
use crate::{error, questions};
use carrick::Client;
use carrick::client::{CallError, CallRelay, Caller, Forward, Forwarded, Relay, Reply, ServerAsk};
use carrick::proto::method::Method;
use carrick::proto::peer::{AskPlace, Call, CallKey, Outcome};
use carrick::proto::revision::Revision;
use carrick::proto::rpc::Message;
use carrick::server::{Dispatch, Elsewhere, Outbox};
use carrick::types::{ClientCapabilities, RpcError};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::task::AbortHandle;

/// Rounds of questions that one call may lead to.
const ROUNDS: u32 = 20;

/// Such a call.
pub(super) struct Forwarding {
    backend: Arc<Backend>,
    outbox: Arc<dyn Outbox>,
    key: CallKey,
    method: Method,
    route: Route,
    /// Whether the server may say something on the connection without saying which
    /// call it is about: then each call on it counts.
    is_counted: bool,
    number: u64,
    /// What to ask the server again, with the answers to its questions.
    again: Option<Forward>,
    rounds: AtomicU32,
    work: Mutex<Work>,
}

/// The connection to the server that a call takes.
pub(super) enum Route {
    Shared(Arc<Conn>),
    Session(Arc<Session>),
}

/// What is being done for a call.
enum Work {
    Nothing,
    Passed(#[expect(dead_code, reason = "dropping it gives the call up")] Forwarded),
    Task(AbortHandle),
    Over,
}

impl Forwarding {
    /// Passes a call on.
    pub(super) fn start(
        backend: &Arc<Backend>,
        outbox: &Arc<dyn Outbox>,
        route: Route,
        call: Call,
        caller: Option<Caller>,
    ) -> Dispatch {
        let (key, method, revision) = (call.key, call.message.method(), call.revision);
        let log = call.log;
        let mut forward = Forward::new(call.message, revision);
        forward.options = backend.target().options.call;
        // Whoever has requests of the server's own is not asked in rounds.
        let asked_in_rounds = matches!(route, Route::Shared(_)) && revision.rules().server_requests;
        forward.caller = caller.unwrap_or_default();
        let again = (asked_in_rounds && may_ask(method)).then(|| forward.clone());
        let forwarding = Arc::new(Self {
            backend: backend.clone(),
            outbox: outbox.clone(),
            key,
            method,
            route,
            is_counted: backend.logs() && backend.target().costs_processes(),
            number: number(),
            again,
            rounds: AtomicU32::new(0),
            work: Mutex::new(Work::Nothing),
        });
        forwarding.enter(log.is_some());
        match forwarding.line().now(forwarding.level()) {
            Some(client) => forwarding.send(&client, forward),
            None => forwarding.connect_first(forward),
        }
        Dispatch::Later(forwarding)
    }

    /// Ends the call with this answer.
    fn finish(&self, outcome: Outcome) {
        if self.end() {
            self.outbox.answer(self.key, outcome);
        }
    }

    fn fail(&self, error: RpcError) {
        self.finish(Outcome::Error(error));
    }

    /// Asks the server again.
    fn resend(self: &Arc<Self>, forward: Forward) {
        match self.line().now(Level::Any) {
            Some(client) => self.send(&client, forward),
            None => {
                let error = CallError::NotConnected;
                self.fail(error::of_call(self.backend.name(), error));
            }
        }
    }

    fn send(self: &Arc<Self>, client: &Client, forward: Forward) {
        let forwarded = client.forward(forward, self.clone());
        let mut work = self.work();
        if !matches!(*work, Work::Over) {
            *work = Work::Passed(forwarded);
        }
    }

    fn connect_first(self: &Arc<Self>, forward: Forward) {
        let forwarding = self.clone();
        let task = tokio::spawn(async move {
            match forwarding.line().client(forwarding.level()).await {
                Ok(client) => forwarding.send(&client, forward),
                Err(error) => forwarding.fail(error),
            }
        });
        self.set_task(task.abort_handle());
    }

    fn set_task(&self, task: AbortHandle) {
        let mut work = self.work();
        match *work {
            Work::Nothing => *work = Work::Task(task),
            // The task has come further already.
            Work::Passed(_) | Work::Task(_) => {}
            Work::Over => task.abort(),
        }
    }

    /// Answers the server's questions in a task, and asks it again.
    fn begin_round(self: &Arc<Self>, reply: Reply) {
        if self.rounds.fetch_add(1, Ordering::Relaxed) >= ROUNDS {
            let text = format!("the server asked for input more than {ROUNDS} times");
            return self.fail(RpcError::internal(text));
        }
        {
            let mut work = self.work();
            if matches!(*work, Work::Over) {
                return;
            }
            *work = Work::Nothing;
        }
        let forwarding = self.clone();
        let task = tokio::spawn(async move {
            let outbox = &*forwarding.outbox;
            let can = forwarding.capabilities();
            match rounds::answers(outbox, forwarding.key, &can, &reply).await {
                Ok(members) => {
                    if let Some(forward) = &forwarding.again {
                        let mut forward = forward.clone();
                        forward.extra = members;
                        forwarding.resend(forward);
                    }
                }
                Err(outcome) => forwarding.finish(outcome),
            }
        });
        self.set_task(task.abort_handle());
    }

    /// What its client can do, as it said when it opened its session.
    fn capabilities(&self) -> ClientCapabilities {
        let said = self.again.as_ref().and_then(|forward| forward.caller.capabilities.as_deref());
        said.and_then(|said| serde_json::from_str(said).ok()).unwrap_or_default()
    }

    /// Ends the work; false when it was over already.
    fn end(&self) -> bool {
        let work = std::mem::replace(&mut *self.work(), Work::Over);
        let was_on = !matches!(work, Work::Over);
        if was_on {
            self.leave();
        }
        // What was passed on is given up here, unless it has its answer.
        drop(work);
        was_on
    }

    fn line(&self) -> &Line {
        match &self.route {
            Route::Shared(conn) => &conn.line,
            Route::Session(session) => &session.line,
        }
    }

    fn level(&self) -> Level {
        match &self.route {
            Route::Shared(_) => Level::Any,
            Route::Session(session) => session.level(),
        }
    }

    fn enter(self: &Arc<Self>, hears_logs: bool) {
        match &self.route {
            Route::Shared(conn) if self.is_counted => {
                let relay: Weak<dyn Relay> = Arc::<Self>::downgrade(self);
                let outbox = Arc::downgrade(&self.outbox);
                let number = self.number;
                conn.enter(Running { number, relay, outbox, may_be_asked: false, hears_logs });
            }
            Route::Shared(_) => {}
            Route::Session(session) => session.enter(self.key),
        }
    }

    fn leave(&self) {
        match &self.route {
            Route::Shared(conn) if self.is_counted => conn.leave(self.number),
            Route::Shared(_) => {}
            Route::Session(session) => session.leave(self.key),
        }
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Elsewhere for Forwarding {
    fn give_up(&self) {
        let task = match &*self.work() {
            Work::Task(task) => Some(task.clone()),
            _ => None,
        };
        self.end();
        if let Some(task) = task {
            task.abort();
        }
    }
}

impl Relay for Forwarding {
    fn notice(&self, message: Message, revision: Revision) {
        self.outbox.pass_notice(Some(self.key), message, revision);
    }

    fn asked(&self, ask: ServerAsk) {
        questions::put(self.outbox.clone(), AskPlace::Of(self.key), ask);
    }
}

impl CallRelay for Forwarding {
    /// What the server does with its client's connection is done with that of
    /// the gateway's client: neither holds one open for nothing.
    fn stream_closed(&self, retry: Option<Duration>) {
        self.outbox.close_stream(self.key, retry);
    }

    fn done(self: Arc<Self>, result: Result<Reply, CallError>) {
        match result {
            Ok(reply) if self.again.is_some() && reply.is_input_required() => {
                self.begin_round(reply);
            }
            Ok(reply) => {
                if self.method == Method::ToolsList {
                    self.backend.listed_tools(&reply);
                }
                self.finish(Outcome::Forwarded(reply));
            }
            Err(error) => self.fail(error::of_call(self.backend.name(), error)),
        }
    }
}
