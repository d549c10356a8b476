//! What running handlers say besides their answer, on its way to the engine.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use futures_util::future::BoxFuture;

use carrick_proto::method::Method;
use carrick_proto::peer::{CallKey, Changed, Changes, Outcome, ServerPeer};
use carrick_proto::revision::Revision;
use carrick_proto::rpc::Message;
use carrick_proto::types::LogLevel;

use crate::server::{Asks, Outbox, PassedAsk, Question};
use crate::tally::Tally;

/// Most log messages that wait; more are dropped and counted.
const MAX_LOGS: usize = 256;

/// Log messages that were dropped, of all clients.
static DROPPED: Tally = Tally::new();

fn count_dropped() {
    if let Some(count) = DROPPED.add() {
        tracing::warn!(count, "log messages were dropped: too many wait");
    }
}

/// Calls whose streams are to be closed before the answer, and when their clients
/// should come back.
pub(super) type Leaving = VecDeque<(CallKey, Option<Duration>)>;

/// A queue that handlers write to from wherever they run.
#[derive(Debug, Default)]
pub(super) struct Signals {
    state: Mutex<State>,
    /// Requests and streams of the session that are open.
    pub(super) in_use: AtomicU32,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<(Option<CallKey>, Signal)>,
    changes: Changes,
    /// The server is about to go.
    closing: bool,
    /// The session is to end.
    over: bool,
    logs: usize,
    waker: Option<Waker>,
}

#[derive(Debug)]
enum Signal {
    Progress { done: f64, total: Option<f64>, message: Option<String> },
    Log { level: LogLevel, logger: Option<String>, data: Vec<u8> },
    Ask(Question),
    CloseStream(Option<Duration>),
    Answer(Outcome),
    Notice { message: Box<Message>, from: Revision },
    PassAsk(Box<PassedAsk>),
    SweepAsks,
}

