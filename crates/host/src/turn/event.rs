//! What a turn tells, and what it asks.

use super::content::Received;
use super::matched::Proposed;
use crate::asks::{Question, Sampling};
use crate::model::Usage;
use carrick::types::{CreateMessage, Elicit, ElicitAction, ElicitResult};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::value::RawValue;

/// One step of a turn. Serialized, it is a line of `ask --json`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Event {
    /// More of what the model says.
    Text {
        /// The piece.
        text: String,
    },
    /// A tool is about to be called, or a permission for it asked.
    Call {
        /// Names the call within the turn.
        id: String,
        /// The server.
        server: String,
        /// The tool, as its server names it.
        tool: String,
        /// The arguments, as they will be sent.
        arguments: Box<RawValue>,
    },
    /// A call has ended.
    Result {
        /// The call's id.
        id: String,
        /// What came back.
        #[serde(flatten)]
        result: Received,
    },
    /// A person is asked whether a call may run.
    Permission {
        /// The call's id.
        id: String,
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// The arguments.
        arguments: Box<RawValue>,
        /// Why it is asked.
        reason: String,
    },
    /// A server asks the person something.
    Elicitation {
        /// Names the question within the run.
        id: String,
        /// The server.
        server: String,
        /// What it asks.
        #[serde(flatten)]
        ask: Elicit,
    },
    /// A server wants the model to answer something, and a person is asked whether
    /// it may.
    Sampling {
        /// Names the question within the run.
        id: String,
        /// The server.
        server: String,
        /// The model that would answer.
        model: String,
        /// What it asks.
        ask: Box<CreateMessage>,
    },
    /// A call has come further.
    Progress {
        /// The call's id.
        id: String,
        /// How far.
        progress: f64,
        /// Out of how much.
        #[serde(skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        /// What is going on.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A server's connection changed.
    Server {
        /// The server.
        server: String,
        /// `connecting`, `starting` (still, and the turn goes on without it),
        /// `connected`, `closed`, `toolsChanged` or `toolsHeld`.
        state: String,
        /// More about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// Something failed and the turn goes on.
    Error {
        /// The server at fault, if it was one.
        #[serde(skip_serializing_if = "Option::is_none")]
        server: Option<String>,
        /// What happened.
        message: String,
    },
    /// What the matcher would call, best first.
    Proposal {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// The arguments found.
        arguments: serde_json::Map<String, serde_json::Value>,
        /// Names of arguments that the question does not give.
        missing: Vec<String>,
        /// How well it fits.
        score: f64,
        /// Whether it is clear enough to be run without asking which was meant.
        confident: bool,
    },
    /// The end.
    Answer {
        /// The answer.
        text: String,
        /// Who gave it.
        model: String,
        /// What it cost.
        usage: Tokens,
    },
}

/// Tokens, as the provider counts them.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        Self { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens }
    }
}

/// A call that a person is to decide about.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Approval {
    /// Names the call within the turn.
    pub id: String,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The arguments as JSON, as they will be sent.
    pub arguments: String,
    /// Exactly what would run, with control characters made visible.
    pub description: String,
    /// Why it is asked.
    pub reason: String,
    /// Whether a rule that denies may be meant. Then somebody must look at this very
    /// call: a permission for all of them, such as `--yes`, is not enough.
    pub may_be_denied: bool,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Run it.
    Allow,
    /// Do not; the turn goes on.
    Deny,
    /// Nobody can be asked; the turn ends.
    Unavailable,
}

/// A terminal, a log, a program: whoever hears a turn and decides in it.
pub trait Frontend: Send + Sync {
    /// Hears a step. It must return at once.
    fn event(&self, event: &Event);

    /// Decides about a call. Asked one at a time.
    fn approve<'a>(&'a self, approval: &'a Approval) -> BoxFuture<'a, Verdict>;

    /// Puts a server's question to the person. What a form is accepted with must
    /// fit it. By default nobody is there, and it is cancelled.
    fn elicit<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, ElicitResult> {
        let _ = question;
        Box::pin(std::future::ready(ElicitResult::without_content(ElicitAction::Cancel)))
    }

    /// Decides whether the model may answer a server. By default nobody is there to
    /// permit it.
    fn permit_sampling<'a>(&'a self, sampling: &'a Sampling) -> BoxFuture<'a, Verdict> {
        let _ = sampling;
        Box::pin(std::future::ready(Verdict::Unavailable))
    }

    /// Chooses among the matcher's proposals where it is not clear itself:
    /// the place in the list, or none. By default none.
    fn choose<'a>(&'a self, proposed: &'a [Proposed]) -> BoxFuture<'a, Option<usize>> {
        let _ = proposed;
        Box::pin(std::future::ready(None))
    }
}
