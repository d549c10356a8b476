//! What functions say resources hold.

use super::super::function::Becomes;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use carrick_proto::types::{ReadResourceResult, ResourceContents, RpcError};

/// What a function says a resource holds. Made of text (`String`), of bytes
/// (`Vec<u8>`, `Bytes`), and of [`ResourceContents`] where there are several
/// parts, or parts with a URI or a media type of their own.
#[derive(Clone, Debug, Default)]
pub struct Contents(Vec<ResourceContents>);

impl Contents {
    /// As the answer to a request for `uri`, whose media type is this unless
    /// the function says another.
    pub(in super::super) fn of(self, uri: &str, mime_type: Option<&str>) -> ReadResourceResult {
        let mut result = ReadResourceResult::default();
        result.contents = self.0;
        for contents in &mut result.contents {
            if contents.uri.is_empty() {
                contents.uri = uri.to_owned();
            }
            if contents.mime_type.is_none() {
                contents.mime_type = mime_type.map(str::to_owned);
            }
        }
        result
    }
}

impl Becomes<Contents> for Contents {
    fn become_answer(self) -> Result<Self, RpcError> {
        Ok(self)
    }
}

/// What stands under other URIs, or has a media type of its own.
impl Becomes<Contents> for Vec<ResourceContents> {
    fn become_answer(self) -> Result<Contents, RpcError> {
        Ok(Contents(self))
    }
}

impl Becomes<Contents> for ResourceContents {
    fn become_answer(self) -> Result<Contents, RpcError> {
        Ok(Contents(vec![self]))
    }
}

/// Text.
impl Becomes<Contents> for String {
    fn become_answer(self) -> Result<Contents, RpcError> {
        ResourceContents::text("", self).become_answer()
    }
}

impl Becomes<Contents> for &'static str {
    fn become_answer(self) -> Result<Contents, RpcError> {
        self.to_owned().become_answer()
    }
}

/// Binary contents.
impl Becomes<Contents> for Vec<u8> {
    fn become_answer(self) -> Result<Contents, RpcError> {
        ResourceContents::blob("", STANDARD.encode(self)).become_answer()
    }
}

impl Becomes<Contents> for bytes::Bytes {
    fn become_answer(self) -> Result<Contents, RpcError> {
        ResourceContents::blob("", STANDARD.encode(&self)).become_answer()
    }
}