impl Signals {
    /// Hands what waits to the engine. With a waker, the next signal wakes it;
    /// `answered` hears of the calls that this ends, and `over` becomes true when the
    /// session is to end. Returns whether there was something to hand over.
    pub(super) fn drain(
        &self,
        peer: &mut ServerPeer,
        asks: &mut Asks,
        leaving: &mut Leaving,
        over: &mut bool,
        waker: Option<&Waker>,
        mut answered: impl FnMut(CallKey),
    ) -> bool {
        let (queue, changes, closing) = {
            let mut state = self.lock();
            if let Some(waker) = waker {
                state.waker = Some(waker.clone());
            }
            *over |= state.over;
            if state.queue.is_empty() && state.changes.is_empty() && !state.closing {
                return false;
            }
            state.logs = 0;
            let queue = std::mem::take(&mut state.queue);
            (queue, std::mem::take(&mut state.changes), std::mem::take(&mut state.closing))
        };
        let some = !queue.is_empty() || !changes.is_empty() || closing;
        for (key, signal) in queue {
            match (key, signal) {
                (Some(key), Signal::Progress { done, total, message }) => {
                    peer.progress(key, done, total, message.as_deref());
                }
                (Some(key), Signal::Log { level, logger, data }) => {
                    peer.log(key, level, logger.as_deref(), &data);
                }
                (Some(key), Signal::Ask(question)) => asks.ask(peer, key, question),
                (Some(key), Signal::CloseStream(retry)) => leaving.push_back((key, retry)),
                (Some(key), Signal::Answer(outcome)) => {
                    answered(key);
                    peer.respond(key, outcome);
                }
                (to, Signal::Notice { message, from }) => peer.pass_notice(to, &message, from),
                (_, Signal::PassAsk(ask)) => asks.pass(peer, *ask),
                (_, Signal::SweepAsks) => asks.sweep(peer),
                // All others are about a call.
                (None, _) => {}
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

    /// Gives back memory that an empty queue does not need.
    pub(super) fn shrink(&self) {
        let mut state = self.lock();
        if state.queue.is_empty() {
            state.queue = VecDeque::new();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn push(&mut self, key: Option<CallKey>, signal: Signal) {
        self.queue.push_back((key, signal));
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Puts a signal in the place of one that it makes old.
    fn renew(&mut self, key: Option<CallKey>, signal: Signal, is_old: impl Fn(&Signal) -> bool) {
        let old = self.queue.iter_mut().rev().find(|(of, old)| *of == key && is_old(old));
        match old {
            Some((_, old)) => *old = signal,
            None => self.push(key, signal),
        }
    }
}

impl Outbox for Signals {
    /// Progress that waits already is replaced: only the newest is worth sending.
    fn progress(&self, key: CallKey, done: f64, total: Option<f64>, message: Option<String>) {
        let mut state = self.lock();
        let signal = Signal::Progress { done, total, message };
        let is_progress = |old: &Signal| matches!(old, Signal::Progress { .. });
        state.renew(Some(key), signal, is_progress);
    }

    fn log(&self, key: CallKey, level: LogLevel, logger: Option<String>, data: Vec<u8>) {
        let mut state = self.lock();
        if state.logs >= MAX_LOGS {
            drop(state);
            return count_dropped();
        }
        state.logs += 1;
        state.push(Some(key), Signal::Log { level, logger, data });
    }

    fn close_stream(&self, key: CallKey, retry: Option<Duration>) {
        self.lock().push(Some(key), Signal::CloseStream(retry));
    }

    fn ask(&self, key: CallKey, question: Question) -> BoxFuture<'_, ()> {
        // Each call waits for its answers, so these are few.
        self.lock().push(Some(key), Signal::Ask(question));
        Box::pin(std::future::ready(()))
    }

    fn changed(&self, changed: Changed) {
        let mut state = self.lock();
        state.changes.add(changed);
        state.wake();
    }

    fn answer(&self, key: CallKey, outcome: Outcome) {
        self.lock().push(Some(key), Signal::Answer(outcome));
    }

    fn pass_notice(&self, to: Option<CallKey>, message: Message, from: Revision) {
        let mut state = self.lock();
        let is_progress = message.method() == Method::Progress;
        let signal = Signal::Notice { message: Box::new(message), from };
        if is_progress {
            let is_old = |old: &Signal| matches!(old, Signal::Notice { message, .. } if message.method() == Method::Progress);
            return state.renew(to, signal, is_old);
        }
        if state.logs >= MAX_LOGS {
            drop(state);
            return count_dropped();
        }
        state.logs += 1;
        state.push(to, signal);
    }

    fn pass_ask(&self, ask: PassedAsk) {
        self.lock().push(None, Signal::PassAsk(Box::new(ask)));
    }

    fn sweep_asks(&self) {
        self.lock().push(None, Signal::SweepAsks);
    }

    fn is_client_present(&self) -> bool {
        self.in_use.load(Ordering::Relaxed) > 0
    }

    fn close_session(&self) {
        let mut state = self.lock();
        state.over = true;
        state.wake();
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use carrick_proto::rpc::{Limits, Scanned, scan};

    use super::*;

    fn notice(method: &str, n: usize) -> Message {
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{"n":{n}}}}}"#
        );
        match scan(Bytes::from(line), Limits::default()) {
            Ok(Scanned::One(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    /// What waits, by kind and number.
    fn waiting(signals: &Signals) -> Vec<String> {
        let of = |(_, signal): &(_, Signal)| match signal {
            Signal::Notice { message, .. } => {
                let params = String::from_utf8_lossy(message.body_bytes()).into_owned();
                format!("{} {params}", message.method().name())
            }
            other => panic!("{other:?}"),
        };
        signals.lock().queue.iter().map(of).collect()
    }

    #[test]
    fn of_progress_that_is_passed_on_the_newest_waits_and_of_logs_each() {
        let signals = Signals::default();
        for n in 0..3 {
            signals.pass_notice(None, notice("progress", n), Revision::NEWEST);
            signals.pass_notice(None, notice("message", n), Revision::NEWEST);
        }
        let expected = [
            r#"notifications/progress {"n":2}"#,
            r#"notifications/message {"n":0}"#,
            r#"notifications/message {"n":1}"#,
            r#"notifications/message {"n":2}"#,
        ];
        assert_eq!(waiting(&signals), expected);
    }

    #[test]
    fn so_many_logs_wait_and_no_more_and_progress_always_does() {
        let signals = Signals::default();
        for n in 0..MAX_LOGS + 10 {
            signals.pass_notice(None, notice("message", n), Revision::NEWEST);
        }
        assert_eq!(waiting(&signals).len(), MAX_LOGS);
        signals.pass_notice(None, notice("progress", 1), Revision::NEWEST);
        assert_eq!(waiting(&signals).len(), MAX_LOGS + 1);
    }
}
