//! What running handlers say besides their answer, on its way to the engine.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use futures_util::future::BoxFuture;

use carrick_proto::peer::{CallKey, Changed, Changes, ServerPeer};
use carrick_proto::types::LogLevel;

use crate::server::{Asks, Outbox, Question};

/// Most log messages that wait; more are dropped and counted.
const MAX_LOGS: usize = 256;

/// Calls whose streams are to be closed before the answer, and when their clients
/// should come back.
pub(super) type Leaving = VecDeque<(CallKey, Option<Duration>)>;

/// A queue that handlers write to from wherever they run.
#[derive(Debug, Default)]
pub(super) struct Signals {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<(CallKey, Signal)>,
    changes: Changes,
    /// The server is about to go.
    closing: bool,
    logs: usize,
    dropped: u64,
    waker: Option<Waker>,
}

#[derive(Debug)]
enum Signal {
    Progress { done: f64, total: Option<f64>, message: Option<String> },
    Log { level: LogLevel, logger: Option<String>, data: Vec<u8> },
    Ask(Question),
    CloseStream(Option<Duration>),
}

impl Signals {
    /// Hands what waits to the engine. With a waker, the next signal wakes it.
    /// Returns whether there was something.
    pub(super) fn drain(
        &self,
        peer: &mut ServerPeer,
        asks: &mut Asks,
        leaving: &mut Leaving,
        waker: Option<&Waker>,
    ) -> bool {
        let (queue, changes, closing) = {
            let mut state = self.lock();
            if let Some(waker) = waker {
                state.waker = Some(waker.clone());
            }
            if state.dropped > 0 {
                tracing::warn!(count = state.dropped, "log messages were dropped: too many wait");
                state.dropped = 0;
            }
            state.logs = 0;
            let queue = std::mem::take(&mut state.queue);
            (queue, std::mem::take(&mut state.changes), std::mem::take(&mut state.closing))
        };
        let some = !queue.is_empty() || !changes.is_empty() || closing;
        for (key, signal) in queue {
            match signal {
                Signal::Progress { done, total, message } => {
                    peer.progress(key, done, total, message.as_deref());
                }
                Signal::Log { level, logger, data } => {
                    peer.log(key, level, logger.as_deref(), &data);
                }
                Signal::Ask(question) => asks.ask(peer, key, question),
                Signal::CloseStream(retry) => leaving.push_back((key, retry)),
            }
        }
        if !changes.is_empty() {
            peer.tell(changes);
        }
        if closing {
            peer.end_listens();
        }
        some
    }

    /// Ends what only waits for changes, in good order.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closing = true;
        state.wake();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn push(&mut self, key: CallKey, signal: Signal) {
        self.queue.push_back((key, signal));
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Outbox for Signals {
    /// Progress that waits already is replaced: only the newest is worth sending.
    fn progress(&self, key: CallKey, done: f64, total: Option<f64>, message: Option<String>) {
        let mut state = self.lock();
        let signal = Signal::Progress { done, total, message };
        let waiting = |(of, old): &&mut (CallKey, Signal)| {
            *of == key && matches!(old, Signal::Progress { .. })
        };
        match state.queue.iter_mut().rev().find(waiting) {
            Some((_, old)) => *old = signal,
            None => state.push(key, signal),
        }
    }

    fn log(&self, key: CallKey, level: LogLevel, logger: Option<String>, data: Vec<u8>) {
        let mut state = self.lock();
        if state.logs >= MAX_LOGS {
            state.dropped += 1;
            return;
        }
        state.logs += 1;
        state.push(key, Signal::Log { level, logger, data });
    }

    fn close_stream(&self, key: CallKey, retry: Option<Duration>) {
        self.lock().push(key, Signal::CloseStream(retry));
    }

    fn ask(&self, key: CallKey, question: Question) -> BoxFuture<'_, ()> {
        // Each call waits for its answers, so these are few.
        self.lock().push(key, Signal::Ask(question));
        Box::pin(std::future::ready(()))
    }

    fn changed(&self, changed: Changed) {
        let mut state = self.lock();
        state.changes.add(changed);
        state.wake();
    }
}
