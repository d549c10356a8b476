//! What the handle and the tasks of a managed connection share.

use super::connector::{CloseReason, ConnectionEvents, Connector};
use super::error::ManagedError;
use super::options::ManagedOptions;
use super::state::{Connected, ConnectionState, Memory, Phase, State, Up, Waiting};
use crate::client::{Client, ClientConfig, Hooks};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tokio::time::Instant;

pub(super) struct Inner<T> {
    pub(super) connector: Arc<dyn Connector>,
    pub(super) config: ClientConfig,
    pub(super) hooks: Hooks,
    pub(super) events: Arc<dyn ConnectionEvents>,
    pub(super) options: ManagedOptions,
    pub(super) seen: watch::Sender<ConnectionState>,
    state: Mutex<State<T>>,
    /// Held while a change is made and told, so that a connection's end is not
    /// told before its beginning. Taken before `state`.
    telling: Mutex<()>,
}

/// What somebody finds who wants the connection.
pub(super) enum Step<T> {
    Up(Connected<T>),
    Refused(ManagedError),
    Wait(Waiting<T>),
}

impl<T> Inner<T> {
    pub(super) fn new(
        connector: Arc<dyn Connector>,
        config: ClientConfig,
        hooks: Hooks,
        events: Arc<dyn ConnectionEvents>,
        options: ManagedOptions,
    ) -> Self {
        let seen = watch::Sender::new(ConnectionState::Stopped);
        let (state, telling) = (Mutex::default(), Mutex::default());
        Self { connector, config, hooks, events, options, seen, state, telling }
    }

    pub(super) fn now(&self) -> Option<Connected<T>> {
        match &mut self.state().phase {
            Phase::Up(up) => {
                up.used = Instant::now();
                Some(up.connected.clone())
            }
            Phase::Down | Phase::Opening(_) => None,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Takes the connection away, or ends the attempt.
    pub(super) fn take(&self, reason: CloseReason) -> Option<Client> {
        let _order = self.order();
        let before = {
            let mut state = self.state();
            state.turn += 1;
            match reason {
                CloseReason::Shutdown => state.closed = true,
                _ => {
                    state.breaker.healthy();
                    state.memory = Memory { loaded: true, ..Memory::default() };
                }
            }
            self.seen.send_replace(ConnectionState::Stopped);
            std::mem::replace(&mut state.phase, Phase::Down)
        };
        match before {
            Phase::Down => None,
            Phase::Opening(opening) => {
                opening.task.abort();
                None
            }
            Phase::Up(up) => {
                self.events.closed(&reason);
                Some(up.connected.client)
            }
        }
    }

    /// Takes an idle connection away, if it still is the one of `turn` and idle.
    pub(super) fn take_idle(
        &self,
        turn: u64,
        is_idle: impl FnOnce(&Up<T>) -> bool,
    ) -> Option<Client> {
        let _order = self.order();
        let up = {
            let mut state = self.state();
            if state.turn != turn {
                return None;
            }
            match std::mem::replace(&mut state.phase, Phase::Down) {
                Phase::Up(up) if is_idle(&up) => {
                    state.breaker.healthy();
                    self.seen.send_replace(ConnectionState::Stopped);
                    up
                }
                other => {
                    state.phase = other;
                    return None;
                }
            }
        };
        self.events.closed(&CloseReason::Idle);
        Some(up.connected.client)
    }

    /// The connection of `turn` has ended on the other side.
    pub(super) fn ended(&self, turn: u64, how: &str) {
        let _order = self.order();
        let _up = {
            let mut state = self.state();
            if state.turn != turn {
                return;
            }
            match std::mem::replace(&mut state.phase, Phase::Down) {
                Phase::Up(up) => {
                    self.fell(&mut state, &up, how);
                    up
                }
                Phase::Opening(mut opening) => {
                    opening.ended = Some(how.to_owned());
                    state.phase = Phase::Opening(opening);
                    return;
                }
                Phase::Down => return,
            }
        };
        self.events.closed(&CloseReason::Ended(how.to_owned()));
    }

    fn fell(&self, state: &mut State<T>, up: &Up<T>, how: &str) {
        let now = Instant::now();
        // One that had been fine is tried again at once.
        if now.duration_since(up.since) >= self.options.backoff.healthy {
            state.breaker.healthy();
            self.seen.send_replace(ConnectionState::Stopped);
            return;
        }
        let error = ManagedError::Ended { how: how.to_owned(), next_attempt: None };
        self.failed(state, error, now);
    }

    /// Takes a failure down.
    pub(super) fn failed(
        &self,
        state: &mut State<T>,
        error: ManagedError,
        now: Instant,
    ) -> ManagedError {
        let chance = crate::net::chance();
        let error = state.breaker.failed(error, now, &self.options.backoff, chance);
        self.seen.send_replace(ConnectionState::Failed(error.clone()));
        error
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn order(&self) -> MutexGuard<'_, ()> {
        self.telling.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> fmt::Debug for Inner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("server", &self.connector.name())
            .field("state", &*self.seen.borrow())
            .finish_non_exhaustive()
    }
}
