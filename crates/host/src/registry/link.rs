//! One server's connection over time.

use super::eras::{self, Eras};
use super::held::{Listed, sort_out};
use super::offers::Offers;
use super::{RegistryOptions, ServerError, ServerErrorKind, ServerEvent, SharedPins, connect};
use crate::config::{Launch, Server};
use carrick::Client;
use carrick::client::{CallError, Changed, ClientError, ClientEvent, Era, ServerDescription};
use carrick::transport::child::last_lines;
use carrick_policy::visible;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

/// The first wait before a server that failed is tried again; doubles.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// A connection that lasted this long counts as healthy again.
const HEALTHY: Duration = Duration::from_secs(30);

/// How long a connection waits for what was learned of it to be written.
const REMEMBERING: Duration = Duration::from_secs(1);

/// One server and the connection to it, when there is one.
pub(super) struct Link {
    server: Server,
    options: Arc<RegistryOptions>,
    /// Held while connecting, so that callers side by side share one attempt.
    state: Mutex<State>,
    /// Held while listing, for the same reason; calls go on meanwhile.
    listing: Mutex<()>,
    changed: Arc<ChangedLists>,
    /// Whether the log has been told of what is no message on its stdout.
    noisy: Arc<AtomicBool>,
    /// True once the host is done with the server.
    closed: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    up: Option<Up>,
    era: Option<Era>,
    failures: u32,
    /// Until then the last error answers at once.
    blocked: Option<(Instant, ServerErrorKind)>,
}

struct Up {
    client: Client,
    since: Instant,
    end: Arc<End>,
    listed: Option<Listed>,
    offers: Option<Arc<Offers>>,
}

/// How one connection ended, once it has.
#[derive(Default)]
struct End {
    over: AtomicBool,
    how: SyncMutex<Option<String>>,
}

/// Which lists a server said have changed since they were last taken.
#[derive(Default)]
struct ChangedLists {
    tools: AtomicBool,
    offers: AtomicBool,
}

impl Link {
    pub(super) fn new(server: Server, options: Arc<RegistryOptions>) -> Self {
        let key = eras::key(&server);
        let remembered = |eras: &Arc<Eras>| eras.of(key.as_deref()?);
        let era = options.eras.as_ref().and_then(remembered);
        Self {
            server,
            options,
            state: Mutex::new(State { era, ..State::default() }),
            listing: Mutex::default(),
            changed: Arc::default(),
            noisy: Arc::default(),
            closed: watch::Sender::new(false),
        }
    }

    pub(super) fn configured(&self) -> &Server {
        &self.server
    }

    pub(super) fn options(&self) -> &RegistryOptions {
        &self.options
    }

    /// Whether the list of tools, or one of the others, has changed since it
    /// was last taken.
    pub(super) fn has_changed(&self, others: bool) -> bool {
        let changed = &self.changed;
        changed.tools.load(Ordering::Acquire) || (others && changed.offers.load(Ordering::Acquire))
    }

    /// The connection: the one there is, or a new one.
    pub(super) async fn client(&self) -> Result<Client, ServerError> {
        self.unless_closed(async {
            let mut state = self.state.lock().await;
            self.client_in(&mut state).await
        })
        .await
    }

    /// The tools: those on offer, and those held back.
    pub(super) async fn listed(&self) -> Result<Listed, ServerError> {
        self.unless_closed(self.list()).await
    }

    /// Resources and prompts, as far as they are shown.
    pub(super) async fn offers(&self) -> Result<Arc<Offers>, ServerError> {
        self.unless_closed(self.list_offers()).await
    }

    /// Fails for a tool that is held back.
    pub(super) async fn may_call(&self, tool: &str) -> Result<(), ServerError> {
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
        if let Some(up) = &mut self.state.lock().await.up {
            up.listed = None;
        }
    }

    /// What the server said of itself, while connected.
    pub(super) async fn description(&self) -> Option<ServerDescription> {
        let state = self.state.lock().await;
        state.up.as_ref().map(|up| up.client.server().as_ref().clone())
    }

    pub(super) fn call_failed(&self, client: &Client, error: ClientError) -> ServerError {
        let silent = matches!(error.call(), Some(CallError::Timeout(_)));
        let stderr = silent.then(|| client.stderr_tail()).flatten().and_then(|t| last_lines(&t));
        self.error(ServerErrorKind::Request { error: Arc::new(error), stderr })
    }

