//! Anthropic's messages API, streamed.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::BoxStream;

use super::drive::{self, Advice, Connection, Decode, Exchange, Target};
use super::fault::Fault;
use super::{Event, Model, ModelError, ModelErrorKind, Request};
use decode::Decoder;

/// The provider's name in `provider:model`.
const PROVIDER: &str = "anthropic";

/// The version of the API that this module speaks.
const VERSION: &str = "2023-06-01";

/// A model behind Anthropic's messages endpoint.
#[derive(Debug)]
pub struct AnthropicMessages {
    name: String,
    model: String,
    target: Arc<Target>,
}

impl AnthropicMessages {
    /// A model of Anthropic, or of a service that speaks its API. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// If the base URL or the key cannot be used.
    pub fn new(model: impl Into<String>, connection: Connection) -> Result<Self, ModelError> {
        let advice = Advice {
            unreachable: "check the network and ANTHROPIC_BASE_URL",
            auth: "check ANTHROPIC_API_KEY",
        };
        let authorize = |key: &super::Secret| ("x-api-key", key.expose().to_owned());
        let target = Target::new(PROVIDER, advice, connection, "messages", authorize)?
            .with_header("anthropic-version", VERSION);
        let model = model.into();
        Ok(Self { name: format!("{PROVIDER}:{model}"), model, target: Arc::new(target) })
    }
}

impl Model for AnthropicMessages {
    fn name(&self) -> &str {
        &self.name
    }

    fn native_tools(&self) -> bool {
        true
    }

    fn stream(&self, request: &Request) -> BoxStream<'static, Result<Event, ModelError>> {
        let exchange = Messages {
            request: request.clone(),
            name: self.name.clone(),
            model: self.model.clone(),
            with_opaque: true,
        };
        drive::run(Arc::clone(&self.target), Box::new(exchange))
    }
}

struct Messages {
    request: Request,
    name: String,
    model: String,
    /// Whether signed thinking goes back. It is bound to the conversation as it was, so it may
    /// be refused once the host has compacted that.
    with_opaque: bool,
}

impl Exchange for Messages {
    fn body(&self) -> Result<Bytes, serde_json::Error> {
        let opaque_of = self.with_opaque.then_some(self.name.as_str());
        encode::body(&self.request, &self.model, opaque_of)
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::new(Decoder::new(self.name.clone(), self.request.messages.len()))
    }

    fn adapt(&mut self, refusal: &Fault) -> bool {
        refusal.kind == ModelErrorKind::BadRequest
            && refusal.message.contains("thinking")
            && core::mem::replace(&mut self.with_opaque, false)
    }
}
