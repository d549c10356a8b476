//! The gateway: what all conversations share.

use crate::bridge::Bridge;
use crate::front::Front;
use crate::identity;
use crate::line::{Level, number};
use crate::pace::Pace;
use crate::pool::Pool;
use crate::session::Session;
use crate::shared::Trunk;
use crate::watch::Watched;
use crate::{ConnectError, GatewayOptions, Upstream};
use carrick::client::{Changed, ClientConfig, Reply};
use carrick::proto::flow::{Full, Parked, Token};
use carrick::proto::http::{ParamHeader, param_headers};
use carrick::proto::peer::{Call, Identity, ServerDescription};
use carrick::proto::revision::{Part, Revision, translate};
use carrick::proto::rpc::Field;
use carrick::server::{Connection, ConnectionInfo, Outbox, Service, StateKeys};
use carrick::types::{RawJson, RpcError, ServerCapabilities};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The wait before a server is tried again that somebody wants to hear of.
const REVIVAL: Duration = Duration::from_secs(5);

/// One MCP server, offered to clients of any revision. Cheap to clone; a
/// [`Service`] for the drivers that serve a [`carrick::Server`].
#[derive(Clone)]
pub struct Gateway {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    me: Weak<Self>,
    pub(crate) upstream: Arc<dyn Upstream>,
    pub(crate) options: GatewayOptions,
    pub(crate) keys: StateKeys,
    pub(crate) pool: Pool,
    /// The connection that was opened first: the one that all share, or one of
    /// the pool.
    pub(crate) main: Arc<Trunk>,
    identity: RwLock<Arc<Identity>>,
    /// Whether the server needs no sessions.
    stateless: AtomicBool,
    logs: AtomicBool,
    /// Whether the first connection has been open before.
    was_open: AtomicBool,
    parked: Mutex<Parked<Arc<Bridge>>>,
    /// Wakes whoever ends the parked calls whose time is over.
    parking: Arc<Notify>,
    started: Instant,
    fronts: Mutex<BTreeMap<u64, Weak<dyn Outbox>>>,
    sessions: Mutex<Vec<Weak<Session>>>,
    pub(crate) watched: Watched,
    pub(crate) pace: Arc<Pace>,
    mirrored: RwLock<BTreeMap<String, Arc<[ParamHeader]>>>,
}

impl Gateway {
    /// Connects to the server, to learn what it is.
    ///
    /// # Errors
    /// When it cannot be reached, with why.
    pub async fn open(
        upstream: impl Upstream,
        mut options: GatewayOptions,
    ) -> Result<Self, ConnectError> {
        let upstream: Arc<dyn Upstream> = Arc::new(upstream);
        let keys = options.state_keys.take().unwrap_or_else(|| {
            StateKeys::random().unwrap_or_else(|error| {
                tracing::error!(%error, "no randomness: servers with sessions cannot ask clients without");
                StateKeys::none()
            })
        });
        let nobody = Identity::new(&options.info, &ServerCapabilities::default(), None)?;
        let inner = Arc::new_cyclic(|me: &Weak<Inner>| {
            let config = ClientConfig::new(options.info.clone());
            let main = Trunk::main(me, upstream.clone(), config);
            Inner {
                upstream,
                keys,
                pool: Pool::new(main.clone()),
                main,
                identity: RwLock::new(Arc::new(nobody)),
                stateless: AtomicBool::new(false),
                logs: AtomicBool::new(false),
                was_open: AtomicBool::new(false),
                parked: Mutex::new(Parked::new(options.parked)),
                parking: Arc::default(),
                started: Instant::now(),
                fronts: Mutex::default(),
                sessions: Mutex::default(),
                watched: Watched::default(),
                pace: Arc::default(),
                me: me.clone(),
                mirrored: RwLock::default(),
                options,
            }
        });
        let client = inner.main.line.first().await?;
        tokio::spawn(end_parked(Arc::downgrade(&inner), inner.parking.clone()));
        let server = client.server();
        if inner.is_stateless() && server.capabilities.tools.is_some() {
            // Which arguments travel in headers too is in the list of tools.
            match client.request("tools/list", Vec::new(), None, None).await {
                Ok(tools) => inner.learn_tools(tools.as_bytes()),
                Err(error) => tracing::warn!(%error, "the server does not list its tools"),
            }
        }
        Ok(Self { inner })
    }

