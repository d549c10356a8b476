//! What one conversation has subscribed to.

use crate::backend::{Backend, Conn, Lease, Owner};
use carrick::proto::peer::{Call, CallKey, Outcome};
use carrick::server::{Dispatch, Elsewhere, Outbox};
use carrick::types::{RpcError, SubscriptionFilter};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::task::AbortHandle;

/// The resources that a conversation hears of. All of it ends when this is
/// dropped.
pub(super) struct Subscriptions {
    place: Arc<Place>,
    held: Arc<Mutex<Held>>,
}

/// The connection on which the server is asked to tell of them.
struct Place {
    backend: Arc<Backend>,
    /// That of the conversation, where it has one of its own.
    own: OnceLock<Lease>,
}

impl Place {
    fn conn(&self) -> &Arc<Conn> {
        self.own.get().map_or(self.backend.first(), Lease::conn)
    }

    async fn add(&self, uri: &str) -> Result<(), RpcError> {
        let conn = self.conn();
        conn.watched.add(self.backend.target(), &conn.line, uri).await
    }

    async fn remove(&self, uri: &str) {
        let conn = self.conn();
        conn.watched.remove(&conn.line, uri).await;
    }

    /// Takes the conversation's own connection, as a call of its would. The
    /// server may remember what was subscribed to.
    async fn take_own(&self, owner: &Owner, capabilities: &Arc<str>) -> Result<(), RpcError> {
        if self.own.get().is_none() {
            let lease = match self.backend.try_lease(owner, capabilities) {
                Some(lease) => lease,
                None => self.backend.lease(owner, capabilities).await?,
            };
            // Another listen may have taken it meanwhile.
            drop(self.own.set(lease));
        }
        Ok(())
    }
}

#[derive(Default)]
struct Held {
    /// By a session.
    session: BTreeSet<String>,
    /// By listens that are open.
    listens: BTreeMap<CallKey, Vec<String>>,
    over: bool,
}

impl Subscriptions {
    pub(super) fn new(backend: Arc<Backend>) -> Self {
        let place = Arc::new(Place { backend, own: OnceLock::new() });
        Self { place, held: Arc::default() }
    }

    /// `subscriptions/listen`: agrees to what the server tells of. `own` is whose
    /// the connection has to be, where that matters.
    pub(super) fn listen(
        &self,
        outbox: &Arc<dyn Outbox>,
        own: Option<&Owner>,
        call: &Call,
    ) -> Dispatch {
        let mut agreed = match SubscriptionFilter::of(&call.message) {
            Ok(filter) => filter,
            Err(error) => return Dispatch::Ready(Outcome::Error(error)),
        };
        if agreed.resource_subscriptions.is_empty() {
            return Dispatch::Ready(Outcome::Listening(agreed));
        }
        let own =
            match own.map(|own| Ok((own.clone(), self.place.backend.legacy_capabilities(call)?))) {
                Some(Err(error)) => return Dispatch::Ready(Outcome::Error(error)),
                Some(Ok(own)) => Some(own),
                None => None,
            };
        let (place, outbox, key) = (self.place.clone(), outbox.clone(), call.key);
        let held = self.held.clone();
        let wanted = std::mem::take(&mut agreed.resource_subscriptions);
        held_now(&held).listens.insert(key, Vec::new());
        Self::work(async move {
            if let Some((owner, capabilities)) = own
                && let Err(error) = place.take_own(&owner, &capabilities).await
            {
                return outbox.answer(key, Outcome::Error(error));
            }
            for uri in wanted {
                match place.add(&uri).await {
                    Ok(()) => {
                        keep(&place, &held, uri.clone(), |held, uri| {
                            held.listens.get_mut(&key).map(|uris| uris.push(uri))
                        });
                        agreed.resource_subscriptions.push(uri);
                    }
                    Err(error) => tracing::debug!(%error, "a subscription was refused"),
                }
            }
            outbox.answer(key, Outcome::Listening(agreed));
        })
    }

    /// `resources/subscribe` of a session.
    pub(super) fn subscribe(&self, outbox: &Arc<dyn Outbox>, call: &Call, uri: String) -> Dispatch {
        let (place, outbox, key) = (self.place.clone(), outbox.clone(), call.key);
        let held = self.held.clone();
        Self::work(async move {
            let there = held_now(&held).session.contains(&uri);
            let added = if there { Ok(()) } else { place.add(&uri).await };
            if added.is_ok() && !there {
                keep(&place, &held, uri, |held, uri| held.session.insert(uri).then_some(()));
            }
            outbox.answer(key, added.map_or_else(Outcome::Error, |()| done()));
        })
    }

    /// `resources/unsubscribe` of a session.
    pub(super) fn unsubscribe(&self, uri: &str) -> Outcome {
        if held_now(&self.held).session.remove(uri) {
            drop_later(&self.place, [uri.to_owned()]);
        }
        done()
    }

    /// A listen has ended.
    pub(super) fn ended(&self, key: CallKey) {
        let uris = held_now(&self.held).listens.remove(&key);
        drop_later(&self.place, uris.into_iter().flatten());
    }

    fn work(work: impl Future<Output = ()> + Send + 'static) -> Dispatch {
        Dispatch::Later(Arc::new(Work(tokio::spawn(work).abort_handle())))
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        let mut held = held_now(&self.held);
        held.over = true;
        let session = std::mem::take(&mut held.session).into_iter();
        let listens = std::mem::take(&mut held.listens).into_values().flatten();
        let all: Vec<String> = session.chain(listens).collect();
        drop(held);
        drop_later(&self.place, all);
    }
}

/// Remembers a subscription, or ends it when nobody wants it any more.
fn keep(
    place: &Arc<Place>,
    held: &Mutex<Held>,
    uri: String,
    how: impl FnOnce(&mut Held, String) -> Option<()>,
) {
    let mut held = held_now(held);
    let wanted = !held.over;
    let kept = wanted.then(|| how(&mut held, uri.clone())).flatten();
    drop(held);
    if kept.is_none() {
        drop_later(place, [uri]);
    }
}

fn held_now(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends subscriptions, each in its turn.
fn drop_later(place: &Arc<Place>, uris: impl IntoIterator<Item = String>) {
    let uris: Vec<String> = uris.into_iter().collect();
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    if uris.is_empty() {
        return;
    }
    let place = place.clone();
    runtime.spawn(async move {
        for uri in uris {
            place.remove(&uri).await;
        }
    });
}

fn done() -> Outcome {
    Outcome::Result { body: b"{}".to_vec(), has_meta: false }
}

/// A task that ends when its call does.
struct Work(AbortHandle);

impl Elsewhere for Work {
    fn give_up(&self) {
        self.0.abort();
    }
}
