//! A call of a client that is asked in rounds, to a server of sessions.
//!
//! When the server asks something in the middle of the call, the client is told
//! so in place of an answer, and the call is parked: it goes on at the server,
//! and nobody waits for it here, until the client comes back with the answers.

mod needs;
mod state;

use crate::backend::{Backend, Conn, Lease, Owner, Park, Running, number};
use crate::{Sharing, error};
use carrick::Client;
use carrick::client::{CallError, CallRelay, Forward, Relay, Reply, ServerAsk};
use carrick::proto::flow::{Full, Next, Token, input_responses};
use carrick::proto::method::Method;
use carrick::proto::peer::{Call, CallKey, Outcome};
use carrick::proto::revision::Revision;
use carrick::proto::rpc::{Field, Json, Message};
use carrick::server::{Dispatch, Elsewhere, Outbox, Principal, Unsealable, state_binding};
use carrick::types::RpcError;
use needs::{Needs, says_nothing};
use state::{End, State, Waiting};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Memory that a parked call takes besides the questions.
const OVERHEAD: usize = 4096;

/// Such a call.
pub(crate) struct Bridge {
    me: Weak<Self>,
    backend: Arc<Backend>,
    number: u64,
    token: Token,
    /// What its state is bound to.
    binding: Vec<u8>,
    /// The revision of its client.
    revision: Revision,
    /// Whether the server may ask its client something.
    asks: bool,
    /// Whether it has its connection for itself, which ends with it.
    is_alone: bool,
    /// Whether it is a list that is asked for in the gateway's name.
    lists_for_all: bool,
    /// Whether it asks for the start of a list of tools, if it asks for one that is
    /// nobody's in particular.
    first_page: Option<bool>,
    /// Whether its client wants log messages.
    hears_logs: bool,
    state: Mutex<State>,
}

/// Takes a call of a client without a session: a first one, or one that comes
/// back with answers. `client` is whose its client's things are, as far as that
/// can be told.
pub(super) fn take(
    backend: &Arc<Backend>,
    outbox: &Arc<dyn Outbox>,
    client: Option<&Owner>,
    call: Call,
    principal: Option<&Principal>,
) -> Dispatch {
    let taken = match call.message.field(Field::RequestState) {
        Some(_) => resume(backend, outbox, &call, principal),
        None => {
            let client = client.cloned().unwrap_or(match backend.target().options.sharing {
                Sharing::PerCall => Owner::Call(number()),
                Sharing::Shared => Owner::Everyone,
            });
            Bridge::start(backend, outbox, &client, call, principal)
        }
    };
    taken.unwrap_or_else(|error| Dispatch::Ready(Outcome::Error(error)))
}

impl Bridge {
    fn start(
        backend: &Arc<Backend>,
        outbox: &Arc<dyn Outbox>,
        client: &Owner,
        call: Call,
        principal: Option<&Principal>,
    ) -> Result<Dispatch, RpcError> {
        let needs = Needs::of(&call, client, backend)?;
        let asks = needs.asks;
        let first_page = (call.message.method() == Method::ToolsList
            && matches!(needs.owner, Owner::Gateway | Owner::Everyone)
            && says_nothing(&call, backend))
        .then(|| call.message.field(Field::Cursor).is_none());
        let waiting = Waiting { outbox: outbox.clone(), key: call.key, turn: number() };
        let turn = waiting.turn;
        let (token, binding) =
            if asks { (random()?, state_binding(&call, principal)?) } else { Default::default() };
        let bridge = Arc::new_cyclic(|me| Self {
            me: me.clone(),
            backend: backend.clone(),
            number: number(),
            token,
            binding,
            revision: call.revision,
            asks,
            is_alone: matches!(needs.owner, Owner::Call(_)),
            hears_logs: call.log.is_some(),
            lists_for_all: needs.owner == Owner::Gateway,
            first_page,
            state: Mutex::new(State::new(waiting)),
        });
        let mut forward = Forward::new(call.message, call.revision);
        forward.options = backend.target().options.call;
        // The time that it is parked is the client's.
        forward.options.timeout += backend.target().options.parked.lifetime;
        match backend.try_lease(&needs.owner, &needs.capabilities) {
            Some(lease) => match lease.conn().line.now(needs.level()) {
                Some(connected) => bridge.send(lease, &connected, forward),
                None => bridge.connect_first(Some(lease), needs, forward),
            },
            None => bridge.connect_first(None, needs, forward),
        }
        Ok(Dispatch::Later(Arc::new(Turn { bridge, turn })))
    }

