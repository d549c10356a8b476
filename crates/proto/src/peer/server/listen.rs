//! Telling clients what has changed: listens of requests that stay open, and
//! subscriptions of sessions (`basic/patterns/subscriptions`, and
//! `server/resources` of the revisions before).

use super::{Active, CallKey, Sent, ServerOutput, ServerPeer, Session};
use crate::method::Method;
use crate::peer::{Changed, Changes, Lane};
use crate::rpc::{self, Field, Id, Message};
use crate::types::{RpcError, SubscriptionFilter};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// How much one connection may ask to be told about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubscriptionLimits {
    /// Requests to listen that may be open at once. Default 64.
    pub listens: usize,
    /// Resources, over all listens and subscriptions. Default 1,024.
    pub resources: usize,
    /// Bytes of their URIs. Default 1 MiB.
    pub bytes: usize,
}

impl Default for SubscriptionLimits {
    fn default() -> Self {
        Self { listens: 64, resources: 1024, bytes: 1 << 20 }
    }
}

/// What the client of this connection is told about.
#[derive(Default)]
pub(super) struct Watches {
    limits: SubscriptionLimits,
    /// None while that is nothing, as for most.
    all: Option<Box<All>>,
}

#[derive(Default)]
struct All {
    /// What all of it costs.
    used: Cost,
    /// What running calls ask for.
    of_calls: BTreeMap<CallKey, Watch>,
    /// Resources the session subscribes to.
    subscribed: BTreeSet<String>,
    /// What happened before the session was ready.
    held: Changes,
}

#[derive(Clone, Copy, Default)]
struct Cost {
    listens: usize,
    resources: usize,
    bytes: usize,
}

/// What a running call asks for.
pub(super) enum Watch {
    Listen(Listen),
    Subscribe(String),
    Unsubscribe(String),
}

/// A request to listen.
pub(super) struct Listen {
    filter: SubscriptionFilter,
    uris: BTreeSet<String>,
    /// What happened before it was acknowledged; none once it is.
    waiting: Option<Changes>,
    cost: Cost,
}

impl ServerPeer {
    /// Bounds what this connection may ask to be told about.
    #[must_use]
    pub fn with_subscription_limits(mut self, limits: SubscriptionLimits) -> Self {
        self.watches.limits = limits;
        self
    }

    /// Tells whoever asked to hear of it that something has changed: open
    /// listens, and the session as far as its capabilities say so.
    pub fn changed(&mut self, changed: Changed) {
        self.tell(changed.into());
    }

    /// The same of many changes.
    pub fn tell(&mut self, changes: Changes) {
        let keys: Vec<CallKey> = self.watches.listens().collect();
        for key in keys {
            match self.watches.of_call_mut(key) {
                Some(Watch::Listen(Listen { waiting: Some(waiting), .. })) => {
                    waiting.add_all(changes.clone());
                }
                _ => self.tell_listen(key, &changes),
            }
        }
        match self.session {
            Some(Session { ready: true, .. }) => self.tell_session(&changes),
            Some(_) => self.watches.all_mut().held.add_all(changes),
            // Whoever has not said hello yet has seen no list.
            None => {}
        }
    }

    /// Ends every listen in good order, as before the server goes.
    pub fn end_listens(&mut self) {
        let keys: Vec<CallKey> = self.watches.listens().collect();
        for key in keys {
            self.end_listen(key);
            self.out.push_back(ServerOutput::Cancel(key));
        }
    }

    /// Whether a listen is open or asked for.
    pub fn is_listened_to(&self) -> bool {
        self.watches.all.as_ref().is_some_and(|all| all.used.listens > 0)
    }

    /// Reads what a request asks to be told about, unless that is too much.
    pub(super) fn watch(&mut self, message: &Message) -> Result<Watch, RpcError> {
        let watch = match message.method() {
            Method::SubscriptionsListen => {
                let mut filter = SubscriptionFilter::of(message)?;
                let uris: BTreeSet<String> =
                    core::mem::take(&mut filter.resource_subscriptions).into_iter().collect();
                let bytes = uris.iter().map(String::len).sum();
                let cost = Cost { listens: 1, resources: uris.len(), bytes };
                Watch::Listen(Listen { filter, uris, waiting: Some(Changes::new()), cost })
            }
            method => {
                let Some(uri) = message.text(Field::Uri) else {
                    let text = format!("{} needs params.uri, a string", method.name());
                    return Err(RpcError::invalid_params(text));
                };
                match method {
                    Method::ResourcesSubscribe => Watch::Subscribe(uri.into_owned()),
                    _ => Watch::Unsubscribe(uri.into_owned()),
                }
            }
        };
        self.watches.reserve(watch.cost())?;
        Ok(watch)
    }