    /// Closes every connection to the server. Calls that are under way end, and
    /// so do those that are parked.
    pub async fn close(&self) {
        let parked: Vec<_> = self.inner.parked().drain().collect();
        parked.iter().for_each(|bridge| bridge.expire());
        let sessions = std::mem::take(&mut *lock(&self.inner.sessions));
        for session in sessions.iter().filter_map(Weak::upgrade) {
            session.line.close().await;
        }
        for trunk in self.inner.pool.all() {
            trunk.line.close().await;
        }
    }

    /// Ends every connection to the server, to open it anew where it is needed
    /// next: the server is not what it was. Calls that are under way end.
    pub async fn reconnect(&self) {
        let sessions: Vec<_> =
            lock(&self.inner.sessions).iter().filter_map(Weak::upgrade).collect();
        for session in sessions {
            session.line.reconnect().await;
        }
        for trunk in self.inner.pool.all() {
            trunk.line.reconnect().await;
        }
        self.inner.closed();
    }

    /// Calls that wait for their clients to come back, and the memory that they
    /// take, in bytes.
    pub fn parked(&self) -> (usize, usize) {
        let parked = self.inner.parked();
        (parked.len(), parked.bytes())
    }

    /// The name of the server.
    pub fn server(&self) -> &str {
        self.inner.upstream.name()
    }
}

impl Service for Gateway {
    fn identity(&self) -> Arc<Identity> {
        self.inner.identity.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn connect(&self, info: Arc<ConnectionInfo>, outbox: Arc<dyn Outbox>) -> Box<dyn Connection> {
        let _ = info;
        Box::new(Front::new(self.inner.clone(), outbox))
    }

    fn mirrored(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        self.inner.mirrored.read().unwrap_or_else(PoisonError::into_inner).get(tool).cloned()
    }
}

impl Inner {
    /// Whether the server needs no sessions.
    pub(crate) fn is_stateless(&self) -> bool {
        self.stateless.load(Ordering::Relaxed)
    }

    /// Whether the server sends log messages.
    pub(crate) fn logs(&self) -> bool {
        self.logs.load(Ordering::Relaxed)
    }

    /// The first connection was opened, or opened again.
    pub(crate) fn opened(&self, server: &ServerDescription) {
        self.stateless.store(!server.revision.rules().server_requests, Ordering::Relaxed);
        self.logs.store(server.capabilities.logging.is_some(), Ordering::Relaxed);
        match identity::of(self.upstream.name(), server) {
            Ok(identity) => {
                *self.identity.write().unwrap_or_else(PoisonError::into_inner) = identity.into();
            }
            Err(error) => tracing::warn!(error, "what the server says of itself cannot be read"),
        }
        if self.was_open.swap(true, Ordering::Relaxed) {
            self.renew();
        }
    }