    fn connect_first(self: &Arc<Self>, lease: Option<Lease>, needs: Needs, forward: Forward) {
        let bridge = self.clone();
        let task = tokio::spawn(async move {
            match bridge.connected(lease, &needs).await {
                Ok((lease, client)) => bridge.send(lease, &client, forward),
                Err(error) => bridge.end(End::Refused(error)),
            }
        });
        self.state().begin(task.abort_handle());
    }

    async fn connected(
        &self,
        lease: Option<Lease>,
        needs: &Needs,
    ) -> Result<(Lease, Client), RpcError> {
        let lease = match lease {
            Some(lease) => lease,
            None => self.backend.lease(&needs.owner, &needs.capabilities).await?,
        };
        let client = lease.conn().line.client(needs.level()).await?;
        Ok((lease, client))
    }

    /// Says to the connection whose call this is now.
    fn enter(&self, conn: &Conn) {
        let Some(waiting) = self.state().waiting.as_ref().map(|w| Arc::downgrade(&w.outbox)) else {
            return;
        };
        let relay: Weak<dyn Relay> = self.me.clone();
        let (number, may_be_asked, hears_logs) = (self.number, self.asks, self.hears_logs);
        conn.enter(Running { number, relay, outbox: waiting, may_be_asked, hears_logs });
    }

    fn send(self: &Arc<Self>, lease: Lease, client: &Client, forward: Forward) {
        let conn = lease.conn().clone();
        if self.state().lease(lease).is_err() {
            // It was given up meanwhile.
            return;
        }
        self.enter(&conn);
        let forwarded = client.forward(forward, self.clone());
        self.state().passed(forwarded);
    }

    /// The client is back with answers.
    fn go_on(&self, waiting: Waiting, answers: BTreeMap<String, Json>) {
        let (answered, next, conn) = {
            let mut state = self.state();
            state.waiting = Some(waiting);
            let answered: Vec<_> = state.call.answered(answers).collect();
            let conn = state.lease.as_ref().map(|lease| lease.conn().clone());
            (answered, state.call.step(), conn)
        };
        if let Some(conn) = conn {
            self.enter(&conn);
        }
        for (ask, answer) in answered {
            match carrick::proto::flow::as_reply(&answer, self.revision) {
                Ok(reply) => ask.answer(reply),
                Err(error) => ask.refuse(RpcError::invalid_params(error.to_string())),
            }
        }
        match next {
            Next::End(end) => self.end(end),
            Next::Round => self.park_soon(),
            Next::Wait => {}
        }
    }

