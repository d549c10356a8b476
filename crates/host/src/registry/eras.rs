//! Which lifecycle each server had when it was last connected to, from run to
//! run, so that connecting again needs no guessing.

use crate::config::{ContentHash, Launch, Server, StoreError, today, update};
use carrick::client::Era;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

const VERSION: u32 = 2;

/// Servers that are remembered; beyond them, those that were learned of first are
/// forgotten.
const MOST: usize = 1000;

/// The largest file that is read: 1 MiB, several times what it can have.
const MOST_BYTES: u64 = 1 << 20;

/// What is remembered of servers, kept in a file. It only saves time: a file that
/// cannot be read counts as empty, and a memory that is wrong leads to the right
/// answer a little later.
#[derive(Debug)]
pub struct Eras {
    path: PathBuf,
    known: Mutex<BTreeMap<String, Known>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Known {
    Legacy,
    Modern,
}

#[derive(Debug, Serialize, Deserialize)]
struct EraFile {
    version: u32,
    servers: BTreeMap<String, Entry>,
}

/// What is remembered of a server, and the day on which that was learned.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Entry {
    era: Known,
    day: u32,
}

impl Eras {
    /// What is remembered in the file at `path`.
    pub fn open(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&path).ok();
        let read_all = |file: std::fs::File| file.take(MOST_BYTES).read_to_end(&mut bytes).ok();
        // Of a file that is too large what was read is cut, and so counts as empty.
        let is_read = file.and_then(read_all).is_some();
        let servers = read(is_read.then_some(&bytes));
        let known = servers.into_iter().map(|(key, entry)| (key, entry.era)).collect();
        Self { path, known: Mutex::new(known) }
    }

    /// What is remembered of the server with this [`key`].
    pub(super) fn of(&self, key: &str) -> Option<Era> {
        self.known().get(key).map(|known| match known {
            Known::Legacy => Era::Legacy,
            Known::Modern => Era::Modern,
        })
    }

    /// Remembers what a server turned out to be. Blocks while it writes the file,
    /// which it does only where that is news.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn learn(&self, key: String, era: Era) -> Result<(), StoreError> {
        let era = match era {
            Era::Legacy => Known::Legacy,
            Era::Modern => Known::Modern,
        };
        if self.known().insert(key.clone(), era) == Some(era) {
            return Ok(());
        }
        update(&self.path, |old| {
            let mut servers = read(old);
            servers.insert(key.clone(), Entry { era, day: today() });
            while servers.len() > MOST {
                let others = servers.iter().filter(|(other, _)| **other != key);
                let Some(oldest) = others.min_by_key(|(_, entry)| entry.day) else { break };
                let oldest = oldest.0.clone();
                servers.remove(&oldest);
            }
            let file = EraFile { version: VERSION, servers };
            // Texts and numbers can always be written.
            Ok((serde_json::to_vec_pretty(&file).unwrap_or_default(), ()))
        })
    }

    /// Forgets what a server was. Blocks as [`Eras::learn`] does.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn forget(&self, key: &str) -> Result<(), StoreError> {
        if self.known().remove(key).is_none() {
            return Ok(());
        }
        update(&self.path, |old| {
            let mut servers = read(old);
            servers.remove(key);
            let file = EraFile { version: VERSION, servers };
            // Texts and numbers can always be written.
            Ok((serde_json::to_vec_pretty(&file).unwrap_or_default(), ()))
        })
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(bytes: Option<impl AsRef<[u8]>>) -> BTreeMap<String, Entry> {
    let file = bytes.and_then(|bytes| serde_json::from_slice::<EraFile>(bytes.as_ref()).ok());
    file.filter(|file| file.version == VERSION).map(|file| file.servers).unwrap_or_default()
}

/// The hash of how a server is reached, without what may be secret. None for one
/// of our own, of which nothing needs to be remembered.
pub(super) fn key(server: &Server) -> Option<String> {
    let mut text = server.key().into_bytes();
    let mut add = |part: &[u8]| {
        text.push(0);
        text.extend_from_slice(part);
    };
    match server.launch()? {
        Launch::Child(child) => {
            add(child.command.as_bytes());
            child.args.iter().for_each(|arg| add(arg.as_bytes()));
            let cwd = child.cwd.as_ref().map(|cwd| cwd.as_os_str().as_encoded_bytes());
            add(cwd.unwrap_or_default());
        }
        Launch::Http(http) => add(http.url.to_string().as_bytes()),
        Launch::Builtin { .. } => return None,
    }
    Some(ContentHash::of(&text).to_string())
}
