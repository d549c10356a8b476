//! Carrick's own settings beside `mcpServers`.

use std::time::Duration;

use super::super::error::{Fault, Located};
use super::super::settings::Limits;
use super::super::template::{ModelTemplate, RuleTemplate, SettingsTemplate};
use super::keys::{Table, invalid, nearest, wrong_type};
use super::server::MAX_MILLIS;
use carrick_policy::json::{Member, Value};
use carrick_policy::{Effect, Pattern};

/// The most permission rules in one list.
const MAX_RULES: usize = 1000;
/// The most folders that servers are told of.
const MAX_ROOTS: usize = 100;

/// The provider interfaces that Carrick speaks.
const PROVIDERS: &[&str] = &["anthropic", "openai", "gemini", "ollama"];

pub(super) fn read(top: &Table<'_>) -> Result<SettingsTemplate, Located> {
    Ok(SettingsTemplate {
        model: model(top)?,
        models: models(top)?,
        rules: rules(top)?,
        limits: limits(top)?,
        roots: roots(top)?,
    })
}

fn model(top: &Table<'_>) -> Result<Option<String>, Located> {
    let Some(model) = top.text("model")? else { return Ok(None) };
    match model.raw.split_once(':') {
        Some((provider, name)) if !provider.is_empty() && !name.is_empty() => Ok(Some(model.raw)),
        _ => Err(invalid(&model, "a model is written provider:model, such as \"ollama:qwen3\"")),
    }
}

fn models(top: &Table<'_>) -> Result<Vec<ModelTemplate>, Located> {
    let Some(node) = top.node("models") else { return Ok(Vec::new()) };
    let Value::Map(members) = &node.value else {
        return Err(wrong_type(node, "models", "an object: a provider and its settings each"));
    };
    members.iter().map(provider).collect()
}

fn provider(member: &Member) -> Result<ModelTemplate, Located> {
    let entry = Table::new(&member.node, "a model provider", &member.key)?;
    entry.check_keys(&["provider", "baseUrl", "apiKey"], &[])?;
    let named = entry.text("provider")?;
    let (provider, at) = match &named {
        Some(text) => (&text.raw, text.at),
        None => (&member.key, member.at),
    };
    if !PROVIDERS.contains(&&**provider) {
        let reason = match nearest(provider, PROVIDERS) {
            Some(near) => format!("no such provider; did you mean \"{near}\"?"),
            None => format!("\"provider\" must be one of {}", PROVIDERS.join(", ")),
        };
        return Err(Located { at, fault: Fault::Invalid { field: provider.clone(), reason } });
    }
    Ok(ModelTemplate {
        name: member.key.clone(),
        provider: provider.clone(),
        base_url: entry.text("baseUrl")?,
        api_key: entry.text("apiKey")?,
    })
}

fn roots(top: &Table<'_>) -> Result<Option<Vec<String>>, Located> {
    if top.node("roots").is_none() {
        return Ok(None);
    }
    let folders = top.texts("roots")?;
    if let Some(extra) = folders.get(MAX_ROOTS) {
        return Err(invalid(extra, format!("at most {MAX_ROOTS} folders")));
    }
    if let Some(empty) = folders.iter().find(|folder| folder.raw.is_empty()) {
        return Err(invalid(empty, "a folder has a path; \".\" is this one"));
    }
    Ok(Some(folders.into_iter().map(|folder| folder.raw).collect()))
}

fn rules(top: &Table<'_>) -> Result<Vec<RuleTemplate>, Located> {
    let Some(node) = top.node("permissions") else { return Ok(Vec::new()) };
    let lists = Table::new(node, "\"permissions\"", "permissions")?;
    lists.check_keys(&["allow", "ask", "deny"], &[])?;
    let mut rules = Vec::new();
    for (key, effect) in [("deny", Effect::Deny), ("ask", Effect::Ask), ("allow", Effect::Allow)] {
        let texts = lists.texts(key)?;
        if let Some(extra) = texts.get(MAX_RULES) {
            return Err(invalid(extra, format!("at most {MAX_RULES} rules in one list")));
        }
        for text in texts {
            let pattern =
                text.raw.parse::<Pattern>().map_err(|error| invalid(&text, error.to_string()))?;
            rules.push(RuleTemplate { effect, pattern, at: text.at });
        }
    }
    Ok(rules)
}

fn limits(top: &Table<'_>) -> Result<Limits, Located> {
    let Some(node) = top.node("limits") else { return Ok(Limits::default()) };
    let table = Table::new(node, "\"limits\"", "limits")?;
    table.check_keys(
        &[
            "rounds",
            "calls",
            "tokens",
            "turnTimeout",
            "connectTimeout",
            "startupWait",
            "requestTimeout",
            "maxRequestTimeout",
            "messageBytes",
        ],
        &[],
    )?;
    let time = |key| table.count(key, MAX_MILLIS).map(|millis| millis.map(Duration::from_millis));
    Ok(Limits {
        rounds: table.count("rounds", 1_000_000)?,
        calls: table.count("calls", 1_000_000)?,
        tokens: table.count("tokens", u64::MAX)?,
        turn_timeout: time("turnTimeout")?,
        connect_timeout: time("connectTimeout")?,
        startup_wait: time("startupWait")?,
        request_timeout: time("requestTimeout")?,
        max_request_timeout: time("maxRequestTimeout")?,
        message_bytes: table.count("messageBytes", u64::from(u32::MAX))?,
    })
}
