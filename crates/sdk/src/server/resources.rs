//! Resources of a source of their own.

use super::CallInfo;
use carrick_proto::types::{ListResourcesResult, ReadResourceResult, ResourceTemplate, RpcError};
use futures_util::future::{BoxFuture, FutureExt, ready};

/// Something with resources (`server/resources`). Whoever asks is known by the
/// [`CallInfo`]: what differs from client to client must not be
/// [public](carrick_proto::types::CacheScope).
pub trait ResourceSource: Send + Sync {
    /// Lists them, one page; `cursor` is what an earlier page gave out.
    ///
    /// # Errors
    /// -32602 for a cursor that was never given out.
    fn list<'a>(
        &'a self,
        cursor: Option<&'a str>,
        info: &'a CallInfo,
    ) -> BoxFuture<'a, Result<ListResourcesResult, RpcError>>;

    /// Reads one.
    ///
    /// # Errors
    /// [`not_found`] for an unknown URI.
    fn read<'a>(
        &'a self,
        uri: &'a str,
        info: &'a CallInfo,
    ) -> BoxFuture<'a, Result<ReadResourceResult, RpcError>>;

    /// Their templates.
    fn templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    /// A client subscribes to a resource: changes of it are to be told by
    /// [`super::Server::notify_resource_updated`]. Called once a client and a
    /// resource, if the builder allows subscriptions at all. By default every
    /// resource can be subscribed to.
    ///
    /// # Errors
    /// When this one cannot be, as [`not_found`] for an unknown URI.
    fn subscribe<'a>(
        &'a self,
        _uri: &'a str,
        _info: &'a CallInfo,
    ) -> BoxFuture<'a, Result<(), RpcError>> {
        ready(Ok(())).boxed()
    }

    /// Such a subscription has ended; called once for each that was agreed to.
    fn unsubscribe(&self, _uri: &str) {}
}

/// The error for a URI that leads nowhere, or nowhere the client may go.
pub fn not_found(uri: &str) -> RpcError {
    RpcError::invalid_params(format!("no resource {uri}"))
        .with_data(&serde_json::json!({ "uri": uri }))
}
