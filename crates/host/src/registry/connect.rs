//! Making one connection, by how the server is launched.

use super::link::Link;
use super::{RegistryOptions, ServerError, ServerErrorKind};
use crate::config::{ChildLaunch, HttpLaunch, Launch, Server, ServerState};
use carrick::Client;
use carrick::client::{ClientConfig, Era, EventHandler, Hooks};
use carrick::transport::child::Command;
use carrick::transport::http::{Form, HttpOptions, HttpTransport};
use carrick::transport::memory;
use carrick_policy::visible;
use std::sync::Arc;
use tracing::Instrument;

/// Opens connections to one configured server.
#[derive(Clone)]
pub struct Opener {
    link: Arc<Link>,
}

impl Opener {
    pub(super) fn new(link: Arc<Link>) -> Self {
        Self { link }
    }

    /// The server's name.
    pub fn name(&self) -> &str {
        &self.link.configured().name
    }

    /// Whether it is reached over HTTP, where each call has a stream of its own.
    pub fn is_http(&self) -> bool {
        matches!(self.link.configured().launch(), Some(Launch::Http(_)))
    }

    /// Opens a connection. How long that may take is set in `config` as it is
    /// for the registry's own connections.
    ///
    /// # Errors
    /// When the server may not run or cannot be reached.
    pub async fn open(
        &self,
        mut config: ClientConfig,
        hooks: Hooks,
    ) -> Result<Client, ServerError> {
        let options = self.link.options();
        config.connect_timeout = options.connect_timeout;
        let opened = open(self.link.configured(), options, config, hooks).await;
        opened.map_err(|kind| self.link.error(kind))
    }
}

pub(super) async fn connect(
    server: &Server,
    options: &RegistryOptions,
    era: Option<Era>,
    events: EventHandler,
) -> Result<Client, ServerErrorKind> {
    let mut config = ClientConfig::new(options.info.clone());
    config.connect_timeout = options.connect_timeout;
    config.era = era;
    let mut hooks = Hooks::from(Some(events));
    if let Some(asks) = &options.asks {
        hooks.handlers = asks.handlers(&server.name);
    }
    open(server, options, config, hooks).await
}

/// Whatever is logged about the connection names the server.
async fn open(
    server: &Server,
    options: &RegistryOptions,
    config: ClientConfig,
    hooks: Hooks,
) -> Result<Client, ServerErrorKind> {
    let span = tracing::info_span!("server", name = visible(&server.name));
    open_within(server, options, config, hooks).instrument(span).await
}

async fn open_within(
    server: &Server,
    options: &RegistryOptions,
    mut config: ClientConfig,
    hooks: Hooks,
) -> Result<Client, ServerErrorKind> {
    let launch = match &server.state {
        ServerState::Ready(launch) => launch,
        ServerState::Disabled => return Err(ServerErrorKind::Disabled),
        ServerState::Unapproved => return Err(ServerErrorKind::Unapproved),
        ServerState::Broken(error) => return Err(ServerErrorKind::Config(error.clone())),
    };
    if matches!(launch, Launch::Http(http) if http.sse) {
        // That transport has no other servers.
        config.era = Some(Era::Legacy);
    }
    let mut call = options.call;
    if let Some(timeout) = server.timeout {
        call.timeout = timeout;
        call.max_total = call.max_total.max(timeout);
    }
    let client = match launch {
        Launch::Child(launch) => {
            let command = command(launch, options);
            Client::spawn(&command, config, hooks, options.grace).await
        }
        Launch::Http(launch) => {
            let transport = http(launch, options)?;
            Client::connect(transport, config, hooks).await
        }
        Launch::Builtin { name, args } => {
            let server = (options.builtins)(name, args).map_err(ServerErrorKind::Builtin)?;
            let (ours, theirs) = memory();
            tokio::spawn(async move {
                if let Err(error) = carrick::serve(&server, theirs).await {
                    tracing::debug!(%error, "a built-in server's connection ended");
                }
            });
            Client::connect(ours, config, hooks).await
        }
    };
    client
        .map(|client| client.with_options(call))
        .map_err(|error| ServerErrorKind::Connect(Arc::new(error)))
}

fn command(launch: &ChildLaunch, options: &RegistryOptions) -> Command {
    let mut command = Command::new(&launch.command);
    command.args = launch.args.iter().map(Into::into).collect();
    command.base = options.environment.clone();
    for (name, value) in &launch.env {
        command.env.insert(name, value.expose());
    }
    if let Some(limit) = options.message_bytes {
        command.message_limit = limit;
    }
    command.cwd = Some(launch.cwd.clone().unwrap_or_else(|| options.current.clone()));
    command
}

fn http(launch: &HttpLaunch, options: &RegistryOptions) -> Result<HttpTransport, ServerErrorKind> {
    let headers =
        launch.headers.iter().map(|(name, value)| (name.clone(), value.expose().to_owned()));
    let mut bounds = HttpOptions::default();
    if let Some(limit) = options.message_bytes {
        bounds.max_message_bytes = limit;
    }
    if launch.sse {
        bounds.form = Form::Sse;
    }
    HttpTransport::new(options.http.clone(), &launch.url.to_string(), headers, bounds)
        .map_err(|error| ServerErrorKind::Builtin(error.to_string()))
}
