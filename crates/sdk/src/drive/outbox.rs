//! From handlers in their own tasks back to the loop that writes.

use crate::server::{Outbox, PassedAsk, Question};
use crate::tally::Tally;
use carrick_proto::peer::{CallKey, Changed, Changes, Outcome};
use carrick_proto::revision::Revision;
use carrick_proto::rpc::Message;
use carrick_proto::types::LogLevel;
use futures_util::future::BoxFuture;
use futures_util::task::AtomicWaker;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// Something a handler says.
pub(super) enum Note {
    Done(CallKey, Outcome),
    Progress { key: CallKey, done: f64, total: Option<f64>, message: Option<String> },
    Log { key: CallKey, level: LogLevel, logger: Option<String>, data: Vec<u8> },
    Ask { key: CallKey, question: Question },
    Notice { to: Option<CallKey>, message: Box<Message>, from: Revision },
    PassAsk(Box<PassedAsk>),
    SweepAsks,
}

pub(super) fn channel() -> (Arc<Sender>, Inbox) {
    let (notes, received) = mpsc::channel(1024);
    let (answers, answered) = mpsc::unbounded_channel();
    let sender = Sender {
        notes,
        answers,
        dropped: Tally::default(),
        changes: Mutex::default(),
        has_changes: AtomicBool::new(false),
        changed: AtomicWaker::new(),
    };
    (Arc::new(sender), Inbox { notes: received, answers: answered, held: None })
}

/// The handlers' end.
pub(super) struct Sender {
    notes: mpsc::Sender<Note>,
    /// Answers of others than tasks: no more than there are calls.
    answers: mpsc::UnboundedSender<(CallKey, Outcome)>,
    /// Log messages that were lost.
    dropped: Tally,
    /// Changes that the loop has not taken yet.
    changes: Mutex<Changes>,
    /// Whether there are some: every call looks, and finds none.
    has_changes: AtomicBool,
    /// Wakes the loop for them.
    changed: AtomicWaker,
}

impl Sender {
    /// Has the loop woken at the next change.
    pub(super) fn wake_at_change(&self, cx: &Context<'_>) {
        self.changed.register(cx.waker());
    }

    /// What has changed since the last time.
    pub(super) fn take_changes(&self) -> Option<Changes> {
        self.has_changes().then(|| {
            let mut changes = self.changes();
            self.has_changes.store(false, Ordering::Release);
            std::mem::take(&mut *changes)
        })
    }

    /// Whether a change waits.
    pub(super) fn has_changes(&self) -> bool {
        self.has_changes.load(Ordering::Acquire)
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        // Nothing that holds the lock can leave the set half changed.
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers an answer, waiting for room if need be.
    pub(super) async fn done(&self, key: CallKey, outcome: Outcome) {
        // The loop has gone: nobody is left to answer.
        let _ = self.notes.send(Note::Done(key, outcome)).await;
    }

    /// Counts a log message that was left out.
    pub(super) fn count_dropped(&self) {
        if let Some(count) = self.dropped.add() {
            tracing::warn!(count, "log messages were dropped: the client reads too slowly");
        }
    }
}

impl Outbox for Sender {
    fn progress(&self, key: CallKey, done: f64, total: Option<f64>, message: Option<String>) {
        // Without room, a later report says more than this one.
        let _ = self.notes.try_send(Note::Progress { key, done, total, message });
    }

    fn log(&self, key: CallKey, level: LogLevel, logger: Option<String>, data: Vec<u8>) {
        if self.notes.try_send(Note::Log { key, level, logger, data }).is_err() {
            self.count_dropped();
        }
    }

    fn ask(&self, key: CallKey, question: Question) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // Without a loop the question is dropped, which its asker sees.
            let _ = self.notes.send(Note::Ask { key, question }).await;
        })
    }

    fn changed(&self, changed: Changed) {
        let mut changes = self.changes();
        changes.add(changed);
        self.has_changes.store(true, Ordering::Release);
        drop(changes);
        self.changed.wake();
    }

    fn answer(&self, key: CallKey, outcome: Outcome) {
        // The loop has gone: nobody is left to answer.
        let _ = self.answers.send((key, outcome));
    }

    fn pass_notice(&self, to: Option<CallKey>, message: Message, from: Revision) {
        let message = Box::new(message);
        if self.notes.try_send(Note::Notice { to, message, from }).is_err() {
            self.count_dropped();
        }
    }

    fn pass_ask(&self, ask: PassedAsk) {
        // Without room the question is dropped, which its asker sees.
        let _ = self.notes.try_send(Note::PassAsk(Box::new(ask)));
    }

    fn sweep_asks(&self) {
        // Without room the next question does it.
        let _ = self.notes.try_send(Note::SweepAsks);
    }
}

/// The loop's end.
pub(super) struct Inbox {
    notes: mpsc::Receiver<Note>,
    answers: mpsc::UnboundedReceiver<(CallKey, Outcome)>,
    /// An answer that lets what was said before it pass.
    held: Option<Note>,
}

impl Inbox {
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Note> {
        if self.held.is_none() {
            // The loop holds a sender itself, so the channels never end.
            if let Poll::Ready(Some((key, outcome))) = self.answers.poll_recv(cx) {
                self.held = Some(Note::Done(key, outcome));
            }
        }
        if let Poll::Ready(Some(note)) = self.notes.poll_recv(cx) {
            return Poll::Ready(note);
        }
        self.held.take().map_or(Poll::Pending, Poll::Ready)
    }

    pub(super) fn try_next(&mut self) -> Option<Note> {
        self.notes.try_recv().ok()
    }
}
