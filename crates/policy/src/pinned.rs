//! Tool definitions as they were when a person last agreed to them.
//!
//! A server may change what a tool says about itself after it was approved. A
//! definition is known by the digest of all that it says; a tool that is new
//! or says something else is held until a person has seen the difference.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::definition::ToolDefinition;

/// What is known about a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pin {
    /// Never agreed to under this name.
    New,
    /// Exactly as it was agreed to.
    Same,
    /// Agreed to once, and different now.
    Changed {
        /// What is gone (`- path: value`) and what is there instead
        /// (`+ path: value`), hidden characters written out.
        lines: Vec<String>,
    },
}

/// What is known about the tools that a server lists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PinReport {
    /// Whether nothing was ever agreed to for this server.
    pub first_sight: bool,
    /// Every listed tool, in the order of the list.
    pub tools: Vec<(String, Pin)>,
    /// Tools that were agreed to and are not listed any more.
    pub gone: Vec<String>,
}

/// The definitions that were agreed to, by server.
///
/// Servers are known by keys of the caller's, which must stay the same from run to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PinnedTools {
    servers: BTreeMap<String, BTreeMap<String, ToolDefinition>>,
}

impl PinnedTools {
    /// Compares what a server lists with what was agreed to.
    pub fn check(&self, server: &str, tools: &[ToolDefinition]) -> PinReport {
        let known = self.servers.get(server);
        let pin = |tool: &ToolDefinition| match known.and_then(|known| known.get(tool.name())) {
            None => Pin::New,
            Some(before) if before.digest() == tool.digest() => Pin::Same,
            Some(before) => Pin::Changed { lines: before.changes(tool) },
        };
        let listed: BTreeSet<&str> = tools.iter().map(ToolDefinition::name).collect();
        let names = known.into_iter().flatten().map(|(name, _)| name);
        PinReport {
            first_sight: known.is_none(),
            tools: tools.iter().map(|tool| (tool.name().to_owned(), pin(tool))).collect(),
            gone: names.filter(|name| !listed.contains(name.as_str())).cloned().collect(),
        }
    }

    /// Remembers that a person agreed to these tools of a server. Other tools
    /// stay as they were.
    pub fn approve(&mut self, server: &str, tools: &[ToolDefinition]) {
        let pinned = self.servers.entry(server.to_owned()).or_default();
        for tool in tools {
            pinned.insert(tool.name().to_owned(), tool.clone());
        }
    }

    /// Forgets a server, so that all its tools are new again. Says whether
    /// there was anything to forget.
    pub fn forget(&mut self, server: &str) -> bool {
        self.servers.remove(server).is_some()
    }
}
