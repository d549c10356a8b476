//! Clients: one connection to one server.

mod cache;
mod call;
mod child;
mod drive;
mod error;
mod forward;
mod handlers;
mod lists;
pub mod managed;
#[cfg(feature = "validate")]
mod outputs;
#[cfg(not(feature = "validate"))]
#[path = "client/unchecked.rs"]
mod outputs;
mod subscriptions;
#[cfg(test)]
mod tests;

pub use call::ProgressHandler;
pub use carrick_proto::peer::{
    CallError, CallOptions, Caller, Changed, ClientConfig, Era, Forward, LaneEnd, Reply,
    ServerDescription,
};
pub use error::ClientError;
pub use forward::{CallRelay, Forwarded, Relay, ServerAsk};
pub use handlers::Handlers;

use crate::transport::Transport;
use crate::transport::child::Process;
use cache::{Cache, Key};
use carrick_proto::method::Method;
use carrick_proto::rpc::{Json, push_escaped};
use carrick_proto::types::{CallToolResult, GetPromptResult, ReadResourceResult};
use drive::Command;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tracing::Instrument;

/// Something a server said outside of an answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientEvent {
    /// A list or a resource has changed, or may have while nothing could be
    /// heard of it. What was cached of it is gone already. Told of lists in both
    /// eras, of resources after [`Client::subscribe`].
    Changed(Changed),
    /// A log message: `params` of `notifications/message`.
    Log(Json),
    /// Something that is no message arrived where messages are expected, and
    /// was skipped. Reported once for a connection; later ones only count.
    Noise(String),
    /// Over HTTP: the stream of the server's own messages has ended for good, as
    /// the text says. Calls go on; changes are not heard of any more.
    ListenEnded(String),
    /// The connection, which was open, has ended on the other side. Told before
    /// the calls that were running end; every later call fails with this text.
    Closed(String),
}

/// Hears of [`ClientEvent`]s. It must return at once.
pub type EventHandler = Arc<dyn Fn(ClientEvent) + Send + Sync>;

/// What a connection calls on this side.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Hooks {
    /// Hears what the server says outside of answers.
    pub events: Option<EventHandler>,
    /// Answers what the server asks.
    pub handlers: Handlers,
    /// Hears what the server says and asks instead of all others, in its own
    /// words, to pass it on ([`Client::forward`]). The client then declares the
    /// capabilities of its config.
    pub relay: Option<Arc<dyn Relay>>,
}

impl From<Option<EventHandler>> for Hooks {
    fn from(events: Option<EventHandler>) -> Self {
        Self { events, ..Self::default() }
    }
}

impl From<Handlers> for Hooks {
    fn from(handlers: Handlers) -> Self {
        Self { handlers, ..Self::default() }
    }
}

/// A connection to a server. Cheap to clone; the connection closes when the
/// last clone is dropped.
#[derive(Clone)]
pub struct Client {
    commands: mpsc::UnboundedSender<Command>,
    server: Arc<ServerDescription>,
    shared: Arc<Shared>,
    options: CallOptions,
    handlers: Handlers,
    process: Option<Arc<Process>>,
}

impl Client {
    /// Opens a connection over `transport`: finds out what the server speaks,
    /// and falls back to the handshake where need be.
    ///
    /// # Errors
    /// When the server cannot be reached or speaks no revision that we do.
    pub async fn connect(
        transport: impl Transport + 'static,
        mut config: ClientConfig,
        hooks: impl Into<Hooks>,
    ) -> Result<Self, ClientError> {
        let hooks = hooks.into();
        let handlers = hooks.handlers.clone();
        config.forwarding = hooks.relay.is_some();
        if !config.forwarding {
            config.capabilities = handlers.capabilities();
        }
        config.spread = crate::net::chance();
        let shared = Arc::new(Shared::default());
        let (commands, received) = mpsc::unbounded_channel();
        let own = commands.downgrade();
        let (ready, opened) = oneshot::channel();
        let channel = (own, received);
        let driving = drive::drive(transport, config, hooks, shared.clone(), channel, ready);
        // What is logged about the connection has the caller's spans.
        tokio::spawn(driving.in_current_span());
        let server = match opened.await {
            Ok(Ok(server)) => Arc::new(server),
            Ok(Err(error)) => return Err(error.into()),
            Err(_) => return Err(CallError::Closed("the connection's task ended".into()).into()),
        };
        let options = CallOptions::default();
        Ok(Self { commands, server, shared, options, handlers, process: None })
    }

    /// The same connection with other bounds on each call.
    #[must_use]
    pub fn with_options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// The same connection with another bound on what is kept of lists and of
    /// resources that were read, in bytes; 0 keeps nothing. It holds for all
    /// clones. Default: 16 MiB.
    #[must_use]
    pub fn with_cache(self, max_bytes: usize) -> Self {
        self.shared.cache().limit(max_bytes);
        self
    }

    /// What the server said of itself, when the connection, or the session that
    /// took the place of a lost one, was opened.
    pub fn server(&self) -> Arc<ServerDescription> {
        self.shared.reopened().clone().unwrap_or_else(|| self.server.clone())
    }

    /// Forgets what is kept of lists and resources, so that it is asked for again.
    pub fn forget(&self) {
        self.shared.cache().forget_all();
    }

    /// The last of what the server wrote to stderr, of a child process.
    pub fn stderr_tail(&self) -> Option<String> {
        self.process.as_ref().map(|process| process.stderr_tail())
    }

    /// How long no call has been in flight; none while one is.
    pub fn idle_for(&self) -> Option<Duration> {
        let since = *self.shared.idle_since();
        since.map(|since| Instant::now().saturating_duration_since(since))
    }

