//! A call of a client that is asked in rounds, to a server of sessions.
//!
//! When the server asks something in the middle of the call, the client is told
//! so in place of an answer, and the call is parked: it goes on at the server,
//! and nobody waits for it here, until the client comes back with the answers.

mod state;

use crate::call::may_ask;
use crate::error;
use crate::gateway::Inner;
use crate::line::{Level, number};
use crate::pool::Lease;
use crate::shared::{Guest, Trunk};
use carrick::Client;
use carrick::client::{CallError, CallRelay, Forward, Relay, Reply, ServerAsk};
use carrick::proto::flow::{Full, Next, Token, input_responses};
use carrick::proto::peer::{Call, Outcome};
use carrick::proto::revision::Revision;
use carrick::proto::rpc::{Field, Json, Message};
use carrick::server::{Dispatch, Elsewhere, Outbox, Principal, Unsealable, state_binding};
use carrick::types::{LogLevel, RpcError};
use state::{End, State, Waiting};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Memory that a parked call takes besides the questions.
const OVERHEAD: usize = 4096;

/// Such a call.
pub(crate) struct Bridge {
    me: Weak<Self>,
    gateway: Arc<Inner>,
    number: u64,
    token: Token,
    /// What its state is bound to.
    binding: Vec<u8>,
    /// The revision of its client.
    revision: Revision,
    /// Whether the server may ask its client something.
    asks: bool,
    /// Whether its client wants log messages.
    hears_logs: bool,
    state: Mutex<State>,
}

/// What a call needs of the pool.
struct Needs {
    capabilities: Arc<str>,
    alone: bool,
    level: Option<LogLevel>,
}

impl Needs {
    fn level(&self) -> Level {
        self.level.map_or(Level::Any, Level::AtLeast)
    }
}

/// Takes a call of a client without a session: a first one, or one that comes
/// back with answers.
pub(crate) fn take(
    gateway: &Arc<Inner>,
    outbox: &Arc<dyn Outbox>,
    call: Call,
    principal: Option<&Principal>,
) -> Dispatch {
    let taken = match call.message.field(Field::RequestState) {
        Some(_) => resume(gateway, outbox, &call, principal),
        None => Bridge::start(gateway, outbox, call, principal),
    };
    taken.unwrap_or_else(|error| Dispatch::Ready(Outcome::Error(error)))
}

