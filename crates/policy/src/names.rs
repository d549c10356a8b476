//! Tool names that every provider accepts, and the way back.
//!
//! Servers name their tools freely; providers want `[A-Za-z0-9_-]{1,64}`, and names of several
//! servers must not meet. A [`ToolNames`] table gives every (server, tool) an exposed name,
//! `server__tool` where that is safe, and finds the pair again by lookup, never by taking the
//! name apart. An exposed name depends on nothing but its own pair (and the host's own tool names),
//! so it stays the same across turns, restarts and changes to other servers.

#[cfg(test)]
mod tests;

use core::error::Error;
use core::fmt;
use std::collections::{BTreeMap, HashMap, HashSet};

use sha2::{Digest, Sha256};

use crate::near;

/// The longest exposed name, in bytes: the least that any provider allows.
pub const MAX_LEN: usize = 64;

/// Between server and tool in an exposed name.
const SEPARATOR: &str = "__";

/// Hexadecimal digits of the hash in an exposed name that cannot be plain.
const HASH_DIGITS: usize = 10;

/// A tool by the names its server and its author gave.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolRef {
    /// The server, as configured.
    pub server: String,
    /// The tool, as its server names it.
    pub tool: String,
}

impl fmt::Display for ToolRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.server, self.tool)
    }
}

/// The table between tools and the names that models see.
#[derive(Clone, Debug, Default)]
pub struct ToolNames {
    exposed: BTreeMap<ToolRef, String>,
    tools: HashMap<String, ToolRef>,
}

impl ToolNames {
    /// Names all `tools`; a pair listed twice counts once. None gets a name in `reserved`,
    /// which are the names of the host's own tools.
    #[must_use]
    pub fn new(tools: impl IntoIterator<Item = ToolRef>, reserved: &[&str]) -> Self {
        let mut table = Self::default();
        let mut taken: HashSet<String> = reserved.iter().map(|&name| name.to_owned()).collect();
        let mut tools: Vec<_> = tools.into_iter().collect();
        // In a fixed order, so that even names that would meet come out the same each time.
        tools.sort();
        tools.dedup();
        for tool in tools {
            let name = free_name(&tool, &taken);
            taken.insert(name.clone());
            table.tools.insert(name.clone(), tool.clone());
            table.exposed.insert(tool, name);
        }
        table
    }

    /// The exposed name of a tool.
    #[must_use]
    pub fn exposed(&self, tool: &ToolRef) -> Option<&str> {
        self.exposed.get(tool).map(String::as_str)
    }

    /// The tool behind an exposed name.
    #[must_use]
    pub fn tool(&self, exposed: &str) -> Option<&ToolRef> {
        self.tools.get(exposed)
    }

    /// All tools with their exposed names, by server and tool.
    pub fn iter(&self) -> impl Iterator<Item = (&ToolRef, &str)> {
        self.exposed.iter().map(|(tool, name)| (tool, name.as_str()))
    }

    /// Finds the tool a model means: by the exposed name, else by `server.tool`,
    /// `server/tool`, `server:tool`, `server__tool` or the bare tool name where exactly one
    /// tool fits. Blanks around the name do not count.
    ///
    /// # Errors
    ///
    /// If no tool or more than one fits; the error is worded for the model.
    pub fn resolve(&self, written: &str) -> Result<&ToolRef, UnknownTool> {
        let written = written.trim();
        if let Some(tool) = self.tools.get(written) {
            return Ok(tool);
        }
        let mut fitting = self.exposed.keys().filter(|tool| fits(tool, written));
        match (fitting.next(), fitting.next()) {
            (Some(tool), None) => Ok(tool),
            (None, _) => Err(UnknownTool {
                written: written.to_owned(),
                ambiguous: false,
                candidates: self.near(written),
            }),
            (Some(_), Some(_)) => Err(UnknownTool {
                written: written.to_owned(),
                ambiguous: true,
                candidates: self
                    .iter()
                    .filter(|(tool, _)| fits(tool, written))
                    .map(|(_, name)| name.to_owned())
                    .take(near::MOST)
                    .collect(),
            }),
        }
    }

    /// Finds a tool by its server's name and its own, as the XML dialect writes them. Blanks
    /// around either do not count.
    ///
    /// # Errors
    ///
    /// If there is no such tool; the candidates are then `server/tool` pairs.
    pub fn resolve_pair(&self, server: &str, tool: &str) -> Result<&ToolRef, UnknownTool> {
        let (server, tool) = (server.trim(), tool.trim());
        let wanted = ToolRef { server: server.to_owned(), tool: tool.to_owned() };
        if let Some((known, _)) = self.exposed.get_key_value(&wanted) {
            return Ok(known);
        }
        let pairs: Vec<String> = self.exposed.keys().map(ToolRef::to_string).collect();
        let written = wanted.to_string();
        let pairs = pairs.iter().map(|pair| (pair.as_str(), [pair.as_str()]));
        let candidates = near::most_like(&written, pairs);
        Err(UnknownTool { written, ambiguous: false, candidates })
    }

