//! `provider:model` names.

use core::error::Error;
use core::fmt;
use core::str::FromStr;

/// A provider that can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// `anthropic`
    Anthropic,
    /// `openai`, and whatever else is at `OPENAI_BASE_URL`.
    OpenAi,
    /// `ollama`
    Ollama,
    /// `llamacpp`
    LlamaCpp,
    /// `builtin`; its only model is `match`.
    Matcher,
}

/// The providers by name.
const PROVIDERS: &[(&str, Provider)] = &[
    ("anthropic", Provider::Anthropic),
    ("openai", Provider::OpenAi),
    ("ollama", Provider::Ollama),
    ("llamacpp", Provider::LlamaCpp),
    ("builtin", Provider::Matcher),
];

/// The built-in matcher's name behind `builtin:`.
const MATCH: &str = "match";

/// A model's name: `provider:model`, or `provider` alone for its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelName {
    /// Who offers it.
    pub provider: Provider,
    /// The provider's own name of it, which may hold colons; `None` for the default.
    pub model: Option<String>,
}

impl FromStr for ModelName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let text = text.trim();
        let (provider, model) = match text.split_once(':') {
            Some((provider, model)) => (provider.trim(), Some(model.trim())),
            None => (text, None),
        };
        let model = model.filter(|model| !model.is_empty());
        let known = PROVIDERS.iter().find(|(name, _)| name.eq_ignore_ascii_case(provider));
        let refuse = |reason| NameError { name: text.to_owned(), reason };
        match known {
            Some((_, Provider::Matcher)) if model.is_some_and(|model| model != MATCH) => {
                Err(refuse(Reason::NotBuiltIn))
            }
            Some((_, provider)) => {
                Ok(Self { provider: *provider, model: model.map(str::to_owned) })
            }
            None if provider.eq_ignore_ascii_case("gemini") => Err(refuse(Reason::Gemini)),
            None if text.contains(':') => Err(refuse(Reason::UnknownProvider)),
            None => Err(refuse(Reason::NoProvider)),
        }
    }
}

/// A name that is no model's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameError {
    name: String,
    reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    NoProvider,
    UnknownProvider,
    NotBuiltIn,
    Gemini,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        let known = PROVIDERS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        match self.reason {
            Reason::NoProvider => {
                write!(f, "{name:?} names no provider; write provider:model with one of {known}")
            }
            Reason::UnknownProvider => {
                write!(f, "the provider in {name:?} is unknown; there are {known}")
            }
            Reason::NotBuiltIn => {
                write!(f, "{name:?} does not exist; the built-in one is builtin:{MATCH}")
            }
            Reason::Gemini => write!(
                f,
                "Gemini's own API is not supported; for {name:?} use openai:… with OPENAI_BASE_URL set to Google's OpenAI-compatible endpoint"
            ),
        }
    }
}

impl Error for NameError {}
