//! The file of the tool definitions that a person agreed to.

use std::path::{Path, PathBuf};

use carrick_policy::{PinReport, PinnedTools, ToolDefinition, visible};
use serde::{Deserialize, Serialize};

use crate::config::{StoreError, read_private, update};

const VERSION: u32 = 1;

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
    servers: PinnedTools,
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
        self.known.servers.check(server, tools)
    }

    /// Remembers that a person agreed to these tools of a server. Other tools
    /// stay as they were.
    ///
    /// # Errors
    ///
    /// When the file cannot be written or holds something else; nothing is
    /// remembered then.
    pub fn approve(&mut self, server: &str, tools: &[ToolDefinition]) -> Result<(), PinError> {
        self.change(|known| known.servers.approve(server, tools))
    }

    /// Forgets a server, so that all its tools are new again. Says whether
    /// there was anything to forget.
    ///
    /// # Errors
    ///
    /// When the file cannot be written or holds something else.
    pub fn forget(&mut self, server: &str) -> Result<bool, PinError> {
        self.change(|known| known.servers.forget(server))
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
            return Ok(Self { version: VERSION, servers: PinnedTools::default() });
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
