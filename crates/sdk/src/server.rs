//! Servers, written as functions.

mod ask;
mod context;
mod dispatch;
mod error;
mod extract;
mod handler;
mod output;
mod resources;
mod schema;
mod service;
#[cfg(test)]
mod tests;
mod tool;

pub use ask::{AskError, Asks, Question, StateKeys, Unsealable, state_binding};
pub use context::{Context, Outbox, PassedAsk};
pub use dispatch::Dispatch;
pub use error::ToolError;
pub use extract::{Args, FromRequest, Request, State};
pub use handler::Handler;
pub use output::{Fallible, IntoToolResult, Value, Whole};
pub use resources::{ResourceSource, not_found};
pub use service::{Connection, Service};
pub use tool::{DefinedTool, Tool};

use carrick_proto::http::ParamHeader;
use carrick_proto::peer::Identity;
use carrick_proto::types::{
    Implementation, ListCapability, ListToolsResult, ResourceCapability, ServerCapabilities,
    Tool as Definition,
};
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A server: its tools and resources, ready to be served to any number of
/// connections. Cheap to clone.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    info: Implementation,
    identity: Arc<Identity>,
    tools: BTreeMap<String, Tool>,
    /// The answer to `tools/list` in the newest shape.
    tools_list: Vec<u8>,
    /// Arguments that clients mirror into headers, by tool.
    mirrored: BTreeMap<String, Arc<[ParamHeader]>>,
    resources: Option<Arc<dyn ResourceSource>>,
    state: States,
    keys: Arc<StateKeys>,
}

type States = BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>;

impl Server {
    /// Starts a server of this name and version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder {
            info: Implementation::new(name, version),
            instructions: None,
            tools: BTreeMap::new(),
            resources: None,
            state: States::new(),
            keys: None,
        }
    }

    /// Name and version.
    pub fn info(&self) -> &Implementation {
        &self.inner.info
    }

    /// The tools as they are listed, by name.
    pub fn tools(&self) -> Vec<&Definition> {
        self.inner.tools.values().map(Tool::definition).collect()
    }
}

/// Collects what a [`Server`] offers.
pub struct ServerBuilder {
    info: Implementation,
    instructions: Option<String>,
    tools: BTreeMap<String, Tool>,
    resources: Option<Arc<dyn ResourceSource>>,
    state: States,
    keys: Option<StateKeys>,
}

impl ServerBuilder {
    /// What a model should know about the server as a whole.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Adds a tool; one of the same name is replaced.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.insert(tool.definition().name.clone(), tool);
        self
    }

    /// Adds tools, as [`crate::tools!`] makes them.
    #[must_use]
    pub fn tools(self, tools: impl IntoIterator<Item = Tool>) -> Self {
        tools.into_iter().fold(self, Self::tool)
    }

    /// Offers resources.
    #[must_use]
    pub fn resources(mut self, source: impl ResourceSource + 'static) -> Self {
        self.resources = Some(Arc::new(source));
        self
    }

    /// Shares a value with the handlers, which take it as [`State`].
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.state.insert(TypeId::of::<T>(), Arc::new(value));
        self
    }

    /// Seals the state of unfinished requests with these keys, so that other
    /// processes that have them can go on with a request. By default a process
    /// has a key of its own.
    #[must_use]
    pub fn state_keys(mut self, keys: StateKeys) -> Self {
        self.keys = Some(keys);
        self
    }

    /// The finished server.
    pub fn build(self) -> Server {
        let capabilities = self.capabilities();
        let instructions = self.instructions.as_deref();
        let identity = Identity::new(&self.info, &capabilities, instructions);
        let tools_list = list_body(self.tools.values().map(Tool::definition));
        #[expect(
            clippy::expect_used,
            reason = "names, flags and schemas that are JSON already always serialize"
        )]
        let identity = Arc::new(identity.expect("the server's description serializes"));
        let keys = self.keys.unwrap_or_else(|| {
            StateKeys::random().unwrap_or_else(|error| {
                tracing::error!(%error, "no randomness: handlers cannot ask clients");
                StateKeys::none()
            })
        });
        Server {
            inner: Arc::new(Inner {
                info: self.info,
                identity,
                mirrored: service::mirrored(self.tools.values().map(Tool::definition)),
                tools: self.tools,
                tools_list,
                resources: self.resources,
                state: self.state,
                keys: Arc::new(keys),
            }),
        }
    }

    fn capabilities(&self) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::default();
        if !self.tools.is_empty() {
            capabilities.tools = Some(ListCapability::default());
            capabilities.logging = serde_json::value::to_raw_value(&serde_json::json!({})).ok();
        }
        if self.resources.is_some() {
            capabilities.resources = Some(ResourceCapability::default());
        }
        capabilities
    }
}

fn list_body<'a>(tools: impl Iterator<Item = &'a Definition>) -> Vec<u8> {
    let mut list = ListToolsResult::default();
    list.tools = tools.cloned().collect();
    #[expect(clippy::expect_used, reason = "definitions are made of text and of JSON already")]
    dispatch::cacheable_body(&list).expect("tool definitions serialize")
}

/// Lists functions marked with [`crate::tool`] for [`ServerBuilder::tools`].
#[macro_export]
macro_rules! tools {
    ($($function:path),* $(,)?) => {
        [$(<$function as $crate::server::DefinedTool>::tool()),*]
    };
}
