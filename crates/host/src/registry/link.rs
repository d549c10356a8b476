//! One server: the connection to it over time, and what is known over it.

use super::connect::{Launcher, RememberedEra};
use super::ears::{Ears, Lists};
use super::flight::{Flight, Joined};
use super::held::{Listed, sort_out};
use super::offers::Offers;
use super::{RegistryOptions, ServerError, ServerErrorKind, ServerEvent, SharedPins};
use crate::config::{Launch, Server};
use carrick::Client;
use carrick::client::managed::{
    Connected, ConnectionState, ManagedConnection, ManagedError, ManagedOptions,
};
use carrick::client::{CallError, ClientConfig, ClientError, ServerDescription};
use carrick::transport::child::last_lines;
use futures_util::FutureExt;
use std::future::ready;
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

/// The time that a server has for its first list in any case, however much of
/// the time to connect it has used.
const FIRST_LIST: Duration = Duration::from_secs(10);

/// One server.
pub(super) struct Link {
    launcher: Arc<Launcher>,
    connection: ManagedConnection<Known>,
    /// Held while listing, so that callers side by side share the lists; calls
    /// go on meanwhile.
    listing: Mutex<()>,
    lists: Arc<Lists>,
    /// The lists that are being taken: of tools alone, and all.
    tools: Flight<Result<Ready, ServerError>>,
    all: Flight<Result<Ready, ServerError>>,
}

/// What is known over one connection.
#[derive(Default)]
struct Known {
    listed: SyncMutex<Option<Listed>>,
    offers: SyncMutex<Option<Arc<Offers>>>,
}

/// What a server offers.
#[derive(Clone)]
pub(super) struct Ready {
    pub(super) description: Arc<ServerDescription>,
    pub(super) listed: Listed,
    /// Empty unless asked for.
    pub(super) offers: Arc<Offers>,
    /// Why they cannot be had. Such a server is still one with tools.
    pub(super) failed: Option<ServerError>,
}

impl Link {
    pub(super) fn new(server: Server, options: Arc<RegistryOptions>) -> Self {
        let lists = Arc::new(Lists::default());
        let mut managed = ManagedOptions::default();
        managed.eras = RememberedEra::of(&server, options.eras.as_ref());
        let config = ClientConfig::new(options.info.clone());
        let ears = Arc::new(Ears::new(&server.name, options.observer.clone(), lists.clone()));
        let launcher = Arc::new(Launcher { server, options });
        let hooks = ears.hooks();
        let connection = ManagedConnection::new(launcher.clone(), config, hooks, ears, managed);
        let (listing, tools, all) = (Mutex::default(), Flight::default(), Flight::default());
        Self { launcher, connection, listing, lists, tools, all }
    }

    pub(super) fn configured(&self) -> &Server {
        &self.launcher.server
    }

    pub(super) fn launcher(&self) -> &Arc<Launcher> {
        &self.launcher
    }

    /// Where the connection stands.
    pub(super) fn state(&self) -> ConnectionState {
        self.connection.state()
    }

    /// Whether the list of tools, or one of the others, has changed since it
    /// was last taken.
    pub(super) fn has_changed(&self, others: bool) -> bool {
        self.lists.have_changed(others)
    }

    /// Whether nothing is being started or listed.
    pub(super) fn is_settled(&self, full: bool) -> bool {
        if full { self.all.outcome().is_some() } else { self.tools.outcome().is_some() }
    }

    /// The connection: the one there is, or a new one.
    pub(super) async fn client(&self) -> Result<Client, ServerError> {
        Ok(self.connected().await?.client)
    }

    /// What the server offers, with resources and prompts when `full`: what is
    /// known, or what is being found out. Dropping it ends nothing.
    pub(super) fn ready(self: &Arc<Self>, full: bool) -> Joined<Result<Ready, ServerError>> {
        if let Some(known) = self.known(full) {
            return ready(Some(Ok(known))).boxed().shared();
        }
        let flight = if full { &self.all } else { &self.tools };
        let link = self.clone();
        flight.join(move || async move { link.find_out(full).await })
    }

    /// What is known, or came of finding out last; none while that goes on.
    pub(super) fn outcome(&self, full: bool) -> Option<Option<Result<Ready, ServerError>>> {
        if let Some(known) = self.known(full) {
            return Some(Some(Ok(known)));
        }
        if full { self.all.outcome() } else { self.tools.outcome() }
    }

    /// The tools: those on offer, and those held back.
    pub(super) async fn listed(self: &Arc<Self>) -> Result<Listed, ServerError> {
        self.settled(self.ready(false).await).map(|ready| ready.listed)
    }

    /// What came of finding out.
    pub(super) fn settled<T>(
        &self,
        outcome: Option<Result<T, ServerError>>,
    ) -> Result<T, ServerError> {
        outcome.unwrap_or_else(|| Err(self.error(ServerErrorKind::Closed)))
    }

    /// Fails for a tool that is held back.
    pub(super) async fn may_call(self: &Arc<Self>, tool: &str) -> Result<(), ServerError> {
        if self.pins().is_none() {
            return Ok(());
        }
        let listed = self.listed().await?;
        match listed.held.iter().find(|held| held.name == tool) {
            Some(held) => Err(self.error(ServerErrorKind::Held(Box::new(held.clone())))),
            None => Ok(()),
        }
    }

