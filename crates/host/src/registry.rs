//! The configured servers: connected when needed, side by side, and again
//! after they die.

mod catalog;
mod connect;
mod ears;
mod eras;
mod error;
mod flight;
mod held;
mod link;
mod offers;
#[cfg(test)]
mod tests;

use catalog::Found;
pub use catalog::{Catalog, ServerTools};
pub use connect::Opener;
pub use eras::Eras;
pub use error::{ServerError, ServerErrorKind};
pub use held::{HeldTool, Hold, SharedPins};
pub use offers::Offers;

use crate::asks::Asks;
use crate::config::{Server as Configured, ServerState};
use carrick::client::managed::ConnectionState;
use carrick::client::{CallError, CallOptions, ProgressHandler};
use carrick::net::HttpClient;
use carrick::proto::rpc::Json;
use carrick::transport::child::Environment;
use carrick::types::{Implementation, Resource, ResourceTemplate, Tool};
use futures_util::future::join_all;
use link::{Link, Ready};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Makes a built-in server: its name and arguments to a server, or why not.
pub type Builtins = Arc<dyn Fn(&str, &[OsString]) -> Result<carrick::Server, String> + Send + Sync>;

/// Hears what happens to servers outside of calls. It must return at once.
pub type ServerObserver = Arc<dyn Fn(&str, ServerEvent) + Send + Sync>;

/// Something that happened to a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ServerEvent {
    /// Being started or reached.
    Connecting,
    /// Connected; the text names the server and the revision it speaks.
    Connected(String),
    /// The connection is gone; the text says how.
    Closed(String),
    /// Printed something on its stdout that is no message (reported once for a connection).
    Noise(String),
    /// Said something in its log: level and text.
    Log(String, String),
    /// Its stream of own messages has ended for good, as the text says: calls go on, and changes
    /// are not heard of any more.
    ListenEnded(String),
    /// Its tool list has changed.
    ToolsChanged,
    /// These of its tools are held back until a person agrees to them.
    ToolsHeld(Vec<String>),
}

/// What connections are made with.
#[derive(Clone)]
#[non_exhaustive]
pub struct RegistryOptions {
    /// How this host introduces itself.
    pub info: Implementation,
    /// The environment that child servers inherit the allow-listed part of.
    pub environment: Environment,
    /// The client that HTTP servers are reached with.
    pub http: HttpClient,
    /// The built-in servers.
    pub builtins: Builtins,
    /// Time to connect to a server that is started, its first list of tools
    /// included; longer while it shows that it is at work. Default 60 s.
    pub connect_timeout: Duration,
    /// Time to connect to a server at an address, its first list of tools
    /// included. Default 10 s.
    pub address_timeout: Duration,
    /// How long a catalog waits for servers that are still starting. Default 10 s.
    pub startup_wait: Duration,
    /// Bounds on each call.
    pub call: CallOptions,
    /// The largest message taken from a server, in bytes; `None` for the transport's own.
    pub message_bytes: Option<usize>,
    /// How long a child may take to end by itself. Default 2 s.
    pub grace: Duration,
    /// Folders that a sandboxed or relative launch starts in by default.
    pub current: PathBuf,
    /// Hears what happens.
    pub observer: Option<ServerObserver>,
    /// What was agreed to of the tools of servers that are not built in; what
    /// is new or changed since is held back. Default: none, and nothing is held.
    pub pins: Option<SharedPins>,
    /// Answers what servers ask. Default: none, and they may ask nothing.
    pub asks: Option<Arc<Asks>>,
    /// What earlier runs found out of how servers are spoken to. Default: nothing.
    pub eras: Option<Arc<Eras>>,
}

impl RegistryOptions {
    /// The defaults.
    pub fn new(info: Implementation, http: HttpClient, builtins: Builtins) -> Self {
        Self {
            info,
            environment: Environment::new(),
            http,
            builtins,
            connect_timeout: Duration::from_secs(60),
            address_timeout: Duration::from_secs(10),
            startup_wait: Duration::from_secs(10),
            call: CallOptions::default(),
            message_bytes: None,
            grace: Duration::from_secs(2),
            current: PathBuf::from("."),
            observer: None,
            pins: None,
            asks: None,
            eras: None,
        }
    }
}

