//! Files as resources of the protocol (`server/resources`).

use super::super::{Data, Files, FilesError};
use base64::{Engine, engine::general_purpose::STANDARD};
use carrick::server::{CallInfo, ResourceSource, not_found};
use carrick::types::{
    ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate, RpcError,
};
use std::{future::Future, pin::Pin, sync::Arc};

/// The files of a core as resources.
pub(super) struct FileResources(pub(super) Arc<Files>);

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, RpcError>> + Send + 'a>>;

impl ResourceSource for FileResources {
    fn list(&self, cursor: Option<&str>, _: &CallInfo) -> Answer<'_, ListResourcesResult> {
        let (files, cursor) = (Arc::clone(&self.0), cursor.map(str::to_owned));
        Box::pin(blocking(move || {
            let page = files.resources(cursor.as_deref()).map_err(|error| match error {
                FilesError::Argument { .. } => RpcError::invalid_params(error.to_string()),
                other => RpcError::internal(other.to_string()),
            })?;
            if page.incomplete {
                tracing::warn!("some files are not listed: too many, too deep or unreadable");
            }
            let mut list = ListResourcesResult::default();
            list.resources = page
                .resources
                .into_iter()
                .map(|file| {
                    let mut resource = Resource::new(file.uri, file.name);
                    resource.mime_type = file.mime.map(str::to_owned);
                    resource.size = file.size;
                    resource
                })
                .collect();
            list.next_cursor = page.next;
            Ok(list)
        }))
    }

    fn read<'a>(&'a self, uri: &'a str, _: &CallInfo) -> Answer<'a, ReadResourceResult> {
        let (files, uri) = (Arc::clone(&self.0), uri.to_owned());
        Box::pin(blocking(move || {
            let resource = files.read_resource(&uri).map_err(|error| {
                if error.is_no_resource() {
                    not_found(&uri)
                } else {
                    RpcError::internal(error.to_string())
                        .with_data(&serde_json::json!({ "uri": uri }))
                }
            })?;
            let contents = match resource.data {
                Data::Text(text) => ResourceContents::text(uri, text),
                Data::Bytes(bytes) => ResourceContents::blob(uri, STANDARD.encode(bytes)),
            };
            Ok(ReadResourceResult::one(contents.mime_type(resource.mime)))
        }))
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        let top = self.0.root_uris();
        top.map(|uri| {
            let template = format!("{}/{{+path}}", uri.trim_end_matches('/'));
            let mut template = ResourceTemplate::new(template, "file");
            template.description = Some("A file below this folder, by its path".into());
            template
        })
        .collect()
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RpcError> + Send + 'static,
) -> Result<T, RpcError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(RpcError::internal(error.to_string())),
    }
}
