//! What a handler can return.

use super::{ToolError, schema};
use carrick_proto::types::{CallToolResult, ContentBlock, RawJson};
use schemars::JsonSchema;
use serde::Serialize;
use std::any::Any;

/// Something that a tool can answer with.
///
/// Text for a `String`; for other types that serialize, structured content
/// (when it is an object) with the same JSON as text beside it; whole
/// [`CallToolResult`]s and [`ContentBlock`]s; and a `Result` of any of them
/// with a [`ToolError`].
///
/// `M` only tells the implementations apart and is always inferred.
#[diagnostic::on_unimplemented(
    message = "a tool cannot answer with `{Self}`",
    note = "derive Serialize and JsonSchema for it, or return CallToolResult; \
            failures are ToolError"
)]
pub trait IntoToolResult<M> {
    /// The result.
    ///
    /// # Errors
    /// When the tool failed; becomes a result with `isError`.
    fn into_tool_result(self) -> Result<CallToolResult, ToolError>;

    /// The schema of structured results.
    fn output_schema() -> Option<RawJson> {
        None
    }
}

/// Marks values that become text or structured content.
pub struct Value;
/// Marks results that are complete already.
pub struct Whole;
/// Marks results that may be failures.
pub struct Fallible<M>(M);

impl<T: Serialize + JsonSchema + 'static> IntoToolResult<Value> for T {
    fn into_tool_result(mut self) -> Result<CallToolResult, ToolError> {
        if let Some(text) = (&mut self as &mut dyn Any).downcast_mut::<String>() {
            return Ok(CallToolResult::text(std::mem::take(text)));
        }
        if (&self as &dyn Any).is::<()>() {
            return Ok(CallToolResult::default());
        }
        let json = serde_json::value::to_raw_value(&self)?;
        // A bare JSON string is text, not data with quotes round it.
        if let Ok(text) = serde_json::from_str::<String>(json.get()) {
            return Ok(CallToolResult::text(text));
        }
        let mut result = CallToolResult::text(json.get());
        if json.get().starts_with('{') {
            result.structured_content = Some(json);
        }
        Ok(result)
    }

    fn output_schema() -> Option<RawJson> {
        schema::of_result::<T>()
    }
}

impl IntoToolResult<Whole> for CallToolResult {
    fn into_tool_result(mut self) -> Result<CallToolResult, ToolError> {
        // Clients that do not know structured content see its text.
        if let (true, Some(structured)) = (self.content.is_empty(), &self.structured_content) {
            self.content.push(ContentBlock::text(structured.get()));
        }
        Ok(self)
    }
}

impl IntoToolResult<Whole> for ContentBlock {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::content(vec![self]))
    }
}

impl IntoToolResult<Whole> for Vec<ContentBlock> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::content(self))
    }
}

impl<T: IntoToolResult<M>, M> IntoToolResult<Fallible<M>> for Result<T, ToolError> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        self?.into_tool_result()
    }

    fn output_schema() -> Option<RawJson> {
        T::output_schema()
    }
}
