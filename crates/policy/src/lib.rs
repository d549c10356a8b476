//! Which tool calls may run, and what tools say and are called.
//!
//! For all who stand between somebody who asks and the servers that act: the host and the
//! gateway. Everything here is a function of its arguments; files, clocks and people are
//! the affair of the callers.
//!
//! - [`Policy`] decides by rules on server, tool and arguments; a rule is made of a
//!   [`Pattern`].
//! - [`describe_call`] shows a person exactly what would run; [`visible`] and [`quoted`]
//!   write out whatever hides.
//! - [`PinnedTools`] remembers definitions of tools, so that a changed one is seen.
//! - [`names`] gives tools names that every provider of models accepts, with a way back.
//! - [`json`] reads JSON where duplicates, exact numbers and places matter.

mod definition;
mod describe;
mod hash;
pub mod json;
pub mod names;
pub mod near;
mod number;
mod pattern;
mod pinned;
mod policy;
mod reading;
mod visible;

pub use definition::{DefinitionError, ToolDefinition};
pub use describe::describe_call;
pub use hash::{ContentHash, HashSyntax};
pub use pattern::{Pattern, PatternError};
pub use pinned::{Pin, PinReport, PinnedTools};
pub use policy::{Call, Decision, Effect, Policy, Reason, Rule, Verdict};
pub use visible::{is_hidden, quoted, visible};
