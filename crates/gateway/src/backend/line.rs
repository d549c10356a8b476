//! One connection to the server over time: opened when it is needed, and again
//! after it has ended.

use crate::{ConnectError, Upstream, error};
use carrick::Client;
use carrick::client::{Changed, ClientConfig, ClientEvent, Era, Hooks, Relay};
use carrick::proto::peer::ServerDescription;
use carrick::types::{LogLevel, RpcError};
use futures_util::future::BoxFuture;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The first wait before a server that failed is tried again; doubles.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// A connection that lasted this long counts as healthy again.
const HEALTHY: Duration = Duration::from_secs(30);

/// Hears of what becomes of a connection. All methods must return at once.
pub(crate) trait LineEvents: Relay {
    /// It has been opened.
    fn opened(&self, server: &ServerDescription);

    /// It has been opened, and nothing has been sent on it yet.
    fn prepare(&self, client: Client) -> BoxFuture<'static, ()> {
        drop(client);
        Box::pin(std::future::ready(()))
    }

    /// It has ended.
    fn closed(&self) {}

    /// Something has changed at the server.
    fn changed(&self, changed: Changed);
}

/// One connection.
pub(crate) struct Line {
    upstream: Arc<dyn Upstream>,
    config: ClientConfig,
    events: Arc<dyn LineEvents>,
    state: Arc<Mutex<State>>,
    /// Held while connecting, so that callers side by side share one attempt.
    connecting: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    up: Option<Up>,
    /// Numbers the connections, so that the end of one is not taken for that of
    /// another.
    turns: u64,
    era: Option<Era>,
    /// The level that the server was told to log from, on this connection.
    level: Option<LogLevel>,
    failures: u32,
    /// Until then the last error answers at once.
    blocked: Option<(Instant, RpcError)>,
    closed: bool,
}

struct Up {
    client: Client,
    turn: u64,
    since: Instant,
}

impl Line {
    /// A line that is not open yet. `config` says for whom it speaks.
    pub(crate) fn new(
        upstream: Arc<dyn Upstream>,
        config: ClientConfig,
        events: Arc<dyn LineEvents>,
    ) -> Self {
        let connecting = tokio::sync::Mutex::new(());
        Self { upstream, config, events, state: Arc::default(), connecting }
    }

    /// The connection, if there is one that logs from `level` on.
    pub(crate) fn now(&self, level: Level) -> Option<Client> {
        let state = self.state();
        let up = state.up.as_ref().filter(|_| level.is_met_by(state.level))?;
        Some(up.client.clone())
    }

    /// The connection: the one there is, or a new one.
    ///
    /// # Errors
    /// When the server cannot be reached; soon after a failure without trying.
    pub(crate) async fn client(&self, level: Level) -> Result<Client, RpcError> {
        self.open(level).await.map_err(|failed| failed.told)
    }

