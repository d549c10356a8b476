//! What an author puts round a tool: who may call it, with which arguments, and
//! whether a person is asked first.

mod allow;
mod approve;

pub use allow::Allow;
pub use approve::Approval;

use super::checks::Checks;
use super::{Context, Request, ToolError};
use allow::AllowList;
use carrick_proto::types::{RpcError, Tool as Definition};
use serde_json::Value;
use std::sync::Arc;

/// The layers round one tool.
#[derive(Clone, Default)]
pub(super) struct Layers {
    guards: Vec<Arc<Guard>>,
    allowed: Vec<AllowList>,
    approval: Option<Arc<Approval>>,
}

/// Whether a call may be made at all.
type Guard = dyn Fn(&Context) -> Result<(), ToolError> + Send + Sync;

/// Takes the arguments as the handler will, to see whether it can.
pub(super) type Takes = dyn Fn(&Request) -> Result<(), ToolError> + Send + Sync;

impl Layers {
    pub(super) fn guard(&mut self, guard: Arc<Guard>) {
        self.guards.push(guard);
    }

    pub(super) fn allow(&mut self, argument: String, patterns: Vec<Allow>) {
        self.allowed.push(AllowList::new(argument, patterns));
    }

    pub(super) fn approve(&mut self, approval: Approval) {
        self.approval = Some(Arc::new(approval));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.guards.is_empty() && self.allowed.is_empty() && self.approval.is_none()
    }

    /// Whether the client may be asked before the tool runs.
    pub(super) fn may_ask(&self) -> bool {
        self.approval.is_some()
    }

    /// Lets a call through to its tool, or not.
    pub(super) async fn admit(
        &self,
        request: &Request,
        checks: &Checks,
        takes: &Takes,
        definition: &Definition,
    ) -> Result<(), ToolError> {
        if !self.guards.is_empty() {
            let context = request.context();
            // What the arguments should have been is only for those who may call.
            self.guards.iter().try_for_each(|guard| guard(&context))?;
        }
        let arguments: Value = serde_json::from_slice(request.arguments()).map_err(|error| {
            ToolError::rpc(RpcError::invalid_params(format!("params.arguments: {error}")))
        })?;
        if checks.has_input() {
            checks.input(&arguments)?;
        }
        for list in &self.allowed {
            list.check(&arguments, &definition.input_schema)?;
        }
        let Some(approval) = &self.approval else { return Ok(()) };
        // Nobody is asked about a call that cannot be.
        takes(request)?;
        approval.ask(&request.context(), &definition.name, &arguments).await
    }
}

#[cfg(test)]
mod tests;
