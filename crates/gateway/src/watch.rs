//! Subscriptions to resources: those of all clients of a server on one
//! connection, each resource once.

use crate::error;
use crate::gateway::{Inner, lock};
use crate::line::Level;
use carrick::Client;
use carrick::client::{Changed, ClientError};
use carrick::proto::peer::{Call, CallKey, Outcome};
use carrick::server::{Dispatch, Elsewhere, Outbox};
use carrick::types::{RpcError, SubscriptionFilter};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::task::AbortHandle;

/// How often each resource is subscribed to.
#[derive(Default)]
pub(crate) struct Watched {
    /// Held while the server is asked, so that nobody takes a subscription for
    /// granted that is refused.
    turn: tokio::sync::Mutex<()>,
    counts: Mutex<BTreeMap<String, usize>>,
}

impl Watched {
    /// Subscribes to a resource.
    async fn add(&self, gateway: &Inner, uri: &str) -> Result<(), RpcError> {
        let _turn = self.turn.lock().await;
        if let Some(count) = lock(&self.counts).get_mut(uri) {
            *count += 1;
            return Ok(());
        }
        let client = gateway.main.line.client(Level::Any).await?;
        client.subscribe(uri).await.map_err(|error| told(gateway, error))?;
        lock(&self.counts).insert(uri.to_owned(), 1);
        // Each connection over stdio is a server of its own.
        for other in gateway.pool.all() {
            if let Some(client) = other.line.now(Level::Any)
                && !Arc::ptr_eq(&other, &gateway.main)
            {
                log(client.subscribe(uri).await);
            }
        }
        Ok(())
    }

    async fn remove(&self, gateway: &Inner, uri: &str) {
        let _turn = self.turn.lock().await;
        let over = {
            let mut counts = lock(&self.counts);
            let Some(count) = counts.get_mut(uri) else { return };
            *count -= 1;
            let over = *count == 0;
            if over {
                counts.remove(uri);
            }
            over
        };
        for trunk in gateway.pool.all() {
            if let Some(client) = trunk.line.now(Level::Any).filter(|_| over) {
                log(client.unsubscribe(uri).await);
            }
        }
    }

    /// Subscribes to all of it on a connection that has just been opened.
    pub(crate) async fn catch_up(&self, client: &Client) {
        for uri in self.uris() {
            log(client.subscribe(&uri).await);
        }
    }

    /// Tells that all of it may have changed.
    pub(crate) fn tell(&self, gateway: &Inner) {
        for uri in self.uris() {
            gateway.changed(&Changed::Resource(uri));
        }
    }

    fn uris(&self) -> Vec<String> {
        lock(&self.counts).keys().cloned().collect()
    }
}

fn log(done: Result<(), ClientError>) {
    if let Err(error) = done {
        tracing::debug!(%error, "a subscription did not reach one of the connections");
    }
}

fn told(gateway: &Inner, error: ClientError) -> RpcError {
    let server = gateway.upstream.name();
    match error {
        ClientError::Call(call) => error::of_call(server, call),
        other => RpcError::internal(format!("server {server:?}: {other}")),
    }
}

/// What one conversation has subscribed to. All of it ends when this is dropped.
pub(crate) struct Subscriptions {
    gateway: Arc<Inner>,
    held: Arc<Mutex<Held>>,
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
    pub(crate) fn new(gateway: Arc<Inner>) -> Self {
        Self { gateway, held: Arc::default() }
    }

    /// `subscriptions/listen`: agrees to what the server tells of.
    pub(crate) fn listen(&self, outbox: &Arc<dyn Outbox>, call: &Call) -> Dispatch {
        let mut agreed = match SubscriptionFilter::of(&call.message) {
            Ok(filter) => filter,
            Err(error) => return Dispatch::Ready(Outcome::Error(error)),
        };
        if agreed.resource_subscriptions.is_empty() {
            return Dispatch::Ready(Outcome::Listening(agreed));
        }
        let (gateway, outbox, key) = (self.gateway.clone(), outbox.clone(), call.key);
        let held = self.held.clone();
        let wanted = std::mem::take(&mut agreed.resource_subscriptions);
        held_now(&held).listens.insert(key, Vec::new());
        Self::work(async move {
            for uri in wanted {
                match gateway.watched.add(&gateway, &uri).await {
                    Ok(()) => {
                        keep(&gateway, &held, uri.clone(), |held, uri| {
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
    pub(crate) fn subscribe(&self, outbox: &Arc<dyn Outbox>, call: &Call, uri: String) -> Dispatch {
        let (gateway, outbox, key) = (self.gateway.clone(), outbox.clone(), call.key);
        let held = self.held.clone();
        Self::work(async move {
            let there = held_now(&held).session.contains(&uri);
            let added = if there { Ok(()) } else { gateway.watched.add(&gateway, &uri).await };
            if added.is_ok() && !there {
                keep(&gateway, &held, uri, |held, uri| held.session.insert(uri).then_some(()));
            }
            outbox.answer(key, added.map_or_else(Outcome::Error, |()| done()));
        })
    }

    /// `resources/unsubscribe` of a session.
    pub(crate) fn unsubscribe(&self, uri: &str) -> Outcome {
        if held_now(&self.held).session.remove(uri) {
            drop_later(&self.gateway, [uri.to_owned()]);
        }
        done()
    }

    /// A listen has ended.
    pub(crate) fn ended(&self, key: CallKey) {
        let uris = held_now(&self.held).listens.remove(&key);
        drop_later(&self.gateway, uris.into_iter().flatten());
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
        drop_later(&self.gateway, all);
    }
}

/// Remembers a subscription, or ends it when nobody wants it any more.
fn keep(
    gateway: &Arc<Inner>,
    held: &Mutex<Held>,
    uri: String,
    place: impl FnOnce(&mut Held, String) -> Option<()>,
) {
    let mut held = held_now(held);
    let wanted = !held.over;
    let kept = wanted.then(|| place(&mut held, uri.clone())).flatten();
    drop(held);
    if kept.is_none() {
        drop_later(gateway, [uri]);
    }
}

fn held_now(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    lock(held)
}

/// Ends subscriptions, each in its turn.
fn drop_later(gateway: &Arc<Inner>, uris: impl IntoIterator<Item = String>) {
    let uris: Vec<String> = uris.into_iter().collect();
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    if uris.is_empty() {
        return;
    }
    let gateway = gateway.clone();
    runtime.spawn(async move {
        for uri in uris {
            gateway.watched.remove(&gateway, &uri).await;
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
