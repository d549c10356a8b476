//! The providers that a configuration describes.

use super::{Secret, SelectError, Settings};

/// How the configuration says to reach a provider.
#[derive(Clone, Debug)]
pub struct ConfiguredProvider {
    /// The provider whose interface it speaks, such as `openai`.
    pub provider: String,
    /// The address in place of the provider's own.
    pub base_url: Option<String>,
    /// The key that it asks for.
    pub key: Option<Secret>,
}

impl Settings {
    /// Adds an entry of `models` in the configuration, or why it cannot be used.
    ///
    /// An entry that bears its provider's own name says what the environment does not. Under
    /// any other name it stands alone: `name:model` uses its address and its key, never those
    /// of the environment. One that cannot be used is an error only for who names it.
    pub fn add_provider(&mut self, name: &str, entry: Result<ConfiguredProvider, String>) {
        if let Ok(entry) = &entry
            && entry.provider == name
        {
            self.complete(entry);
        }
        self.providers.insert(name.to_owned(), entry);
    }

    /// Takes from an entry what is not set already.
    fn complete(&mut self, entry: &ConfiguredProvider) {
        let (key, url) = match entry.provider.as_str() {
            "anthropic" => (Some(&mut self.anthropic_key), &mut self.anthropic_url),
            "openai" => (Some(&mut self.openai_key), &mut self.openai_url),
            "ollama" => (None, &mut self.ollama_host),
            _ => return,
        };
        // A key goes to the address that it was given for, and to no other.
        let elsewhere = url.is_some() && entry.base_url.is_some();
        if let Some(key) = key.filter(|key| key.is_none() && !elsewhere) {
            key.clone_from(&entry.key);
        }
        if url.is_none() {
            url.clone_from(&entry.base_url);
        }
    }

    /// The settings and the name that stand for a model of a provider in the configuration;
    /// `None` if the name's provider is not one, or is to be reached as these settings say.
    pub(super) fn configured(&self, name: &str) -> Result<Option<(Self, String)>, SelectError> {
        let (provider, model) = match name.split_once(':') {
            Some((provider, model)) => (provider.trim(), Some(model)),
            None => (name, None),
        };
        match self.providers.get(provider) {
            None => Ok(None),
            Some(Err(why)) => Err(SelectError::Configured(why.clone())),
            Some(Ok(entry)) if entry.provider == provider => Ok(None),
            Some(Ok(entry)) => {
                let mut own = Self { limits: self.limits, ..Self::default() };
                own.complete(entry);
                let model = model.map(|model| format!(":{model}")).unwrap_or_default();
                Ok(Some((own, format!("{}{model}", entry.provider))))
            }
        }
    }
}
