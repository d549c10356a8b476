//! In place of checking against schemas, without the feature `validate`.

use super::ToolError;
use carrick_proto::types::{CallToolResult, Elicit, ElicitResult, RawJson};
use serde_json::Value;

/// Checks nothing.
#[derive(Clone)]
pub(super) struct Checks;

impl Checks {
    pub(super) fn of_types(_: &RawJson, _: Option<&RawJson>) -> Self {
        Self
    }

    pub(super) fn set_input(&mut self, _: &RawJson) {}

    pub(super) fn set_output(&mut self, _: &RawJson) {}

    pub(super) fn has_input(&self) -> bool {
        false
    }

    pub(super) fn has_output(&self) -> bool {
        false
    }

    pub(super) fn input(&self, _: &Value) -> Result<(), ToolError> {
        Ok(())
    }

    pub(super) fn explain(&self, _: &[u8]) -> Option<String> {
        None
    }

    pub(super) fn output(&self, _: &CallToolResult) -> Result<(), ToolError> {
        Ok(())
    }
}

pub(super) fn form_misfit(_: &Elicit, _: &ElicitResult) -> Option<String> {
    None
}