    /// Parks the call once all that the server asks at once has been heard.
    fn park_soon(&self) {
        let Some(bridge) = self.me.upgrade() else { return };
        if std::mem::replace(&mut self.state().parking, true) {
            return;
        }
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            bridge.park();
        });
    }

    fn park(self: Arc<Self>) {
        let Ok(sealed) = self.backend.keys.seal(&self.binding, &self.token) else {
            let text = "the gateway has no key to seal the call's state with";
            return self.end(End::Refused(RpcError::internal(text)));
        };
        let parked = {
            let mut state = self.state();
            state.parking = false;
            if state.waiting.is_none() {
                return;
            }
            let Some((body, bytes)) = state.round(self.revision, &sealed) else { return };
            let waiting = state.waiting.take();
            match self.backend.park(self.token, bytes + OVERHEAD, self.clone()) {
                Ok(()) => Ok((waiting, body)),
                Err(full) => {
                    state.waiting = waiting;
                    Err(full)
                }
            }
        };
        match parked {
            Ok((waiting, body)) => {
                if let Some(Waiting { outbox, key, .. }) = waiting {
                    outbox.answer(key, Outcome::InputRequired(body));
                }
            }
            Err(full) => self.refuse_to_park(full),
        }
    }

    fn refuse_to_park(&self, full: Full) {
        let text = format!("the gateway cannot keep this call for its client: {full}; try later");
        self.end(End::Refused(RpcError::internal(text)));
    }

    /// Ends the call: tells its client, if it waits, and the server.
    fn end(&self, end: End) {
        let (ended, waiting) = {
            let mut state = self.state();
            (state.end(), state.waiting.take())
        };
        if let Some(lease) = &ended.lease {
            lease.conn().leave(self.number);
        }
        self.hand_on(ended.asks, ended.lease.as_ref(), &end);
        // What was passed on is given up here, unless it has its answer.
        drop(ended.work);
        drop(ended.lease);
        if let Some(Waiting { outbox, key, .. }) = waiting {
            outbox.answer(key, self.outcome(end));
        }
    }

    /// What the server still asks may have been meant for another call of the
    /// same client's.
    fn hand_on(&self, asks: Vec<ServerAsk>, lease: Option<&Lease>, end: &End) {
        let reason = match end {
            End::Refused(error) => error.clone(),
            _ => RpcError::internal("the call has ended"),
        };
        for ask in asks {
            match lease.filter(|_| !self.is_alone && matches!(end, End::Answered(_))) {
                Some(lease) => lease.conn().ask(ask),
                None => ask.refuse(reason.clone()),
            }
        }
    }

    fn outcome(&self, end: End) -> Outcome {
        match end {
            End::Answered(reply) => Outcome::Forwarded(reply),
            End::Failed(call) => Outcome::Error(error::of_call(self.backend.name(), call)),
            End::Refused(error) => Outcome::Error(error),
        }
    }

    /// The client gives up the call that it waits for.
    fn give_up(&self, turn: u64) {
        {
            let mut state = self.state();
            if state.waiting.take_if(|waiting| waiting.turn == turn).is_none() {
                return;
            }
        }
        self.end(End::Refused(RpcError::internal("the client gave the call up")));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Relay for Bridge {
    fn notice(&self, message: Message, revision: Revision) {
        // While it is parked there is nobody to tell.
        if let Some(Waiting { outbox, key, .. }) = &self.state().waiting {
            outbox.pass_notice(Some(*key), message, revision);
        }
    }

    fn asked(&self, ask: ServerAsk) {
        if !self.asks {
            // The client has nowhere to be told of it (`basic/patterns/mrtr`,
            // Supported Requests).
            let text = "the client cannot be asked in the middle of this request";
            return ask.refuse(RpcError::new(RpcError::METHOD_NOT_FOUND, text));
        }
        let waits = {
            let mut state = self.state();
            state.ask(ask);
            state.waiting.is_some()
        };
        if waits {
            self.park_soon();
        }
    }
}

impl Park for Bridge {
    fn expire(&self, why: &str) {
        tracing::debug!(call = self.number, why, "a parked call was given up");
        self.end(End::Refused(RpcError::internal(format!("the call was given up: {why}"))));
    }

    fn holds_connection(&self) -> bool {
        self.is_alone && self.state().lease.is_some()
    }

    fn resume(
        self: Arc<Self>,
        outbox: Arc<dyn Outbox>,
        key: CallKey,
        answers: BTreeMap<String, Json>,
    ) -> Dispatch {
        let turn = number();
        self.go_on(Waiting { outbox, key, turn }, answers);
        Dispatch::Later(Arc::new(Turn { bridge: self, turn }))
    }
}

impl CallRelay for Bridge {
    fn done(self: Arc<Self>, result: Result<Reply, CallError>) {
        if let Ok(reply) = &result
            && self.lists_for_all
        {
            self.backend.cursors.learn(reply.message().body_bytes());
        }
        if let (Ok(reply), Some(is_first)) = (&result, self.first_page) {
            self.backend.learn(reply, is_first);
        }
        let end = match result {
            Ok(reply) => End::Answered(reply),
            Err(error) => End::Failed(error),
        };
        let bytes = end.bytes();
        let kept = {
            let mut state = self.state();
            if state.waiting.is_some() {
                Err(end)
            } else {
                // Its client is not there: it hears of the end when it is back.
                Ok(state.keep(end))
            }
        };
        match kept {
            Err(end) => self.end(end),
            Ok((lease, _work)) => {
                if let Some(lease) = lease {
                    lease.conn().leave(self.number);
                }
                self.backend.parking.grow(&self.token, bytes);
            }
        }
    }
}

/// Goes on with a call that was parked.
fn resume(
    backend: &Arc<Backend>,
    outbox: &Arc<dyn Outbox>,
    call: &Call,
    principal: Option<&Principal>,
) -> Result<Dispatch, RpcError> {
    let invalid = || RpcError::invalid_params(Unsealable.to_string());
    let sealed = call.message.text(Field::RequestState).ok_or_else(invalid)?;
    let opened =
        backend.keys.open(&state_binding(call, principal)?, &sealed).map_err(|_| invalid())?;
    let token: Token = opened.try_into().map_err(|_| invalid())?;
    let answers = input_responses(call.message.field(Field::InputResponses))
        .map_err(|e| RpcError::invalid_params(format!("params.inputResponses: {e}")))?;
    let parked = backend.parking.take(&token).ok_or_else(|| {
        RpcError::invalid_params(
            "this call does not wait for input: it has expired, or goes on already; begin it anew",
        )
    })?;
    Ok(parked.resume(outbox.clone(), call.key, answers))
}

fn random() -> Result<Token, RpcError> {
    let mut token = Token::default();
    getrandom::fill(&mut token)
        .map_err(|_| RpcError::internal("the system gives no random numbers"))?;
    Ok(token)
}

/// A call as one request of the client knows it.
struct Turn {
    bridge: Arc<Bridge>,
    turn: u64,
}

impl Elsewhere for Turn {
    fn give_up(&self) {
        self.bridge.give_up(self.turn);
    }
}
