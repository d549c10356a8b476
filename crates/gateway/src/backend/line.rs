//! One connection to the server over time, and the level that it logs from.

use super::target::Target;
use crate::{ConnectError, error};
use carrick::Client;
use carrick::client::managed::{
    CloseReason, Connected, ConnectionEvents, ManagedConnection, ManagedError, ManagedOptions,
};
use carrick::client::{Changed, ClientConfig, ClientEvent, Hooks, Relay};
use carrick::proto::peer::ServerDescription;
use carrick::types::{LogLevel, RpcError};
use futures_util::future::BoxFuture;
use std::sync::{Arc, Mutex, PoisonError};

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
    target: Arc<Target>,
    connection: ManagedConnection<LevelSet>,
    /// Held while the level is set, so that none is passed over.
    setting: tokio::sync::Mutex<()>,
    /// Whether a failure of another connection counts for this one.
    heeds_others: bool,
}

/// The level that the server was told to log from, on one connection.
#[derive(Debug, Default)]
pub(crate) struct LevelSet(Mutex<Option<LogLevel>>);

impl LevelSet {
    fn now(&self) -> Option<LogLevel> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, level: LogLevel) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }
}

impl Line {
    /// A line that is not open yet. `config` says for whom it speaks.
    pub(crate) fn new(
        target: &Arc<Target>,
        config: ClientConfig,
        events: Arc<dyn LineEvents>,
        heeds_others: bool,
    ) -> Self {
        let mut hooks = Hooks::default();
        hooks.relay = Some(events.clone());
        let name: Arc<str> = target.name().into();
        hooks.events = Some(Arc::new(move |event| match event {
            ClientEvent::Closed(how) => {
                tracing::warn!(server = &*name, how, "the connection to the server has ended");
            }
            ClientEvent::ListenEnded(why) => {
                let why: String = why.chars().filter(|c| !c.is_control()).collect();
                tracing::warn!(server = &*name, why, "changes are not heard of any more");
            }
            ClientEvent::Noise(what) => {
                let what: String = what.chars().filter(|c| !c.is_control()).collect();
                tracing::warn!(server = &*name, what, "skipped what is no message");
            }
            _ => {}
        }));
        let events = Arc::new(Adapter(events));
        let options = ManagedOptions::default();
        let connector = target.connector.clone();
        let connection = ManagedConnection::new(connector, config, hooks, events, options);
        let setting = tokio::sync::Mutex::new(());
        Self { target: target.clone(), connection, setting, heeds_others }
    }

    /// The connection, if there is one that logs from `level` on.
    pub(crate) fn now(&self, level: Level) -> Option<Client> {
        let connected = self.connection.now()?;
        level.is_met_by(&connected.data).then_some(connected.client)
    }

    /// The connection: the one there is, or a new one.
    ///
    /// # Errors
    /// When the server cannot be reached; soon after a failure without trying.
    pub(crate) async fn client(&self, level: Level) -> Result<Client, RpcError> {
        let connected = match self.connection.now() {
            Some(connected) => connected,
            None => self.connect().await?,
        };
        if let Some(wanted) = level.to_set() {
            let _alone = self.setting.lock().await;
            if !level.is_met_by(&connected.data) {
                self.set_level(&connected, wanted).await;
            }
        }
        Ok(connected.client)
    }

    /// The same with the whole story of what went wrong.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub(crate) async fn first(&self) -> Result<Client, ConnectError> {
        self.connection.client().await.map_err(|error| match error {
            ManagedError::Connect { error, .. } => error,
            other => ConnectError::new(other),
        })
    }

    /// Whether it has been closed for good.
    pub(crate) fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// Closes the connection; the next use of the line opens another one, as if
    /// nothing had gone wrong before.
    pub(crate) async fn reconnect(&self) {
        self.target.health.opened();
        self.connection.reconnect().await;
    }

    /// Closes the connection for good.
    pub(crate) async fn close(&self) {
        self.connection.close().await;
    }

    async fn connect(&self) -> Result<Connected<LevelSet>, RpcError> {
        if let Some(error) = self.target.health.refusal().filter(|_| self.heeds_others) {
            return Err(error);
        }
        let name = self.target.name();
        match self.connection.connected().await {
            Ok(connected) => {
                self.target.health.opened();
                Ok(connected)
            }
            Err(error) => {
                let is_new = matches!(error, ManagedError::Connect { .. });
                let told = error::unreachable(name, &error);
                if is_new {
                    self.target.health.failed(&told);
                }
                Err(told)
            }
        }
    }

    /// Tells the server from which level on to log. One that cannot be told
    /// logs what it likes.
    async fn set_level(&self, connected: &Connected<LevelSet>, level: LogLevel) {
        let client = &connected.client;
        if client.server().capabilities.logging.is_some() {
            let params = format!("{{\"level\":\"{}\"}}", level.name()).into_bytes();
            if let Err(error) = client.request("logging/setLevel", params, None, None).await {
                tracing::warn!(server = self.target.name(), %error, "the log level was not set");
            }
        }
        connected.data.set(level);
    }
}

/// Passes on what a managed connection tells.
struct Adapter(Arc<dyn LineEvents>);

impl ConnectionEvents for Adapter {
    fn prepare(&self, client: Client) -> BoxFuture<'static, ()> {
        self.0.prepare(client)
    }

    fn opened(&self, server: &ServerDescription) {
        self.0.opened(server);
    }

    fn closed(&self, _: &CloseReason) {
        self.0.closed();
    }

    fn changed(&self, changed: &Changed) {
        self.0.changed(changed.clone());
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
    fn is_met_by(self, set: &LevelSet) -> bool {
        match self {
            Self::Any => true,
            Self::From(wanted) => set.now() == Some(wanted),
            Self::AtLeast(wanted) => set.now().is_some_and(|level| level <= wanted),
        }
    }

    fn to_set(self) -> Option<LogLevel> {
        match self {
            Self::Any => None,
            Self::From(level) | Self::AtLeast(level) => Some(level),
        }
    }
}
