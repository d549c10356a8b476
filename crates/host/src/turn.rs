//! The turn: question, model, tool calls, permission, results, model, answer.
//!
//! Every step is an [`Event`] that a [`Frontend`] hears; a person is asked
//! through the same trait. The loop is bounded by rounds, calls, tokens and
//! time.

mod calls;
mod content;
mod event;
mod matched;
mod native;
mod own;
mod prompt;
mod tally;
#[cfg(test)]
mod tests;
mod xml;

pub use calls::Target;
pub use calls::{Calls, Done, Wanted};
pub use content::{Received, decode_base64, outcome};
pub use event::{Approval, Event, Frontend, Verdict};
pub use matched::{MatchError, Proposed, ask_matcher, propose};
pub use tally::Tally;

use crate::config::Limits;
use crate::model::{Block, Message, Model, ModelError, ModelErrorKind, Role, StopReason, Usage};
use crate::registry::{Catalog, Registry};
use carrick_policy::Policy;
use std::sync::Arc;
use std::time::Duration;

/// How tools reach the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DialectChoice {
    /// Natively where the model can, else XML.
    #[default]
    Auto,
    /// By the provider's own tool calls.
    Native,
    /// By XML blocks in text.
    Xml,
}

/// Bounds on one turn.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TurnLimits {
    /// Answers of the model. Default 25.
    pub rounds: u64,
    /// Tool calls. Default 100.
    pub calls: u64,
    /// Tokens in and out, as the provider counts them. Default 2,000,000.
    pub tokens: u64,
    /// Time for everything. Default 30 min.
    pub time: Duration,
    /// How often the very same call may run. Default 3.
    pub repeats: u32,
    /// Bytes of one result's text that the model is shown. Default 100,000.
    pub shown: usize,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self {
            rounds: 25,
            calls: 100,
            tokens: 2_000_000,
            time: Duration::from_secs(30 * 60),
            repeats: 3,
            shown: 100_000,
        }
    }
}

impl From<&Limits> for TurnLimits {
    /// The limits of a config; what is not set there has its default.
    fn from(configured: &Limits) -> Self {
        let default = Self::default();
        Self {
            rounds: configured.rounds.unwrap_or(default.rounds),
            calls: configured.calls.unwrap_or(default.calls),
            tokens: configured.tokens.unwrap_or(default.tokens),
            time: configured.turn_timeout.unwrap_or(default.time),
            ..default
        }
    }
}

/// What a turn works with.
pub struct Turn<'a> {
    /// The servers.
    pub registry: &'a Registry,
    /// What they offer at first; taken anew whenever a server says that a list
    /// has changed.
    pub catalog: &'a Catalog,
    /// What may run.
    pub policy: &'a Policy,
    /// Who hears and decides.
    pub frontend: &'a dyn Frontend,
    /// How tools reach the model.
    pub dialect: DialectChoice,
    /// The bounds.
    pub limits: TurnLimits,
}

/// How a turn ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The model's last words.
    pub text: String,
    /// What it cost.
    pub usage: Usage,
    /// Calls that were not permitted.
    pub denied: usize,
    /// Why the model stopped, when it was cut or refused to go on.
    pub stopped: Option<StopReason>,
}

/// Why a turn has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A call needs a permission that nobody could be asked for.
    #[error("permission is needed and nobody can be asked: {0}")]
    PermissionNeeded(String),
    /// A bound of the turn was reached.
    #[error("the turn reached its limit of {0}")]
    Limit(String),
}

/// The conversation of one turn, whatever the dialect.
struct State {
    messages: Vec<Message>,
    usage: Usage,
    denied: usize,
    calls: u64,
    tally: Tally,
    /// Whether the model has been told that showing a request does not make it.
    told_shown: bool,
}

/// What one answer of the model led to.
enum Round {
    /// It made calls; their results are in the messages.
    Called,
    /// It answered.
    Answered { text: String, stop: StopReason },
}

