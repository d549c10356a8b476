//! Results that may be taken again without asking (`server/utilities/caching`).
//!
//! A cache belongs to one connection, and so to one authorization: results that
//! are private and results that are public are kept alike.

use super::Changed;
use super::outputs::{Output, Outputs};
use carrick_proto::method::Method;
use carrick_proto::rpc::Json;
use carrick_proto::types::{CacheHints, Tool};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Bytes kept by default.
const MAX_BYTES: usize = 16 << 20;

/// What an entry costs besides its texts.
const ENTRY: usize = 128;

/// The longest time that a result is taken for.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What a result is the answer to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    method: Method,
    /// The cursor or the URI.
    about: Option<Arc<str>>,
}

impl Key {
    pub(super) fn new(method: Method, about: Option<&str>) -> Self {
        Self { method, about: about.map(Into::into) }
    }

    pub(super) fn method(&self) -> Method {
        self.method
    }

    fn group(&self) -> Option<Group> {
        Some(match self.method {
            Method::ToolsList => Group::Tools,
            Method::PromptsList => Group::Prompts,
            Method::ResourcesList | Method::ResourcesTemplatesList => Group::Resources,
            Method::ResourcesRead => Group::Reads,
            _ => return None,
        })
    }
}

/// What changes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Tools,
    Prompts,
    Resources,
    Reads,
}

/// A request on its way, and when it left.
#[derive(Debug)]
pub(super) struct Ticket {
    key: Key,
    epoch: u64,
}

#[derive(Debug)]
struct Entry {
    result: Json,
    until: Instant,
    last_used: u64,
}

/// The results of one connection.
#[derive(Debug)]
pub(super) struct Cache {
    max_bytes: usize,
    bytes: usize,
    entries: HashMap<Key, Entry>,
    /// By when they were last used.
    order: BTreeMap<u64, Key>,
    clock: u64,
    /// How often each group has changed.
    epochs: [u64; 4],
    /// Whether a group was asked for since it last changed.
    asked: [bool; 4],
    outputs: Outputs,
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            max_bytes: MAX_BYTES,
            bytes: 0,
            entries: HashMap::new(),
            order: BTreeMap::new(),
            clock: 0,
            epochs: [0; 4],
            asked: [false; 4],
            outputs: Outputs::default(),
        }
    }
}

impl Cache {
    /// Sets the bound, and drops what is above it.
    pub(super) fn limit(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes;
        self.shrink();
    }

    /// A result that is still fresh.
    pub(super) fn find(&mut self, key: &Key, now: Instant) -> Option<Json> {
        let entry = self.entries.get_mut(key)?;
        if now >= entry.until {
            self.remove(key);
            return None;
        }
        let clock = self.clock;
        self.clock += 1;
        self.order.remove(&std::mem::replace(&mut entry.last_used, clock));
        self.order.insert(clock, key.clone());
        Some(entry.result.clone())
    }

    /// Notes that a request leaves.
    pub(super) fn begin(&mut self, key: Key) -> Ticket {
        let group = key.group();
        if let Some(group) = group {
            self.asked[group as usize] = true;
        }
        Ticket { epoch: group.map_or(0, |group| self.epochs[group as usize]), key }
    }

    /// Keeps its result for as long as that says, unless it may have changed
    /// while it was on its way.
    pub(super) fn keep(&mut self, ticket: Ticket, result: &Json, now: Instant) {
        let Ticket { key, epoch } = ticket;
        let Some(group) = key.group() else { return };
        let ttl = Duration::from_millis(CacheHints::of(result).ttl_ms).min(LONGEST);
        let size = size(&key, result);
        if epoch != self.epochs[group as usize] || ttl.is_zero() || size > self.max_bytes {
            return;
        }
        self.remove(&key);
        let last_used = self.clock;
        self.clock += 1;
        // A copy: the result may be a slice of something larger.
        let result = result.detached();
        self.order.insert(last_used, key.clone());
        self.entries.insert(key, Entry { result, until: now + ttl, last_used });
        self.bytes += size;
        self.shrink();
    }

    /// A moment in the life of the list of tools.
    pub(super) fn tools_epoch(&self) -> u64 {
        self.epochs[Group::Tools as usize]
    }

    /// Learns what the tools of a list give, unless the list may have changed
    /// since it was begun.
    pub(super) fn learn_tools(&mut self, epoch: u64, tools: &[Tool]) {
        if epoch == self.tools_epoch() {
            self.outputs.renew(tools);
        }
    }

    /// What the results of a tool have to fit, as far as that is known.
    pub(super) fn output(&self, tool: &str) -> Option<Arc<Output>> {
        self.outputs.of(tool)
    }

    /// Drops what a change concerns.
    pub(super) fn forget(&mut self, changed: &Changed) {
        match changed {
            Changed::Tools => self.forget_group(Group::Tools),
            Changed::Prompts => self.forget_group(Group::Prompts),
            Changed::Resources => self.forget_group(Group::Resources),
            Changed::Resource(uri) => {
                self.epochs[Group::Reads as usize] += 1;
                self.forget_where(|key| {
                    let about = key.about.as_deref().unwrap_or_default();
                    key.method == Method::ResourcesRead && is_at_or_below(uri, about)
                });
            }
            _ => self.forget_all(),
        }
    }

    /// Drops the pages of a list.
    pub(super) fn forget_list(&mut self, method: Method) {
        self.forget_where(|key| key.method == method);
    }

    /// Drops everything.
    pub(super) fn forget_all(&mut self) {
        for epoch in &mut self.epochs {
            *epoch += 1;
        }
        self.outputs.clear();
        self.entries.clear();
        self.order.clear();
        self.bytes = 0;
    }

    /// Whether the caller has a list that it thinks to be the present one. It is
    /// asked when that list may have changed, so that the answer is yes only once.
    pub(super) fn take_asked(&mut self, list: &Changed) -> bool {
        let group = match list {
            Changed::Tools => Group::Tools,
            Changed::Prompts => Group::Prompts,
            Changed::Resources => Group::Resources,
            _ => return false,
        };
        std::mem::take(&mut self.asked[group as usize])
    }

    fn forget_group(&mut self, group: Group) {
        self.epochs[group as usize] += 1;
        if group == Group::Tools {
            self.outputs.clear();
        }
        self.forget_where(|key| key.group() == Some(group));
    }

    fn forget_where(&mut self, concerned: impl Fn(&Key) -> bool) {
        let keys: Vec<Key> = self.entries.keys().filter(|key| concerned(key)).cloned().collect();
        for key in keys {
            self.remove(&key);
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.last_used);
            self.bytes -= size(key, &entry.result);
        }
    }

    /// Drops what was not used for longest, until the rest is within the bound.
    fn shrink(&mut self) {
        while self.bytes > self.max_bytes
            && let Some((_, key)) = self.order.first_key_value()
        {
            let key = key.clone();
            self.remove(&key);
        }
    }
}

fn size(key: &Key, result: &Json) -> usize {
    ENTRY + key.about.as_ref().map_or(0, |about| about.len()) + result.as_bytes().len()
}

/// Whether `uri` is `whole`, or a part of it by its path: a change may be told
/// of as one of a part.
fn is_at_or_below(uri: &str, whole: &str) -> bool {
    uri.strip_prefix(whole).is_some_and(|rest| {
        rest.is_empty() || whole.ends_with('/') || rest.starts_with(['/', '?', '#'])
    })
}

#[cfg(test)]
mod tests;
