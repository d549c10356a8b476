//! Which model to use: `provider:model` names, and the rule when none is named.
//!
//! The first that is set counts: the name from the command line, `CARRICK_MODEL`, the
//! configuration; else a provider whose key (or base URL) is in the environment; else a local
//! Ollama or llama.cpp server that answers at once; else the built-in matcher. Nothing here
//! reads the environment itself: it comes as [`Settings`].

mod configured;
mod local;
mod name;
#[cfg(test)]
mod tests;

use core::error::Error;
use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use carrick::net::HttpClient;

use super::anthropic::AnthropicMessages;
use super::drive::{Connection, Limits};
use super::openai::{OpenAiChat, Service};
use super::{Model, ModelError, Secret};
pub use configured::ConfiguredProvider;
pub use name::{ModelName, NameError, Provider};

/// Model used when only `anthropic` is known.
pub const ANTHROPIC_DEFAULT: &str = "claude-sonnet-5-5";

/// Model used when only `openai` is known.
pub const OPENAI_DEFAULT: &str = "gpt-5.6-terra";

/// How long a local server may take to answer that nobody asked for.
pub const LOCAL_WAIT: Duration = Duration::from_millis(400);

const ANTHROPIC_URL: &str = "https://api.anthropic.com";
const OPENAI_URL: &str = "https://api.openai.com/v1";
const LLAMA_CPP_URL: &str = "http://127.0.0.1:8080";

/// What decides the choice, gathered by the caller. Empty strings count as unset.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// The model named on the command line.
    pub flag: Option<String>,
    /// The model named in the configuration.
    pub config: Option<String>,
    /// `CARRICK_MODEL`.
    pub carrick_model: Option<String>,
    /// `ANTHROPIC_API_KEY`.
    pub anthropic_key: Option<Secret>,
    /// `ANTHROPIC_BASE_URL`; default `https://api.anthropic.com`.
    pub anthropic_url: Option<String>,
    /// `OPENAI_API_KEY`.
    pub openai_key: Option<Secret>,
    /// `OPENAI_BASE_URL`; default `https://api.openai.com/v1`.
    pub openai_url: Option<String>,
    /// `OLLAMA_HOST`, in any of the forms that Ollama takes; default `127.0.0.1:11434`.
    pub ollama_host: Option<String>,
    /// How long each local server may take to answer when nothing is named; `None` (the
    /// default) does not look for them. [`Settings::from_lookup`] sets [`LOCAL_WAIT`].
    pub local_wait: Option<Duration>,
    /// Bounds of each request to the model.
    pub limits: Limits,
    /// The providers of the configuration, by name: see [`Settings::add_provider`].
    providers: BTreeMap<String, Result<ConfiguredProvider, String>>,
}

impl Settings {
    /// Takes the variables from `lookup`, which answers for the process environment or for a
    /// test's own.
    #[must_use]
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name| lookup(name).filter(|value| !value.trim().is_empty());
        let secret = |name| lookup(name).as_deref().and_then(Secret::new);
        Self {
            carrick_model: text("CARRICK_MODEL"),
            anthropic_key: secret("ANTHROPIC_API_KEY"),
            anthropic_url: text("ANTHROPIC_BASE_URL"),
            openai_key: secret("OPENAI_API_KEY"),
            openai_url: text("OPENAI_BASE_URL"),
            ollama_host: text("OLLAMA_HOST"),
            local_wait: Some(LOCAL_WAIT),
            ..Self::default()
        }
    }

    /// The name that is set, and where.
    fn named(&self) -> Option<(&str, &'static str)> {
        let places = [
            (&self.flag, "the command line"),
            (&self.carrick_model, "CARRICK_MODEL"),
            (&self.config, "the configuration"),
        ];
        places.into_iter().find_map(|(name, place)| {
            let name = name.as_deref()?.trim();
            (!name.is_empty()).then_some((name, place))
        })
    }
}

