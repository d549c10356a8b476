//! A prompt: its definition and what renders it.

use super::complete::{Completer, Completing, Completion};
use super::function::{Becomes, Function};
use super::listing::Entry;
use super::{Request, Texts};
use carrick_proto::types::{
    ContentBlock, GetPromptResult, Icon, Prompt as Definition, PromptArgument, PromptMessage, Role,
    RpcError,
};
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

type Run = dyn Fn(Request) -> BoxFuture<'static, Result<GetPromptResult, RpcError>> + Send + Sync;

/// A prompt: its definition and what renders it (`server/prompts`).
#[derive(Clone)]
pub struct Prompt {
    definition: Definition,
    run: Arc<Run>,
    may_ask: bool,
    completers: BTreeMap<String, Completer>,
}

impl Prompt {
    /// A prompt of this name that `function` renders: its text, its messages, or
    /// a whole [`GetPromptResult`]. It takes its arguments as [`Texts`], and has
    /// those that [`Prompt::argument`] and [`Prompt::optional`] say.
    pub fn new<F, M>(name: impl Into<String>, function: F) -> Self
    where
        F: Function<GetPromptResult, M>,
    {
        let mut definition = Definition::default();
        definition.name = name.into();
        Self {
            definition,
            run: Arc::new(move |request| function.call(request)),
            may_ask: F::may_ask(),
            completers: BTreeMap::new(),
        }
    }

    /// What it is for.
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

    /// A picture for it.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.definition.icons.push(icon);
        self
    }

    /// An argument that must be given: a request without it is refused.
    #[must_use]
    pub fn argument(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.with_argument(name.into(), description.into(), true)
    }

    /// An argument that may be left out.
    #[must_use]
    pub fn optional(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.with_argument(name.into(), description.into(), false)
    }

    /// Completes an argument from these values.
    #[must_use]
    pub fn complete<T: Into<String>>(
        mut self,
        argument: impl Into<String>,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        self.completers.insert(argument.into(), Completer::of_list(values));
        self
    }

    /// Completes an argument by a function, which answers with a [`Completion`]
    /// or with a list of all values that fit.
    #[must_use]
    pub fn complete_with<F, Fut, C>(mut self, argument: impl Into<String>, function: F) -> Self
    where
        F: Fn(Completing) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = C> + Send + 'static,
        C: Into<Completion> + 'static,
    {
        self.completers.insert(argument.into(), Completer::of_function(function));
        self
    }

    /// The definition as it is listed.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Whether its function may ask the client.
    pub(super) fn may_ask(&self) -> bool {
        self.may_ask
    }

    /// What its arguments are completed by; none for one that it does not have.
    pub(super) fn completer(&self, argument: &str) -> Option<Option<&Completer>> {
        let has = self.definition.arguments.iter().any(|a| a.name == argument);
        has.then(|| self.completers.get(argument))
    }

    pub(super) fn completes(&self) -> bool {
        !self.completers.is_empty()
    }

    /// Refuses arguments that lack one that must be given.
    pub(super) fn check(&self, given: &Texts) -> Result<(), RpcError> {
        let required = self.definition.arguments.iter().filter(|argument| argument.required);
        let missing: Vec<&str> = required
            .map(|argument| argument.name.as_str())
            .filter(|name| !given.0.contains_key(*name))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let text = format!("prompt {} needs {}", self.definition.name, missing.join(", "));
        Err(RpcError::invalid_params(text))
    }

    pub(super) fn get(
        &self,
        request: Request,
    ) -> BoxFuture<'static, Result<GetPromptResult, RpcError>> {
        let description = self.definition.description.clone();
        let rendered = (self.run)(request);
        Box::pin(async move {
            let mut result = rendered.await?;
            result.description = result.description.or(description);
            Ok(result)
        })
    }

    fn with_argument(mut self, name: String, description: String, required: bool) -> Self {
        let mut argument = PromptArgument::default();
        argument.name = name;
        argument.description = (!description.is_empty()).then_some(description);
        argument.required = required;
        self.definition.arguments.push(argument);
        self
    }
}

impl Entry for Prompt {
    type Definition = Definition;
    const LIST: &'static str = "prompts";

    fn key(&self) -> &str {
        &self.definition.name
    }

    fn definition(&self) -> &Definition {
        &self.definition
    }
}

/// What [`crate::prompt`] implements beside a function, for [`crate::prompts!`].
pub trait DefinedPrompt {
    /// The function as a prompt.
    fn prompt() -> Prompt;
}

impl Becomes<GetPromptResult> for GetPromptResult {
    fn become_answer(self) -> Result<Self, RpcError> {
        Ok(self)
    }
}

impl Becomes<GetPromptResult> for Vec<PromptMessage> {
    fn become_answer(self) -> Result<GetPromptResult, RpcError> {
        let mut result = GetPromptResult::default();
        result.messages = self;
        Ok(result)
    }
}

impl Becomes<GetPromptResult> for PromptMessage {
    fn become_answer(self) -> Result<GetPromptResult, RpcError> {
        vec![self].become_answer()
    }
}

/// Something that the user says.
impl Becomes<GetPromptResult> for ContentBlock {
    fn become_answer(self) -> Result<GetPromptResult, RpcError> {
        PromptMessage::new(Role::User, self).become_answer()
    }
}

/// A text that the user says.
impl Becomes<GetPromptResult> for String {
    fn become_answer(self) -> Result<GetPromptResult, RpcError> {
        ContentBlock::text(self).become_answer()
    }
}

impl Becomes<GetPromptResult> for &'static str {
    fn become_answer(self) -> Result<GetPromptResult, RpcError> {
        self.to_owned().become_answer()
    }
}
