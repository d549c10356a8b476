//! Making one connection, by how the server is launched.

use super::eras::{self, Eras};
use super::{RegistryOptions, ServerError, ServerErrorKind, ServerEvent};
use crate::config::{ChildLaunch, HttpLaunch, Launch, Server, ServerState};
use carrick::Client;
use carrick::client::managed::{ConnectError, Connector, EraStore};
use carrick::client::{CallError, ClientConfig, ClientError, Era, Handlers, Hooks};
use carrick::transport::child::Command;
use carrick::transport::http::{Form, HttpOptions, HttpTransport};
use carrick::transport::memory;
use carrick_policy::visible;
use futures_util::future::{BoxFuture, FutureExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tracing::Instrument;

/// How long a connection waits for what was learned of it to be written.
const REMEMBERING: Duration = Duration::from_secs(1);

/// Programs that download what they run, when it is not there yet.
const INSTALLERS: &[&str] = &[
    "npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "uvx", "uv", "pipx", "docker", "podman", "deno",
    "dnx",
];

/// Opens connections to one configured server.
#[derive(Clone)]
pub struct Opener {
    launcher: Arc<Launcher>,
}

impl Opener {
    pub(super) fn new(launcher: Arc<Launcher>) -> Self {
        Self { launcher }
    }

    /// The server's name.
    pub fn name(&self) -> &str {
        &self.launcher.server.name
    }

    /// Whether it is reached over HTTP, where each call has a stream of its own.
    pub fn is_http(&self) -> bool {
        matches!(self.launcher.server.launch(), Some(Launch::Http(_)))
    }

    /// Opens a connection. How long that may take is set in `config` as it is
    /// for the registry's own connections.
    ///
    /// # Errors
    /// When the server may not run or cannot be reached.
    pub async fn open(&self, config: ClientConfig, hooks: Hooks) -> Result<Client, ServerError> {
        let opened = self.launcher.open(config, hooks).await;
        opened.map_err(|kind| ServerError::new(self.name(), kind))
    }
}

/// One server and what its connections are made with.
pub(super) struct Launcher {
    pub(super) server: Server,
    pub(super) options: Arc<RegistryOptions>,
}

impl Connector for Launcher {
    fn name(&self) -> &str {
        &self.server.name
    }

    fn connect(
        &self,
        config: ClientConfig,
        mut hooks: Hooks,
    ) -> BoxFuture<'_, Result<Client, ConnectError>> {
        hooks.handlers = self.handlers();
        let failed = |kind| ConnectError::new(ServerError::new(&self.server.name, kind));
        async move { self.open(config, hooks).await.map_err(failed) }.boxed()
    }
}

impl Launcher {
    /// How it is started or reached.
    pub(super) fn launch(&self) -> Result<&Launch, ServerErrorKind> {
        match &self.server.state {
            ServerState::Ready(launch) => Ok(launch),
            ServerState::Disabled => Err(ServerErrorKind::Disabled),
            ServerState::Unapproved => Err(ServerErrorKind::Unapproved),
            ServerState::Broken(error) => Err(ServerErrorKind::Config(error.clone())),
        }
    }

    /// The time to connect to it.
    pub(super) fn connect_timeout(&self) -> Duration {
        match self.server.launch() {
            Some(Launch::Http(_)) => self.options.address_timeout,
            _ => self.options.connect_timeout,
        }
    }

    /// What is declared to it, as JSON.
    pub(super) fn capabilities(&self) -> String {
        self.handlers().capabilities()
    }

    pub(super) fn tell(&self, event: ServerEvent) {
        if let Some(observer) = &self.options.observer {
            observer(&self.server.name, event);
        }
    }

    fn handlers(&self) -> Handlers {
        let asks = self.options.asks.as_ref();
        asks.map(|asks| asks.handlers(&self.server.name)).unwrap_or_default()
    }

    /// Whatever is logged about the connection names the server.
    async fn open(&self, config: ClientConfig, hooks: Hooks) -> Result<Client, ServerErrorKind> {
        let span = tracing::info_span!("server", name = visible(&self.server.name));
        self.open_within(config, hooks).instrument(span).await
    }

    async fn open_within(
        &self,
        mut config: ClientConfig,
        hooks: Hooks,
    ) -> Result<Client, ServerErrorKind> {
        let (launch, options) = (self.launch()?, &*self.options);
        config.connect_timeout = self.connect_timeout();
        // Whoever sets a short time does not expect minutes, whatever the server does.
        config.max_connect_timeout = config.connect_timeout.saturating_mul(10);
        if matches!(launch, Launch::Http(http) if http.sse) {
            // That transport has no other servers.
            config.era = Some(Era::Legacy);
        }
        let mut call = options.call;
        if let Some(timeout) = self.server.timeout {
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
        client.map(|client| client.with_options(call)).map_err(|error| failed(launch, error))
    }
}

fn failed(launch: &Launch, error: ClientError) -> ServerErrorKind {
    let silent = matches!(error.call(), Some(CallError::Timeout(_)));
    let error = Arc::new(error);
    match launch {
        Launch::Child(launch) if silent => match installer(launch) {
            Some(installer) => ServerErrorKind::Installing { error, installer },
            None => ServerErrorKind::Connect(error),
        },
        _ => ServerErrorKind::Connect(error),
    }
}

/// The program that may be downloading the server, if it is one of those.
fn installer(launch: &ChildLaunch) -> Option<&'static str> {
    let name = |command: &str| {
        let stem = Path::new(command).file_stem()?.to_str()?.to_ascii_lowercase();
        INSTALLERS.iter().find(|installer| **installer == stem).copied()
    };
    // As it is written on Windows: `cmd /c npx …`.
    let wrapped = || launch.args.iter().take(2).find_map(|word| name(word));
    let is_shell = matches!(launch.command.as_str(), "cmd" | "cmd.exe" | "env" | "/usr/bin/env");
    name(&launch.command).or_else(|| is_shell.then(wrapped).flatten())
}

/// What is remembered of one server's era from run to run.
pub(super) struct RememberedEra {
    eras: Arc<Eras>,
    key: String,
}

impl RememberedEra {
    /// The memory of this server; none for one of our own, and without a store.
    pub(super) fn of(server: &Server, eras: Option<&Arc<Eras>>) -> Option<Arc<dyn EraStore>> {
        let (eras, key) = (eras?.clone(), eras::key(server)?);
        Some(Arc::new(Self { eras, key }))
    }
}

impl EraStore for RememberedEra {
    fn load(&self) -> Option<Era> {
        self.eras.of(&self.key)
    }

    fn save(&self, era: Option<Era>) -> BoxFuture<'_, ()> {
        let (eras, key) = (self.eras.clone(), self.key.clone());
        let writing = tokio::task::spawn_blocking(move || match era {
            Some(era) => eras.learn(key, era),
            None => eras.forget(&key),
        });
        async move {
            match tokio::time::timeout(REMEMBERING, writing).await {
                Ok(Ok(Ok(()))) => {}
                Ok(Ok(Err(error))) => tracing::debug!(%error, "the era is not remembered"),
                Ok(Err(_)) | Err(_) => tracing::debug!("the era is not remembered in time"),
            }
        }
        .boxed()
    }
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
        .map_err(|error| ServerErrorKind::Address { address: plain(&launch.url), error })
}

/// An address without what may be a secret: the user and the query.
fn plain(url: &http::Uri) -> String {
    let Some(host) = url.host() else { return visible(url.path()) };
    let scheme = url.scheme_str().map(|scheme| format!("{scheme}://")).unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    visible(&format!("{scheme}{host}{port}{}", url.path()))
}