/// What answers questions.
#[derive(Clone)]
#[non_exhaustive]
pub enum Choice {
    /// A language model.
    Model(Arc<dyn Model>),
    /// The built-in matcher, which is no model.
    Matcher,
}

/// The choice, and why it was made, in words for the user.
#[derive(Clone, Debug)]
pub struct Selection {
    /// What answers questions.
    pub choice: Choice,
    /// Why, such as `ANTHROPIC_API_KEY is set`.
    pub reason: String,
}

/// Chooses the model by the rule above.
///
/// # Errors
///
/// If the name that is set cannot be used: the rule never passes over what was asked for.
pub async fn select(settings: &Settings, client: &HttpClient) -> Result<Selection, SelectError> {
    let chooser = Chooser { settings, client };
    if let Some((name, place)) = settings.named() {
        let in_place = |error| SelectError::Name { place, error };
        let choice = match settings.configured(name)? {
            Some((own, name)) => {
                let name = name.parse::<ModelName>().map_err(in_place)?;
                Chooser { settings: &own, client }.open(&name).await?
            }
            None => chooser.open(&name.parse::<ModelName>().map_err(in_place)?).await?,
        };
        return Ok(Selection { choice, reason: format!("named by {place}") });
    }
    if let Some((provider, name, variable)) = chooser.set_up() {
        let choice = chooser.open(&ModelName { provider, model: None }).await?;
        let reason = match settings.providers.contains_key(name) {
            true => format!("{name} is set up"),
            false => format!("{variable} is set"),
        };
        return Ok(Selection { choice, reason });
    }
    if let Some(wait) = settings.local_wait
        && let Some(selection) = chooser.local(wait).await?
    {
        return Ok(selection);
    }
    let reason = "no model is set up, and no local one answers".to_owned();
    Ok(Selection { choice: Choice::Matcher, reason })
}

struct Chooser<'a> {
    settings: &'a Settings,
    client: &'a HttpClient,
}

