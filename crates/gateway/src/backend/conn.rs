//! One connection to the server, its owner, and what runs on it.

use super::in_flight::{InFlight, Running};
use super::line::{Line, LineEvents};
use super::owner::Owner;
use super::target::Target;
use super::watch::Watched;
use carrick::Client;
use carrick::client::{Changed, ClientConfig, Relay, ServerAsk};
use carrick::proto::peer::ServerDescription;
use carrick::proto::revision::Revision;
use carrick::proto::rpc::Message;
use carrick::types::RpcError;
use futures_util::future::BoxFuture;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::time::Instant;

/// Questions that are kept for the first call of a connection.
const EARLY: usize = 16;

/// What a connection tells its backend.
pub(crate) trait ConnEvents: Send + Sync {
    /// The first connection of the backend has been opened, or opened again.
    fn opened(&self, server: &ServerDescription);

    /// The first connection is gone.
    fn closed(&self);

    /// Something has changed at the server, as a connection of this owner heard.
    fn changed(&self, changed: Changed, owner: &Owner);
}

/// Such a connection.
pub(crate) struct Conn {
    pub(crate) line: Line,
    /// What its owner subscribed to on it.
    pub(crate) watched: Watched,
    events: Weak<dyn ConnEvents>,
    /// Whether what the server says of itself on it counts.
    is_first: bool,
    state: Mutex<State>,
}

struct State {
    /// None as long as it has served nobody.
    owner: Option<Owner>,
    in_flight: InFlight,
    /// What the server asked before the first call.
    early: Vec<ServerAsk>,
    /// Whether a call has run on it.
    is_used: bool,
}

impl Conn {
    /// A connection that is not open yet. `config` says for whom it speaks.
    pub(crate) fn new(
        target: &Arc<Target>,
        events: Weak<dyn ConnEvents>,
        owner: Option<Owner>,
        config: ClientConfig,
        is_first: bool,
    ) -> Arc<Self> {
        let state =
            State { owner, in_flight: InFlight::default(), early: Vec::new(), is_used: false };
        Arc::new_cyclic(|conn: &Weak<Self>| Self {
            line: Line::new(target, config, Arc::new(WeakEvents(conn.clone())), !is_first),
            watched: Watched::default(),
            events,
            is_first,
            state: Mutex::new(state),
        })
    }

    pub(crate) fn owner(&self) -> Option<Owner> {
        self.state().owner.clone()
    }

    /// One that nobody had belongs to `owner` from now on.
    pub(crate) fn give_to(&self, owner: &Owner) {
        self.state().owner.get_or_insert_with(|| owner.clone());
    }

    /// Takes in a call of the owner's.
    pub(crate) fn enter(&self, call: Running) {
        let mut state = self.state();
        let takes_early = call.may_be_asked;
        let relay = call.relay.clone();
        state.in_flight.enter(call);
        state.is_used = true;
        let early = std::mem::take(&mut state.early);
        drop(state);
        for ask in early {
            match relay.upgrade().filter(|_| takes_early) {
                Some(relay) => relay.asked(ask),
                None => ask.refuse(nobody()),
            }
        }
    }

    pub(crate) fn leave(&self, number: u64) {
        self.state().in_flight.leave(number, Instant::now());
    }

    /// Puts a question to a call of the owner's that may be asked; there must be
    /// only one client that it can be meant for.
    pub(crate) fn ask(&self, ask: ServerAsk) {
        let mut state = self.state();
        if !state.owner.as_ref().is_none_or(Owner::is_one_client) {
            drop(state);
            return ask.refuse(nobody());
        }
        match state.in_flight.asked() {
            Some(relay) => {
                drop(state);
                relay.asked(ask);
            }
            // The call that it was opened for is about to come.
            None if !state.is_used && state.early.len() < EARLY => state.early.push(ask),
            None => {
                drop(state);
                ask.refuse(nobody());
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn nobody() -> RpcError {
    let text = "no client can be asked this now: it belongs to no call of one that may be asked";
    RpcError::new(RpcError::METHOD_NOT_FOUND, text)
}

impl Relay for Conn {
    fn notice(&self, message: Message, revision: Revision) {
        let hearing = {
            let mut state = self.state();
            let of_one = state.owner.as_ref().is_some_and(Owner::is_one_client);
            state.in_flight.hearing(of_one, Instant::now())
        };
        match hearing {
            Some(relay) => relay.notice(message, revision),
            // One client must not hear what was said to another.
            None => {
                tracing::debug!(method = message.method().name(), "whose this is cannot be told");
            }
        }
    }

    fn asked(&self, ask: ServerAsk) {
        self.ask(ask);
    }
}

impl LineEvents for Conn {
    fn opened(&self, server: &ServerDescription) {
        if let Some(events) = self.events.upgrade().filter(|_| self.is_first) {
            events.opened(server);
        }
    }

    fn prepare(&self, client: Client) -> BoxFuture<'static, ()> {
        let uris = self.watched.uris();
        Box::pin(async move { super::watch::subscribe_all(&client, uris).await })
    }

    fn closed(&self) {
        if let Some(events) = self.events.upgrade().filter(|_| self.is_first) {
            events.closed();
        }
    }

    fn changed(&self, changed: Changed) {
        let owner = self.state().owner.clone();
        if let (Some(events), Some(owner)) = (self.events.upgrade(), owner) {
            events.changed(changed, &owner);
        }
    }
}

/// What a line tells of, without keeping whom it tells.
pub(crate) struct WeakEvents<T>(pub(crate) Weak<T>);

impl<T: LineEvents> Relay for WeakEvents<T> {
    fn notice(&self, message: Message, revision: Revision) {
        if let Some(owner) = self.0.upgrade() {
            owner.notice(message, revision);
        }
    }

    fn asked(&self, ask: ServerAsk) {
        if let Some(owner) = self.0.upgrade() {
            owner.asked(ask);
        }
    }
}

impl<T: LineEvents> LineEvents for WeakEvents<T> {
    fn opened(&self, server: &ServerDescription) {
        if let Some(owner) = self.0.upgrade() {
            owner.opened(server);
        }
    }

    fn prepare(&self, client: Client) -> BoxFuture<'static, ()> {
        match self.0.upgrade() {
            Some(owner) => owner.prepare(client),
            None => Box::pin(std::future::ready(())),
        }
    }

    fn closed(&self) {
        if let Some(owner) = self.0.upgrade() {
            owner.closed();
        }
    }

    fn changed(&self, changed: Changed) {
        if let Some(owner) = self.0.upgrade() {
            owner.changed(changed);
        }
    }
}
