//! A conversation with a server of this process, and what it is told about.

use super::{
    Answering, CallInfo, Connection, Dispatch, Outbox, ResourceSource, Server, dispatch, not_found,
};
use carrick_proto::method::Method;
use carrick_proto::peer::{Call, CallKey, Outcome};
use carrick_proto::revision::Revision;
use carrick_proto::rpc::Field;
use carrick_proto::types::{RpcError, SubscriptionFilter};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A conversation with a server of this process.
pub(super) struct Direct {
    server: Server,
    outbox: Arc<dyn Outbox>,
    /// Whether it hears of changes.
    joined: bool,
    /// None while there is nothing to hold: of most conversations there is not.
    held: Option<Arc<Held>>,
}

/// The subscriptions of a conversation at a source.
#[derive(Default)]
struct Held {
    all: Mutex<All>,
}

#[derive(Default)]
struct All {
    of_listens: BTreeMap<CallKey, Vec<Subscription>>,
    of_session: BTreeMap<String, Subscription>,
}

/// One subscription at a source, until it is dropped.
struct Subscription {
    source: Arc<dyn ResourceSource>,
    uri: String,
}

impl Direct {
    pub(super) fn new(server: Server, outbox: Arc<dyn Outbox>) -> Self {
        Self { server, outbox, joined: false, held: None }
    }

    /// From now on what changes is told here.
    fn join(&mut self) {
        if self.server.inner.declared.changes && !self.joined {
            self.joined = true;
            self.server.inner.hub.join(&self.outbox);
        }
    }

    /// Agrees to all that a request to listen asks for and that there is.
    fn listen(&mut self, call: &Call, info: &CallInfo) -> Dispatch {
        let mut filter = match SubscriptionFilter::of(&call.message) {
            Ok(filter) => filter,
            Err(error) => return Dispatch::Ready(Outcome::Error(error)),
        };
        self.join();
        let asked = std::mem::take(&mut filter.resource_subscriptions);
        if !self.server.inner.declared.subscriptions {
            return Dispatch::Ready(Outcome::Listening(filter));
        }
        let (ours, others): (Vec<_>, Vec<_>) =
            asked.into_iter().partition(|uri| self.server.find_resource(uri).is_some());
        filter.resource_subscriptions = ours;
        let Some(source) = self.server.inner.source.clone().filter(|_| !others.is_empty()) else {
            return Dispatch::Ready(Outcome::Listening(filter));
        };
        let (held, key) = (self.held.get_or_insert_default().clone(), call.key);
        held.all().of_listens.insert(key, Vec::new());
        let info = info.clone();
        let agreeing = async move {
            let mut subscriptions = Vec::new();
            for uri in others {
                match Subscription::begin(&source, uri, &info).await {
                    Ok(subscription) => {
                        filter.resource_subscriptions.push(subscription.uri.clone());
                        subscriptions.push(subscription);
                    }
                    Err(error) => tracing::debug!(%error, "a resource is not subscribed to"),
                }
            }
            // When the listen has ended meanwhile, they end here.
            if let Some(place) = held.all().of_listens.get_mut(&key) {
                place.append(&mut subscriptions);
            }
            Outcome::Listening(filter)
        };
        Dispatch::Pending(Answering::new(agreeing))
    }

    fn subscribe(&mut self, call: &Call, info: &CallInfo) -> Dispatch {
        // The engine takes no such request without a URI.
        let uri = call.message.text(Field::Uri).unwrap_or_default().into_owned();
        if self.server.find_resource(&uri).is_some() {
            return Dispatch::Ready(dispatch::complete(b"{}".to_vec()));
        }
        let code = call.revision.rules().resource_not_found;
        let Some(source) = self.server.inner.source.clone() else {
            return Dispatch::Ready(Outcome::Error(dispatch::recoded(not_found(&uri), code)));
        };
        let held = self.held.get_or_insert_default().clone();
        let info = info.clone();
        let subscribing = async move {
            match Subscription::begin(&source, uri, &info).await {
                Ok(subscription) => {
                    let uri = subscription.uri.clone();
                    let before = held.all().of_session.insert(uri, subscription);
                    drop(before);
                    dispatch::complete(b"{}".to_vec())
                }
                Err(error) => Outcome::Error(dispatch::recoded(error, code)),
            }
        };
        Dispatch::Pending(Answering::new(subscribing))
    }

    /// Ends a subscription; one that there is not is ended already.
    fn unsubscribe(&mut self, call: &Call) -> Dispatch {
        let uri = call.message.text(Field::Uri).unwrap_or_default();
        let ended = self.held.as_ref().and_then(|held| held.all().of_session.remove(&*uri));
        drop(ended);
        Dispatch::Ready(dispatch::complete(b"{}".to_vec()))
    }
}

impl Connection for Direct {
    fn opened(&mut self, _revision: Revision) {
        self.join();
    }

    fn call(&mut self, call: Call, info: &CallInfo) -> Dispatch {
        let subscriptions = self.server.inner.declared.subscriptions;
        match call.message.method() {
            Method::SubscriptionsListen => self.listen(&call, info),
            Method::ResourcesSubscribe if subscriptions => self.subscribe(&call, info),
            Method::ResourcesUnsubscribe if subscriptions => self.unsubscribe(&call),
            _ => self.server.dispatch(call, info, &self.outbox),
        }
    }

    fn cancelled(&mut self, key: CallKey) {
        let ended = self.held.as_ref().and_then(|held| held.all().of_listens.remove(&key));
        drop(ended);
    }
}

impl Held {
    fn all(&self) -> MutexGuard<'_, All> {
        // Nothing that holds the lock can leave the maps half changed.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscription {
    async fn begin(
        source: &Arc<dyn ResourceSource>,
        uri: String,
        info: &CallInfo,
    ) -> Result<Self, RpcError> {
        source.subscribe(&uri, info).await?;
        Ok(Self { source: source.clone(), uri })
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.source.unsubscribe(&self.uri);
    }
}
