//! A tool: its definition and what it does.

use super::listing::Entry;
use super::{Handler, Request, ToolError, schema};
use carrick_proto::http::{ParamHeader, param_headers};
use carrick_proto::types::{CallToolResult, RawJson, Tool as Definition, ToolAnnotations};
use futures_util::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;

type Run = dyn Fn(Request) -> BoxFuture<'static, Result<CallToolResult, ToolError>> + Send + Sync;

/// A tool: its definition and what it does.
#[derive(Clone)]
pub struct Tool {
    definition: Definition,
    run: Arc<Run>,
    may_ask: bool,
    /// The arguments that clients mirror into HTTP headers.
    mirrored: Arc<[ParamHeader]>,
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
            mirrored: Arc::new([]),
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

    /// Has clients mirror an argument into the HTTP header `Mcp-Param-…` of this
    /// name (`server/tools`, `x-mcp-header`). It must be a string, an integer or
    /// a boolean, or clients will leave the tool out.
    #[must_use]
    pub fn header(mut self, argument: &str, name: &str) -> Self {
        let mut schema: Value =
            serde_json::from_str(self.definition.input_schema.get()).unwrap_or_default();
        let property = schema.get_mut("properties").and_then(|all| all.get_mut(argument));
        match property.and_then(Value::as_object_mut) {
            Some(property) => {
                property.insert("x-mcp-header".into(), name.into());
                self.definition.input_schema = schema::raw(&schema);
            }
            None => {
                let tool = &self.definition.name;
                tracing::error!(tool, argument, "a header of an argument that there is not");
            }
        }
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

    /// The arguments that clients mirror into HTTP headers.
    pub(super) fn mirrored(&self) -> Option<&Arc<[ParamHeader]>> {
        (!self.mirrored.is_empty()).then_some(&self.mirrored)
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

impl Entry for Tool {
    type Definition = Definition;
    const LIST: &'static str = "tools";

    fn key(&self) -> &str {
        &self.definition.name
    }

    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn prepare(&mut self) {
        let schema = serde_json::from_str(self.definition.input_schema.get());
        match schema.map(|schema| param_headers(&schema)) {
            Ok(Ok(headers)) => self.mirrored = headers.into(),
            Ok(Err(error)) => {
                tracing::warn!(tool = %self.definition.name, %error, "clients will leave it out");
            }
            Err(error) => tracing::warn!(tool = %self.definition.name, %error, "no schema"),
        }
    }
}

/// What [`crate::tool`] implements beside a function, for [`crate::tools!`].
pub trait DefinedTool {
    /// The function as a tool.
    fn tool() -> Tool;
}