    /// The same with the whole story of what went wrong.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub(crate) async fn first(&self) -> Result<Client, ConnectError> {
        let failed = |failed: Failed| failed.source.unwrap_or_else(|| failed.told.into());
        self.open(Level::Any).await.map_err(failed)
    }

    async fn open(&self, level: Level) -> Result<Client, Failed> {
        let _alone = self.connecting.lock().await;
        if let Some(client) = self.now(level) {
            return Ok(client);
        }
        let client = match self.now(Level::Any) {
            Some(client) => client,
            None => self.connect().await?,
        };
        if let Some(level) = level.to_set() {
            self.set_level(&client, level).await;
        }
        Ok(client)
    }

    /// Whether it has been closed for good.
    pub(crate) fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Closes the connection; the next use of the line opens another one, as if
    /// nothing had gone wrong before.
    pub(crate) async fn reconnect(&self) {
        // One that is about to open would be the old one.
        let _alone = self.connecting.lock().await;
        let up = {
            let mut state = self.state();
            let up = state.up.take();
            *state = State { turns: state.turns, closed: state.closed, ..State::default() };
            up
        };
        if let Some(up) = up {
            up.client.close().await;
        }
    }

    /// Closes the connection for good.
    pub(crate) async fn close(&self) {
        let up = {
            let mut state = self.state();
            state.closed = true;
            state.up.take()
        };
        if let Some(up) = up {
            up.client.close().await;
        }
    }

    async fn connect(&self) -> Result<Client, Failed> {
        let (era, turn) = {
            let mut state = self.state();
            if state.closed {
                return Err(RpcError::internal("the gateway is about to end").into());
            }
            if let Some((until, error)) = &state.blocked
                && Instant::now() < *until
            {
                return Err(error.clone().into());
            }
            state.turns += 1;
            (state.era, state.turns)
        };
        let mut config = self.config.clone();
        config.era = era.or(config.era);
        match self.upstream.connect(config, self.hooks(turn)).await {
            Ok(client) => {
                self.up(&client, turn).await?;
                Ok(client)
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    async fn up(&self, client: &Client, turn: u64) -> Result<(), RpcError> {
        self.events.prepare(client.clone()).await;
        let closed = {
            let mut state = self.state();
            // One that ended the moment it was opened is gone, not up.
            let ended = state.turns != turn;
            state.era = Some(client.server().era());
            state.level = None;
            state.blocked = None;
            if !state.closed && !ended {
                state.up = Some(Up { client: client.clone(), turn, since: Instant::now() });
            }
            state.closed
        };
        if closed {
            client.close().await;
            return Err(RpcError::internal("the gateway is about to end"));
        }
        self.events.opened(&client.server());
        Ok(())
    }

    fn failed(&self, error: ConnectError) -> Failed {
        let told = error::unreachable(self.upstream.name(), &error);
        let mut state = self.state();
        // What was known of it may be what went wrong.
        state.era = None;
        state.block(told.clone());
        Failed { told, source: Some(error) }
    }

    fn hooks(&self, turn: u64) -> Hooks {
        let (state, events) = (self.state.clone(), self.events.clone());
        let name: Arc<str> = self.upstream.name().into();
        let mut hooks = Hooks::default();
        hooks.relay = Some(self.events.clone());
        hooks.events = Some(Arc::new(move |event| match event {
            ClientEvent::Closed(how) => {
                tracing::warn!(server = &*name, how, "the connection to the server has ended");
                lock(&state).ended(turn, &name, &how);
                events.closed();
            }
            ClientEvent::Changed(changed) => events.changed(changed),
            ClientEvent::Noise(what) => {
                let what: String = what.chars().filter(|c| !c.is_control()).collect();
                tracing::warn!(server = &*name, what, "skipped what is no message");
            }
            _ => {}
        }));
        hooks
    }

    /// Tells the server from which level on to log. One that cannot be told
    /// logs what it likes.
    async fn set_level(&self, client: &Client, level: LogLevel) {
        if client.server().capabilities.logging.is_some() {
            let params = format!("{{\"level\":\"{}\"}}", level.name()).into_bytes();
            if let Err(error) = client.request("logging/setLevel", params, None, None).await {
                tracing::warn!(server = self.upstream.name(), %error, "the log level was not set");
            }
        }
        self.state().level = Some(level);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn ended(&mut self, turn: u64, server: &str, how: &str) {
        if self.turns == turn && self.up.is_none() {
            // It has ended before it was taken over.
            self.turns += 1;
            return;
        }
        let Some(up) = self.up.take_if(|up| up.turn == turn) else { return };
        // One that had been fine is tried again at once.
        if up.since.elapsed() >= HEALTHY {
            self.failures = 0;
        } else {
            self.block(RpcError::internal(format!("server {server:?}: {how}")));
        }
    }

    /// Keeps further attempts away for a while that doubles each time. The
    /// first failure after a success does not count.
    fn block(&mut self, error: RpcError) {
        self.failures += 1;
        if self.failures > 1 {
            let wait = FIRST_WAIT.saturating_mul(1 << (self.failures - 2).min(16));
            self.blocked = Some((Instant::now() + wait.min(LONGEST_WAIT), error));
        }
    }
}

/// Why there is no connection.
struct Failed {
    /// What a client is told.
    told: RpcError,
    /// What went wrong, if something did just now.
    source: Option<ConnectError>,
}

impl From<RpcError> for Failed {
    fn from(told: RpcError) -> Self {
        Self { told, source: None }
    }
}

/// From which level on a connection has to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Whatever it does.
    Any,
    /// Exactly from this one.
    From(LogLevel),
    /// From this one or a less severe one.
    AtLeast(LogLevel),
}

impl Level {
    fn is_met_by(self, level: Option<LogLevel>) -> bool {
        match self {
            Self::Any => true,
            Self::From(wanted) => level == Some(wanted),
            Self::AtLeast(wanted) => level.is_some_and(|level| level <= wanted),
        }
    }

    fn to_set(self) -> Option<LogLevel> {
        match self {
            Self::Any => None,
            Self::From(level) | Self::AtLeast(level) => Some(level),
        }
    }
}
