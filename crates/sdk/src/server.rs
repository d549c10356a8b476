//! Servers, written as functions.

mod answering;
mod ask;
mod builder;
mod cache;
#[cfg(feature = "validate")]
mod checks;
#[cfg(not(feature = "validate"))]
#[path = "server/unchecked.rs"]
mod checks;
mod complete;
mod context;
mod cursor;
mod dispatch;
mod error;
mod extract;
mod function;
mod handler;
mod hub;
mod info;
mod layers;
mod listing;
mod live;
mod output;
mod principal;
mod prompt;
mod resource;
mod resources;
mod schema;
mod service;
mod sound;
mod subscribe;
mod template;
#[cfg(test)]
mod tests;
mod texts;
mod tool;

pub use answering::Answering;
pub use ask::{AskError, Asks, Question, StateKeys, Unsealable, state_binding};
pub use builder::ServerBuilder;
pub use cache::Cacheable;
pub use complete::{Completing, Completion};
pub use context::{Context, Outbox, PassedAsk};
pub use dispatch::{Dispatch, Elsewhere};
pub use error::ToolError;
pub use extract::{Args, Extension, FromRequest, Request, State};
pub use function::{Becomes, Function};
pub use handler::Handler;
pub use info::{CallInfo, ConnectionInfo, PeerAddr, TransportKind};
pub use layers::{Allow, Approval};
pub use output::{Fallible, IntoToolResult, Value, Whole};
pub use principal::Principal;
pub use prompt::{DefinedPrompt, Prompt};
pub use resource::{Contents, DefinedResource, Resource};
pub use resources::{ResourceSource, not_found};
pub use service::{Connection, Service};
pub use sound::{ToolFault, UnsoundTool};
pub use template::TemplateError;
pub use texts::Texts;
pub use tool::{DefinedTool, Tool};

use carrick_proto::peer::Identity;
use carrick_proto::types::{CacheHints, Implementation, Tool as Definition};
use hub::Hub;
use live::Live;
use resource::{Family, Fixed};
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A server: its tools, prompts and resources, ready to be served to any number of
/// connections. Cheap to clone.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    info: Implementation,
    identity: Arc<Identity>,
    tools: Live<Tool>,
    prompts: Live<Prompt>,
    resources: Live<Fixed>,
    families: Live<Family>,
    source: Option<Arc<dyn ResourceSource>>,
    declared: Declared,
    /// How long clients may keep what resources hold.
    contents: CacheHints,
    hub: Hub,
    state: States,
    keys: Arc<StateKeys>,
}

/// What the server has said that it offers; it answers then, even when there
/// is nothing left to list.
#[derive(Clone, Copy, Debug, Default)]
struct Declared {
    tools: bool,
    prompts: bool,
    resources: bool,
    completions: bool,
    subscriptions: bool,
    /// Whether it may have functions, which can log.
    functions: bool,
    /// Whether any change is told.
    changes: bool,
}

type States = BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>;

impl Server {
    /// Starts a server of this name and version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder::new(name.into(), version.into())
    }

    /// Name and version.
    pub fn info(&self) -> &Implementation {
        &self.inner.info
    }

    /// The tools as they are listed now, by name.
    pub fn tools(&self) -> Vec<Definition> {
        self.inner.tools.now().iter().map(|tool| tool.definition().clone()).collect()
    }
}

/// Lists functions marked with [`crate::tool`] for [`ServerBuilder::tools`].
#[macro_export]
macro_rules! tools {
    ($($function:path),* $(,)?) => {
        [$(<$function as $crate::server::DefinedTool>::tool()),*]
    };
}

/// Lists functions marked with [`crate::prompt`] for [`ServerBuilder::prompts`].
#[macro_export]
macro_rules! prompts {
    ($($function:path),* $(,)?) => {
        [$(<$function as $crate::server::DefinedPrompt>::prompt()),*]
    };
}

/// Lists functions marked with [`crate::resource`] for
/// [`ServerBuilder::resource_functions`].
#[macro_export]
macro_rules! resources {
    ($($function:path),* $(,)?) => {
        [$(<$function as $crate::server::DefinedResource>::resource()),*]
    };
}