    /// The first connection is gone. Whoever hears of changes goes on hearing.
    pub(crate) fn closed(&self) {
        let Some(gateway) = self.me.upgrade().filter(|_| self.has_listeners()) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            while gateway.has_listeners() && !gateway.main.line.is_closed() {
                if gateway.main.line.client(Level::Any).await.is_ok() {
                    return;
                }
                tokio::time::sleep(REVIVAL).await;
            }
        });
    }

    /// On a new connection nothing is known of what has changed meanwhile.
    fn renew(&self) {
        for changed in [Changed::Tools, Changed::Prompts, Changed::Resources] {
            self.changed(&changed);
        }
        self.watched.tell(self);
    }

    fn has_listeners(&self) -> bool {
        !lock(&self.fronts).is_empty()
    }

    /// Something has changed at the server.
    pub(crate) fn changed(&self, changed: &Changed) {
        let fronts: Vec<_> = lock(&self.fronts).values().filter_map(Weak::upgrade).collect();
        for outbox in fronts {
            outbox.changed(changed.clone());
        }
    }

    /// Takes in a conversation that is to hear of changes; its number.
    pub(crate) fn listen(&self, outbox: &Arc<dyn Outbox>) -> u64 {
        let number = number();
        lock(&self.fronts).insert(number, Arc::downgrade(outbox));
        number
    }

    pub(crate) fn stop_listening(&self, number: u64) {
        lock(&self.fronts).remove(&number);
    }

    /// The session at the server that a client's session has.
    pub(crate) fn session(&self, outbox: &Arc<dyn Outbox>, call: &Call) -> Arc<Session> {
        let session = Session::new(self, outbox.clone(), call);
        let mut sessions = lock(&self.sessions);
        sessions.retain(|session| session.strong_count() > 0);
        sessions.push(Arc::downgrade(&session));
        session
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

    /// Learns which arguments travel in headers from a list of tools.
    pub(crate) fn learn(&self, reply: &Reply) {
        self.learn_tools(reply.message().body_bytes());
    }

    fn learn_tools(&self, list: &[u8]) {
        #[derive(Deserialize)]
        struct List {
            tools: Vec<RawJson>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Tool {
            name: String,
            input_schema: serde_json::Value,
        }
        if memchr::memmem::find(list, b"x-mcp-header").is_none() {
            return;
        }
        let Ok(List { tools }) = serde_json::from_slice(list) else { return };
        let mut mirrored = self.mirrored.write().unwrap_or_else(PoisonError::into_inner);
        for tool in &tools {
            let Ok(tool) = serde_json::from_str::<Tool>(tool.get()) else { continue };
            match param_headers(&tool.input_schema) {
                Ok(headers) if headers.is_empty() => {
                    mirrored.remove(&tool.name);
                }
                Ok(headers) => {
                    mirrored.insert(tool.name, headers.into());
                }
                Err(error) => {
                    tracing::warn!(tool = %tool.name, %error, "clients will leave it out");
                }
            }
        }
    }

    pub(crate) fn park(&self, token: Token, bytes: usize, bridge: Arc<Bridge>) -> Result<(), Full> {
        let parked = self.parked().park(self.started.elapsed(), token, bytes, bridge);
        self.parking.notify_one();
        parked.map_err(|(full, _)| full)
    }

    pub(crate) fn take_parked(&self, token: &Token) -> Option<Arc<Bridge>> {
        self.parked().take(token)
    }

    /// A parked call has come to an end that takes memory.
    pub(crate) fn grow_parked(&self, token: &Token, bytes: usize) {
        let grown = self.parked().grow(token, bytes);
        if let Err((full, bridge)) = grown {
            tracing::warn!(%full, "the answer to a parked call was dropped");
            bridge.expire();
        }
    }

    fn parked(&self) -> MutexGuard<'_, Parked<Arc<Bridge>>> {
        lock(&self.parked)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.parking.notify_one();
    }
}

/// Ends parked calls when their time is over, for as long as the gateway lives.
async fn end_parked(gateway: Weak<Inner>, parking: Arc<Notify>) {
    loop {
        let next = {
            let Some(gateway) = gateway.upgrade() else { return };
            let now = gateway.started.elapsed();
            loop {
                let expired = gateway.parked().expired(now);
                let Some(bridge) = expired else { break };
                bridge.expire();
            }
            gateway.parked().poll_timeout().map(|at| gateway.started + at)
        };
        match next {
            Some(at) => tokio::select! {
                () = tokio::time::sleep_until(at) => {}
                () = parking.notified() => {}
            },
            None => parking.notified().await,
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
