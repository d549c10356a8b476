//! Lists, page by page to the end.

use super::{Client, ClientError};
use carrick_proto::rpc::Json;
use carrick_proto::types::{Prompt, RawJson, Resource, ResourceTemplate, Tool};
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::Instant;

/// Pages taken of one list; more is a server that never ends.
const PAGES: usize = 1000;

/// Entries taken of one list.
const ENTRIES: usize = 100_000;

impl Client {
    /// All tools, each name once. Entries that are not what the protocol says
    /// are left out with a warning.
    ///
    /// # Errors
    /// When a page cannot be had.
    pub async fn list_tools(&self) -> Result<Vec<Tool>, ClientError> {
        let mut tools: Vec<Tool> =
            self.list("tools/list", "tools", |tool: &Tool| &tool.name).await?;
        tools.retain(|tool| {
            let keep = tool.input_schema.get().starts_with('{') && !tool.name.is_empty();
            if !keep {
                tracing::warn!(tool = tool.name, "left out: no name or no input schema");
            }
            keep
        });
        Ok(tools)
    }

    /// All resources that are listed, each address once.
    ///
    /// # Errors
    /// When a page cannot be had.
    pub async fn list_resources(&self) -> Result<Vec<Resource>, ClientError> {
        self.list("resources/list", "resources", |resource: &Resource| &resource.uri).await
    }

    /// All templates of resources, each once.
    ///
    /// # Errors
    /// When a page cannot be had.
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, ClientError> {
        self.list("resources/templates/list", "resourceTemplates", |template: &ResourceTemplate| {
            &template.uri_template
        })
        .await
    }

    /// All prompts, each name once.
    ///
    /// # Errors
    /// When a page cannot be had.
    pub async fn list_prompts(&self) -> Result<Vec<Prompt>, ClientError> {
        self.list("prompts/list", "prompts", |prompt: &Prompt| &prompt.name).await
    }

    /// Walks a list to its end, or until it is clear that it has none: a cursor
    /// that came before, too many pages or entries, or pages that go on for
    /// longer than a call may take without a sign of life.
    async fn list<T: DeserializeOwned>(
        &self,
        method: &str,
        member: &str,
        key: impl Fn(&T) -> &String,
    ) -> Result<Vec<T>, ClientError> {
        let started = Instant::now();
        let mut all: Vec<T> = Vec::new();
        let (mut known, mut cursors) = (BTreeSet::new(), BTreeSet::new());
        let mut cursor: Option<String> = None;
        for page in 1.. {
            let params = match &cursor {
                Some(cursor) => json!({ "cursor": cursor }).to_string().into_bytes(),
                None => Vec::new(),
            };
            let (entries, next) =
                read_page(&self.request(method, params, None, None).await?, member)?;
            all.extend(entries.into_iter().filter(|entry| known.insert(key(entry).clone())));
            // An empty string is a cursor too.
            let Some(next) = next else { break };
            let why = if cursors.contains(&next) {
                "it repeats a cursor"
            } else if page >= PAGES || all.len() >= ENTRIES {
                "it is too long"
            } else if started.elapsed() >= self.options.timeout {
                "it takes too long"
            } else {
                cursors.insert(next.clone());
                cursor = Some(next);
                continue;
            };
            tracing::warn!(method, entries = all.len(), why, "a list is cut here");
            break;
        }
        Ok(all)
    }
}

/// The entries of a page, and where the next one starts.
fn read_page<T: DeserializeOwned>(
    page: &Json,
    member: &str,
) -> Result<(Vec<T>, Option<String>), ClientError> {
    let mut page: BTreeMap<String, RawJson> = super::read(page)?;
    let protocol = |e: serde_json::Error| super::CallError::Protocol(format!("{member}: {e}"));
    // A null list and a missing one count as empty.
    let listed: Option<Vec<RawJson>> = match page.remove(member) {
        Some(list) => serde_json::from_str(list.get()).map_err(protocol)?,
        None => None,
    };
    let mut entries = Vec::new();
    for entry in listed.unwrap_or_default() {
        match serde_json::from_str(entry.get()) {
            Ok(entry) => entries.push(entry),
            Err(error) => tracing::warn!(%error, list = member, "a malformed entry is left out"),
        }
    }
    let cursor = match page.remove("nextCursor") {
        Some(cursor) => serde_json::from_str(cursor.get()).map_err(protocol)?,
        None => None,
    };
    Ok((entries, cursor))
}
