//! The configured servers: connected when needed, side by side, and again
//! after they die.

mod catalog;
mod connect;
mod eras;
mod error;
mod held;
mod link;
mod offers;
#[cfg(test)]
mod tests;

pub use catalog::{Catalog, ServerTools};
pub use connect::Opener;
pub use eras::Eras;
pub use error::{ServerError, ServerErrorKind};
pub use held::{HeldTool, Hold, SharedPins};
pub use offers::Offers;

use crate::asks::Asks;
use crate::config::{Server as Configured, ServerState};
use carrick::client::{CallError, CallOptions, ProgressHandler};
use carrick::net::HttpClient;
use carrick::proto::rpc::Json;
use carrick::transport::child::Environment;
use carrick::types::{Implementation, Resource, ResourceTemplate, Tool};
use futures_util::future::join_all;
use held::Listed;
use link::Link;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

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
    /// Time to connect. Default 10 s.
    pub connect_timeout: Duration,
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
            connect_timeout: Duration::from_secs(10),
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
}

impl Registry {
    /// Takes the configured servers; connects to none yet.
    pub fn new(servers: impl IntoIterator<Item = Configured>, options: RegistryOptions) -> Self {
        let options = Arc::new(options);
        let link = |server: Configured| {
            (server.name.clone(), Arc::new(Link::new(server, options.clone())))
        };
        Self { links: servers.into_iter().map(link).collect() }
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
        Ok(Opener::new(self.link(name)?.clone()))
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
            pins.approve(&link.configured().key(), &definitions)
        };
        agreed.map_err(|error| link.error(ServerErrorKind::Pins(error.to_string())))?;
        link.forget_tools().await;
        Ok(())
    }

    /// The tools of all servers that may run, connected side by side. One that
    /// cannot be reached is told of and does not keep the others.
    pub async fn catalog(&self) -> Catalog {
        self.gather(false).await
    }

    /// The same with the first resources and prompts of each server, for a model.
    pub async fn full_catalog(&self) -> Catalog {
        self.gather(true).await
    }

    /// The catalog as it is now, when a server has said that a list changed.
    pub async fn renewed(&self, catalog: &Catalog) -> Option<Catalog> {
        if !self.links.values().any(|link| link.has_changed(catalog.is_full)) {
            return None;
        }
        Some(self.gather(catalog.is_full).await)
    }

    async fn gather(&self, full: bool) -> Catalog {
        let runnable = self
            .links
            .iter()
            .filter(|(_, link)| !matches!(link.configured().state, ServerState::Disabled));
        let listed = join_all(runnable.map(|(name, link)| async move {
            let listed = link.listed().await?;
            // A server that fails at these is still one with tools.
            let (offers, failed) = match full {
                false => Default::default(),
                true => match link.offers().await {
                    Ok(offers) => (offers, None),
                    Err(error) => (Arc::default(), Some(error)),
                },
            };
            let description = link.description().await;
            let server = name.clone();
            let Listed { offered: tools, held } = listed;
            Ok((ServerTools { server, description, tools, held, offers }, failed))
        }));
        Catalog::new(listed.await, full)
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