impl Turn<'_> {
    /// Puts `question` to `model` and works until there is an answer.
    ///
    /// # Errors
    /// When the model fails, a bound is reached, or a permission is needed that
    /// nobody can give.
    pub async fn ask(&self, model: &Arc<dyn Model>, question: &str) -> Result<Answer, TurnError> {
        match tokio::time::timeout(self.limits.time, self.rounds(model, question)).await {
            Ok(result) => result,
            Err(_) => Err(TurnError::Limit(format!("{} s", self.limits.time.as_secs()))),
        }
    }

    async fn rounds(&self, model: &Arc<dyn Model>, question: &str) -> Result<Answer, TurnError> {
        let mut xml = match self.dialect {
            DialectChoice::Auto => !model.native_tools(),
            DialectChoice::Native => false,
            DialectChoice::Xml => true,
        };
        let mut state = State {
            messages: vec![Message::user(question)],
            usage: Usage::default(),
            denied: 0,
            calls: 0,
            tally: Tally::default(),
            told_shown: false,
        };
        let mut renewed = None;
        for _ in 0..self.limits.rounds {
            if let Some(catalog) =
                self.registry.renewed(renewed.as_ref().unwrap_or(self.catalog)).await
            {
                self.tell_failed(renewed.as_ref().unwrap_or(self.catalog), &catalog);
                renewed = Some(catalog);
            }
            let now = Turn { catalog: renewed.as_ref().unwrap_or(self.catalog), ..*self };
            let round = if xml {
                now.xml_round(model, &mut state).await
            } else {
                now.native_round(model, &mut state).await
            };
            match round {
                Ok(Round::Called) => {}
                Ok(Round::Answered { text, stop }) => {
                    return Ok(self.answered(model, state, text, stop));
                }
                Err(TurnError::Model(error))
                    if error.kind() == ModelErrorKind::NoTools
                        && self.dialect == DialectChoice::Auto
                        && !xml =>
                {
                    xml = true;
                }
                Err(error) => return Err(error),
            }
            let used = state.usage.input_tokens + state.usage.output_tokens;
            if used > self.limits.tokens {
                return Err(TurnError::Limit(format!("{} tokens", self.limits.tokens)));
            }
        }
        Err(TurnError::Limit(format!("{} rounds", self.limits.rounds)))
    }

    /// Tells of servers that were still starting and then could not be reached.
    fn tell_failed(&self, before: &Catalog, now: &Catalog) {
        for error in now.failed.iter().filter(|e| before.starting.iter().any(|s| s == e.server())) {
            let (server, message) = (Some(error.server().to_owned()), error.message());
            self.frontend.event(&Event::Error { server, message });
        }
    }

    fn answered(
        &self,
        model: &Arc<dyn Model>,
        state: State,
        text: String,
        stop: StopReason,
    ) -> Answer {
        self.frontend.event(&Event::Answer {
            text: text.clone(),
            model: model.name().to_owned(),
            usage: state.usage.into(),
        });
        let stopped = (!matches!(stop, StopReason::End | StopReason::ToolUse)).then_some(stop);
        Answer { text, usage: state.usage, denied: state.denied, stopped }
    }

    /// Runs calls in the bounds of the turn and keeps count.
    async fn run(&self, state: &mut State, wanted: Vec<Wanted>) -> Result<Vec<Done>, TurnError> {
        state.calls += wanted.len() as u64;
        if state.calls > self.limits.calls {
            return Err(TurnError::Limit(format!("{} calls", self.limits.calls)));
        }
        let wanted = state.tally.admit(wanted, &self.limits);
        let calls = Calls {
            registry: self.registry,
            catalog: self.catalog,
            policy: self.policy,
            frontend: self.frontend,
        };
        let done = calls.run(wanted).await?;
        state.denied += done.iter().filter(|done| done.denied).count();
        Ok(done)
    }
}

impl State {
    fn add(&mut self, usage: Usage) {
        self.usage.input_tokens += usage.input_tokens;
        self.usage.output_tokens += usage.output_tokens;
    }

    fn push(&mut self, role: Role, content: Vec<Block>) {
        if !content.is_empty() {
            self.messages.push(Message { role, content });
        }
    }
}
