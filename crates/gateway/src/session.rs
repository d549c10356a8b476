//! A session of a client's on both sides: what the server says in it is the
//! client's, whether or not it says what of.

use crate::asks;
use crate::gateway::Inner;
use crate::line::{Level, Line, LineEvents};
use crate::pace::Pace;
use crate::shared::Ears;
use carrick::client::{Changed, ClientConfig, Relay, ServerAsk};
use carrick::proto::peer::{AskPlace, Call, CallKey, ServerDescription};
use carrick::proto::revision::Revision;
use carrick::proto::rpc::Message;
use carrick::server::Outbox;
use carrick::types::LogLevel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Such a session.
pub(crate) struct Session {
    pub(crate) line: Line,
    outbox: Arc<dyn Outbox>,
    pace: Arc<Pace>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The calls that run.
    calls: Vec<CallKey>,
    /// The level that the client has set, once it has.
    level: Option<LogLevel>,
}

impl Session {
    /// The session that a client's call belongs to. It is opened at the server
    /// with what the client said of itself in its own.
    pub(crate) fn new(gateway: &Inner, outbox: Arc<dyn Outbox>, call: &Call) -> Arc<Self> {
        let mut config = ClientConfig::new(gateway.options.info.clone());
        if let Some(info) = call.client_info.as_deref()
            && let Ok(info) = serde_json::from_str(info)
        {
            config.info = info;
        }
        config.capabilities = call.client_capabilities.as_deref().unwrap_or("{}").into();
        config.offer = Some(call.revision);
        config.era = Some(carrick::client::Era::Legacy);
        Arc::new_cyclic(|session: &Weak<Self>| Self {
            line: Line::new(gateway.upstream.clone(), config, Arc::new(Ears(session.clone()))),
            outbox,
            pace: Arc::default(),
            state: Mutex::default(),
        })
    }

    pub(crate) fn enter(&self, key: CallKey) {
        self.state().calls.push(key);
    }

    pub(crate) fn leave(&self, key: CallKey) {
        self.state().calls.retain(|call| *call != key);
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
        asks::put(self.outbox.clone(), place, ask);
    }
}

impl LineEvents for Session {
    fn opened(&self, _: &ServerDescription) {}

    fn changed(&self, changed: Changed) {
        let outbox = self.outbox.clone();
        self.pace.tell(changed, move |changed| outbox.changed(changed));
    }
}
