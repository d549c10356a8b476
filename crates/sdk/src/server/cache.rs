//! How long answers may be kept (`server/utilities/caching`).

/// What [`CacheHints`](carrick_proto::types::CacheHints) are for. Only the newest
/// revisions can say them; to others they are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Cacheable {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The list of resource templates.
    ResourceTemplates,
    /// What resources hold, unless one has hints of its own.
    ResourceContents,
}