    /// The exposed names most like `written`, best first.
    fn near(&self, written: &str) -> Vec<String> {
        near::most_like(written, self.iter().map(|(tool, name)| (name, [name, tool.tool.as_str()])))
    }
}

/// Whether `written` is the bare name of `tool` or its name with its server before it.
fn fits(tool: &ToolRef, written: &str) -> bool {
    if written == tool.tool {
        return true;
    }
    let Some(rest) = written.strip_prefix(tool.server.as_str()) else { return false };
    [".", "/", ":", SEPARATOR].iter().any(|mark| rest.strip_prefix(mark) == Some(&tool.tool))
}

/// A name for `tool` that is not taken: the plain one, or one with a hash.
fn free_name(tool: &ToolRef, taken: &HashSet<String>) -> String {
    if let Some(plain) = plain_name(tool).filter(|plain| !taken.contains(plain)) {
        return plain;
    }
    let digest = digest(tool);
    // Ten digits meet by chance about once in a million tools; more are used if they do.
    (HASH_DIGITS..digest.len())
        .map(|digits| hashed_name(tool, &digest[..digits]))
        .find(|name| !taken.contains(name))
        .unwrap_or(digest)
}

/// `server__tool` if it is valid and cannot be the name of another pair: the server's part ends
/// at the first separator for certain, and the end does not look like a hash.
fn plain_name(tool: &ToolRef) -> Option<String> {
    let ToolRef { server, tool } = tool;
    let length = server.len() + SEPARATOR.len() + tool.len();
    let valid = |part: &str| !part.is_empty() && part.chars().all(is_safe);
    let clear = !server.contains(SEPARATOR) && !server.ends_with('_') && !ends_like_hash(tool);
    (length <= MAX_LEN && valid(server) && valid(tool) && clear)
        .then(|| format!("{server}{SEPARATOR}{tool}"))
}

/// A valid name that shows as much of both parts as fits before the hash.
fn hashed_name(tool: &ToolRef, hash: &str) -> String {
    /// What a part keeps however long the other is.
    const LEAST: usize = 20;
    let room = MAX_LEN - hash.len() - 1;
    if room < 2 * LEAST + SEPARATOR.len() {
        return format!("tool_{hash}").chars().take(MAX_LEN).collect();
    }
    let (server, tool) = (cleaned(&tool.server), cleaned(&tool.tool));
    let room = room - SEPARATOR.len();
    let for_server = server.len().min(room.saturating_sub(tool.len()).max(LEAST));
    let for_tool = tool.len().min(room - for_server);
    // Cleaned text is ASCII, so it can be cut anywhere.
    format!("{}{SEPARATOR}{}_{hash}", &server[..for_server], &tool[..for_tool])
}

/// The text with every run of other characters made one `_`.
fn cleaned(text: &str) -> String {
    let mut clean = String::new();
    for c in text.chars().map(|c| if is_safe(c) { c } else { '_' }) {
        if c != '_' || !clean.ends_with('_') {
            clean.push(c);
        }
    }
    clean
}

fn is_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn ends_like_hash(tool: &str) -> bool {
    let Some((_, last)) = tool.rsplit_once('_') else { return false };
    last.len() >= HASH_DIGITS && last.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
}

/// The SHA-256 of the pair in hexadecimal; the length keeps (`ab`, `c`) from (`a`, `bc`).
fn digest(tool: &ToolRef) -> String {
    let mut hasher = Sha256::new();
    hasher.update((tool.server.len() as u64).to_le_bytes());
    hasher.update(tool.server.as_bytes());
    hasher.update(tool.tool.as_bytes());
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A tool name that stands for no tool, or for more than one; the text is for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTool {
    /// The name as written, without blanks around it.
    pub written: String,
    /// Whether more than one tool fits, rather than none.
    pub ambiguous: bool,
    /// Names that fit or, if none does, are like the one written; best first. Exposed names,
    /// but for [`ToolNames::resolve_pair`].
    pub candidates: Vec<String>,
}

impl fmt::Display for UnknownTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What a model wrote may be very long and hold anything.
        let shown: String = self.written.chars().take(100).collect();
        if self.ambiguous {
            write!(f, "{shown:?} could be any of these tools: ")?;
        } else if self.candidates.is_empty() {
            return write!(f, "there is no tool {shown:?}");
        } else {
            write!(f, "there is no tool {shown:?}; did you mean ")?;
        }
        f.write_str(&self.candidates.join(", "))
    }
}

impl Error for UnknownTool {}