    pub(super) async fn close(&self) {
        // Whoever connects or lists gives that up, and the lock with it.
        self.closed.send_replace(true);
        let up = self.state.lock().await.up.take();
        if let Some(up) = up {
            up.client.close().await;
        }
    }

    /// The pins, for a server whose tools are pinned: our own are not.
    pub(super) fn pins(&self) -> Option<&SharedPins> {
        let builtin = matches!(self.server.launch(), Some(Launch::Builtin { .. }));
        self.options.pins.as_ref().filter(|_| !builtin)
    }

    pub(super) fn error(&self, kind: ServerErrorKind) -> ServerError {
        ServerError::new(&self.server.name, kind)
    }

    async fn unless_closed<T>(
        &self,
        work: impl Future<Output = Result<T, ServerError>>,
    ) -> Result<T, ServerError> {
        let mut closed = self.closed.subscribe();
        tokio::select! {
            biased;
            _ = closed.wait_for(|closed| *closed) => Err(self.error(ServerErrorKind::Closed)),
            done = work => done,
        }
    }

    async fn list(&self) -> Result<Listed, ServerError> {
        let _alone = self.listing.lock().await;
        let (client, end, known) = self.current(|up| up.listed.clone()).await?;
        let changed = self.changed.tools.swap(false, Ordering::AcqRel);
        if let Some(listed) = known.filter(|_| !changed) {
            return Ok(listed);
        }
        let tools = match client.server().capabilities.tools {
            None => Vec::new(),
            Some(_) => client.list_tools().await.map_err(|error| {
                self.changed.tools.fetch_or(changed, Ordering::AcqRel);
                self.call_failed(&client, error)
            })?,
        };
        let listed = sort_out(tools, self.pins(), &self.server.key())
            .map_err(|error| self.error(ServerErrorKind::Pins(error)))?;
        if !listed.held.is_empty() {
            let names = listed.held.iter().map(|held| held.name.clone()).collect();
            self.tell(ServerEvent::ToolsHeld(names));
        }
        self.keep(&end, |up| up.listed = Some(listed.clone())).await;
        Ok(listed)
    }

    async fn list_offers(&self) -> Result<Arc<Offers>, ServerError> {
        let _alone = self.listing.lock().await;
        let (client, end, known) = self.current(|up| up.offers.clone()).await?;
        let changed = self.changed.offers.swap(false, Ordering::AcqRel);
        if let Some(offers) = known.filter(|_| !changed) {
            return Ok(offers);
        }
        let offers = Offers::first_pages(&client).await.map_err(|error| {
            self.changed.offers.fetch_or(changed, Ordering::AcqRel);
            self.call_failed(&client, error)
        })?;
        let offers = Arc::new(offers);
        self.keep(&end, |up| up.offers = Some(offers.clone())).await;
        Ok(offers)
    }

    /// The connection, which one it is, and what is known over it.
    async fn current<T>(
        &self,
        known: impl FnOnce(&Up) -> Option<T>,
    ) -> Result<(Client, Arc<End>, Option<T>), ServerError> {
        let mut state = self.state.lock().await;
        let client = self.client_in(&mut state).await?;
        let (end, known) = match &state.up {
            Some(up) => (up.end.clone(), known(up)),
            None => (Arc::default(), None),
        };
        Ok((client, end, known))
    }

    /// Remembers something learned over a connection, if it is still the one.
    async fn keep(&self, end: &Arc<End>, change: impl FnOnce(&mut Up)) {
        let mut state = self.state.lock().await;
        if let Some(up) = state.up.as_mut().filter(|up| Arc::ptr_eq(&up.end, end)) {
            change(up);
        }
    }

    async fn client_in(&self, state: &mut State) -> Result<Client, ServerError> {
        if let Some(up) = &state.up {
            if !up.end.over.load(Ordering::Acquire) {
                return Ok(up.client.clone());
            }
            // It died. A server that had been fine is started again at once.
            if up.since.elapsed() >= HEALTHY {
                state.failures = 0;
            } else {
                let died = up.end.error();
                self.block(state, died);
            }
            state.up = None;
        }
        if let Some((until, kind)) = &state.blocked
            && Instant::now() < *until
        {
            return Err(self.error(kind.clone()));
        }
        self.connect(state).await
    }