    /// Acknowledges a listen; from now on it is told what changes.
    pub(super) fn listening(&mut self, key: CallKey, agreed: SubscriptionFilter) {
        let Some(call) = self.active(key) else { return };
        let (id, lane, revision) = (call.id.clone(), call.place.lane, call.revision);
        let declared = &self.identity.changes;
        let Some(Watch::Listen(listen)) = self.watches.of_call_mut(key) else {
            let error = RpcError::internal("an answer that only subscriptions/listen has");
            return self.respond(key, super::Outcome::Error(error));
        };
        let Some(waiting) = listen.waiting.take() else { return };
        listen.filter.tools_list_changed &= agreed.tools_list_changed && declared.tools;
        listen.filter.prompts_list_changed &= agreed.prompts_list_changed && declared.prompts;
        listen.filter.resources_list_changed &= agreed.resources_list_changed && declared.resources;
        let agreed: BTreeSet<String> = agreed.resource_subscriptions.into_iter().collect();
        listen.uris.retain(|uri| declared.subscribe && agreed.contains(uri));
        let mut filter = listen.filter.clone();
        filter.resource_subscriptions = listen.uris.iter().cloned().collect();
        let mut params = with_subscription(&id, br#","notifications":"#);
        // Flags and strings always serialize.
        params.extend(serde_json::to_vec(&filter).unwrap_or_else(|_| b"{}".to_vec()));
        params.push(b'}');
        self.notify(lane, revision, Method::SubscriptionsAcknowledged, params);
        self.tell_listen(key, &waiting);
    }

    /// A session has become ready: what happened meanwhile is told now.
    pub(super) fn tell_held(&mut self) {
        let held = self.watches.all.as_mut().map(|all| core::mem::take(&mut all.held));
        let held = held.unwrap_or_default();
        self.tell_session(&held);
    }

    /// Answers a listen that ends on the server's own account.
    pub(super) fn end_listen(&mut self, key: CallKey) {
        if let Some(Watch::Listen(Listen { waiting: Some(_), .. })) = self.watches.of_call(key) {
            // The acknowledgement is first, whatever comes.
            self.listening(key, SubscriptionFilter::default());
        }
        let Some(Active { id, place, revision, .. }) = self.take(key) else { return };
        let mut params = with_subscription(&id, br#","requestId":"#);
        id.write(&mut params);
        params.push(b'}');
        self.notify(place.lane, revision, Method::Cancelled, params);
        let mut bytes = Vec::new();
        let members = self.identity.complete_listen(&subscription(&id));
        rpc::result_response_with(&mut bytes, &id, b"{}", &members);
        self.send(place, bytes);
    }

    fn tell_listen(&mut self, key: CallKey, changes: &Changes) {
        let Some(Watch::Listen(listen)) = self.watches.of_call(key) else { return };
        let wanted = |method: &Method| match method {
            Method::ToolsListChanged => listen.filter.tools_list_changed,
            Method::PromptsListChanged => listen.filter.prompts_list_changed,
            _ => listen.filter.resources_list_changed,
        };
        let lists: Vec<Method> = changes.lists().filter(wanted).collect();
        let updated = changes.updated.of(&listen.uris);
        let Some(call) = self.active(key) else { return };
        let (id, lane, revision) = (call.id.clone(), call.place.lane, call.revision);
        for method in lists {
            let params = with_subscription(&id, b"}");
            self.notify_as(lane, revision, method, params, Sent::Change);
        }
        for uri in updated {
            let mut params = with_subscription(&id, br#","uri":""#);
            rpc::push_escaped(&mut params, &uri);
            params.extend_from_slice(b"\"}");
            self.notify_as(lane, revision, Method::ResourcesUpdated, params, Sent::Change);
        }
    }

    fn tell_session(&mut self, changes: &Changes) {
        let Some(revision) = self.session() else { return };
        let declared = self.identity.changes;
        let offered = |method: &Method| match method {
            Method::ToolsListChanged => declared.tools,
            Method::PromptsListChanged => declared.prompts,
            _ => declared.resources,
        };
        for method in changes.lists().filter(offered) {
            self.notify_as(Lane::Connection, revision, method, Vec::new(), Sent::Change);
        }
        let none = BTreeSet::new();
        let subscribed = self.watches.all.as_ref().map_or(&none, |all| &all.subscribed);
        for uri in changes.updated.of(subscribed) {
            let mut params = br#"{"uri":""#.to_vec();
            rpc::push_escaped(&mut params, &uri);
            params.extend_from_slice(b"\"}");
            let method = Method::ResourcesUpdated;
            self.notify_as(Lane::Connection, revision, method, params, Sent::Change);
        }
    }
}

impl Watches {
    /// Keeps what a call asks for while the call runs.
    pub(super) fn begin(&mut self, key: CallKey, watch: Watch) {
        self.all_mut().of_calls.insert(key, watch);
    }

    fn all_mut(&mut self) -> &mut All {
        self.all.get_or_insert_default()
    }

    fn of_call(&self, key: CallKey) -> Option<&Watch> {
        self.all.as_ref()?.of_calls.get(&key)
    }

    fn of_call_mut(&mut self, key: CallKey) -> Option<&mut Watch> {
        self.all.as_mut()?.of_calls.get_mut(&key)
    }

    /// Gives back memory that nothing is in.
    pub(super) fn shrink(&mut self) {
        let is_empty =
            |all: &All| all.of_calls.is_empty() && all.subscribed.is_empty() && all.held.is_empty();
        if self.all.as_deref().is_some_and(is_empty) {
            self.all = None;
        }
    }

    /// A call has ended: what it asked for takes effect if it was `granted`.
    pub(super) fn settle(&mut self, key: CallKey, granted: bool) {
        let Some(all) = &mut self.all else { return };
        let Some(watch) = all.of_calls.remove(&key) else { return };
        let done = match watch {
            Watch::Subscribe(uri) if granted && !all.subscribed.contains(&uri) => {
                all.subscribed.insert(uri);
                return;
            }
            Watch::Unsubscribe(uri) if granted && all.subscribed.remove(&uri) => {
                Cost { listens: 0, resources: 1, bytes: uri.len() }
            }
            watch => watch.cost(),
        };
        all.used.listens -= done.listens;
        all.used.resources -= done.resources;
        all.used.bytes -= done.bytes;
    }

    fn listens(&self) -> impl Iterator<Item = CallKey> {
        let listens = self
            .all
            .iter()
            .flat_map(|all| &all.of_calls)
            .filter(|(_, watch)| matches!(watch, Watch::Listen(_)));
        listens.map(|(key, _)| *key)
    }

    fn reserve(&mut self, cost: Cost) -> Result<(), RpcError> {
        let limits = self.limits;
        let all = self.all_mut();
        let used = Cost {
            listens: all.used.listens + cost.listens,
            resources: all.used.resources + cost.resources,
            bytes: all.used.bytes + cost.bytes,
        };
        let over = [
            (used.listens, limits.listens, "open subscriptions/listen requests"),
            (used.resources, limits.resources, "resources in subscriptions"),
            (used.bytes, limits.bytes, "bytes of URIs in subscriptions"),
        ]
        .into_iter()
        .find(|(used, most, _)| used > most);
        if let Some((_, most, what)) = over {
            let text = format!("one connection may have at most {most} {what}");
            return Err(RpcError::invalid_params(text));
        }
        all.used = used;
        Ok(())
    }
}

impl Watch {
    fn cost(&self) -> Cost {
        match self {
            Self::Listen(listen) => listen.cost,
            Self::Subscribe(uri) => Cost { listens: 0, resources: 1, bytes: uri.len() },
            Self::Unsubscribe(_) => Cost::default(),
        }
    }
}

/// Begins an object whose `_meta` says which listen it belongs to.
fn with_subscription(id: &Id, rest: &[u8]) -> Vec<u8> {
    let mut out = br#"{"_meta":{"#.to_vec();
    out.extend_from_slice(&subscription(id));
    out.push(b'}');
    out.extend_from_slice(rest);
    out
}

/// The member of `_meta` that says which listen a message belongs to.
fn subscription(id: &Id) -> Vec<u8> {
    let mut out = br#""io.modelcontextprotocol/subscriptionId":"#.to_vec();
    id.write(&mut out);
    out
}
