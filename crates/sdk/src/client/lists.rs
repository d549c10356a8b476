//! Lists, page by page to the end.

use super::{Client, ClientError};
use carrick_proto::rpc::Json;
use carrick_proto::types::{Prompt, RawJson, Resource, ResourceTemplate, Tool};
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Pages taken of one list; more is a server that never ends.
const PAGES: usize = 1000;

impl Client {
    /// All tools. Entries that are not what the protocol says are left out with
    /// a warning.
    ///
    /// # Errors
    /// When a page cannot be had.
    pub async fn list_tools(&self) -> Result<Vec<Tool>, ClientError> {
        let tools: Vec<Tool> = self.list("tools/list", "tools").await?;
        let object = |tool: &Tool| tool.input_schema.get().trim_start().starts_with('{');
        Ok(tools
            .into_iter()
            .filter(|tool| {
                let keep = object(tool) && !tool.name.is_empty();
                if !keep {
                    tracing::warn!(tool = tool.name, "left out: no name or no input schema");
                }
                keep
            })
            .collect())
    }

    /// All resources that are listed.
    ///
    /// # Errors
    /// When a page cannot be had.
    pub async fn list_resources(&self) -> Result<Vec<Resource>, ClientError> {
        self.list("resources/list", "resources").await
    }

    /// All templates of resources.
    ///
    /// # Errors
    /// When a page cannot be had.
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, ClientError> {
        self.list("resources/templates/list", "resourceTemplates").await
    }

    /// All prompts.
    ///
    /// # Errors
    /// When a page cannot be had.
    pub async fn list_prompts(&self) -> Result<Vec<Prompt>, ClientError> {
        self.list("prompts/list", "prompts").await
    }

    async fn list<T: DeserializeOwned>(
        &self,
        method: &str,
        member: &str,
    ) -> Result<Vec<T>, ClientError> {
        let mut all = Vec::new();
        let mut cursors = BTreeSet::new();
        let mut cursor: Option<String> = None;
        for _ in 0..PAGES {
            let params = match &cursor {
                Some(cursor) => json!({ "cursor": cursor }).to_string().into_bytes(),
                None => Vec::new(),
            };
            let page = self.request(method, params, None, None).await?;
            cursor = add_page(&page, member, &mut all)?;
            // An empty string is a cursor too; a repeated one leads nowhere new.
            match &cursor {
                None => return Ok(all),
                Some(next) if !cursors.insert(next.clone()) => {
                    tracing::warn!(method, cursor = next, "the server repeats a page; list ended");
                    return Ok(all);
                }
                Some(_) => {}
            }
        }
        tracing::warn!(method, pages = PAGES, "the list does not end; the rest is left out");
        Ok(all)
    }
}

fn add_page<T: DeserializeOwned>(
    page: &Json,
    member: &str,
    all: &mut Vec<T>,
) -> Result<Option<String>, ClientError> {
    let mut page: BTreeMap<String, RawJson> = super::read(page)?;
    let protocol = |e: serde_json::Error| super::CallError::Protocol(format!("{member}: {e}"));
    // A null list and a missing one count as empty.
    let entries: Option<Vec<RawJson>> = match page.remove(member) {
        Some(list) => serde_json::from_str(list.get()).map_err(protocol)?,
        None => None,
    };
    for entry in entries.unwrap_or_default() {
        match serde_json::from_str(entry.get()) {
            Ok(entry) => all.push(entry),
            Err(error) => tracing::warn!(%error, list = member, "a malformed entry is left out"),
        }
    }
    match page.remove("nextCursor") {
        Some(cursor) => Ok(serde_json::from_str(cursor.get()).map_err(protocol)?),
        None => Ok(None),
    }
}
