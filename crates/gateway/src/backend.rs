//! One server: what it is, its connections, and what it says to all.

mod conn;
mod cursors;
mod debounce;
mod health;
mod identity;
mod in_flight;
mod line;
mod mirrored;
mod owner;
mod parking;
mod pool;
mod session;
mod target;
mod watch;

pub(crate) use conn::Conn;
pub(crate) use in_flight::Running;
pub(crate) use line::{Level, Line};
pub(crate) use owner::Owner;
pub(crate) use parking::Park;
pub(crate) use pool::Lease;
pub(crate) use session::Session;
pub(crate) use target::{Target, number};

use crate::{ConnectError, GatewayOptions, Sharing, Upstream};
use carrick::client::{Changed, ClientConfig, Reply};
use carrick::proto::flow::{Full, Token};
use carrick::proto::http::ParamHeader;
use carrick::proto::peer::{Call, Identity, ServerDescription};
use carrick::proto::revision::{Part, Revision, translate};
use carrick::proto::rpc::{Field, Json};
use carrick::server::{Outbox, StateKeys};
use carrick::types::{ListCapability, ResourceCapability, RpcError, ServerCapabilities};
use conn::ConnEvents;
use cursors::Cursors;
use debounce::Debounce;
use mirrored::Mirrored;
use parking::Parking;
use pool::Pool;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

/// The wait before a server is tried again that somebody wants to hear of.
const REVIVAL: Duration = Duration::from_secs(5);

/// How often idle connections are looked for, at least.
const SWEEP: Duration = Duration::from_secs(5);

/// Pages of its list of tools that the gateway reads for itself.
const PAGES: usize = 64;

/// Such a server.
pub(crate) struct Backend {
    me: Weak<Self>,
    target: Arc<Target>,
    /// Seals the state of calls that are parked.
    pub(crate) keys: StateKeys,
    pool: Arc<Pool>,
    pub(crate) parking: Arc<Parking>,
    /// The connection that was opened first, and stays.
    first: Arc<Conn>,
    identity: RwLock<Arc<Identity>>,
    /// Whether the server needs no sessions.
    stateless: AtomicBool,
    logs: AtomicBool,
    /// Whether the first connection has been open before.
    was_open: AtomicBool,
    listeners: Mutex<BTreeMap<u64, Listener>>,
    debounce: Arc<Debounce>,
    mirrored: Mirrored,
    /// Where lists go on that were asked for in the gateway's name.
    pub(crate) cursors: Cursors,
    /// Whether the gateway asks for the list of tools at the moment.
    is_learning: AtomicBool,
}

/// A downstream connection that hears of changes.
struct Listener {
    outbox: Weak<dyn Outbox>,
    owner: Option<Owner>,
}

impl Backend {
    /// Connects to the server, to learn what it is.
    ///
    /// # Errors
    /// When it cannot be reached, with why.
    pub(crate) async fn open(
        upstream: impl Upstream,
        mut options: GatewayOptions,
    ) -> Result<Arc<Self>, ConnectError> {
        let keys = options.state_keys.take().unwrap_or_else(|| {
            StateKeys::random().unwrap_or_else(|error| {
                tracing::error!(%error, "no randomness: servers with sessions cannot ask clients without");
                StateKeys::none()
            })
        });
        let nobody =
            Identity::new(&options.info, &not_known_yet(), None).map_err(ConnectError::new)?;
        let target = Arc::new(Target::new(upstream, options));
        let backend = Arc::new_cyclic(|me: &Weak<Self>| {
            let events: Weak<dyn ConnEvents> = me.clone();
            let config = ClientConfig::new(target.options.info.clone());
            let owner = match target.options.sharing {
                Sharing::PerCall => Owner::Gateway,
                Sharing::Shared => Owner::Everyone,
            };
            let first = Conn::new(&target, events.clone(), Some(owner), config, true);
            Self {
                me: me.clone(),
                keys,
                pool: Pool::new(target.clone(), events, first.clone()),
                parking: Parking::new(target.options.parked),
                first,
                identity: RwLock::new(Arc::new(nobody)),
                stateless: AtomicBool::new(false),
                logs: AtomicBool::new(false),
                was_open: AtomicBool::new(false),
                listeners: Mutex::default(),
                debounce: Arc::default(),
                mirrored: Mirrored::default(),
                cursors: Cursors::default(),
                is_learning: AtomicBool::new(false),
                target,
            }
        });
        match backend.target.options.startup_wait {
            None => backend.start().await?,
            Some(wait) => match tokio::time::timeout(wait, backend.start()).await {
                Ok(started) => started?,
                Err(_) => drop(tokio::spawn(start_late(Arc::downgrade(&backend)))),
            },
        }
        let period = (backend.target.options.session_idle / 4).min(SWEEP);
        tokio::spawn(sweep(Arc::downgrade(&backend.pool), period.max(Duration::from_millis(10))));
        Ok(backend)
    }

    async fn start(&self) -> Result<(), ConnectError> {
        self.first.line.first().await?;
        self.learn_first().await;
        Ok(())
    }

