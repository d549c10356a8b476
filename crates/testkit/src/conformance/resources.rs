//! The resources, and the smallest picture and sound there are.

use carrick::server::{ResourceSource, not_found};
use carrick::types::{
    ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate, RpcError,
};
use futures_util::future::{BoxFuture, FutureExt, ready};

/// A red pixel, a PNG in base64.
pub(super) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// No samples of silence, a WAV in base64.
pub(super) const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const WATCHED: &str = "test://watched-resource";

/// The resources, which never change.
pub(super) struct Fixed;

impl ResourceSource for Fixed {
    fn list(&self, _: Option<&str>) -> BoxFuture<'_, Result<ListResourcesResult, RpcError>> {
        let resource = |uri: &str, name: &str, mime_type: &str| {
            let mut resource = Resource::new(uri, name);
            resource.mime_type = Some(mime_type.into());
            resource
        };
        let all = vec![
            resource(TEXT, "A text", "text/plain"),
            resource(BINARY, "A picture", "image/png"),
            resource(WATCHED, "A resource to subscribe to", "text/plain"),
        ];
        ready(Ok(all.into())).boxed()
    }

    fn read<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<ReadResourceResult, RpcError>> {
        ready(contents(uri).map(ReadResourceResult::one).ok_or_else(|| not_found(uri))).boxed()
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        let mut template = ResourceTemplate::new("test://template/{id}/data", "Data by id");
        template.mime_type = Some("application/json".into());
        vec![template]
    }
}

fn contents(uri: &str) -> Option<ResourceContents> {
    let text = |text: &str| ResourceContents::text(uri, text).mime_type("text/plain");
    match uri {
        TEXT => Some(text("The text of a static resource.")),
        BINARY => Some(ResourceContents::blob(uri, PIXEL).mime_type("image/png")),
        WATCHED => Some(text("A resource whose changes can be asked for.")),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let data = serde_json::json!({ "id": id }).to_string();
            Some(ResourceContents::text(uri, data).mime_type("application/json"))
        }
    }
}