impl Bridge {
    fn start(
        gateway: &Arc<Inner>,
        outbox: &Arc<dyn Outbox>,
        call: Call,
        principal: Option<&Principal>,
    ) -> Result<Dispatch, RpcError> {
        let method = call.message.method();
        let capabilities = gateway.legacy_capabilities(&call)?;
        let asks = may_ask(method) && can_be_asked(&capabilities);
        let needs = Needs {
            capabilities,
            alone: asks && !gateway.upstream.tells_calls_apart(),
            level: call.log,
        };
        let binding = if asks { state_binding(&call, principal)? } else { Vec::new() };
        let token = if asks { random()? } else { Token::default() };
        let waiting = Waiting { outbox: outbox.clone(), key: call.key, turn: number() };
        let turn = waiting.turn;
        let bridge = Arc::new_cyclic(|me| Self {
            me: me.clone(),
            gateway: gateway.clone(),
            number: number(),
            token,
            binding,
            revision: call.revision,
            asks,
            hears_logs: call.log.is_some(),
            state: Mutex::new(State::new(waiting)),
        });
        let mut forward = Forward::new(call.message, call.revision);
        forward.options = gateway.options.call;
        // The time that it is parked is the client's.
        forward.options.timeout += gateway.options.parked.lifetime;
        match gateway.pool.try_lease(gateway, &needs.capabilities, needs.alone) {
            Some(lease) => match lease.trunk().line.now(needs.level()) {
                Some(client) => bridge.send(lease, &client, forward),
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
        let gateway = &self.gateway;
        let lease = match lease {
            Some(lease) => lease,
            None => gateway.pool.lease(gateway, &needs.capabilities, needs.alone).await?,
        };
        let client = lease.trunk().line.client(needs.level()).await?;
        Ok((lease, client))
    }

    /// Says to the connection whose call this is now.
    fn enter(&self, trunk: &Trunk) {
        let Some(waiting) = self.state().waiting.as_ref().map(|w| Arc::downgrade(&w.outbox)) else {
            return;
        };
        let relay: Weak<dyn Relay> = self.me.clone();
        let (may_be_asked, hears_logs) = (self.asks, self.hears_logs);
        trunk.enter(self.number, Guest { relay, outbox: waiting, may_be_asked, hears_logs });
    }

    fn send(self: &Arc<Self>, lease: Lease, client: &Client, forward: Forward) {
        let trunk = lease.trunk().clone();
        if self.state().lease(lease).is_err() {
            // It was given up meanwhile.
            return;
        }
        self.enter(&trunk);
        let forwarded = client.forward(forward, self.clone());
        self.state().passed(forwarded);
    }

    /// The client is back with answers.
    fn resume(self: &Arc<Self>, waiting: Waiting, answers: BTreeMap<String, Json>) {
        let (answered, next, trunk) = {
            let mut state = self.state();
            state.waiting = Some(waiting);
            let answered: Vec<_> = state.call.answered(answers).collect();
            let trunk = state.lease.as_ref().map(|lease| lease.trunk().clone());
            (answered, state.call.step(), trunk)
        };
        if let Some(trunk) = trunk {
            self.enter(&trunk);
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
        let Ok(sealed) = self.gateway.keys.seal(&self.binding, &self.token) else {
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
            match self.gateway.park(self.token, bytes + OVERHEAD, self.clone()) {
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

    /// The call's time is over.
    pub(crate) fn expire(&self) {
        tracing::debug!(call = self.number, "a call was given up: its client did not come back");
        self.end(End::Refused(RpcError::internal("the client did not come back in time")));
    }

    /// Ends the call: tells its client, if it waits, and the server.
    fn end(&self, end: End) {
        let (ended, waiting) = {
            let mut state = self.state();
            (state.end(), state.waiting.take())
        };
        let reason = match &end {
            End::Refused(error) => error.clone(),
            _ => RpcError::internal("the call has ended"),
        };
        for ask in ended.asks {
            ask.refuse(reason.clone());
        }
        if let Some(lease) = ended.lease {
            lease.trunk().leave(self.number);
        }
        // What was passed on is given up here, unless it has its answer.
        drop(ended.work);
        if let Some(Waiting { outbox, key, .. }) = waiting {
            outbox.answer(key, self.outcome(end));
        }
    }

    fn outcome(&self, end: End) -> Outcome {
        match end {
            End::Answered(reply) => Outcome::Forwarded(reply),
            End::Failed(call) => Outcome::Error(error::of_call(self.gateway.upstream.name(), call)),
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

impl CallRelay for Bridge {
    fn done(self: Arc<Self>, result: Result<Reply, CallError>) {
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
                    lease.trunk().leave(self.number);
                }
                self.gateway.grow_parked(&self.token, bytes);
            }
        }
    }
}

/// Goes on with a call that was parked.
fn resume(
    gateway: &Arc<Inner>,
    outbox: &Arc<dyn Outbox>,
    call: &Call,
    principal: Option<&Principal>,
) -> Result<Dispatch, RpcError> {
    let invalid = || RpcError::invalid_params(Unsealable.to_string());
    let sealed = call.message.text(Field::RequestState).ok_or_else(invalid)?;
    let opened =
        gateway.keys.open(&state_binding(call, principal)?, &sealed).map_err(|_| invalid())?;
    let token: Token = opened.try_into().map_err(|_| invalid())?;
    let answers = input_responses(call.message.field(Field::InputResponses))
        .map_err(|e| RpcError::invalid_params(format!("params.inputResponses: {e}")))?;
    let bridge = gateway.take_parked(&token).ok_or_else(|| {
        RpcError::invalid_params(
            "this call does not wait for input: it has expired, or goes on already; begin it anew",
        )
    })?;
    let turn = number();
    bridge.resume(Waiting { outbox: outbox.clone(), key: call.key, turn }, answers);
    Ok(Dispatch::Later(Arc::new(Turn { bridge, turn })))
}

/// Whether a server may ask a client with these capabilities anything.
fn can_be_asked(capabilities: &str) -> bool {
    let read: carrick::types::ClientCapabilities =
        serde_json::from_str(capabilities).unwrap_or_default();
    read.elicitation.is_some() || read.sampling.is_some() || read.roots.is_some()
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
