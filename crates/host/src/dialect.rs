//! How a model asks for tools: native calls, XML blocks, and what `route` reads.
//!
//! - [`teach`] writes the part of the system prompt that teaches a model without native
//!   tool calls the XML form and lists what it can ask for.
//! - [`read`] finds tool requests in a model's output, whatever form they have.
//! - [`render`] writes results in the form the model expects them.
//! - [`fit`] gives values of an untyped form the types a tool's schema asks for.
//!
//! Nothing here resolves names, checks permission or calls anything.

mod fit;
mod read;
mod render;
mod teach;

use carrick::proto::xml::decode::{Form, NotRun};
use serde_json::value::RawValue;

pub use fit::fit;
pub use read::read;
pub use render::render;
pub use teach::{ResourceSummary, ServerSummary, ToolSummary, teach};

/// The forms in which requests come and results go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// XML blocks, and their neighbouring forms, in text.
    Xml,
    /// `tool_calls` of an OpenAI chat completion (Ollama's too, which have no ids).
    OpenAi,
    /// `function_call` items of the OpenAI Responses API.
    Responses,
    /// `tool_use` blocks of an Anthropic message.
    Anthropic,
    /// `{"tool_calls":[{"name":…,"arguments":{…}}]}`
    Plain,
}

/// One request found in a model's output.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RouteItem {
    /// The form it came in, in which its result goes back.
    pub dialect: Dialect,
    /// The id that pairs it with its result, when its form has one.
    pub id: Option<String>,
    /// What it asks for.
    pub ask: Ask,
}

/// What a request asks for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Ask {
    /// To call a tool.
    Call {
        /// The server, when the form has a place for it. A native call may carry it in
        /// the name instead (`server__tool`, `server.tool`, `server/tool`).
        server: Option<String>,
        /// The name as the model wrote it, trimmed.
        tool: String,
        /// A JSON object, byte for byte as written.
        arguments: Box<RawValue>,
        /// How it was written; arguments of [`Form::Function`] need [`fit`].
        form: Form,
    },
    /// To read a resource.
    Resource {
        /// The server, when named.
        server: Option<String>,
        /// The address.
        uri: String,
    },
    /// Something that must not be run; the model has to be told why.
    Refused(NotRun),
}

impl RouteItem {
    /// What to tell the model about a request that must not be run; `None` for others.
    pub fn refusal(&self) -> Option<Outcome> {
        let Ask::Refused(refused) = &self.ask else { return None };
        Some(Outcome {
            id: self.id.clone(),
            server: refused.server.clone(),
            tool: refused.tool.clone(),
            uri: refused.uri.clone(),
            status: Status::NotRun,
            content: vec![Content::Text(refused.reason.to_string())],
            structured: None,
        })
    }
}

/// What came of a request.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The request's id.
    pub id: Option<String>,
    /// The server asked.
    pub server: Option<String>,
    /// The tool called, by the name the model used.
    pub tool: Option<String>,
    /// The address read, when it was a resource.
    pub uri: Option<String>,
    /// How it went.
    pub status: Status,
    /// What came back, in order.
    pub content: Vec<Content>,
    /// Structured content, as JSON.
    pub structured: Option<Box<RawValue>>,
}

/// How a request went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It was run and gave a result.
    Success,
    /// It was run and gave an error, or could not be run to its end.
    Error,
    /// It was not run at all.
    NotRun,
}

impl Status {
    /// Whether the model is told of an error.
    pub fn is_error(self) -> bool {
        self != Self::Success
    }

    fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::NotRun => "not run",
        }
    }
}

/// A piece of a result.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text(String),
    /// A picture.
    Image {
        /// Its media type, such as `image/png`.
        mime: String,
        /// Its bytes in base64.
        base64: String,
    },
    /// Any other content block, as JSON.
    Other(Box<RawValue>),
}
