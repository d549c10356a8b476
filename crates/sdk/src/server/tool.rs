//! A tool: its definition and what it does.

use super::checks::Checks;
use super::layers::{Layers, Takes};
use super::listing::Entry;
use super::{Allow, Approval, Context, Handler, Request, ToolError, schema};
use carrick_proto::http::{ParamHeader, param_headers};
use carrick_proto::types::{CallToolResult, RawJson, Tool as Definition, ToolAnnotations};
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;
use std::sync::Arc;

type Run = dyn Fn(Request) -> BoxFuture<'static, Result<CallToolResult, ToolError>> + Send + Sync;

/// A tool: its definition and what it does.
#[derive(Clone)]
pub struct Tool {
    definition: Definition,
    run: Arc<Run>,
    takes: Arc<Takes>,
    may_ask: bool,
    checks: Arc<Checks>,
    layers: Layers,
    /// The arguments that clients mirror into HTTP headers.
    mirrored: Arc<[ParamHeader]>,
}

impl Tool {
    /// A tool of this name that runs `handler`; its schemas come from the types.
    pub fn new<H: Handler<M>, M>(name: impl Into<String>, handler: H) -> Self {
        let mut definition = Definition::new(name, H::input_schema());
        definition.output_schema = H::output_schema();
        let checks = Checks::of_types(&definition.input_schema, definition.output_schema.as_ref());
        Self {
            definition,
            run: Arc::new(move |request| handler.call(request)),
            takes: Arc::new(|request| H::takes(request)),
            may_ask: H::may_ask(),
            checks: Arc::new(checks),
            layers: Layers::default(),
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
    /// that the types give: an object in JSON Schema, 2020-12 or draft-07.
    ///
    /// Arguments are checked against it (feature `validate`, on by default). A
    /// schema that cannot be used, such as one with references out of it, is
    /// logged, and calls fail with -32603; `carrick::validate::Schema::new`
    /// tells it before.
    #[must_use]
    pub fn input_schema(mut self, schema: RawJson) -> Self {
        Arc::make_mut(&mut self.checks).set_input(&schema);
        self.definition.input_schema = schema;
        self
    }

    /// The schema of its structured results, in place of the one that the type
    /// gives. Results that are no failures must have structured content that
    /// fits it, or the call fails with -32603.
    #[must_use]
    pub fn output_schema(mut self, schema: RawJson) -> Self {
        Arc::make_mut(&mut self.checks).set_output(&schema);
        self.definition.output_schema = Some(schema);
        self
    }

    /// Runs it only for calls that `guard` lets through, by who makes them: before
    /// anything else of the call is looked at. It must not block, and may be run
    /// once for each round of asking.
    #[must_use]
    pub fn guard(
        mut self,
        guard: impl Fn(&Context) -> Result<(), ToolError> + Send + Sync + 'static,
    ) -> Self {
        self.layers.guard(Arc::new(guard));
        self
    }

    /// Runs it only when this argument, where it is given, is one of these (or
    /// all elements of a list are). Other calls are failures that say what is
    /// allowed. Several lists for one argument all have to allow it.
    ///
    /// The argument goes by its name in the schema: a handler that takes it by
    /// other names as well (serde's `alias`) goes round the list.
    #[must_use]
    pub fn allow(
        mut self,
        argument: impl Into<String>,
        patterns: impl IntoIterator<Item = Allow>,
    ) -> Self {
        self.layers.allow(argument.into(), patterns.into_iter().collect());
        self
    }

    /// Runs it only after the client's user has agreed to the call, by
    /// elicitation (`client/elicitation`). Arguments are checked before.
    #[must_use]
    pub fn approve(mut self, approval: Approval) -> Self {
        self.layers.approve(approval);
        self
    }

    /// Says that it changes nothing.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.annotations_mut().read_only_hint = Some(true);
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
        self.may_ask || self.layers.may_ask()
    }

    /// What arguments and results are checked against.
    pub(super) fn checks(&self) -> Arc<Checks> {
        self.checks.clone()
    }

    /// The arguments that clients mirror into HTTP headers.
    pub(super) fn mirrored(&self) -> Option<&Arc<[ParamHeader]>> {
        (!self.mirrored.is_empty()).then_some(&self.mirrored)
    }

    /// Answers a call: through the layers to the handler, and back.
    pub(super) fn call(
        &self,
        request: Request,
    ) -> BoxFuture<'static, Result<CallToolResult, ToolError>> {
        if self.layers.is_empty() && !self.checks.has_input() && !self.checks.has_output() {
            return (self.run)(request);
        }
        let tool = self.clone();
        async move {
            tool.layers.admit(&request, &tool.checks, &*tool.takes, &tool.definition).await?;
            let result = (tool.run)(request).await?;
            tool.checks.output(&result)?;
            Ok(result)
        }
        .boxed()
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
