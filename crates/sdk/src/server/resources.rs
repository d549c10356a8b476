//! Resources of a server.

use carrick_proto::types::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, ResourceTemplate,
    RpcError,
};
use futures_util::future::BoxFuture;

/// Something with resources (`server/resources`).
pub trait ResourceSource: Send + Sync {
    /// Lists them, one page; `cursor` is what an earlier page gave out.
    ///
    /// # Errors
    /// -32602 for a cursor that was never given out.
    fn list(&self, cursor: Option<&str>) -> BoxFuture<'_, Result<ListResourcesResult, RpcError>>;

    /// Reads one.
    ///
    /// # Errors
    /// [`not_found`] for an unknown URI.
    fn read<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<ReadResourceResult, RpcError>>;

    /// Their templates.
    fn templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }
}

/// The error for a URI that leads nowhere, or nowhere the client may go.
pub fn not_found(uri: &str) -> RpcError {
    RpcError::invalid_params(format!("no resource {uri}"))
        .with_data(&serde_json::json!({ "uri": uri }))
}

pub(super) fn templates_page(source: &dyn ResourceSource) -> ListResourceTemplatesResult {
    let mut page = ListResourceTemplatesResult::default();
    page.resource_templates = source.templates();
    page
}
