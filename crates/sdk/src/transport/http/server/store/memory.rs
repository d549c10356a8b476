//! Events in memory.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;

use super::ledger::{Ledger, Removed};
use super::{EventLimits, EventStore, ReplayError, StoredEvent, StreamKey};

/// Keeps events in memory, within [`EventLimits`].
#[derive(Debug)]
pub struct MemoryEventStore {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    ledger: Ledger,
    streams: HashMap<StreamKey, VecDeque<StoredEvent>>,
}

impl MemoryEventStore {
    /// An empty store.
    #[must_use]
    pub fn new(limits: EventLimits) -> Self {
        let state = State { ledger: Ledger::new(limits), streams: HashMap::new() };
        Self { state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that holds the lock can leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventStore for MemoryEventStore {
    fn append(&self, stream: StreamKey, event: StoredEvent) -> Option<BoxFuture<'static, ()>> {
        let mut state = self.lock();
        for removed in state.ledger.append(stream, event.number, event.data.len()) {
            state.remove(&removed);
        }
        state.streams.entry(stream).or_default().push_back(event);
        None
    }

    fn replay(
        &self,
        stream: StreamKey,
        after: u64,
    ) -> BoxFuture<'_, Result<Vec<StoredEvent>, ReplayError>> {
        let state = self.lock();
        let found = state.ledger.after(stream, after).map(|numbers| {
            let events = state.streams.get(&stream).into_iter().flatten();
            events.filter(|event| numbers.contains(&event.number)).cloned().collect()
        });
        Box::pin(std::future::ready(found.ok_or(ReplayError::Gone)))
    }

    fn forget(&self, stream: StreamKey) {
        let mut state = self.lock();
        state.ledger.forget(stream);
        state.streams.remove(&stream);
    }

    fn forget_session(&self, session: u128) {
        let mut state = self.lock();
        let State { ledger, streams } = &mut *state;
        for stream in ledger.forget_session(session) {
            streams.remove(&stream);
        }
    }
}

impl State {
    fn remove(&mut self, removed: &Removed) {
        match removed {
            Removed::Stream(stream) => drop(self.streams.remove(stream)),
            Removed::UpTo(stream, number) => {
                let Some(events) = self.streams.get_mut(stream) else { return };
                while events.front().is_some_and(|event| event.number <= *number) {
                    events.pop_front();
                }
            }
        }
    }
}
