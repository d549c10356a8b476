//! From handlers in their own tasks back to the loop that writes.

use crate::server::{Outbox, Question};
use carrick_proto::peer::{CallKey, Changed, Changes, Outcome};
use carrick_proto::types::LogLevel;
use futures_util::future::BoxFuture;
use futures_util::task::AtomicWaker;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// Something a handler says.
pub(super) enum Note {
    Done(CallKey, Outcome),
    Progress { key: CallKey, done: f64, total: Option<f64>, message: Option<String> },
    Log { key: CallKey, level: LogLevel, logger: Option<String>, data: Vec<u8> },
    Ask { key: CallKey, question: Question },
}

pub(super) fn channel() -> (Arc<Sender>, Inbox) {
    let (notes, received) = mpsc::channel(1024);
    let sender = Sender {
        notes,
        dropped: AtomicUsize::new(0),
        changes: Mutex::default(),
        has_changes: AtomicBool::new(false),
        changed: AtomicWaker::new(),
    };
    (Arc::new(sender), Inbox(received))
}

/// The handlers' end.
pub(super) struct Sender {
    notes: mpsc::Sender<Note>,
    /// Log messages lost since the last one that went through.
    dropped: AtomicUsize,
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
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

impl Outbox for Sender {
    fn progress(&self, key: CallKey, done: f64, total: Option<f64>, message: Option<String>) {
        // Without room, a later report says more than this one.
        let _ = self.notes.try_send(Note::Progress { key, done, total, message });
    }

    fn log(&self, key: CallKey, level: LogLevel, logger: Option<String>, data: Vec<u8>) {
        if self.notes.try_send(Note::Log { key, level, logger, data }).is_err() {
            return self.count_dropped();
        }
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            tracing::warn!(dropped, "log messages dropped: the client reads too slowly");
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
}

/// The loop's end.
pub(super) struct Inbox(mpsc::Receiver<Note>);

impl Inbox {
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Note> {
        match self.0.poll_recv(cx) {
            Poll::Ready(Some(note)) => Poll::Ready(note),
            // The loop holds a sender itself, so the channel never ends.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }

    pub(super) fn try_next(&mut self) -> Option<Note> {
        self.0.try_recv().ok()
    }
}
