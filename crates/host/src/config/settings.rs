//! What a config says beside its servers.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::error::ConfigError;
use carrick_policy::Rule;

/// The settings of all files together.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// The model to use, as `provider:model`.
    pub model: Option<String>,
    /// Model providers by name. One whose variables are not set carries the
    /// error instead; the others stay usable.
    pub models: BTreeMap<String, Result<ModelProvider, ConfigError>>,
    /// Permission rules of all files.
    pub rules: Vec<Rule>,
    /// Bounds on the work; what is not set has the default of its user.
    pub limits: Limits,
    /// The folders that servers are told of when they ask for roots; `None` where
    /// no file says.
    pub roots: Option<Vec<PathBuf>>,
}

/// How to reach a provider of models.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelProvider {
    /// Which interface it speaks: `anthropic`, `openai`, `gemini` or `ollama`.
    pub provider: String,
    /// The address in place of the provider's own.
    pub base_url: Option<String>,
    /// The key that the provider asks for.
    pub api_key: Option<Secret>,
}

/// Bounds on the work. `None` means: not set in any file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Rounds between model and tools in one turn.
    pub rounds: Option<u64>,
    /// Tool calls in one turn.
    pub calls: Option<u64>,
    /// Tokens that one turn may use, input and output together.
    pub tokens: Option<u64>,
    /// The time for a whole turn.
    pub turn_timeout: Option<Duration>,
    /// The time to connect to a server.
    pub connect_timeout: Option<Duration>,
    /// How long a command waits for servers that are still starting before it
    /// goes on without them.
    pub startup_wait: Option<Duration>,
    /// The time for a request, until the server reports progress.
    pub request_timeout: Option<Duration>,
    /// The time for a request however much progress is reported.
    pub max_request_timeout: Option<Duration>,
    /// The largest message taken from a server, in bytes.
    pub message_bytes: Option<u64>,
}

impl Limits {
    /// These limits, with those of `over` wherever it has them.
    #[must_use]
    pub fn overlaid(&self, over: &Self) -> Self {
        Self {
            rounds: over.rounds.or(self.rounds),
            calls: over.calls.or(self.calls),
            tokens: over.tokens.or(self.tokens),
            turn_timeout: over.turn_timeout.or(self.turn_timeout),
            connect_timeout: over.connect_timeout.or(self.connect_timeout),
            startup_wait: over.startup_wait.or(self.startup_wait),
            request_timeout: over.request_timeout.or(self.request_timeout),
            max_request_timeout: over.max_request_timeout.or(self.max_request_timeout),
            message_bytes: over.message_bytes.or(self.message_bytes),
        }
    }
}

/// A value that must not reach a log or a screen by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