    async fn connect(&self, state: &mut State) -> Result<Client, ServerError> {
        if self.server.launch().is_some() {
            self.tell(ServerEvent::Connecting);
        }
        let end = Arc::new(End::default());
        let events = self.events(end.clone());
        match connect::connect(&self.server, &self.options, state.era, events).await {
            Ok(client) => {
                let era = client.server().era();
                state.era = Some(era);
                self.remember(era).await;
                state.blocked = None;
                self.tell(ServerEvent::Connected(introduction(&client.server())));
                state.up = Some(Up {
                    client: client.clone(),
                    since: Instant::now(),
                    end,
                    listed: None,
                    offers: None,
                });
                Ok(client)
            }
            Err(kind) => {
                // What was known of it may be what went wrong.
                state.era = None;
                self.block(state, kind.clone());
                Err(self.error(kind))
            }
        }
    }

    /// Tells later runs how the server is spoken to.
    async fn remember(&self, era: Era) {
        let (eras, key) = (self.options.eras.clone(), eras::key(&self.server));
        let Some((eras, key)) = eras.zip(key) else { return };
        let writing = tokio::task::spawn_blocking(move || eras.learn(key, era));
        match tokio::time::timeout(REMEMBERING, writing).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::debug!(%error, "the era is not remembered"),
            Ok(Err(_)) | Err(_) => tracing::debug!("the era is not remembered in time"),
        }
    }

    /// Keeps further attempts away for a while that doubles each time. The
    /// first failure after a success does not count.
    fn block(&self, state: &mut State, kind: ServerErrorKind) {
        state.failures += 1;
        if state.failures > 1 {
            let wait = FIRST_WAIT.saturating_mul(1 << (state.failures - 2).min(16));
            state.blocked = Some((Instant::now() + wait.min(LONGEST_WAIT), kind));
        }
    }

    fn events(&self, end: Arc<End>) -> carrick::client::EventHandler {
        let (changed, noisy) = (self.changed.clone(), self.noisy.clone());
        let name: Arc<str> = self.server.name.as_str().into();
        let (observer, observed) = (self.options.observer.clone(), name.clone());
        let tell = move |event| {
            if let Some(observer) = &observer {
                observer(&observed, event);
            }
        };
        Arc::new(move |event| match event {
            ClientEvent::Closed(how) => {
                *end.how.lock().unwrap_or_else(PoisonError::into_inner) = Some(how.clone());
                end.over.store(true, Ordering::Release);
                tell(ServerEvent::Closed(how));
            }
            ClientEvent::Changed(Changed::Tools) => {
                changed.tools.store(true, Ordering::Release);
                tell(ServerEvent::ToolsChanged);
            }
            ClientEvent::Changed(Changed::Resources | Changed::Prompts) => {
                changed.offers.store(true, Ordering::Release);
            }
            ClientEvent::Noise(what) => {
                if !noisy.swap(true, Ordering::AcqRel) {
                    let what = visible(&what);
                    tracing::warn!(server = &*name, "skipped what is no message: {what}");
                }
                tell(ServerEvent::Noise(what));
            }
            ClientEvent::Log(params) => {
                let (level, text) = log_line(params.as_bytes());
                tracing::info!(server = &*name, level, "{}", visible(&text));
                tell(ServerEvent::Log(level, text));
            }
            _ => {}
        })
    }

    fn tell(&self, event: ServerEvent) {
        if let Some(observer) = &self.options.observer {
            observer(&self.server.name, event);
        }
    }
}

impl End {
    fn error(&self) -> ServerErrorKind {
        let how = self.how.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let error = CallError::Closed(how.unwrap_or_else(|| "the connection ended".into()));
        ServerErrorKind::Connect(Arc::new(error.into()))
    }
}

fn introduction(server: &ServerDescription) -> String {
    match &server.info {
        Some(info) => format!("{} {}, revision {}", info.name, info.version, server.revision),
        None => format!("revision {}", server.revision),
    }
}

/// Level and text of a log message; data that is no string is shown as JSON.
fn log_line(params: &[u8]) -> (String, String) {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(default)]
        level: String,
        #[serde(borrow)]
        data: Option<&'a RawValue>,
    }
    let Ok(params) = serde_json::from_slice::<Params<'_>>(params) else {
        return (String::new(), String::from_utf8_lossy(params).into_owned());
    };
    let data = params.data.map_or("null", RawValue::get);
    let text = serde_json::from_str(data).unwrap_or_else(|_| data.to_owned());
    (params.level, text)
}