impl Chooser<'_> {
    /// The provider that is set up, its name, and the variable that it is set up with unless
    /// the configuration does.
    fn set_up(&self) -> Option<(Provider, &'static str, &'static str)> {
        const ANTHROPIC: (Provider, &str) = (Provider::Anthropic, "anthropic");
        const OPENAI: (Provider, &str) = (Provider::OpenAi, "openai");
        let settings = self.settings;
        let rows = [
            (settings.anthropic_key.is_some(), ANTHROPIC, "ANTHROPIC_API_KEY"),
            (settings.openai_key.is_some(), OPENAI, "OPENAI_API_KEY"),
            // A server of one's own often wants no key.
            (settings.openai_url.is_some(), OPENAI, "OPENAI_BASE_URL"),
        ];
        let (_, (provider, name), variable) = rows.into_iter().find(|(set, ..)| *set)?;
        Some((provider, name, variable))
    }

    /// Makes the model of a name; looks up the server's own when the name leaves it open.
    async fn open(&self, name: &ModelName) -> Result<Choice, SelectError> {
        let settings = self.settings;
        let model = name.model.as_deref();
        match name.provider {
            Provider::Matcher => Ok(Choice::Matcher),
            Provider::Anthropic => {
                let key = settings.anthropic_key.as_ref();
                if key.is_none() && settings.anthropic_url.is_none() {
                    return Err(SelectError::NoKey { variable: "ANTHROPIC_API_KEY" });
                }
                let base = settings.anthropic_url.as_deref().unwrap_or(ANTHROPIC_URL);
                let connection = self.connection(base, key);
                let model = model.unwrap_or(ANTHROPIC_DEFAULT);
                Ok(Choice::Model(Arc::new(AnthropicMessages::new(model, connection)?)))
            }
            Provider::OpenAi => {
                let key = settings.openai_key.as_ref();
                if key.is_none() && settings.openai_url.is_none() {
                    return Err(SelectError::NoKey { variable: "OPENAI_API_KEY" });
                }
                let default = settings.openai_url.is_none().then_some(OPENAI_DEFAULT);
                let base = settings.openai_url.as_deref().unwrap_or(OPENAI_URL);
                self.chat(Service::OpenAi, base, key, model.or(default)).await
            }
            Provider::Ollama => {
                let base = local::ollama_url(settings.ollama_host.as_deref().unwrap_or_default());
                self.chat(Service::Ollama, &base, None, model).await
            }
            Provider::LlamaCpp => self.chat(Service::LlamaCpp, LLAMA_CPP_URL, None, model).await,
        }
    }

    async fn chat(
        &self,
        service: Service,
        base: &str,
        key: Option<&Secret>,
        model: Option<&str>,
    ) -> Result<Choice, SelectError> {
        let model = match model {
            Some(model) => model.to_owned(),
            None => local::first_model(self.client, base, key, local::PATIENCE)
                .await
                .map_err(|problem| SelectError::NoDefault { provider: service.name(), problem })?,
        };
        let connection = self.connection(base, key);
        Ok(Choice::Model(Arc::new(OpenAiChat::new(service, model, connection)?)))
    }

    fn connection(&self, base: &str, key: Option<&Secret>) -> Connection {
        Connection {
            client: self.client.clone(),
            base_url: base.to_owned(),
            key: key.cloned(),
            limits: self.settings.limits,
        }
    }

    /// A local server that answers at once and has a model; Ollama before llama.cpp.
    async fn local(&self, wait: Duration) -> Result<Option<Selection>, SelectError> {
        let ollama = local::ollama_url(self.settings.ollama_host.as_deref().unwrap_or_default());
        let servers = [(Service::Ollama, ollama.as_str()), (Service::LlamaCpp, LLAMA_CPP_URL)];
        for (service, base) in servers {
            // A port where nothing listens refuses at once, so there is no need to hurry by
            // asking both together.
            let Ok(model) = local::first_model(self.client, base, None, wait).await else {
                continue;
            };
            let choice = self.chat(service, base, None, Some(&model)).await?;
            let reason = format!("{} answers at {base}", service.name());
            return Ok(Some(Selection { choice, reason }));
        }
        Ok(None)
    }
}

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(model) => f.debug_tuple("Model").field(&model.name()).finish(),
            Self::Matcher => f.write_str("Matcher"),
        }
    }
}

/// Why the model that was asked for cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum SelectError {
    /// The name is not one.
    Name {
        /// Where it was set.
        place: &'static str,
        /// What is wrong with it.
        error: NameError,
    },
    /// The provider needs a key that is not set.
    NoKey {
        /// The variable that would hold it.
        variable: &'static str,
    },
    /// No model is named, and the server did not list one.
    NoDefault {
        /// The provider.
        provider: &'static str,
        /// What its server did instead.
        problem: String,
    },
    /// The configuration's entry for the provider cannot be used; the text says where it
    /// stands.
    Configured(String),
    /// The base URL or the key cannot be used.
    Setup(ModelError),
}

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { place, error } => write!(f, "the model named by {place}: {error}"),
            Self::NoKey { variable } => {
                write!(f, "{variable} is not set; set it, or name another model")
            }
            Self::NoDefault { provider, problem } => write!(
                f,
                "no model is named for {provider}, and its server lists none: {problem}; name one as {provider}:model"
            ),
            Self::Configured(text) => f.write_str(text),
            Self::Setup(error) => error.fmt(f),
        }
    }
}

impl Error for SelectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Name { error, .. } => Some(error),
            Self::Setup(error) => Some(error),
            Self::NoKey { .. } | Self::NoDefault { .. } | Self::Configured(_) => None,
        }
    }
}

impl From<ModelError> for SelectError {
    fn from(error: ModelError) -> Self {
        Self::Setup(error)
    }
}
