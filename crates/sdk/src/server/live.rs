//! What a server offers, changed while it runs.

use super::listing::{Entry, Listing};
use super::resource::Listable;
use super::sound::{self, UnsoundTool};
use super::{Prompt, Resource, Server, Tool};
use arc_swap::{ArcSwap, Guard};
use carrick_proto::peer::Changed;
use std::sync::Arc;

/// A list that is read without waiting while others change it.
pub(super) struct Live<T>(ArcSwap<Listing<T>>);

impl<T: Entry> Live<T> {
    pub(super) fn new(listing: Listing<T>) -> Self {
        Self(ArcSwap::from_pointee(listing))
    }

    /// The list as it is now.
    pub(super) fn now(&self) -> Guard<Arc<Listing<T>>> {
        self.0.load()
    }

    fn add(&self, entry: &T) {
        self.0.rcu(|now| now.with(entry.clone()));
    }

    /// Whether there was one.
    fn remove(&self, key: &str) -> bool {
        let before = self.0.rcu(|now| match now.get(key) {
            Some(_) => Arc::new(now.without(key)),
            None => now.clone(),
        });
        before.get(key).is_some()
    }
}

/// Changes of what is offered. Each is seen by the next request, also on
/// connections that are open, and told to the clients that listen, if the
/// builder said that the list may change.
impl Server {
    /// Adds a tool; one of the same name is replaced. One that cannot be offered is not
    /// added, and an error in the log names it: [`Server::try_add_tool`] returns that
    /// instead.
    pub fn add_tool(&self, tool: Tool) {
        if let Err(error) = self.try_add_tool(tool) {
            tracing::error!("{error}; it is not added");
        }
    }

    /// Adds a tool, if it can be offered; one of the same name is replaced.
    ///
    /// # Errors
    /// Why it cannot be.
    pub fn try_add_tool(&self, tool: Tool) -> Result<(), UnsoundTool> {
        sound::check(tool.definition())?;
        self.inner.tools.add(&tool);
        self.announce(Changed::Tools);
        Ok(())
    }

    /// Removes a tool. Calls of it that run go on. False when there is none.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.announce_if(self.inner.tools.remove(name), Changed::Tools)
    }

    /// Adds a prompt; one of the same name is replaced.
    pub fn add_prompt(&self, prompt: Prompt) {
        self.inner.prompts.add(&prompt);
        self.announce(Changed::Prompts);
    }

    /// Removes a prompt. False when there is none.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.announce_if(self.inner.prompts.remove(name), Changed::Prompts)
    }

    /// Adds a resource, or a family of them; one of the same URI or template is
    /// replaced.
    pub fn add_resource(&self, resource: Resource) {
        match resource.listed() {
            Listable::Fixed(fixed) => self.inner.resources.add(&fixed),
            Listable::Family(family) => self.inner.families.add(&family),
        }
        self.announce(Changed::Resources);
    }

    /// Removes a resource by its URI, or a family by its template. False when
    /// there is none.
    pub fn remove_resource(&self, uri: &str) -> bool {
        let removed = self.inner.resources.remove(uri) || self.inner.families.remove(uri);
        self.announce_if(removed, Changed::Resources)
    }

    /// Tells clients that the list of resources has changed, as when a
    /// [`super::ResourceSource`] lists others than before.
    pub fn notify_resources_changed(&self) {
        self.announce(Changed::Resources);
    }

    /// Tells the clients that subscribe to a resource that it has changed. Those
    /// that subscribe to something it is a path below hear of it too. Without
    /// effect unless [`super::ServerBuilder::resource_subscriptions`] was called.
    pub fn notify_resource_updated(&self, uri: impl Into<String>) {
        self.announce(Changed::Resource(uri.into()));
    }

    fn announce_if(&self, changed: bool, what: Changed) -> bool {
        if changed {
            self.announce(what);
        }
        changed
    }

    fn announce(&self, changed: Changed) {
        self.inner.hub.announce(&changed);
    }
}
