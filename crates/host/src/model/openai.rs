//! OpenAI-compatible chat completions, streamed.
//!
//! Spoken by OpenAI itself and by Ollama (`/v1`), llama.cpp, vLLM, OpenRouter and many more.
//! They differ in details, so the decoder takes what each of them sends, and the request starts
//! with what most of them know and changes when a server asks for it.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures_util::stream::BoxStream;

use super::drive::{self, Advice, Connection, Decode, Exchange, Target};
use super::fault::Fault;
use super::{Event, Model, ModelError, ModelErrorKind, Request};
use decode::Decoder;

/// Who offers the API: decides the provider's name and the advice in errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Service {
    /// OpenAI, or anything at a base URL of the user's.
    OpenAi,
    /// A local Ollama.
    Ollama,
    /// A local llama.cpp server.
    LlamaCpp,
}

impl Service {
    /// The provider's name in `provider:model`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
            Self::LlamaCpp => "llamacpp",
        }
    }

    fn advice(self) -> Advice {
        match self {
            Self::OpenAi => Advice {
                unreachable: "check the network and OPENAI_BASE_URL",
                auth: "check OPENAI_API_KEY",
            },
            Self::Ollama => Advice {
                unreachable: "is Ollama running? Start it with `ollama serve`, or set OLLAMA_HOST",
                auth: "this server wants a key; use openai:… with OPENAI_BASE_URL and OPENAI_API_KEY",
            },
            Self::LlamaCpp => Advice {
                unreachable: "is llama-server running on its default port 8080?",
                auth: "this server wants a key; use openai:… with OPENAI_BASE_URL and OPENAI_API_KEY",
            },
        }
    }
}

/// A model behind an OpenAI-compatible chat completions endpoint.
#[derive(Debug)]
pub struct OpenAiChat {
    name: String,
    model: String,
    target: Arc<Target>,
    quirks: Arc<Quirks>,
}

impl OpenAiChat {
    /// A model of a service. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// If the base URL or the key cannot be used.
    pub fn new(
        service: Service,
        model: impl Into<String>,
        connection: Connection,
    ) -> Result<Self, ModelError> {
        let bearer = |key: &super::Secret| ("authorization", format!("Bearer {}", key.expose()));
        let target =
            Target::new(service.name(), service.advice(), connection, "chat/completions", bearer)?;
        let model = model.into();
        let host = target.host();
        // OpenAI's own models refuse the older name of the limit; older servers know no other.
        let official = host == "api.openai.com" || host.ends_with(".openai.azure.com");
        // Gemini's models know a part of JSON Schema.
        let narrow = host.ends_with(".googleapis.com");
        let quirks = Quirks {
            new_limit: AtomicBool::new(official),
            narrow: AtomicBool::new(narrow),
            ..Quirks::default()
        };
        Ok(Self {
            name: format!("{}:{model}", service.name()),
            model,
            target: Arc::new(target),
            quirks: Arc::new(quirks),
        })
    }
}

impl Model for OpenAiChat {
    fn name(&self) -> &str {
        &self.name
    }

    fn native_tools(&self) -> bool {
        true
    }

    fn stream(&self, request: &Request) -> BoxStream<'static, Result<Event, ModelError>> {
        let exchange = Chat {
            request: request.clone(),
            model: self.model.clone(),
            dialect: self.quirks.dialect(),
            quirks: Arc::clone(&self.quirks),
        };
        drive::run(Arc::clone(&self.target), Box::new(exchange))
    }
}

/// What this server was found to need, remembered for the next requests.
#[derive(Debug, Default)]
struct Quirks {
    /// `max_completion_tokens` in place of `max_tokens`.
    new_limit: AtomicBool,
    /// `reasoning_effort: "none"`: some models of OpenAI reason by default, but take tools in
    /// this API only without.
    no_effort: AtomicBool,
    /// No `stream_options`, which gives up the token counts.
    no_stream_options: AtomicBool,
    /// The tools' schemas with nothing in them but what every provider knows.
    narrow: AtomicBool,
}

impl Quirks {
    fn dialect(&self) -> Dialect {
        Dialect {
            new_limit: self.new_limit.load(Ordering::Relaxed),
            no_effort: self.no_effort.load(Ordering::Relaxed),
            no_stream_options: self.no_stream_options.load(Ordering::Relaxed),
            narrow: self.narrow.load(Ordering::Relaxed),
        }
    }
}

/// The quirks as one request takes them into account.
#[derive(Clone, Copy, Debug, Default)]
struct Dialect {
    new_limit: bool,
    no_effort: bool,
    no_stream_options: bool,
    narrow: bool,
}

struct Chat {
    request: Request,
    model: String,
    dialect: Dialect,
    quirks: Arc<Quirks>,
}

impl Exchange for Chat {
    fn body(&self) -> Result<Bytes, serde_json::Error> {
        encode::body(&self.request, &self.model, self.dialect)
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::new(Decoder::new(self.request.messages.len()))
    }

    fn adapt(&mut self, refusal: &Fault) -> bool {
        let message = refusal.message.as_str();
        let (changed, remembered) = match refusal.param.as_deref() {
            Some("max_tokens") if message.contains("max_completion_tokens") => {
                (&mut self.dialect.new_limit, &self.quirks.new_limit)
            }
            Some("reasoning_effort") if !self.request.tools.is_empty() => {
                (&mut self.dialect.no_effort, &self.quirks.no_effort)
            }
            _ if message.contains("stream_options") => {
                (&mut self.dialect.no_stream_options, &self.quirks.no_stream_options)
            }
            _ if !self.request.tools.is_empty() && is_about_schemas(refusal) => {
                (&mut self.dialect.narrow, &self.quirks.narrow)
            }
            _ => return false,
        };
        remembered.store(true, Ordering::Relaxed);
        // Refused although changed already: the same again would not help.
        !core::mem::replace(changed, true)
    }
}

/// Whether a server objects to something in the tools' schemas.
fn is_about_schemas(refusal: &Fault) -> bool {
    const WORDS: [&str; 6] =
        ["schema", "additionalProperties", "$ref", "$defs", "exclusiveM", "function_declarations"];
    refusal.kind == ModelErrorKind::BadRequest
        && WORDS.iter().any(|word| refusal.message.contains(word))
}
