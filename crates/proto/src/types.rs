//! The newest revision's shapes, by feature.
//!
//! Typed views for those who need them: messages that only pass through stay
//! spans ([`crate::rpc`]). Open sets (content kinds, log levels, capabilities)
//! keep what they do not know.

mod ask;
mod cache;
mod capability;
mod content;
mod error;
mod meta;
mod prompt;
mod resource;
mod subscription;
mod tool;

pub use ask::{
    Contents, CreateMessage, CreateMessageResult, Elicit, ElicitAction, ElicitResult,
    ListRootsResult, Root, SamplingMessage,
};
pub use cache::{CacheHints, CacheScope};
pub use capability::{
    ClientCapabilities, Icon, Implementation, ListCapability, ResourceCapability,
    ServerCapabilities,
};
pub use content::{Annotations, BlockExtra, ContentBlock, Role};
pub use error::RpcError;
pub use meta::{LogLevel, Progress};
pub use prompt::{GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage};
pub use resource::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
pub use subscription::SubscriptionFilter;
pub use tool::{CallToolResult, ListToolsResult, Tool, ToolAnnotations};

/// Any JSON, kept as the text it came as.
pub type RawJson = alloc::boxed::Box<serde_json::value::RawValue>;
