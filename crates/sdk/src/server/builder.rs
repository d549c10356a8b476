//! Putting a server together.

use super::listing::{Entry, ListOptions, Listing};
use super::live::Live;
use super::resource::{Family, Fixed, Listable};
use super::sound::{self, UnsoundTool};
use super::{
    Cacheable, Declared, Hub, Inner, Prompt, Resource, ResourceSource, Server, StateKeys, States,
    Tool,
};
use carrick_proto::peer::Identity;
use carrick_proto::revision::Revision;
use carrick_proto::types::{
    CacheHints, Implementation, ListCapability, RawJson, ResourceCapability, ServerCapabilities,
};
use std::any::TypeId;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Collects what a [`Server`] offers.
pub struct ServerBuilder {
    info: Implementation,
    instructions: Option<String>,
    tools: BTreeMap<String, Tool>,
    prompts: BTreeMap<String, Prompt>,
    resources: Vec<Resource>,
    source: Option<Arc<dyn ResourceSource>>,
    changing: Changing,
    page: Option<NonZeroUsize>,
    hints: BTreeMap<Cacheable, CacheHints>,
    state: States,
    keys: Option<StateKeys>,
    revisions: Option<Vec<Revision>>,
}

/// What may change while the server runs.
#[derive(Clone, Copy, Default)]
struct Changing {
    tools: bool,
    prompts: bool,
    resources: bool,
    completions: bool,
    subscriptions: bool,
}

impl ServerBuilder {
    pub(super) fn new(name: String, version: String) -> Self {
        Self {
            info: Implementation::new(name, version),
            instructions: None,
            tools: BTreeMap::new(),
            prompts: BTreeMap::new(),
            resources: Vec::new(),
            source: None,
            changing: Changing::default(),
            page: None,
            hints: BTreeMap::new(),
            state: States::new(),
            keys: None,
            revisions: None,
        }
    }

