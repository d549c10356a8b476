//! Changes that a server tells its clients of.

use crate::method::Method;
use alloc::collections::BTreeSet;
use alloc::string::String;

/// What a server says has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Changed {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// One resource, by URI.
    Resource(String),
}

/// Changes that wait to be told. Equal ones count once.
///
/// Bounded: of very many resources it remembers only that any of them may have
/// changed, so that no change is ever lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) updated: Updated,
}

/// Which resources have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Updated {
    These { uris: BTreeSet<String>, bytes: usize },
    Any,
}

impl Default for Updated {
    fn default() -> Self {
        Self::These { uris: BTreeSet::new(), bytes: 0 }
    }
}

/// Bytes of URIs that are remembered one by one.
const MOST_BYTES: usize = 256 << 10;

impl Changes {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        let none = matches!(&self.updated, Updated::These { uris, .. } if uris.is_empty());
        none && !(self.tools || self.prompts || self.resources)
    }

    /// Adds one.
    pub fn add(&mut self, changed: Changed) {
        match changed {
            Changed::Tools => self.tools = true,
            Changed::Prompts => self.prompts = true,
            Changed::Resources => self.resources = true,
            Changed::Resource(uri) => self.updated.add(uri),
        }
    }

    /// Adds all of `others`.
    pub fn add_all(&mut self, others: Self) {
        self.tools |= others.tools;
        self.prompts |= others.prompts;
        self.resources |= others.resources;
        match others.updated {
            Updated::Any => self.updated = Updated::Any,
            Updated::These { uris, .. } => uris.into_iter().for_each(|uri| self.updated.add(uri)),
        }
    }

    /// Which lists have changed.
    pub(super) fn lists(&self) -> impl Iterator<Item = Method> {
        let list = |changed: bool, method| changed.then_some(method);
        [
            list(self.tools, Method::ToolsListChanged),
            list(self.prompts, Method::PromptsListChanged),
            list(self.resources, Method::ResourcesListChanged),
        ]
        .into_iter()
        .flatten()
    }
}

impl From<Changed> for Changes {
    fn from(changed: Changed) -> Self {
        let mut changes = Self::new();
        changes.add(changed);
        changes
    }
}

impl Updated {
    fn add(&mut self, uri: String) {
        // Each entry costs more than its text.
        const ENTRY: usize = 64;
        let Self::These { uris, bytes } = self else { return };
        let size = uri.len() + ENTRY;
        if !uris.insert(uri) {
            return;
        }
        *bytes += size;
        if *bytes > MOST_BYTES {
            *self = Self::Any;
        }
    }

    /// Those of `wanted` that have changed, and what has changed below them
    /// (`notifications/resources/updated` may name a sub-resource).
    pub(super) fn of(&self, wanted: &BTreeSet<String>) -> BTreeSet<String> {
        match self {
            Self::Any => wanted.clone(),
            Self::These { uris, .. } => {
                uris.iter().filter(|uri| is_at_or_below(uri, wanted)).cloned().collect()
            }
        }
    }
}

/// Whether `wanted` has `uri`, or something that `uri` is a path below.
fn is_at_or_below(uri: &str, wanted: &BTreeSet<String>) -> bool {
    if wanted.contains(uri) {
        return true;
    }
    // Slashes of the authority are none of a path.
    let path = uri.find("://").map_or(0, |at| at + 3);
    let mut slashes = uri.bytes().enumerate().skip(path).filter(|(_, byte)| *byte == b'/');
    slashes.any(|(at, _)| wanted.contains(&uri[..at]) || wanted.contains(&uri[..=at]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    fn set(uris: &[&str]) -> BTreeSet<String> {
        uris.iter().map(|uri| String::from(*uri)).collect()
    }

    #[test]
    fn an_equal_change_is_absorbed() {
        let mut changes = Changes::new();
        assert!(changes.is_empty());
        for _ in 0..1000 {
            changes.add(Changed::Tools);
            changes.add(Changed::Resource("a://b".into()));
        }
        let mut others = Changes::from(Changed::Resource("a://c".into()));
        others.add(Changed::Prompts);
        changes.add_all(others);
        assert_eq!(
            changes.lists().collect::<alloc::vec::Vec<_>>(),
            [Method::ToolsListChanged, Method::PromptsListChanged]
        );
        let all = set(&["a://b", "a://c"]);
        assert_eq!(changes.updated.of(&all), all);
    }

    #[test]
    fn too_many_resources_to_name_may_be_any() {
        let mut changes = Changes::new();
        for n in 0..10_000 {
            changes.add(Changed::Resource(format!("a://{n}")));
        }
        assert_eq!(changes.updated, Updated::Any);
        let wanted = set(&["a://1", "b://never"]);
        assert_eq!(changes.updated.of(&wanted), wanted);
    }

    #[test]
    fn whoever_wants_a_folder_hears_of_what_is_below_it() {
        let wanted = set(&["file:///dir", "x://h/p/"]);
        for (uri, is) in [
            ("file:///dir", true),
            ("file:///dir/a/b", true),
            ("file:///directory", false),
            ("file:///", false),
            ("x://h/p/q", true),
            ("x://h/p", false),
            ("x://h", false),
        ] {
            assert_eq!(is_at_or_below(uri, &wanted), is, "{uri}");
        }
        assert!(!is_at_or_below("file:///a", &set(&["file:/", "file:"])));
    }
}