    /// Whether the server has been there yet.
    pub(crate) fn is_ready(&self) -> bool {
        self.was_open.load(Ordering::Acquire)
    }

    /// Which arguments travel in headers too is in the list of tools, as a server
    /// without sessions gives it to the gateway.
    async fn learn_first(&self) {
        let Some(client) = self.first.line.now(Level::Any) else { return };
        if !self.is_stateless() || client.server().capabilities.tools.is_none() {
            return;
        }
        let mut params = Vec::new();
        for number in 0..PAGES {
            let page = match client.request("tools/list", params, None, None).await {
                Ok(page) => page,
                Err(error) => {
                    return tracing::warn!(%error, "the server does not list its tools");
                }
            };
            self.mirrored.learn(page.as_bytes(), number == 0);
            match after(&page) {
                Some(next) => params = next,
                None => return,
            }
        }
    }

    /// A client was given a list of tools. It may be that client's alone: where it
    /// says something new, the gateway asks for itself.
    pub(crate) fn listed_tools(&self, reply: &Reply) {
        if !self.is_stateless() || !self.mirrored.differs(reply.message().body_bytes()) {
            return;
        }
        let Some(backend) = self.me.upgrade() else { return };
        if self.is_learning.swap(true, Ordering::Relaxed) {
            return;
        }
        tokio::spawn(async move {
            backend.learn_first().await;
            backend.is_learning.store(false, Ordering::Relaxed);
        });
    }

    /// Closes every connection to the server. Calls that are under way end, and
    /// so do those that are parked.
    pub(crate) async fn close(&self) {
        self.parking.clear();
        for connection in self.pool.close() {
            connection.line().close().await;
        }
    }

    /// Ends every connection to the server, to open it anew where it is needed
    /// next. Calls that are under way end.
    pub(crate) async fn reconnect(&self) {
        for connection in self.pool.all() {
            connection.line().reconnect().await;
        }
        ConnEvents::closed(self);
    }

