//! A tool: its definition and what it does.

use super::{Handler, Request, ToolError};
use carrick_proto::types::{CallToolResult, RawJson, Tool as Definition, ToolAnnotations};
use futures_util::future::BoxFuture;
use std::sync::Arc;

type Run = dyn Fn(Request) -> BoxFuture<'static, Result<CallToolResult, ToolError>> + Send + Sync;

/// A tool: its definition and what it does.
#[derive(Clone)]
pub struct Tool {
    definition: Definition,
    run: Arc<Run>,
    may_ask: bool,
}

impl Tool {
    /// A tool of this name that runs `handler`; its schemas come from the types.
    pub fn new<H: Handler<M>, M>(name: impl Into<String>, handler: H) -> Self {
        let mut definition = Definition::new(name, H::input_schema());
        definition.output_schema = H::output_schema();
        Self {
            definition,
            run: Arc::new(move |request| handler.call(request)),
            may_ask: H::may_ask(),
        }
    }

    /// What it does, for the model.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.definition.description = Some(text.into());
        self
    }

    /// Its name for people.
    #[must_use]
    pub fn title(mut self, text: impl Into<String>) -> Self {
        self.definition.title = Some(text.into());
        self
    }

    /// The schema of its arguments (`server/tools`, Tool), in place of the one
    /// that the types give: an object in JSON Schema.
    #[must_use]
    pub fn input_schema(mut self, schema: RawJson) -> Self {
        self.definition.input_schema = schema;
        self
    }

    /// Says that it changes nothing.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.annotations_mut().read_only_hint = Some(true);
        self.annotations_mut().open_world_hint = Some(false);
        self
    }

    /// Says that it may destroy something, and whether twice is as once.
    #[must_use]
    pub fn destructive(mut self, idempotent: bool) -> Self {
        self.annotations_mut().read_only_hint = Some(false);
        self.annotations_mut().destructive_hint = Some(true);
        self.annotations_mut().idempotent_hint = Some(idempotent);
        self
    }

    /// Says that calling it twice is as calling it once.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.annotations_mut().idempotent_hint = Some(true);
        self
    }

    /// The definition as it is listed.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Whether its handler may ask the client.
    pub(super) fn may_ask(&self) -> bool {
        self.may_ask
    }

    pub(super) fn call(
        &self,
        request: Request,
    ) -> BoxFuture<'static, Result<CallToolResult, ToolError>> {
        (self.run)(request)
    }

    fn annotations_mut(&mut self) -> &mut ToolAnnotations {
        self.definition.annotations.get_or_insert_default()
    }
}

/// What [`crate::tool`] implements beside a function, for [`crate::tools!`].
pub trait DefinedTool {
    /// The function as a tool.
    fn tool() -> Tool;
}
