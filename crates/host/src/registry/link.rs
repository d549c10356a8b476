//! One server's connection over time.

use super::{RegistryOptions, ServerError, ServerErrorKind, ServerEvent, connect};
use crate::config::Server;
use crate::permission::visible;
use carrick::Client;
use carrick::client::{CallError, Changed, ClientError, ClientEvent, Era, ServerDescription};
use carrick::transport::child::last_lines;
use carrick::types::Tool;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// The first wait before a server that failed is tried again; doubles.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// A connection that lasted this long counts as healthy again.
const HEALTHY: Duration = Duration::from_secs(30);

/// One server and the connection to it, when there is one.
pub(super) struct Link {
    server: Server,
    options: Arc<RegistryOptions>,
    /// Held while connecting, so that callers side by side share one attempt.
    state: Mutex<State>,
    signals: Arc<Signals>,
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
    tools: Option<Arc<Vec<Tool>>>,
}

/// What the connection's events leave for the next caller to find.
#[derive(Default)]
struct Signals {
    closed: AtomicBool,
    tools_changed: AtomicBool,
    /// Whether the log has been told of what is no message on its stdout.
    noisy: AtomicBool,
    how: SyncMutex<Option<String>>,
}

impl Link {
    pub(super) fn new(server: Server, options: Arc<RegistryOptions>) -> Self {
        Self { server, options, state: Mutex::default(), signals: Arc::default() }
    }

    pub(super) fn configured(&self) -> &Server {
        &self.server
    }

    /// The connection: the one there is, or a new one.
    pub(super) async fn client(&self) -> Result<Client, ServerError> {
        let mut state = self.state.lock().await;
        self.client_in(&mut state).await
    }

    pub(super) async fn tools(&self) -> Result<Arc<Vec<Tool>>, ServerError> {
        let mut state = self.state.lock().await;
        let client = self.client_in(&mut state).await?;
        let changed = self.signals.tools_changed.swap(false, Ordering::AcqRel);
        let known = state.up.as_ref().and_then(|up| up.tools.clone());
        if let Some(tools) = known.filter(|_| !changed) {
            return Ok(tools);
        }
        if client.server().capabilities.tools.is_none() {
            return Ok(Arc::default());
        }
        let tools = client.list_tools().await.map_err(|error| self.call_failed(&client, error))?;
        let tools = Arc::new(tools);
        if let Some(up) = &mut state.up {
            up.tools = Some(tools.clone());
        }
        Ok(tools)
    }

    /// What the server said of itself, while connected.
    pub(super) async fn description(&self) -> Option<ServerDescription> {
        let state = self.state.lock().await;
        state.up.as_ref().map(|up| up.client.server().clone())
    }

    pub(super) fn call_failed(&self, client: &Client, error: ClientError) -> ServerError {
        let silent = matches!(error.call(), Some(CallError::Timeout(_)));
        let stderr = silent.then(|| client.stderr_tail()).flatten().and_then(|t| last_lines(&t));
        ServerError::new(
            &self.server.name,
            ServerErrorKind::Request { error: Arc::new(error), stderr },
        )
    }

    pub(super) async fn close(&self) {
        let up = self.state.lock().await.up.take();
        if let Some(up) = up {
            up.client.close().await;
        }
    }

    async fn client_in(&self, state: &mut State) -> Result<Client, ServerError> {
        if let Some(up) = &state.up {
            if !self.signals.closed.load(Ordering::Acquire) {
                return Ok(up.client.clone());
            }
            // It died. A server that had been fine is started again at once.
            if up.since.elapsed() >= HEALTHY {
                state.failures = 0;
            } else {
                self.block(state, self.died());
            }
            state.up = None;
        }
        if let Some((until, kind)) = &state.blocked
            && Instant::now() < *until
        {
            return Err(ServerError::new(&self.server.name, kind.clone()));
        }
        self.connect(state).await
    }

    async fn connect(&self, state: &mut State) -> Result<Client, ServerError> {
        self.tell(ServerEvent::Connecting);
        self.signals.closed.store(false, Ordering::Release);
        match connect::connect(&self.server, &self.options, state.era, self.events()).await {
            Ok(client) => {
                state.era = Some(client.server().era());
                state.blocked = None;
                self.tell(ServerEvent::Connected(introduction(client.server())));
                let up = Up { client: client.clone(), since: Instant::now(), tools: None };
                state.up = Some(up);
                Ok(client)
            }
            Err(kind) => {
                // What was known of it may be what went wrong.
                state.era = None;
                self.block(state, kind.clone());
                Err(ServerError::new(&self.server.name, kind))
            }
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

    fn died(&self) -> ServerErrorKind {
        let how = self.signals.how.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let error = CallError::Closed(how.unwrap_or_else(|| "the connection ended".into()));
        ServerErrorKind::Connect(Arc::new(error.into()))
    }

    fn events(&self) -> carrick::client::EventHandler {
        let (signals, name): (_, Arc<str>) =
            (self.signals.clone(), self.server.name.as_str().into());
        let observer = self.options.observer.clone();
        let observed = name.clone();
        let tell = move |event| {
            if let Some(observer) = &observer {
                observer(&observed, event);
            }
        };
        Arc::new(move |event| match event {
            ClientEvent::Closed(how) => {
                *signals.how.lock().unwrap_or_else(PoisonError::into_inner) = Some(how.clone());
                signals.closed.store(true, Ordering::Release);
                tell(ServerEvent::Closed(how));
            }
            ClientEvent::Changed(Changed::Tools) => {
                signals.tools_changed.store(true, Ordering::Release);
                tell(ServerEvent::ToolsChanged);
            }
            ClientEvent::Noise(what) => {
                if !signals.noisy.swap(true, Ordering::AcqRel) {
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