    pub(crate) fn name(&self) -> &str {
        self.target.name()
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// The connection that was opened first.
    pub(crate) fn first(&self) -> &Arc<Conn> {
        &self.first
    }

    /// How many connections there are.
    pub(crate) fn connections(&self) -> usize {
        self.pool.len()
    }

    pub(crate) fn identity(&self) -> Arc<Identity> {
        self.identity.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn mirrored(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        self.mirrored.of(tool)
    }

    /// Whether the server needs no sessions.
    pub(crate) fn is_stateless(&self) -> bool {
        self.stateless.load(Ordering::Relaxed)
    }

    /// Whether the server sends log messages.
    pub(crate) fn logs(&self) -> bool {
        self.logs.load(Ordering::Relaxed)
    }

    /// Learns from the answer to a `tools/list` that was asked in the gateway's name.
    pub(crate) fn learn(&self, reply: &Reply, is_first_page: bool) {
        self.mirrored.learn(reply.message().body_bytes(), is_first_page);
    }

    /// A connection of this owner's, if one can be had at once.
    pub(crate) fn try_lease(&self, owner: &Owner, capabilities: &Arc<str>) -> Option<Lease> {
        self.pool.try_lease(owner, capabilities)
    }

    /// A connection of this owner's. Where there is no room, the call that has
    /// been parked longest is given up.
    ///
    /// # Errors
    /// When none comes free in time.
    pub(crate) async fn lease(
        &self,
        owner: &Owner,
        capabilities: &Arc<str>,
    ) -> Result<Lease, RpcError> {
        self.pool.lease(owner, capabilities, || self.parking.give_up_longest()).await
    }

    /// Parks a call of a client that has been asked something.
    ///
    /// # Errors
    /// When a bound is reached.
    pub(crate) fn park(&self, token: Token, bytes: usize, call: Arc<dyn Park>) -> Result<(), Full> {
        self.parking.park(token, bytes, call)?;
        self.pool.parked();
        Ok(())
    }

    /// The session at the server that a client's session has from now on.
    ///
    /// # Errors
    /// When there are too many connections.
    pub(crate) fn session(
        &self,
        outbox: &Arc<dyn Outbox>,
        call: &Call,
    ) -> Result<Arc<Session>, RpcError> {
        let session = Session::new(&self.target, outbox.clone(), call);
        loop {
            match self.pool.admit(&session) {
                Ok(()) => return Ok(session),
                Err(error) if !self.parking.give_up_longest() => return Err(error),
                Err(_) => {}
            }
        }
    }

    pub(crate) fn end_session(&self, session: &Arc<Session>) {
        self.pool.end_session(session);
    }

    /// A downstream connection has gone.
    pub(crate) fn end_owner(&self, owner: &Owner) {
        self.pool.end_owner(owner);
    }

    /// Takes in a downstream connection that is to hear of changes; its number.
    pub(crate) fn listen(&self, outbox: &Arc<dyn Outbox>, owner: Option<&Owner>) -> u64 {
        let number = number();
        let listener = Listener { outbox: Arc::downgrade(outbox), owner: owner.cloned() };
        self.listeners().insert(number, listener);
        number
    }

    pub(crate) fn stop_listening(&self, number: u64) {
        self.listeners().remove(&number);
    }

    fn has_listeners(&self) -> bool {
        !self.listeners().is_empty()
    }

    /// On a new connection nothing is known of what has changed meanwhile.
    fn renew(&self) {
        for changed in [Changed::Tools, Changed::Prompts, Changed::Resources] {
            self.tell(&changed, &Owner::Gateway);
        }
        for uri in self.first.watched.uris() {
            self.tell(&Changed::Resource(uri), &Owner::Gateway);
        }
    }

    /// Tells listeners of a change. That of a resource, as it is on a connection
    /// of one client's, is that client's affair.
    fn tell(&self, changed: &Changed, owner: &Owner) {
        let is_own = matches!(changed, Changed::Resource(_)) && owner.is_one_client();
        let outboxes: Vec<_> = self
            .listeners()
            .values()
            .filter(|listener| !is_own || listener.owner.as_ref() == Some(owner))
            .filter_map(|listener| listener.outbox.upgrade())
            .collect();
        for outbox in outboxes {
            outbox.changed(changed.clone());
        }
    }

    /// What the client of a request without a session can do, as a server of
    /// sessions is told it, in canonical form.
    pub(crate) fn legacy_capabilities(&self, call: &Call) -> Result<Arc<str>, RpcError> {
        let Some(json) = call.message.field_json(Field::MetaClientCapabilities) else {
            return Ok("{}".into());
        };
        if json.as_bytes() == b"{}" {
            return Ok("{}".into());
        }
        let invalid = |error: &dyn std::fmt::Display| {
            RpcError::invalid_params(format!("the client's capabilities: {error}"))
        };
        let part = Part::ClientCapabilities;
        let (json, _) = translate(json, part, call.revision, Revision::NEWEST_HANDSHAKE)
            .map_err(|error| invalid(&error))?;
        let value: serde_json::Value = json.read().map_err(|error| invalid(&error))?;
        // The members of an object are in the order of their names.
        Ok(value.to_string().into())
    }

    fn listeners(&self) -> MutexGuard<'_, BTreeMap<u64, Listener>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnEvents for Backend {
    fn opened(&self, server: &ServerDescription) {
        self.stateless.store(!server.revision.rules().server_requests, Ordering::Relaxed);
        self.logs.store(server.capabilities.logging.is_some(), Ordering::Relaxed);
        match identity::of(self.target.name(), server) {
            Ok(identity) => {
                *self.identity.write().unwrap_or_else(PoisonError::into_inner) = identity.into();
            }
            Err(error) => tracing::warn!(error, "what the server says of itself cannot be read"),
        }
        if self.was_open.swap(true, Ordering::AcqRel) {
            self.renew();
        }
    }

    /// Whoever hears of changes goes on hearing.
    fn closed(&self) {
        let Some(backend) = self.me.upgrade().filter(|_| self.has_listeners()) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            while backend.has_listeners() && !backend.first.line.is_closed() {
                if backend.first.line.client(Level::Any).await.is_ok() {
                    return;
                }
                tokio::time::sleep(REVIVAL).await;
            }
        });
    }

    fn changed(&self, changed: Changed, owner: &Owner) {
        let (backend, owner) = (self.me.clone(), owner.clone());
        self.debounce.tell(changed, move |changed| {
            if let Some(backend) = backend.upgrade() {
                backend.tell(&changed, &owner);
            }
        });
    }
}

/// The parameters that ask for the page after this one, if there is one.
fn after(page: &Json) -> Option<Vec<u8>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Page {
        next_cursor: Option<String>,
    }
    let cursor = page.read::<Page>().ok()?.next_cursor?;
    Some(serde_json::json!({ "cursor": cursor }).to_string().into_bytes())
}

/// Closes what nobody has used for too long, for as long as the pool lives.
async fn sweep(pool: Weak<Pool>, period: Duration) {
    loop {
        tokio::time::sleep(period).await;
        let Some(pool) = pool.upgrade() else { return };
        pool.sweep();
    }
}

/// What a server may turn out to have that is still starting.
fn not_known_yet() -> ServerCapabilities {
    let mut may = ServerCapabilities::default();
    let mut list = ListCapability::default();
    list.list_changed = true;
    let mut resources = ResourceCapability::default();
    resources.list_changed = true;
    (may.tools, may.prompts, may.resources) = (Some(list.clone()), Some(list), Some(resources));
    may
}

/// Goes on with a start that took longer than anybody waits for, again and again.
async fn start_late(backend: Weak<Backend>) {
    loop {
        let Some(backend) = backend.upgrade() else { return };
        match backend.start().await {
            Ok(()) => {
                tracing::info!(server = backend.name(), "the server is there");
                return backend.renew();
            }
            Err(_) if backend.first.line.is_closed() => return,
            Err(error) => {
                tracing::warn!(server = backend.name(), %error, "the server has not started");
            }
        }
        drop(backend);
        tokio::time::sleep(REVIVAL).await;
    }
}
