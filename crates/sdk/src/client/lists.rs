//! Lists, page by page to the end.

use super::cache::Key;
use super::{CallError, Changed, Client, ClientError};
use carrick_proto::method::Method;
use carrick_proto::rpc::Json;
use carrick_proto::text::excerpt;
use carrick_proto::types::{Prompt, RawJson, Resource, ResourceTemplate, Tool};
use futures_util::future::{BoxFuture, FutureExt};
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::Instant;

/// Pages taken of one list; more is a server that never ends.
const PAGES: usize = 1000;

/// Entries taken of one list.
const ENTRIES: usize = 100_000;

impl Client {
    /// All tools, each name once: as they are kept, while that may still be used
    /// (`server/utilities/caching`), or else from the server. Entries that are not what the protocol says
    /// are left out with a warning.
    ///
    /// # Errors
    /// When a page cannot be had.
    pub async fn list_tools(&self) -> Result<Vec<Tool>, ClientError> {
        let epoch = self.shared.cache().tools_epoch();
        let mut tools: Vec<Tool> =
            self.list(Method::ToolsList, "tools", |tool: &Tool| &tool.name).await?;
        tools.retain(|tool| {
            let keep = tool.input_schema.get().starts_with('{') && !tool.name.is_empty();
            if !keep {
                tracing::warn!(tool = tool.name, "left out: no name or no input schema");
            }
            keep
        });
        self.shared.cache().learn_tools(epoch, &tools);
        Ok(tools)
    }

    /// All resources that are listed, each address once.
    ///
    /// # Errors
    /// When a page cannot be had.
    pub async fn list_resources(&self) -> Result<Vec<Resource>, ClientError> {
        self.list(Method::ResourcesList, "resources", |resource: &Resource| &resource.uri).await
    }

    /// All templates of resources, each once.
    ///
    /// # Errors
    /// When a page cannot be had.
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, ClientError> {
        let method = Method::ResourcesTemplatesList;
        self.list(method, "resourceTemplates", |one: &ResourceTemplate| &one.uri_template).await
    }

    /// All prompts, each name once.
    ///
    /// # Errors
    /// When a page cannot be had.
    pub async fn list_prompts(&self) -> Result<Vec<Prompt>, ClientError> {
        self.list(Method::PromptsList, "prompts", |prompt: &Prompt| &prompt.name).await
    }

    /// Takes the tools from the server, whatever is kept of them. A future that
    /// is boxed, as it is a part of what it is made of.
    pub(super) fn relist_tools(&self) -> BoxFuture<'_, Result<(), ClientError>> {
        self.shared.cache().forget(&Changed::Tools);
        async { self.list_tools().await.map(drop) }.boxed()
    }

    async fn list<T: DeserializeOwned>(
        &self,
        method: Method,
        member: &str,
        key: impl Fn(&T) -> &String,
    ) -> Result<Vec<T>, ClientError> {
        match self.walk(method, member, &key).await {
            Walk::Whole(all) => Ok(all),
            Walk::Failed(error) => Err(error),
            // A cursor that was kept may be none of the server's any more.
            Walk::Stale => {
                self.shared.cache().forget_list(method);
                match self.walk(method, member, &key).await {
                    Walk::Whole(all) => Ok(all),
                    Walk::Failed(error) => Err(error),
                    Walk::Stale => {
                        let text = format!("{}: the list changes while it is read", method.name());
                        Err(CallError::Protocol(text).into())
                    }
                }
            }
        }
    }

    /// Walks a list to its end, or until it is clear that it has none: a cursor
    /// that came before, too many pages or entries, or pages that go on for
    /// longer than a call may take without a sign of life.
    async fn walk<T: DeserializeOwned>(
        &self,
        method: Method,
        member: &str,
        key: impl Fn(&T) -> &String,
    ) -> Walk<T> {
        let started = Instant::now();
        let mut all: Vec<T> = Vec::new();
        let (mut known, mut cursors) = (BTreeSet::new(), BTreeSet::new());
        let (mut cursor, mut any_kept) = (None::<String>, false);
        for page in 1.. {
            let (entries, next) = match self.page(method, member, cursor.as_deref()).await {
                Ok((entries, next, kept)) => {
                    any_kept |= kept;
                    (entries, next)
                }
                Err(ClientError::Call(CallError::Rpc(_))) if any_kept => return Walk::Stale,
                Err(error) => return Walk::Failed(error),
            };
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
            tracing::warn!(method = method.name(), entries = all.len(), why, "a list is cut here");
            break;
        }
        Walk::Whole(all)
    }

    /// One page: its entries, where the next one starts, and whether it was kept.
    async fn page<T: DeserializeOwned>(
        &self,
        method: Method,
        member: &str,
        cursor: Option<&str>,
    ) -> Result<(Vec<T>, Option<String>, bool), ClientError> {
        let params = match cursor {
            Some(cursor) => json!({ "cursor": cursor }).to_string().into_bytes(),
            None => Vec::new(),
        };
        let (page, kept) = self.fetch(Key::new(method, cursor), params, None).await?;
        let (entries, next) = read_page(&page, member)?;
        Ok((entries, next, kept))
    }
}

/// How a walk through a list came out.
enum Walk<T> {
    Whole(Vec<T>),
    Failed(ClientError),
    /// The server refuses a page whose cursor stood in one that was kept.
    Stale,
}

/// What an entry that is malformed calls itself.
fn name_of(entry: &RawJson) -> String {
    let members: BTreeMap<String, RawJson> = serde_json::from_str(entry.get()).unwrap_or_default();
    let name = ["name", "uri", "uriTemplate"].into_iter().find_map(|name| members.get(name));
    name.map_or_else(|| "(none)".into(), |name| excerpt(name.get(), 200).into_owned())
}

/// The entries of a page, and where the next one starts.
fn read_page<T: DeserializeOwned>(
    page: &Json,
    member: &str,
) -> Result<(Vec<T>, Option<String>), ClientError> {
    let mut page: BTreeMap<String, RawJson> = super::read(page)?;
    let protocol = |e: serde_json::Error| CallError::Protocol(format!("{member}: {e}"));
    // A null list and a missing one count as empty.
    let listed: Option<Vec<RawJson>> = match page.remove(member) {
        Some(list) => serde_json::from_str(list.get()).map_err(protocol)?,
        None => None,
    };
    let mut entries = Vec::new();
    for entry in listed.unwrap_or_default() {
        match serde_json::from_str(entry.get()) {
            Ok(entry) => entries.push(entry),
            Err(error) => {
                let name = name_of(&entry);
                tracing::warn!(%error, list = member, name, "a malformed entry is left out");
            }
        }
    }
    let cursor = match page.remove("nextCursor") {
        Some(cursor) => serde_json::from_str(cursor.get()).map_err(protocol)?,
        None => None,
    };
    Ok((entries, cursor))
}
