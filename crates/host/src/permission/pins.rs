//! The file of the tool definitions that a person agreed to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use carrick_policy::{PinReport, PinnedTools, ToolDefinition, visible};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::config::{StoreError, read_private, today, update};

const VERSION: u32 = 2;

/// Servers whose definitions are kept; beyond them, those that were not used for
/// longest are forgotten, and seen for the first time when they come again.
const MOST_SERVERS: usize = 1000;

/// Bytes of definitions that are kept, in the same way: 8 MiB.
const MOST_BYTES: usize = 8 << 20;

/// A use is written down when the last one is that old, in days: only which
/// server was not used for longest is to be known.
const USE_DAYS: u32 = 7;

/// The definitions that were agreed to, by server, kept in a file. It is read
/// once, and written only where something has changed; what other processes
/// wrote meanwhile stays.
#[derive(Debug)]
pub struct Pins {
    path: PathBuf,
    known: PinFile,
    /// The day.
    today: u32,
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
    servers: BTreeMap<String, Record>,
}

/// What is kept of a server. Its definitions are read when they are needed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    /// The day of its last use.
    used: u32,
    /// The `ClientCapabilities` that were declared when it listed them; empty
    /// where that is not known.
    declared: String,
    tools: Box<RawValue>,
}

impl Pins {
    /// Reads the pins in the file at `path`; no file means that there are none.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, holds something else, or could have been
    /// written by others.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, PinError> {
        Self::open_on(path, today())
    }

    fn open_on(path: impl Into<PathBuf>, today: u32) -> Result<Self, PinError> {
        let path = path.into();
        let known = PinFile::read(&path, read_private(&path)?.as_deref())?;
        Ok(Self { path, known, today })
    }

    /// Compares what a server lists with what was agreed to.
    ///
    /// `server` is a key that stays the same from run to run, see
    /// [`Server::key`](crate::config::Server::key).
    ///
    /// # Errors
    ///
    /// When what is kept of this server cannot be understood.
    pub fn check(&self, server: &str, tools: &[ToolDefinition]) -> Result<PinReport, PinError> {
        Ok(self.known.pinned(&self.path, server)?.check(server, tools))
    }

    /// What was declared to a server when its tools were agreed to, as JSON; none
    /// where that is not known.
    pub fn declared(&self, server: &str) -> Option<&str> {
        let declared = &self.known.servers.get(server)?.declared;
        (!declared.is_empty()).then_some(declared)
    }

    /// Remembers that a person agreed to these tools of a server, to which
    /// `declared` was declared, as JSON. Other tools stay as they were.
    ///
    /// # Errors
    ///
    /// When the file cannot be written or holds something else; nothing is
    /// remembered then.
    pub fn approve(
        &mut self,
        server: &str,
        tools: &[ToolDefinition],
        declared: &str,
    ) -> Result<(), PinError> {
        let used = self.today;
        self.change(|path, known| {
            let mut pinned = known.pinned(path, server)?;
            pinned.approve(server, tools);
            let tools = one(&pinned, server).map_err(|error| content(path, &error))?;
            let record = Record { used, declared: declared.to_owned(), tools };
            known.servers.insert(server.to_owned(), record);
            known.bound(server);
            Ok(())
        })
    }

    /// Remembers that a server is in use, and that what it lists is what was
    /// agreed to, now that `declared` is declared to it. Writes only what is
    /// news.
    ///
    /// # Errors
    ///
    /// When the file cannot be written or holds something else.
    pub fn used(&mut self, server: &str, declared: &str) -> Result<(), PinError> {
        let today = self.today;
        let is_news = |record: &Record| {
            record.declared != declared || today.saturating_sub(record.used) >= USE_DAYS
        };
        if !self.known.servers.get(server).is_some_and(is_news) {
            return Ok(());
        }
        self.change(|_, known| {
            // Another process may have forgotten it.
            if let Some(record) = known.servers.get_mut(server) {
                (record.used, record.declared) = (today, declared.to_owned());
            }
            Ok(())
        })
    }

    /// Forgets a server, so that all its tools are new again. Says whether
    /// there was anything to forget.
    ///
    /// # Errors
    ///
    /// When the file cannot be written or holds something else.
    pub fn forget(&mut self, server: &str) -> Result<bool, PinError> {
        self.change(|_, known| Ok(known.servers.remove(server).is_some()))
    }

    fn change<T>(
        &mut self,
        change: impl FnOnce(&Path, &mut PinFile) -> Result<T, PinError>,
    ) -> Result<T, PinError> {
        let path = &self.path;
        let (known, value) = update(path, |old| -> Result<_, PinError> {
            let mut known = PinFile::read(path, old)?;
            let value = change(path, &mut known)?;
            let bytes = serde_json::to_vec_pretty(&known).map_err(|error| content(path, &error))?;
            Ok((bytes, (known, value)))
        })?;
        self.known = known;
        Ok(value)
    }
}

impl PinFile {
    fn read(path: &Path, bytes: Option<&[u8]>) -> Result<Self, PinError> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct First {
            #[serde(rename = "version")]
            _version: u32,
            servers: BTreeMap<String, Box<RawValue>>,
        }
        let Some(bytes) = bytes else {
            return Ok(Self { version: VERSION, servers: BTreeMap::new() });
        };
        let failed = |error| content(path, &error);
        let head: Head = serde_json::from_slice(bytes).map_err(failed)?;
        match head.version {
            1 => {
                let first: First = serde_json::from_slice(bytes).map_err(failed)?;
                let record = |tools| Record { used: 0, declared: String::new(), tools };
                let servers = first.servers.into_iter();
                let servers = servers.map(|(server, tools)| (server, record(tools))).collect();
                Ok(Self { version: VERSION, servers })
            }
            VERSION => serde_json::from_slice(bytes).map_err(failed),
            version => {
                let message = format!("version {version} and not {VERSION}");
                Err(PinError::Content { path: path.to_owned(), message })
            }
        }
    }

    /// What was agreed to of one server.
    fn pinned(&self, path: &Path, server: &str) -> Result<PinnedTools, PinError> {
        let Some(record) = self.servers.get(server) else { return Ok(PinnedTools::default()) };
        let json = serde_json::to_string(&BTreeMap::from([(server, &record.tools)]));
        let pinned = json.and_then(|json| serde_json::from_str(&json));
        pinned.map_err(|error| content(path, &error))
    }

    /// Forgets what was not used for longest, until the rest is within bounds.
    fn bound(&mut self, keep: &str) {
        let size = |(server, record): (&String, &Record)| server.len() + record.tools.get().len();
        let mut bytes: usize = self.servers.iter().map(size).sum();
        while self.servers.len() > MOST_SERVERS || bytes > MOST_BYTES {
            let others = self.servers.iter().filter(|(server, _)| *server != keep);
            let oldest = others.min_by_key(|(_, record)| record.used);
            let Some((server, record)) = oldest else { return };
            bytes -= size((server, record));
            let server = server.clone();
            self.servers.remove(&server);
        }
    }
}

/// The definitions of one server, as they are kept.
fn one(pinned: &PinnedTools, server: &str) -> Result<Box<RawValue>, serde_json::Error> {
    let json = serde_json::to_string(pinned)?;
    let mut servers: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&json)?;
    servers.remove(server).ok_or_else(|| serde::de::Error::custom("nothing to keep"))
}

fn content(path: &Path, error: &serde_json::Error) -> PinError {
    PinError::Content { path: path.to_owned(), message: error.to_string() }
}

#[cfg(test)]
mod tests;
