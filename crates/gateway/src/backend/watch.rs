//! Subscriptions to resources on one connection, each resource once for all who
//! subscribe on it.

use super::line::{Level, Line};
use super::target::Target;
use crate::error;
use carrick::Client;
use carrick::client::ClientError;
use carrick::types::RpcError;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often each resource is subscribed to.
#[derive(Default)]
pub(crate) struct Watched {
    /// Held while the server is asked, so that nobody takes a subscription for
    /// granted that is refused.
    turn: tokio::sync::Mutex<()>,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    by_uri: BTreeMap<String, usize>,
    /// Whether there has ever been one.
    has_been: bool,
}

impl Watched {
    /// Subscribes to a resource.
    pub(crate) async fn add(
        &self,
        target: &Target,
        line: &Line,
        uri: &str,
    ) -> Result<(), RpcError> {
        let _turn = self.turn.lock().await;
        {
            let mut counts = self.counts();
            counts.has_been = true;
            if let Some(count) = counts.by_uri.get_mut(uri) {
                *count += 1;
                return Ok(());
            }
        }
        let client = line.client(Level::Any).await?;
        client.subscribe(uri).await.map_err(|error| told(target, error))?;
        self.counts().by_uri.insert(uri.to_owned(), 1);
        Ok(())
    }

    pub(crate) async fn remove(&self, line: &Line, uri: &str) {
        let _turn = self.turn.lock().await;
        {
            let mut counts = self.counts();
            let Some(count) = counts.by_uri.get_mut(uri) else { return };
            *count -= 1;
            if *count > 0 {
                return;
            }
            counts.by_uri.remove(uri);
        }
        if let Some(client) = line.now(Level::Any) {
            log(client.unsubscribe(uri).await);
        }
    }

    pub(crate) fn uris(&self) -> Vec<String> {
        self.counts().by_uri.keys().cloned().collect()
    }

    /// Whether clients have subscribed here, whose words the server may remember.
    pub(crate) fn has_been_used(&self) -> bool {
        self.counts().has_been
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Subscribes to all of it on a connection that has just been opened.
pub(crate) async fn subscribe_all(client: &Client, uris: Vec<String>) {
    for uri in uris {
        log(client.subscribe(&uri).await);
    }
}

fn log(done: Result<(), ClientError>) {
    if let Err(error) = done {
        tracing::debug!(%error, "a subscription did not reach the server");
    }
}

fn told(target: &Target, error: ClientError) -> RpcError {
    match error {
        ClientError::Call(call) => error::of_call(target.name(), call),
        other => RpcError::internal(format!("server {:?}: {other}", target.name())),
    }
}
