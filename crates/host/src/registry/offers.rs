//! What a server offers besides tools, as far as a model is told of it.

use carrick::Client;
use carrick::client::{CallError, ClientError};
use carrick::types::{Prompt, Resource, ResourceTemplate};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Resources, templates and prompts that are kept of each server. A model may
/// ask for others by their addresses and names all the same.
const SHOWN: usize = 20;

/// The first resources, templates and prompts of a server.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Offers {
    /// Resources.
    pub resources: Vec<Resource>,
    /// Templates of resources' addresses.
    pub templates: Vec<ResourceTemplate>,
    /// Prompts.
    pub prompts: Vec<Prompt>,
}

impl Offers {
    /// Asks for the first page of each list that the server has.
    pub(super) async fn first_pages(client: &Client) -> Result<Self, ClientError> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Page {
            resources: Vec<Resource>,
            resource_templates: Vec<ResourceTemplate>,
            prompts: Vec<Prompt>,
        }
        let server = client.server();
        let capabilities = &server.capabilities;
        let mut offers = Self::default();
        if capabilities.resources.is_some() {
            let page: Page = page(client, "resources/list").await?;
            offers.resources = page.resources;
            // Servers that have none often do not know the method either.
            let page: Page = match self::page(client, "resources/templates/list").await {
                Err(ClientError::Call(CallError::Rpc(_))) => Page::default(),
                other => other?,
            };
            offers.templates = page.resource_templates;
        }
        if capabilities.prompts.is_some() {
            let page: Page = page(client, "prompts/list").await?;
            offers.prompts = page.prompts;
        }
        offers.resources.truncate(SHOWN);
        offers.templates.truncate(SHOWN);
        offers.prompts.truncate(SHOWN);
        Ok(offers)
    }
}

async fn page<T: DeserializeOwned>(client: &Client, method: &str) -> Result<T, ClientError> {
    let json = client.request(method, Vec::new(), None, None).await?;
    json.read().map_err(|error| CallError::Protocol(format!("{method}: {error}")).into())
}
