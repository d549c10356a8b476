//! Language models: requests, streamed answers, and the providers that carry them.
//!
//! A [`Model`] takes a [`Request`] (the conversation so far and the tools) and answers with a
//! stream of [`Event`]s. Two providers are built in, each a pure encoder and an incremental
//! decoder over one HTTP driver: [`openai`] (chat completions, also spoken by Ollama, llama.cpp,
//! vLLM and OpenRouter) and [`anthropic`] (messages). [`select`] finds the model to use;
//! [`names`] gives tools names that every provider accepts.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use carrick::net::{HttpClient, Options};
//! use carrick_host::model::select::{Choice, Settings, select};
//! use carrick_host::model::{Event, Message, Request};
//! use futures_util::StreamExt;
//!
//! let client = HttpClient::new(Options::default());
//! let settings = Settings::from_lookup(|name| std::env::var(name).ok());
//! if let Choice::Model(model) = select(&settings, &client).await?.choice {
//!     let request = Request::new("Be brief.", vec![Message::user("What is MCP?")]);
//!     let mut events = model.stream(&request);
//!     while let Some(event) = events.next().await {
//!         if let Event::Text(text) = event? {
//!             print!("{text}");
//!         }
//!     }
//! }
//! # Ok(())
//! # }
//! ```

pub mod anthropic;
mod calls;
mod drive;
mod error;
mod fault;
mod history;
mod narrow;
pub mod openai;
mod secret;
pub mod select;
mod url;

use futures_util::stream::BoxStream;
use serde_json::value::RawValue;

pub use carrick_policy::names;
pub use drive::{Connection, Limits};
pub use error::{ModelError, ModelErrorKind};
pub use secret::Secret;

/// A language model.
pub trait Model: Send + Sync {
    /// The name as a user writes it, `provider:model`.
    fn name(&self) -> &str;

    /// Whether tools go to the model through the provider's own API. If not, the host teaches
    /// the XML dialect in the system prompt and sends no [`Request::tools`].
    fn native_tools(&self) -> bool;

    /// Asks the model to continue a conversation.
    ///
    /// The request goes out when the stream is first polled; dropping the stream cancels it.
    /// A good answer ends with [`Event::Stop`] and nothing after it. An error ends the stream
    /// too, and then none of the calls given out before it should run.
    fn stream(&self, request: &Request) -> BoxStream<'static, Result<Event, ModelError>>;
}

/// What a model is asked: a conversation to continue, and the tools it may call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// Instructions that stand before the conversation; may be empty.
    pub system: String,
    /// The conversation, oldest first. It need not be in a provider's strict form: messages of
    /// the same role in a row are joined, and tool calls without a result get one that says
    /// they were cancelled.
    pub messages: Vec<Message>,
    /// The tools on offer; may be empty.
    pub tools: Vec<ToolSpec>,
    /// The longest answer, in the model's tokens, thinking included. Default: 8192.
    pub max_tokens: u32,
    /// Randomness, 0 to 1 or 2 by provider. Default: unset, which every model accepts; some
    /// refuse any value.
    pub temperature: Option<f32>,
}

impl Request {
    /// A request without tools.
    #[must_use]
    pub fn new(system: impl Into<String>, messages: Vec<Message>) -> Self {
        Self {
            system: system.into(),
            messages,
            tools: Vec::new(),
            max_tokens: 8192,
            temperature: None,
        }
    }
}

/// A tool as the model sees it.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// The exposed name, as made by [`names::ToolNames`].
    pub name: String,
    /// What the tool does; may be empty.
    pub description: String,
    /// The JSON Schema of the arguments, a JSON object.
    pub input_schema: Box<RawValue>,
}

/// One message of a conversation.
#[derive(Clone, Debug)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub content: Vec<Block>,
}

impl Message {
    /// A message of the user, or of the host in the user's place.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, content: vec![Block::Text(text.into())] }
    }

    /// A message of the model.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: Role::Assistant, content: vec![Block::Text(text.into())] }
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user; tool results count as the user's.
    User,
    /// The model.
    Assistant,
}

/// A part of a message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Block {
    /// Plain text.
    Text(String),
    /// A picture from the user.
    Image(Image),
    /// A tool call by the model.
    ToolCall(ToolCall),
    /// The result of a tool call, in a message of the user.
    ToolResult {
        /// The [`ToolCall::id`] it answers.
        call_id: String,
        /// The exposed name of the tool.
        name: String,
        /// What the tool gave.
        content: Vec<ResultPart>,
        /// Whether the tool (or the host, in its place) reports a failure.
        is_error: bool,
    },
    /// Something only the provider understands; see [`Event::Opaque`].
    Opaque(Opaque),
}

/// A tool call whose arguments are a whole JSON object.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// Names the call within the conversation; the result repeats it.
    pub id: String,
    /// The tool's name as the model wrote it; resolve it with [`names::ToolNames::resolve`].
    pub name: String,
    /// A JSON object, byte for byte as the model wrote it.
    pub arguments: Box<RawValue>,
}

/// A part of a tool's result.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ResultPart {
    /// Plain text.
    Text(String),
    /// A picture.
    Image(Image),
}

/// A picture, inline.
#[derive(Clone, Debug)]
pub struct Image {
    /// Its media type, such as `image/png`. Types that no provider reads are replaced by a
    /// note to the model.
    pub mime: String,
    /// Its bytes in standard base64.
    pub base64: String,
}

/// A block that a provider wants back unchanged in the next requests, such as signed thinking.
#[derive(Clone, Debug)]
pub struct Opaque {
    /// The [`Model::name`] that made it; it is sent back to no other.
    pub model: String,
    /// The block.
    pub raw: Box<RawValue>,
}

/// A piece of a model's answer, in the order it arrives.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// More text of the answer; never empty.
    Text(String),
    /// More of the model's thinking, where the provider shows it. Not part of the answer.
    Reasoning(String),
    /// A block to keep in the assistant's message at this place, as [`Block::Opaque`].
    Opaque(Opaque),
    /// A tool call. It may run once [`Event::Stop`] has come.
    ToolCall(ToolCall),
    /// A tool call that must not run; the model is told why instead.
    BrokenCall(BrokenCall),
    /// What the answer cost; at most once, right before [`Event::Stop`].
    Usage(Usage),
    /// The end of the answer.
    Stop(StopReason),
}

/// A tool call that was cut off or whose arguments are not a JSON object.
#[derive(Clone, Debug)]
pub struct BrokenCall {
    /// Names the call, as [`ToolCall::id`].
    pub id: String,
    /// The tool's name as far as the model wrote it.
    pub name: String,
    /// The arguments as far as the model wrote them.
    pub arguments: String,
    /// What is wrong, in words for the model.
    pub problem: String,
}

/// Tokens used by one answer, as the provider counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request, cached ones included.
    pub input_tokens: u64,
    /// Tokens of the answer, thinking included.
    pub output_tokens: u64,
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The model is done.
    End,
    /// The model waits for the results of its calls; at least one call event came before.
    ToolUse,
    /// The answer reached [`Request::max_tokens`] or the end of the model's window.
    MaxTokens,
    /// The model or a filter of the provider refused to go on.
    Refusal,
    /// A reason that only this provider knows, in its words.
    Other(String),
}
