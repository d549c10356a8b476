//! What all servers offer, as it stands.

use super::{HeldTool, Offers, ServerError};
use carrick::client::ServerDescription;
use carrick::types::Tool;
use carrick_policy::names::{ToolNames, ToolRef, UnknownTool};
use std::sync::Arc;

/// The tools of one server.
pub struct ServerTools {
    /// The server's name in the config.
    pub server: String,
    /// What it said of itself.
    pub description: Option<Arc<ServerDescription>>,
    /// Its tools on offer.
    pub tools: Arc<Vec<Tool>>,
    /// Its tools that are held back.
    pub held: Arc<Vec<HeldTool>>,
    /// Its first resources and prompts, in a full catalog.
    pub offers: Arc<Offers>,
}

impl ServerTools {
    /// Whether the server offers resources.
    pub fn has_resources(&self) -> bool {
        self.description.as_ref().is_some_and(|said| said.capabilities.resources.is_some())
    }

    /// Whether the server offers prompts.
    pub fn has_prompts(&self) -> bool {
        self.description.as_ref().is_some_and(|said| said.capabilities.prompts.is_some())
    }
}

/// The tools of all servers that could be reached, and why others could not.
#[non_exhaustive]
pub struct Catalog {
    /// Those reached, by name.
    pub servers: Vec<ServerTools>,
    /// Those not reached, and lists of the others that could not be had.
    pub failed: Vec<ServerError>,
    /// The names of those that are still starting, or listing their tools.
    pub starting: Vec<String>,
    /// The names that models see.
    pub names: ToolNames,
    /// Whether resources and prompts were asked for too.
    pub(super) is_full: bool,
    /// Those of which more is yet to come.
    pub(super) pending: Vec<String>,
}

/// What was found out of one server.
pub(super) enum Found {
    /// What it offers, and why its other lists cannot be had.
    Ready(ServerTools, Option<ServerError>),
    /// The same, while its other lists are being taken.
    Partly(ServerTools),
    Failed(ServerError),
    /// Nothing yet.
    Starting(String),
}

/// Names of the host's own tools, which no server's tool may take.
pub(crate) const OWN_TOOLS: &[&str] = &["read_resource", "get_prompt"];

impl Catalog {
    pub(super) fn new(found: Vec<Found>, is_full: bool) -> Self {
        let (mut servers, mut failed) = (Vec::new(), Vec::new());
        let (mut starting, mut pending) = (Vec::new(), Vec::new());
        for found in found {
            match found {
                Found::Ready(tools, error) => {
                    servers.push(tools);
                    failed.extend(error);
                }
                Found::Partly(tools) => {
                    pending.push(tools.server.clone());
                    servers.push(tools);
                }
                Found::Failed(error) => failed.push(error),
                Found::Starting(name) => {
                    pending.push(name.clone());
                    starting.push(name);
                }
            }
        }
        let refs = servers.iter().flat_map(|listed| {
            listed
                .tools
                .iter()
                .map(|tool| ToolRef { server: listed.server.clone(), tool: tool.name.clone() })
        });
        let names = ToolNames::new(refs, OWN_TOOLS);
        Self { servers, failed, starting, names, is_full, pending }
    }

    /// Every tool with its server's name.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &Tool)> {
        self.servers
            .iter()
            .flat_map(|listed| listed.tools.iter().map(|tool| (listed.server.as_str(), tool)))
    }

    /// The tool's definition.
    pub fn find(&self, server: &str, tool: &str) -> Option<&Tool> {
        self.tools().find(|(s, t)| *s == server && t.name == tool).map(|(_, tool)| tool)
    }

    /// The tool that somebody means who wrote these names.
    ///
    /// # Errors
    /// When none or several fit; the text says which are near.
    pub fn resolve(&self, server: Option<&str>, tool: &str) -> Result<&ToolRef, UnknownTool> {
        match server {
            Some(server) => self.names.resolve_pair(server, tool),
            None => self.names.resolve(tool),
        }
    }
}