    /// Lets the tools be sorted out anew, after a person has agreed to some.
    pub(super) async fn forget_tools(&self) {
        let _alone = self.listing.lock().await;
        if let Some(connected) = self.connection.now() {
            lock(&connected.data.listed).take();
        }
    }

    pub(super) fn call_failed(&self, client: &Client, error: ClientError) -> ServerError {
        if self.connection.is_closed() {
            return self.error(ServerErrorKind::Closed);
        }
        let silent = matches!(error.call(), Some(CallError::Timeout(_)));
        let stderr = silent.then(|| client.stderr_tail()).flatten().and_then(|t| last_lines(&t));
        self.error(ServerErrorKind::Request { error: Arc::new(error), stderr })
    }

    pub(super) async fn close(&self) {
        self.connection.close().await;
    }

    /// The pins, for a server whose tools are pinned: our own are not.
    pub(super) fn pins(&self) -> Option<&SharedPins> {
        let builtin = matches!(self.configured().launch(), Some(Launch::Builtin { .. }));
        self.launcher.options.pins.as_ref().filter(|_| !builtin)
    }

    pub(super) fn error(&self, kind: ServerErrorKind) -> ServerError {
        ServerError::new(&self.configured().name, kind)
    }

    async fn connected(&self) -> Result<Connected<Known>, ServerError> {
        // What the config forbids is no failure of the server's.
        self.launcher.launch().map_err(|kind| self.error(kind))?;
        self.connection.connected().await.map_err(|error| match error {
            ManagedError::Connect { error, .. } => match error.downcast_ref::<ServerError>() {
                Some(error) => error.clone(),
                None => self.broken(error.to_string()),
            },
            ManagedError::Ended { how, .. } => self.broken(how),
            _ => self.error(ServerErrorKind::Closed),
        })
    }

    fn broken(&self, how: String) -> ServerError {
        self.error(ServerErrorKind::Connect(Arc::new(CallError::Closed(how).into())))
    }

    /// What the server offers, where nothing has to be asked for.
    pub(super) fn known(&self, full: bool) -> Option<Ready> {
        let connected = self.connection.now().filter(|_| !self.has_changed(full))?;
        let listed = lock(&connected.data.listed).clone()?;
        let offers = match full {
            true => lock(&connected.data.offers).clone()?,
            false => Arc::default(),
        };
        let description = connected.client.server();
        Some(Ready { description, listed, offers, failed: None })
    }

    async fn find_out(&self, full: bool) -> Result<Ready, ServerError> {
        let listed = self.list().await?;
        let (offers, failed) = match full {
            false => Default::default(),
            true => match self.list_offers().await {
                Ok(offers) => (offers, None),
                Err(error) => (Arc::default(), Some(error)),
            },
        };
        let description = self.connected().await?.client.server();
        Ok(Ready { description, listed, offers, failed })
    }

    async fn list(&self) -> Result<Listed, ServerError> {
        let _alone = self.listing.lock().await;
        let connected = self.connected().await?;
        let changed = self.lists.take_tools();
        let known = lock(&connected.data.listed).clone();
        if let Some(listed) = known.clone().filter(|_| !changed) {
            return Ok(listed);
        }
        let client = &connected.client;
        let first = known.is_none().then_some(connected.began);
        let tools = self.list_in_time(client, first).await.inspect_err(|_| {
            self.lists.put_tools(changed);
        })?;
        let declared = self.launcher.capabilities();
        let listed = sort_out(tools, self.pins(), &self.configured().key(), &declared)
            .map_err(|error| self.error(ServerErrorKind::Pins(error)))?;
        if !listed.held.is_empty() {
            let names = listed.held.iter().map(|held| held.name.clone()).collect();
            self.launcher.tell(ServerEvent::ToolsHeld(names));
        }
        *lock(&connected.data.listed) = Some(listed.clone());
        Ok(listed)
    }

    /// The tools as the server lists them. The first list of a connection counts
    /// into the time to connect, which began at `began`.
    async fn list_in_time(
        &self,
        client: &Client,
        began: Option<Instant>,
    ) -> Result<Vec<carrick::types::Tool>, ServerError> {
        if client.server().capabilities.tools.is_none() {
            return Ok(Vec::new());
        }
        let failed = |error| self.call_failed(client, error);
        let Some(began) = began else { return client.list_tools().await.map_err(failed) };
        let time = self.launcher.connect_timeout();
        let by = (began + time).max(Instant::now() + time.min(FIRST_LIST));
        match timeout_at(by, client.list_tools()).await {
            Ok(tools) => tools.map_err(failed),
            Err(_) => {
                let stderr = client.stderr_tail().and_then(|tail| last_lines(&tail));
                let waited = began.elapsed();
                Err(self.error(ServerErrorKind::Unlisted { waited, stderr }))
            }
        }
    }

    async fn list_offers(&self) -> Result<Arc<Offers>, ServerError> {
        let _alone = self.listing.lock().await;
        let connected = self.connected().await?;
        let changed = self.lists.take_offers();
        let known = lock(&connected.data.offers).clone();
        if let Some(offers) = known.filter(|_| !changed) {
            return Ok(offers);
        }
        let offers = Offers::first_pages(&connected.client).await.map_err(|error| {
            self.lists.put_offers(changed);
            self.call_failed(&connected.client, error)
        })?;
        let offers = Arc::new(offers);
        *lock(&connected.data.offers) = Some(offers.clone());
        Ok(offers)
    }
}

fn lock<T>(mutex: &SyncMutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
