//! A session of a client's on both sides: what the server says in it is the
//! client's, whether or not it says what of.

use super::conn::WeakEvents;
use super::debounce::Debounce;
use super::line::{Level, Line, LineEvents};
use super::target::Target;
use crate::questions;
use carrick::client::{Changed, ClientConfig, Era, Relay, ServerAsk};
use carrick::proto::peer::{AskPlace, Call, CallKey, ServerDescription};
use carrick::proto::revision::Revision;
use carrick::proto::rpc::Message;
use carrick::server::Outbox;
use carrick::types::LogLevel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::time::Instant;

/// Such a session.
pub(crate) struct Session {
    pub(crate) line: Line,
    pub(crate) outbox: Arc<dyn Outbox>,
    debounce: Arc<Debounce>,
    state: Mutex<State>,
}

struct State {
    /// The calls that run.
    calls: Vec<CallKey>,
    /// Since when none runs.
    idle_since: Instant,
    /// The level that the client has set, once it has.
    level: Option<LogLevel>,
}

impl Session {
    /// The session that a client's call belongs to. It is opened at the server
    /// with what the client said of itself in its own.
    pub(crate) fn new(target: &Arc<Target>, outbox: Arc<dyn Outbox>, call: &Call) -> Arc<Self> {
        let mut config = ClientConfig::new(target.options.info.clone());
        if let Some(info) = call.client_info.as_deref()
            && let Ok(info) = serde_json::from_str(info)
        {
            config.info = info;
        }
        config.capabilities = call.client_capabilities.as_deref().unwrap_or("{}").into();
        config.offer = Some(call.revision);
        config.era = Some(Era::Legacy);
        let state = State { calls: Vec::new(), idle_since: Instant::now(), level: None };
        Arc::new_cyclic(|session: &Weak<Self>| Self {
            line: Line::new(target, config, Arc::new(WeakEvents(session.clone())), true),
            outbox,
            debounce: Arc::default(),
            state: Mutex::new(state),
        })
    }

    pub(crate) fn enter(&self, key: CallKey) {
        self.state().calls.push(key);
    }

    pub(crate) fn leave(&self, key: CallKey) {
        let mut state = self.state();
        state.calls.retain(|call| *call != key);
        state.idle_since = Instant::now();
    }

    /// Since when no call runs in it and its client holds nothing open; none while
    /// one does. A client that is there may be a person who thinks.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let mut state = self.state();
        if !state.calls.is_empty() {
            return None;
        }
        if self.outbox.is_client_present() {
            state.idle_since = Instant::now();
            return None;
        }
        Some(state.idle_since)
    }

    /// The client wants log messages from this level on.
    pub(crate) fn set_level(&self, level: LogLevel) {
        self.state().level = Some(level);
    }

    /// The level that the server has to log from.
    pub(crate) fn level(&self) -> Level {
        self.state().level.map_or(Level::Any, Level::From)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Relay for Session {
    fn notice(&self, message: Message, revision: Revision) {
        self.outbox.pass_notice(None, message, revision);
    }

    fn asked(&self, ask: ServerAsk) {
        // A stream that is known to be open carries it most surely.
        let place = match &self.state().calls[..] {
            [only] => AskPlace::Of(*only),
            [.., last] => AskPlace::Beside(*last),
            [] => AskPlace::Connection,
        };
        questions::put(self.outbox.clone(), place, ask);
    }
}

impl LineEvents for Session {
    fn opened(&self, _: &ServerDescription) {}

    fn changed(&self, changed: Changed) {
        let outbox = self.outbox.clone();
        self.debounce.tell(changed, move |changed| outbox.changed(changed));
    }
}
