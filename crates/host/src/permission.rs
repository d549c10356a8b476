//! Permission: which calls run, which are asked about, which never run.
//!
//! The rules themselves are those of `carrick-policy`; [`Pins`] keeps what a
//! person agreed to in a file.

mod pins;

pub use carrick_policy::{
    Call, Decision, DefinitionError, Effect, Pattern, PatternError, Pin, PinReport, Policy, Reason,
    Rule, ToolDefinition, Verdict, describe_call, is_hidden, quoted, visible,
};
pub use pins::{PinError, Pins};
