//! Which model answers.

use super::Setup;
use crate::environment;
use carrick_host::model::Secret;
use carrick_host::model::select::{
    Choice, ConfiguredProvider, SelectError, Selection, Settings, select,
};
use std::time::Duration;

/// How long a provider may take to say which models it has, where that only serves
/// what a server may ask.
const LOOKING: Duration = Duration::from_secs(1);

/// Chooses the model: by the flag, the environment, the config, or what there is.
pub(crate) async fn model(setup: &Setup, flag: Option<String>) -> Result<Selection, SelectError> {
    let mut settings = settings(setup);
    settings.flag = flag;
    select(&settings, &setup.http).await
}

/// Lets servers ask the model that is set up, where one is. No local one is looked
/// for: the command itself needs none.
pub(crate) async fn offer_configured(setup: &Setup) {
    let mut settings = settings(setup);
    settings.local_wait = None;
    match tokio::time::timeout(LOOKING, select(&settings, &setup.http)).await {
        Ok(Ok(Selection { choice: Choice::Model(model), .. })) => setup.offer_model(&model),
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::info!(%error, "servers cannot ask a model"),
        Err(_) => tracing::info!("servers cannot ask a model: its server does not answer"),
    }
}

fn settings(setup: &Setup) -> Settings {
    let mut settings = Settings::from_lookup(environment::variable);
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
    settings
}
