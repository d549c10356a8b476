//! Tool definitions as they were when a person last agreed to them.
//!
//! A server may change what a tool says about itself after it was approved. A
//! definition is known by the digest of all that it says; a tool that is new
//! or says something else is held until a person has seen the difference.

mod definition;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::visible::visible;
use crate::config::{StoreError, read_private, update};

pub use definition::{DefinitionError, ToolDefinition};

const VERSION: u32 = 1;

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

/// The definitions that were agreed to, by server, kept in a file.
#[derive(Debug)]
pub struct Pins {
    path: PathBuf,
    known: PinFile,
}

/// The file of pins could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PinError {
    /// It could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It holds something else. It is not overwritten.
    #[error("{}: no file of tool definitions that this version understands: {message}", visible(&.path.to_string_lossy()))]
    Content {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        message: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PinFile {
    version: u32,
    servers: BTreeMap<String, BTreeMap<String, ToolDefinition>>,
}

impl Pins {
    /// Reads the pins in the file at `path`; no file means that there are none.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, holds something else, or can be written
    /// by others.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, PinError> {
        let path = path.into();
        let known = PinFile::read(&path, read_private(&path)?.as_deref())?;
        Ok(Self { path, known })
    }

    /// Compares what a server lists with what was agreed to.
    ///
    /// `server` is a key that stays the same from run to run, see
    /// [`Server::key`](crate::config::Server::key).
    pub fn check(&self, server: &str, tools: &[ToolDefinition]) -> PinReport {
        let known = self.known.servers.get(server);
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
    ///
    /// # Errors
    ///
    /// When the file cannot be written or holds something else; nothing is
    /// remembered then.
    pub fn approve(&mut self, server: &str, tools: &[ToolDefinition]) -> Result<(), PinError> {
        self.change(|known| {
            let pinned = known.servers.entry(server.to_owned()).or_default();
            for tool in tools {
                pinned.insert(tool.name().to_owned(), tool.clone());
            }
        })
    }

    /// Forgets a server, so that all its tools are new again. Says whether
    /// there was anything to forget.
    ///
    /// # Errors
    ///
    /// When the file cannot be written or holds something else.
    pub fn forget(&mut self, server: &str) -> Result<bool, PinError> {
        self.change(|known| known.servers.remove(server).is_some())
    }

    fn change<T>(&mut self, change: impl FnOnce(&mut PinFile) -> T) -> Result<T, PinError> {
        let path = &self.path;
        let (known, value) = update(path, |old| -> Result<_, PinError> {
            let mut known = PinFile::read(path, old)?;
            let value = change(&mut known);
            let bytes = serde_json::to_vec_pretty(&known).map_err(|error| content(path, &error))?;
            Ok((bytes, (known, value)))
        })?;
        self.known = known;
        Ok(value)
    }
}

impl PinFile {
    fn read(path: &Path, bytes: Option<&[u8]>) -> Result<Self, PinError> {
        let Some(bytes) = bytes else {
            return Ok(Self { version: VERSION, servers: BTreeMap::new() });
        };
        let file: Self = serde_json::from_slice(bytes).map_err(|error| content(path, &error))?;
        if file.version != VERSION {
            let message = format!("version {} and not {VERSION}", file.version);
            return Err(PinError::Content { path: path.to_owned(), message });
        }
        Ok(file)
    }
}

fn content(path: &Path, error: &serde_json::Error) -> PinError {
    PinError::Content { path: path.to_owned(), message: error.to_string() }
}

#[cfg(test)]
mod tests;
