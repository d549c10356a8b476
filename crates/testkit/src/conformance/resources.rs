//! The resources, and the smallest picture and sound there are.

use carrick::server::Resource;
use carrick::types::ResourceContents;
use carrick::{resource, resources};

/// A red pixel, a PNG in base64.
pub(super) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// No samples of silence, a WAV in base64.
pub(super) const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

/// All of them.
pub(super) fn all() -> impl Iterator<Item = Resource> {
    resources![static_text, static_binary, watched, data].into_iter()
}

/// A text.
#[resource("test://static-text", mime_type = "text/plain")]
async fn static_text() -> String {
    "The text of a static resource.".into()
}

/// A picture.
#[resource("test://static-binary", mime_type = "image/png")]
async fn static_binary() -> ResourceContents {
    ResourceContents::blob("test://static-binary", PIXEL).mime_type("image/png")
}

/// A text whose changes can be asked for.
#[resource("test://watched-resource", mime_type = "text/plain")]
async fn watched() -> String {
    "It has not changed yet.".into()
}

/// The data of an id.
#[resource("test://template/{id}/data", mime_type = "application/json")]
async fn data(id: String) -> String {
    serde_json::json!({ "id": id }).to_string()
}
