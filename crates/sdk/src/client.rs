//! Clients: one connection to one server.

mod call;
mod child;
mod drive;
mod error;
mod forward;
mod handlers;
mod lists;
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
use carrick_proto::rpc::Json;
use carrick_proto::types::{CallToolResult, GetPromptResult, ReadResourceResult};
use drive::Command;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Something a server said outside of an answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientEvent {
    /// A list or a resource has changed.
    Changed(Changed),
    /// A log message: `params` of `notifications/message`.
    Log(Json),
    /// Something that is no message arrived where messages are expected, and
    /// was skipped. Reported once for a connection; later ones only count.
    Noise(String),
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
        let (commands, received) = mpsc::unbounded_channel();
        let own = commands.downgrade();
        let (ready, opened) = oneshot::channel();
        tokio::spawn(drive::drive(transport, config, hooks, (own, received), ready));
        let server = match opened.await {
            Ok(Ok(server)) => server,
            Ok(Err(error)) => return Err(error.into()),
            Err(_) => return Err(CallError::Closed("the connection's task ended".into()).into()),
        };
        Ok(Self {
            commands,
            server: Arc::new(server),
            options: CallOptions::default(),
            handlers,
            process: None,
        })
    }

    /// The same connection with other bounds on each call.
    #[must_use]
    pub fn with_options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// What the server said of itself.
    pub fn server(&self) -> &ServerDescription {
        &self.server
    }

    /// The last of what the server wrote to stderr, of a child process.
    pub fn stderr_tail(&self) -> Option<String> {
        self.process.as_ref().map(|process| process.stderr_tail())
    }

    /// Calls a tool; `arguments` is a JSON object.
    ///
    /// # Errors
    /// When there is no result. A tool's own failure is a result with `is_error`.
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
    /// When there is no result.
    pub async fn call_tool_raw(
        &self,
        name: &str,
        arguments: &[u8],
        progress: Option<ProgressHandler>,
    ) -> Result<Json, ClientError> {
        self.request("tools/call", named(name, arguments)?, Some(name), progress).await
    }

    /// Reads a resource.
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
        self.request("resources/read", params, Some(uri), None).await
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
        self.request("prompts/get", named(name, arguments)?, Some(name), None).await
    }

    /// Asks whether the server is there (sessions only: since 2026-07-28 there
    /// is no ping).
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn ping(&self) -> Result<(), ClientError> {
        self.request("ping", Vec::new(), None, None).await.map(|_| ())
    }

    /// Any request; `params` is a JSON object without `_meta`, or empty, and
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
        call::call(self, method, params, name, progress).await
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

/// Parameters of a name and arguments.
fn named(name: &str, arguments: &[u8]) -> Result<Vec<u8>, ClientError> {
    let mut params = b"{\"name\":".to_vec();
    params.extend(serde_json::to_vec(name).map_err(ClientError::params)?);
    params.extend_from_slice(b",\"arguments\":");
    params.extend_from_slice(if arguments.is_empty() { b"{}" } else { arguments });
    params.push(b'}');
    Ok(params)
}

/// Reads a result as a type.
fn read<T: DeserializeOwned>(json: &Json) -> Result<T, ClientError> {
    json.read().map_err(|e| CallError::Protocol(e.to_string()).into())
}
