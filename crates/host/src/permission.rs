//! Permission: which calls run, which are asked about, which never run.
//!
//! [`Policy`] decides by rules on server, tool and arguments; [`describe_call`]
//! shows a person exactly what would run; [`Pins`] remembers the definitions
//! of tools, so that a changed one is shown and asked about again.

mod call;
mod pattern;
mod pins;
mod policy;
mod visible;

pub use call::describe_call;
pub use pattern::{Pattern, PatternError};
pub use pins::{DefinitionError, Pin, PinError, PinReport, Pins, ToolDefinition};
pub use policy::{Call, Decision, Effect, Policy, Reason, Rule, Verdict};
pub use visible::{quoted, visible};