/// All servers of one host.
pub struct Registry {
    links: BTreeMap<String, Arc<Link>>,
    options: Arc<RegistryOptions>,
}

impl Registry {
    /// Takes the configured servers; connects to none yet.
    pub fn new(servers: impl IntoIterator<Item = Configured>, options: RegistryOptions) -> Self {
        let options = Arc::new(options);
        let link = |server: Configured| {
            (server.name.clone(), Arc::new(Link::new(server, options.clone())))
        };
        Self { links: servers.into_iter().map(link).collect(), options }
    }

    /// The servers' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.links.keys().map(String::as_str)
    }

    /// What the config says of a server.
    pub fn configured(&self, name: &str) -> Option<&Configured> {
        self.links.get(name).map(|link| link.configured())
    }

    /// What opens connections to one server, for others than this registry. It
    /// holds no tools back.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn opener(&self, name: &str) -> Result<Opener, ServerError> {
        Ok(Opener::new(self.link(name)?.launcher().clone()))
    }

    /// Connects to one server, or takes the connection there is.
    ///
    /// # Errors
    /// When it is unknown, may not run, or cannot be reached.
    pub async fn client(&self, name: &str) -> Result<carrick::Client, ServerError> {
        self.link(name)?.client().await
    }

    /// The tools of one server that are on offer.
    ///
    /// # Errors
    /// When it cannot be reached or does not list them.
    pub async fn tools(&self, name: &str) -> Result<Arc<Vec<Tool>>, ServerError> {
        Ok(self.link(name)?.listed().await?.offered)
    }

    /// The tools of one server that are held back.
    ///
    /// # Errors
    /// When it cannot be reached or does not list them.
    pub async fn held(&self, name: &str) -> Result<Arc<Vec<HeldTool>>, ServerError> {
        Ok(self.link(name)?.listed().await?.held)
    }

    /// Takes down that a person has seen these tools and agrees to them. They
    /// are on offer from now on, if they still say the same.
    ///
    /// # Errors
    /// When the server is unknown or what was agreed to cannot be written.
    pub async fn agree(&self, name: &str, seen: &[HeldTool]) -> Result<(), ServerError> {
        let link = self.link(name)?;
        let Some(pins) = link.pins() else { return Ok(()) };
        let definitions: Vec<_> = seen.iter().filter_map(|held| held.definition.clone()).collect();
        let agreed = {
            let mut pins = pins.lock().unwrap_or_else(PoisonError::into_inner);
            let declared = link.launcher().capabilities();
            pins.approve(&link.configured().key(), &definitions, &declared)
        };
        agreed.map_err(|error| link.error(ServerErrorKind::Pins(error.to_string())))?;
        link.forget_tools().await;
        Ok(())
    }

    /// The tools of all servers that may run, connected side by side. One that
    /// cannot be reached is told of and does not keep the others; one that is
    /// still starting after [`RegistryOptions::startup_wait`] goes on starting,
    /// and is there in a later catalog.
    pub async fn catalog(&self) -> Catalog {
        self.gather(false, None).await
    }

    /// The same with the first resources and prompts of each server, for a model.
    pub async fn full_catalog(&self) -> Catalog {
        self.gather(true, None).await
    }

    /// The catalog as it is now, when a server has said that a list changed, or
    /// one that was still starting has come up or failed.
    pub async fn renewed(&self, catalog: &Catalog) -> Option<Catalog> {
        let full = catalog.is_full;
        let settled =
            |name: &String| self.links.get(name).is_some_and(|link| link.is_settled(full));
        let changed = self.links.values().any(|link| link.has_changed(full));
        if !changed && !catalog.pending.iter().any(settled) {
            return None;
        }
        Some(self.gather(full, Some(catalog)).await)
    }

    /// The catalog as it is now, whatever has changed. Of the servers that were
    /// not in `catalog` none is waited for.
    pub async fn again(&self, catalog: &Catalog) -> Catalog {
        self.gather(catalog.is_full, Some(catalog)).await
    }

    /// How long a question waits for servers that are still starting.
    pub fn startup_wait(&self) -> Duration {
        self.options.startup_wait
    }

    /// Where the connection to a server stands.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn state(&self, name: &str) -> Result<ConnectionState, ServerError> {
        Ok(self.link(name)?.state())
    }

    /// Waits no longer than for the servers of `before`.
    async fn gather(&self, full: bool, before: Option<&Catalog>) -> Catalog {
        let by = Instant::now() + self.options.startup_wait;
        let runnable = self
            .links
            .iter()
            .filter(|(_, link)| !matches!(link.configured().state, ServerState::Disabled));
        let found = join_all(runnable.map(|(name, link)| async move {
            let was_there = |before: &Catalog| before.servers.iter().any(|s| s.server == *name);
            let outcome = if before.is_none_or(was_there) {
                timeout_at(by, link.ready(full)).await.ok()
            } else if before.is_some_and(|before| before.pending.contains(name)) {
                link.outcome(full)
            } else {
                // It failed before: for a later round, if it comes up again.
                drop(link.ready(full));
                None
            };
            match outcome.map(|outcome| link.settled(outcome)) {
                Some(Ok(ready)) => {
                    let failed = ready.failed.clone();
                    Found::Ready(offered(name, ready), failed)
                }
                Some(Err(error)) => Found::Failed(error),
                None => match link.known(false) {
                    Some(ready) => Found::Partly(offered(name, ready)),
                    None => Found::Starting(name.clone()),
                },
            }
        }));
        Catalog::new(found.await, full)
    }

    /// Calls a tool; the result is as the server wrote it.
    ///
    /// # Errors
    /// When there is no result, or the tool is held back; the error names the
    /// server and, where it died, has the end of its stderr.
    pub async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: &[u8],
        progress: Option<ProgressHandler>,
    ) -> Result<Json, ServerError> {
        let link = self.link(server)?;
        link.may_call(tool).await?;
        let client = link.client().await?;
        client
            .call_tool_raw(tool, arguments, progress)
            .await
            .map_err(|error| link.call_failed(&client, error))
    }

    /// Reads a resource; the result is as the server wrote it.
    ///
    /// # Errors
    /// When it does not exist or the server cannot be reached.
    pub async fn read(&self, server: &str, uri: &str) -> Result<Json, ServerError> {
        let link = self.link(server)?;
        let client = link.client().await?;
        client.read_resource_raw(uri).await.map_err(|error| link.call_failed(&client, error))
    }

    /// The resources that a server lists, and the templates of others; both are
    /// empty where it offers none.
    ///
    /// # Errors
    /// When it cannot be reached or does not list them.
    pub async fn resources(
        &self,
        server: &str,
    ) -> Result<(Vec<Resource>, Vec<ResourceTemplate>), ServerError> {
        let link = self.link(server)?;
        let client = link.client().await?;
        if client.server().capabilities.resources.is_none() {
            return Ok((Vec::new(), Vec::new()));
        }
        let failed = |error| link.call_failed(&client, error);
        let listed = client.list_resources().await.map_err(failed)?;
        // Many servers with resources do not know the request for templates.
        let templates = match client.list_resource_templates().await {
            Err(error) if matches!(error.call(), Some(CallError::Rpc(_))) => Vec::new(),
            templates => templates.map_err(failed)?,
        };
        Ok((listed, templates))
    }

    /// Renders a prompt; `arguments` is a JSON object of strings. The result is
    /// as the server wrote it.
    ///
    /// # Errors
    /// When there is no such prompt or the server cannot be reached.
    pub async fn prompt(
        &self,
        server: &str,
        name: &str,
        arguments: &[u8],
    ) -> Result<Json, ServerError> {
        let link = self.link(server)?;
        let client = link.client().await?;
        client
            .get_prompt_raw(name, arguments)
            .await
            .map_err(|error| link.call_failed(&client, error))
    }

    /// Closes every connection and ends every child server. Calls and lists
    /// that are under way fail, and so do later ones.
    pub async fn close(&self) {
        join_all(self.links.values().map(|link| link.close())).await;
    }

    fn link(&self, name: &str) -> Result<&Arc<Link>, ServerError> {
        self.links.get(name).ok_or_else(|| {
            let known = self.links.keys().cloned().collect();
            ServerError::new(name, ServerErrorKind::Unknown { known })
        })
    }
}

fn offered(name: &str, ready: Ready) -> ServerTools {
    ServerTools {
        server: name.to_owned(),
        description: Some(ready.description),
        tools: ready.listed.offered,
        held: ready.listed.held,
        offers: ready.offers,
    }
}
