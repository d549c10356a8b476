//! Answers that are data for programs and prose for models.

use carrick::ToolError;
use carrick::server::{IntoToolResult, Value};
use carrick::types::{CallToolResult, ContentBlock};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Display;

/// An answer whose text is what it displays, beside the structured content that its type is.
///
/// The text of a file as JSON, every line break escaped, would cost a model more and help it less
/// than the text itself.
pub(crate) struct Rendered<T>(pub(crate) T);

/// Marks results that are [`Rendered`].
pub(crate) struct AsText;

impl<T> IntoToolResult<AsText> for Rendered<T>
where
    T: Display + JsonSchema + Serialize + 'static,
{
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        let text = self.0.to_string();
        let mut result = IntoToolResult::<Value>::into_tool_result(self.0)?;
        result.content = vec![ContentBlock::text(text)];
        Ok(result)
    }

    fn output_schema() -> Option<carrick::types::RawJson> {
        <T as IntoToolResult<Value>>::output_schema()
    }
}