    /// What a model should know about the server as a whole.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Adds a tool; one of the same name is replaced.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.insert(tool.definition().name.clone(), tool);
        self
    }

    /// Adds tools, as [`crate::tools!`] makes them.
    #[must_use]
    pub fn tools(self, tools: impl IntoIterator<Item = Tool>) -> Self {
        tools.into_iter().fold(self, Self::tool)
    }

    /// Adds a prompt; one of the same name is replaced.
    #[must_use]
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.insert(prompt.definition().name.clone(), prompt);
        self
    }

    /// Adds prompts, as [`crate::prompts!`] makes them.
    #[must_use]
    pub fn prompts(self, prompts: impl IntoIterator<Item = Prompt>) -> Self {
        prompts.into_iter().fold(self, Self::prompt)
    }

    /// Adds a resource, or a family of them; one of the same URI or template is
    /// replaced.
    #[must_use]
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(resource);
        self
    }

    /// Adds resources, as [`crate::resources!`] makes them.
    #[must_use]
    pub fn resource_functions(self, resources: impl IntoIterator<Item = Resource>) -> Self {
        resources.into_iter().fold(self, Self::resource)
    }

    /// Offers the resources of a source, after those of functions: what a
    /// function reads, the source is not asked for.
    #[must_use]
    pub fn resources(mut self, source: impl ResourceSource + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// Says that tools may be added and removed while the server runs: clients
    /// are told of it.
    #[must_use]
    pub fn tools_may_change(mut self) -> Self {
        self.changing.tools = true;
        self
    }

    /// Says the same of prompts.
    #[must_use]
    pub fn prompts_may_change(mut self) -> Self {
        self.changing.prompts = true;
        self
    }

    /// Says the same of resources.
    #[must_use]
    pub fn resources_may_change(mut self) -> Self {
        self.changing.resources = true;
        self
    }

    /// Lets clients subscribe to resources, to be told by
    /// [`Server::notify_resource_updated`].
    #[must_use]
    pub fn resource_subscriptions(mut self) -> Self {
        self.changing.subscriptions = true;
        self
    }

    /// Says that arguments can be completed, also when none can be yet: a prompt
    /// or a resource that is added later may bring a completion.
    #[must_use]
    pub fn completions(mut self) -> Self {
        self.changing.completions = true;
        self
    }

    /// Gives lists out in pages of so many entries. Default: all in one. A
    /// [`ResourceSource`] makes its pages itself.
    #[must_use]
    pub fn page_size(mut self, entries: NonZeroUsize) -> Self {
        self.page = Some(entries);
        self
    }

    /// Says how long clients may keep a kind of answer. Default: not at all.
    #[must_use]
    pub fn cache(mut self, what: Cacheable, hint: CacheHints) -> Self {
        self.hints.insert(what, hint);
        self
    }

    /// Shares a value with the handlers, which take it as [`super::State`].
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.state.insert(TypeId::of::<T>(), Arc::new(value));
        self
    }

    /// Seals the state of unfinished requests with these keys, so that other
    /// processes that have them can go on with a request. By default a process
    /// has a key of its own.
    #[must_use]
    pub fn state_keys(mut self, keys: StateKeys) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Speaks these revisions of the protocol only. By default a server speaks
    /// all of them.
    #[must_use]
    pub fn revisions(mut self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.revisions = Some(revisions.into_iter().collect());
        self
    }

    /// The finished server. A tool that cannot be offered (one without a name, or with an
    /// input schema that describes no object or nests too deeply) is left out, and an
    /// error in the log names it: [`ServerBuilder::try_build`] returns that instead.
    pub fn build(mut self) -> Server {
        self.tools.retain(|_, tool| match sound::check(tool.definition()) {
            Ok(()) => true,
            Err(error) => {
                tracing::error!("{error}; it is left out");
                false
            }
        });
        self.finish()
    }

    /// The finished server, if all of its tools can be offered.
    ///
    /// # Errors
    /// The first tool that cannot be, and why.
    pub fn try_build(self) -> Result<Server, UnsoundTool> {
        self.tools.values().try_for_each(|tool| sound::check(tool.definition()))?;
        Ok(self.finish())
    }

    fn finish(mut self) -> Server {
        let (fixed, families) = self.take_resources();
        let declared = self.declared(&fixed, &families);
        let capabilities = self.capabilities(declared);
        let instructions = self.instructions.as_deref();
        let identity = Identity::new(&self.info, &capabilities, instructions);
        #[expect(
            clippy::expect_used,
            reason = "names, flags and schemas that are JSON already always serialize"
        )]
        let identity = identity.expect("the server's description serializes");
        let identity = Arc::new(match &self.revisions {
            Some(revisions) => identity.speaking(revisions),
            None => identity,
        });
        let keys = self.keys.take().unwrap_or_else(|| {
            StateKeys::random().unwrap_or_else(|error| {
                tracing::error!(%error, "no randomness: handlers cannot ask clients");
                StateKeys::none()
            })
        });
        let tools = std::mem::take(&mut self.tools);
        let prompts = std::mem::take(&mut self.prompts);
        Server {
            inner: Arc::new(Inner {
                identity,
                tools: self.live(tools.into_values(), Cacheable::Tools),
                prompts: self.live(prompts.into_values(), Cacheable::Prompts),
                resources: self.live(fixed, Cacheable::Resources),
                families: self.live(families, Cacheable::ResourceTemplates),
                source: self.source.take(),
                declared,
                contents: self.hint(Cacheable::ResourceContents),
                hub: Hub::default(),
                keys: Arc::new(keys),
                info: self.info,
                state: self.state,
            }),
        }
    }

    fn take_resources(&mut self) -> (Vec<Fixed>, Vec<Family>) {
        let (mut fixed, mut families) = (Vec::new(), Vec::new());
        for resource in std::mem::take(&mut self.resources) {
            match resource.listed() {
                Listable::Fixed(one) => fixed.push(one),
                Listable::Family(family) => families.push(family),
            }
        }
        (fixed, families)
    }

    fn live<T: Entry>(&self, entries: impl IntoIterator<Item = T>, what: Cacheable) -> Live<T> {
        let options = ListOptions { page: self.page, hint: self.hint(what) };
        Live::new(Listing::new(entries, options))
    }

    fn hint(&self, what: Cacheable) -> CacheHints {
        self.hints.get(&what).copied().unwrap_or_default()
    }

    fn declared(&self, fixed: &[Fixed], families: &[Family]) -> Declared {
        let Changing { tools, prompts, resources, completions, subscriptions } = self.changing;
        let functions = !fixed.is_empty() || !families.is_empty();
        let listed = functions || self.source.is_some();
        let completed = self.prompts.values().any(Prompt::completes)
            || families.iter().any(|family| !family.reader.completers.is_empty());
        Declared {
            tools: tools || !self.tools.is_empty(),
            prompts: prompts || !self.prompts.is_empty(),
            resources: resources || subscriptions || listed,
            completions: completions || completed,
            subscriptions,
            functions: functions
                || tools
                || prompts
                || resources
                || !self.tools.is_empty()
                || !self.prompts.is_empty(),
            changes: tools || prompts || resources || subscriptions,
        }
    }

    fn capabilities(&self, declared: Declared) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::default();
        let list = |list_changed| {
            let mut capability = ListCapability::default();
            capability.list_changed = list_changed;
            capability
        };
        capabilities.tools = declared.tools.then(|| list(self.changing.tools));
        capabilities.prompts = declared.prompts.then(|| list(self.changing.prompts));
        capabilities.resources = declared.resources.then(|| {
            let mut capability = ResourceCapability::default();
            capability.list_changed = self.changing.resources;
            capability.subscribe = declared.subscriptions;
            capability
        });
        capabilities.completions = object().filter(|_| declared.completions);
        capabilities.logging = object().filter(|_| declared.functions);
        capabilities
    }
}

/// A capability without settings.
fn object() -> Option<RawJson> {
    serde_json::value::to_raw_value(&serde_json::json!({})).ok()
}