    /// Calls a tool; `arguments` is a JSON object.
    ///
    /// # Errors
    /// When there is no result, or when the tools have been listed
    /// ([`Client::list_tools`]) and it does not fit the tool's output schema. A
    /// tool's own failure is a result with `is_error`.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: &[u8],
    ) -> Result<CallToolResult, ClientError> {
        read(&self.call_tool_raw(name, arguments, None).await?)
    }

    /// The same with the result as the server wrote it (in the newest revision's
    /// shape), and a function that hears of progress.
    ///
    /// # Errors
    /// As [`Client::call_tool`].
    pub async fn call_tool_raw(
        &self,
        name: &str,
        arguments: &[u8],
        progress: Option<ProgressHandler>,
    ) -> Result<Json, ClientError> {
        let params = named(name, arguments);
        let result = self.request("tools/call", params, Some(name), progress).await?;
        let output = self.shared.cache().output(name);
        if let Some(output) = output {
            output.check(name, &result)?;
        }
        Ok(result)
    }

    /// Reads a resource, or takes what was read before if that may still be used
    /// (`server/utilities/caching`).
    ///
    /// # Errors
    /// When it does not exist or cannot be read.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, ClientError> {
        read(&self.read_resource_raw(uri).await?)
    }

    /// The same with the result as the server wrote it.
    ///
    /// # Errors
    /// When it does not exist or cannot be read.
    pub async fn read_resource_raw(&self, uri: &str) -> Result<Json, ClientError> {
        let params = json!({ "uri": uri }).to_string().into_bytes();
        let key = Key::new(Method::ResourcesRead, Some(uri));
        Ok(self.fetch(key, params, Some(uri)).await?.0)
    }

    /// Renders a prompt; `arguments` is a JSON object of strings.
    ///
    /// # Errors
    /// When there is no such prompt or an argument is missing.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: &serde_json::Map<String, serde_json::Value>,
    ) -> Result<GetPromptResult, ClientError> {
        let arguments = serde_json::to_vec(arguments).map_err(ClientError::params)?;
        read(&self.get_prompt_raw(name, &arguments).await?)
    }

    /// The same with the result as the server wrote it; `arguments` is a JSON
    /// object of strings.
    ///
    /// # Errors
    /// When there is no such prompt or an argument is missing.
    pub async fn get_prompt_raw(&self, name: &str, arguments: &[u8]) -> Result<Json, ClientError> {
        self.request("prompts/get", named(name, arguments), Some(name), None).await
    }

    /// Asks whether the server is there (sessions only: since 2026-07-28 there
    /// is no ping).
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn ping(&self) -> Result<(), ClientError> {
        self.request("ping", Vec::new(), None, None).await.map(|_| ())
    }

    /// Any request, asked whatever is kept; `params` is a JSON object without `_meta`, or empty, and
    /// `name` what it is about (tool, prompt, URI).
    ///
    /// # Errors
    /// When there is no result.
    pub async fn request(
        &self,
        method: &str,
        params: Vec<u8>,
        name: Option<&str>,
        progress: Option<ProgressHandler>,
    ) -> Result<Json, ClientError> {
        Ok(call::call(self, method, params, name, progress).await?.result)
    }

    /// What is kept, or else the answer to a request; and whether it was kept.
    async fn fetch(
        &self,
        key: Key,
        params: Vec<u8>,
        name: Option<&str>,
    ) -> Result<(Json, bool), ClientError> {
        let ticket = {
            let mut cache = self.shared.cache();
            if let Some(result) = cache.find(&key, Instant::now()) {
                return Ok((result, true));
            }
            cache.begin(key.clone())
        };
        let answer = call::call(self, key.method().name(), params, name, None).await?;
        // What depends on answers to the server's questions is no answer to the
        // request alone.
        if !answer.asked {
            self.shared.cache().keep(ticket, &answer.result, Instant::now());
        }
        Ok((answer.result, false))
    }

    /// Closes the connection in good order.
    pub async fn close(&self) {
        let (closed, done) = oneshot::channel();
        if self.commands.send(Command::Close(closed)).is_ok() {
            // An error means the task has ended already.
            let _ = done.await;
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.server.info).finish_non_exhaustive()
    }
}

/// What a connection's handles and its task have in common.
struct Shared {
    /// What the server said of itself in a session that took the place of a lost
    /// one.
    reopened: Mutex<Option<Arc<ServerDescription>>>,
    cache: Mutex<Cache>,
    /// Since when no call has been in flight; none while one is.
    idle_since: Mutex<Option<Instant>>,
}

impl Default for Shared {
    fn default() -> Self {
        let idle_since = Mutex::new(Some(Instant::now()));
        Self { reopened: Mutex::default(), cache: Mutex::default(), idle_since }
    }
}

impl Shared {
    fn idle_since(&self) -> MutexGuard<'_, Option<Instant>> {
        self.idle_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reopened(&self) -> MutexGuard<'_, Option<Arc<ServerDescription>>> {
        self.reopened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Parameters of a name and arguments.
fn named(name: &str, arguments: &[u8]) -> Vec<u8> {
    let mut params = Vec::with_capacity(name.len() + arguments.len() + 40);
    params.extend_from_slice(b"{\"name\":\"");
    push_escaped(&mut params, name);
    params.extend_from_slice(b"\",\"arguments\":");
    params.extend_from_slice(if arguments.is_empty() { b"{}" } else { arguments });
    params.push(b'}');
    params
}

/// Reads a result as a type.
fn read<T: DeserializeOwned>(json: &Json) -> Result<T, ClientError> {
    json.read().map_err(|e| CallError::Protocol(e.to_string()).into())
}
