//! A call that passes through to a server that asks its client the way the
//! client is asked, or in rounds.

use crate::asks;
use crate::error;
use crate::gateway::Inner;
use crate::line::{Level, Line, number};
use crate::rounds;
use crate::session::Session;
use crate::shared::{Guest, Trunk};
use carrick::Client;
use carrick::client::{CallError, CallRelay, Caller, Forward, Forwarded, Relay, Reply, ServerAsk};
use carrick::proto::method::Method;
use carrick::proto::peer::{AskPlace, Call, CallKey, Outcome};
use carrick::proto::revision::Revision;
use carrick::proto::rpc::Message;
use carrick::server::{Dispatch, Elsewhere, Outbox};
use carrick::types::RpcError;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::task::AbortHandle;

/// Rounds of questions that one call may lead to.
const ROUNDS: u32 = 20;

/// Such a call.
pub(crate) struct Passing {
    gateway: Arc<Inner>,
    pub(crate) outbox: Arc<dyn Outbox>,
    pub(crate) key: CallKey,
    method: Method,
    route: Route,
    number: u64,
    /// What to ask the server again, with the answers to its questions.
    again: Option<Forward>,
    rounds: AtomicU32,
    work: Mutex<Work>,
}

/// The connection to the server that a call takes.
pub(crate) enum Route {
    Shared(Arc<Trunk>),
    Session(Arc<Session>),
}

/// What is being done for a call.
enum Work {
    Nothing,
    Passed(#[expect(dead_code, reason = "dropping it gives the call up")] Forwarded),
    Task(AbortHandle),
    Over,
}

impl Passing {
    /// Passes a call on.
    pub(crate) fn start(
        gateway: &Arc<Inner>,
        outbox: &Arc<dyn Outbox>,
        route: Route,
        call: Call,
        caller: Option<Caller>,
    ) -> Dispatch {
        let (key, method, revision) = (call.key, call.message.method(), call.revision);
        let log = call.log;
        let mut forward = Forward::new(call.message, revision);
        forward.options = gateway.options.call;
        // Whoever has requests of the server's own is not asked in rounds.
        let asked_in_rounds = matches!(route, Route::Shared(_)) && revision.rules().server_requests;
        forward.caller = caller.unwrap_or_default();
        let again = (asked_in_rounds && may_ask(method)).then(|| forward.clone());
        let passing = Arc::new(Self {
            gateway: gateway.clone(),
            outbox: outbox.clone(),
            key,
            method,
            route,
            number: number(),
            again,
            rounds: AtomicU32::new(0),
            work: Mutex::new(Work::Nothing),
        });
        passing.enter(log.is_some());
        match passing.line().now(passing.level()) {
            Some(client) => passing.send(&client, forward),
            None => passing.connect_first(forward),
        }
        Dispatch::Later(passing)
    }

    /// The call as the server would be asked it again.
    pub(crate) fn again(&self) -> Option<&Forward> {
        self.again.as_ref()
    }

    /// Ends the call with this answer.
    pub(crate) fn finish(&self, outcome: Outcome) {
        if self.end() {
            self.outbox.answer(self.key, outcome);
        }
    }

    pub(crate) fn fail(&self, error: RpcError) {
        self.finish(Outcome::Error(error));
    }

    /// Asks the server again.
    pub(crate) fn resend(self: &Arc<Self>, forward: Forward) {
        match self.line().now(Level::Any) {
            Some(client) => self.send(&client, forward),
            None => {
                let error = CallError::NotConnected;
                self.fail(error::of_call(self.gateway.upstream.name(), error));
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
        let passing = self.clone();
        let task = tokio::spawn(async move {
            match passing.line().client(passing.level()).await {
                Ok(client) => passing.send(&client, forward),
                Err(error) => passing.fail(error),
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
        let passing = self.clone();
        let task = tokio::spawn(rounds::answer(passing, reply));
        self.set_task(task.abort_handle());
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
            Route::Shared(trunk) => &trunk.line,
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
            Route::Shared(trunk) if hears_logs => {
                let relay: Weak<dyn Relay> = Arc::<Self>::downgrade(self);
                let outbox = Arc::downgrade(&self.outbox);
                let guest = Guest { relay, outbox, may_be_asked: false, hears_logs };
                trunk.enter(self.number, guest);
            }
            Route::Shared(_) => {}
            Route::Session(session) => session.enter(self.key),
        }
    }

    fn leave(&self) {
        match &self.route {
            Route::Shared(trunk) => trunk.leave(self.number),
            Route::Session(session) => session.leave(self.key),
        }
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Elsewhere for Passing {
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

impl Relay for Passing {
    fn notice(&self, message: Message, revision: Revision) {
        self.outbox.pass_notice(Some(self.key), message, revision);
    }

    fn asked(&self, ask: ServerAsk) {
        asks::put(self.outbox.clone(), AskPlace::Of(self.key), ask);
    }
}

impl CallRelay for Passing {
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
                    self.gateway.learn(&reply);
                }
                self.finish(Outcome::Forwarded(reply));
            }
            Err(error) => self.fail(error::of_call(self.gateway.upstream.name(), error)),
        }
    }
}

/// The requests in whose middle a server may ask something
/// (`basic/patterns/mrtr`, Supported Requests).
pub(crate) fn may_ask(method: Method) -> bool {
    matches!(method, Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead)
}
