//! One attempt to connect, in a task of its own.

use super::error::{ConnectError, ManagedError};
use super::idle;
use super::inner::{Inner, Step};
use super::state::{Connected, ConnectionState, Opening, Outcome, Phase, Up};
use crate::client::{Client, ClientEvent, Era, Hooks};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::time::Instant;

/// The connection, or the attempt that is to be waited for: the one that is
/// under way, or a new one.
pub(super) fn open<T>(inner: &Arc<Inner<T>>) -> Step<T>
where
    T: Default + Send + Sync + 'static,
{
    let now = Instant::now();
    let mut state = inner.state();
    match &mut state.phase {
        Phase::Up(up) => {
            up.used = now;
            return Step::Up(up.connected.clone());
        }
        Phase::Opening(opening) => return Step::Wait(opening.done.clone()),
        Phase::Down => {}
    }
    if state.closed {
        return Step::Refused(ManagedError::Closed);
    }
    if let Some(error) = state.breaker.refusal(now) {
        return Step::Refused(error);
    }
    state.turn += 1;
    let task = tokio::spawn(attempt(inner.clone(), state.turn));
    let abort = task.abort_handle();
    // What was aborted has no outcome; panics are caught within.
    let done = task.map(|outcome| outcome.unwrap_or(None)).boxed().shared();
    let opening = Opening { began: now, done: done.clone(), task: abort, ended: None };
    state.phase = Phase::Opening(opening);
    inner.seen.send_replace(ConnectionState::Starting { since: now });
    Step::Wait(done)
}

async fn attempt<T>(inner: Arc<Inner<T>>, turn: u64) -> Outcome<T>
where
    T: Default + Send + Sync + 'static,
{
    let connecting = async {
        inner.events.connecting();
        let client = connect(&inner, turn).await?;
        learn(&inner, client.server().era()).await;
        inner.events.prepare(client.clone()).await;
        Ok(client)
    };
    let result = AssertUnwindSafe(connecting).catch_unwind().await;
    let result = result.unwrap_or_else(|_| Err(ConnectError::new("connecting panicked")));
    settle(&inner, turn, result)
}

async fn connect<T: Send + Sync + 'static>(
    inner: &Arc<Inner<T>>,
    turn: u64,
) -> Result<Client, ConnectError> {
    let known = remembered(inner);
    let mut config = inner.config.clone();
    config.era = known.or(config.era);
    match inner.connector.connect(config, hooks(inner, turn)).await {
        Err(error) if known.is_some() && error.may_blame_era() => {
            let server = inner.connector.name();
            tracing::debug!(server, %error, "what was known of the server's era is forgotten");
            forget(inner).await;
            inner.connector.connect(inner.config.clone(), hooks(inner, turn)).await
        }
        Err(error) => {
            // What was known of it may be what went wrong.
            inner.state().memory.era = None;
            Err(error)
        }
        connected => connected,
    }
}

fn settle<T>(inner: &Arc<Inner<T>>, turn: u64, result: Result<Client, ConnectError>) -> Outcome<T>
where
    T: Default + Send + Sync + 'static,
{
    let _order = inner.order();
    let now = Instant::now();
    let mut state = inner.state();
    if state.turn != turn {
        return None;
    }
    let Phase::Opening(opening) = std::mem::replace(&mut state.phase, Phase::Down) else {
        return None;
    };
    let client = match (result, opening.ended) {
        (Ok(client), None) => client,
        (Ok(_), Some(how)) => {
            let error = ManagedError::Ended { how, next_attempt: None };
            return Some(Err(inner.failed(&mut state, error, now)));
        }
        (Err(error), _) => {
            let error = ManagedError::Connect { error, next_attempt: None };
            return Some(Err(inner.failed(&mut state, error, now)));
        }
    };
    let connected = Connected::new(client, Arc::default(), opening.began);
    state.breaker.opened();
    let server = connected.client.server();
    let seen = ConnectionState::Connected { since: now, server: server.clone() };
    inner.seen.send_replace(seen);
    state.phase = Phase::Up(Up { connected: connected.clone(), since: now, used: now });
    drop(state);
    if let Some(timeout) = inner.options.idle_timeout {
        tokio::spawn(idle::watch(Arc::downgrade(inner), turn, timeout));
    }
    inner.events.opened(&server);
    Some(Ok(connected))
}

fn hooks<T: Send + Sync + 'static>(inner: &Arc<Inner<T>>, turn: u64) -> Hooks {
    let mut hooks = inner.hooks.clone();
    let own = hooks.events.take();
    // Whoever holds the connection keeps the rest alive, not the reverse.
    let inner = Arc::downgrade(inner);
    hooks.events = Some(Arc::new(move |event| {
        if let Some(inner) = inner.upgrade() {
            match &event {
                ClientEvent::Closed(how) => inner.ended(turn, how),
                ClientEvent::Changed(changed) => inner.events.changed(changed),
                _ => {}
            }
        }
        if let Some(own) = &own {
            own(event);
        }
    }));
    hooks
}

/// What is known of the server's era: from this connection, or from other runs.
fn remembered<T>(inner: &Inner<T>) -> Option<Era> {
    let store = inner.options.eras.as_ref();
    if let Some(store) = store.filter(|_| !inner.state().memory.loaded) {
        let era = store.load();
        let memory = &mut inner.state().memory;
        (memory.era, memory.stored, memory.loaded) = (era, era, true);
    }
    inner.state().memory.era
}

async fn forget<T>(inner: &Inner<T>) {
    let stored = {
        let memory = &mut inner.state().memory;
        memory.era = None;
        memory.stored.take()
    };
    if let Some(store) = inner.options.eras.as_ref().filter(|_| stored.is_some()) {
        store.save(None).await;
    }
}

async fn learn<T>(inner: &Inner<T>, era: Era) {
    let stored = {
        let memory = &mut inner.state().memory;
        memory.era = Some(era);
        memory.stored.replace(era)
    };
    if let Some(store) = inner.options.eras.as_ref().filter(|_| stored != Some(era)) {
        store.save(Some(era)).await;
    }
}
