//! Asking a person before a tool runs.

use super::super::{Context, ToolError};
use carrick_proto::text::excerpt;
use carrick_proto::types::{Elicit, ElicitAction, RawJson};
use serde_json::Value;
use std::fmt;

/// The key of the question, which the client sees where there are no sessions.
const KEY: &str = "approval";
/// Most bytes of the arguments in a question that is not the author's own.
const MAX_SHOWN: usize = 1_000;

/// How a person is asked before a tool runs: see [`Tool::approve`](super::super::Tool::approve).
#[derive(Default)]
pub struct Approval {
    message: Option<Box<Message>>,
    or_run_unasked: bool,
}

type Message = dyn Fn(&Value) -> String + Send + Sync;

impl Approval {
    /// A question that shows the tool's name and the arguments. Calls of clients
    /// that cannot ask their users are refused.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks in these words, made from the arguments (a JSON object).
    #[must_use]
    pub fn message(mut self, text: impl Fn(&Value) -> String + Send + Sync + 'static) -> Self {
        self.message = Some(Box::new(text));
        self
    }

    /// Runs the tool unasked where the client cannot ask its user.
    #[must_use]
    pub fn or_run_unasked(mut self) -> Self {
        self.or_run_unasked = true;
        self
    }

    /// Asks. Only a yes is one.
    pub(super) async fn ask(
        &self,
        context: &Context,
        tool: &str,
        arguments: &Value,
    ) -> Result<(), ToolError> {
        if self.or_run_unasked && !context.offers_forms() {
            return Ok(());
        }
        let message = match &self.message {
            Some(message) => message(arguments),
            None => question(tool, arguments),
        };
        let ask = Elicit::Form { message, requested_schema: nothing_to_fill_in()? };
        let refused = |why: &dyn fmt::Display| {
            Err(ToolError::new(format!("{tool} was not run: it needs approval, and {why}")))
        };
        match context.elicit_as(Some(KEY), &ask).await.map(|answer| answer.action) {
            Ok(ElicitAction::Accept) => Ok(()),
            Ok(ElicitAction::Decline) => refused(&"the user declined"),
            Ok(ElicitAction::Cancel) => refused(&"the user did not answer"),
            Err(error) => refused(&error),
        }
    }
}

impl fmt::Debug for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approval").finish_non_exhaustive()
    }
}

fn question(tool: &str, arguments: &Value) -> String {
    format!("Run {tool} with {}?", excerpt(&arguments.to_string(), MAX_SHOWN))
}

/// A form that is only agreed to or not.
fn nothing_to_fill_in() -> Result<RawJson, ToolError> {
    Ok(serde_json::from_str(r#"{"type":"object","properties":{}}"#)?)
}
