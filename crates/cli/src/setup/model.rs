//! Which model answers.

use super::Setup;
use crate::environment;
use carrick_host::model::Secret;
use carrick_host::model::select::{ConfiguredProvider, SelectError, Selection, Settings, select};

/// Chooses the model: by the flag, the environment, the config, or what there is.
pub(crate) async fn model(setup: &Setup, flag: Option<String>) -> Result<Selection, SelectError> {
    let mut settings = Settings::from_lookup(environment::variable);
    settings.flag = flag;
    settings.config = setup.settings.model.clone();
    for (name, entry) in &setup.settings.models {
        let entry = match entry {
            Ok(entry) => Ok(ConfiguredProvider {
                provider: entry.provider.clone(),
                base_url: entry.base_url.clone(),
                key: entry.api_key.as_ref().and_then(|key| Secret::new(key.expose())),
            }),
            Err(error) => Err(error.to_string()),
        };
        settings.add_provider(name, entry);
    }
    select(&settings, &setup.http).await
}
