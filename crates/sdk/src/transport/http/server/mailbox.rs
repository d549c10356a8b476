//! The messages of one lane on their way to its client.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;

use carrick_proto::peer::Sent;

use crate::tally::Tally;

/// One message for the client.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    pub(super) bytes: Bytes,
    /// What it is.
    pub(super) sent: Sent,
    /// The code, of an error response.
    pub(super) error: Option<i64>,
}

impl Outgoing {
    /// Whether it is the response that the exchange waits for; nothing comes
    /// after it.
    pub(super) fn is_last(&self) -> bool {
        self.sent == Sent::Response
    }
}

/// Where the server puts what it says on one lane, and one reader takes it.
///
/// It holds what nobody has read yet. Messages are numbered from 1; number 0 is
/// the start of the lane.
#[derive(Debug)]
pub(super) struct Mailbox {
    state: Mutex<State>,
    max_bytes: usize,
}

#[derive(Debug)]
struct State {
    unread: VecDeque<Outgoing>,
    unread_bytes: usize,
    /// Number of the next message to read.
    next: u64,
    ended: bool,
    /// Something was given up that nobody had read.
    lost: bool,
    /// Which of the readers so far may read.
    reader: u64,
    /// Whether that one is still there.
    is_read: bool,
    /// Which reader was told to come back, and after how long.
    paused: Option<(u64, Option<Duration>)>,
    waker: Option<Waker>,
}

/// Messages that were dropped, of all clients: one has many mailboxes.
static DROPPED: Tally = Tally::new();

/// Room for changes beyond the bound of the rest: more than a session can
/// subscribe to at a time, so that none of them is ever lost.
const CHANGES: usize = 4 << 20;

impl Mailbox {
    /// A mailbox that holds up to `max_bytes` of messages.
    pub(super) fn new(max_bytes: usize) -> Arc<Self> {
        let state = State {
            unread: VecDeque::new(),
            unread_bytes: 0,
            next: 1,
            ended: false,
            lost: false,
            reader: 0,
            is_read: false,
            paused: None,
            waker: None,
        };
        Arc::new(Self { state: Mutex::new(state), max_bytes })
    }

    /// Adds a message. One that the client can do without (`expendable`) is
    /// dropped, and counted, while the client reads too slowly. A change that
    /// waits already is not added again.
    pub(super) fn push(&self, message: Outgoing, expendable: bool) {
        let mut state = self.lock();
        let len = message.bytes.len();
        if state.ended || (message.sent == Sent::Change && state.waits(&message)) {
            return;
        }
        let room = match message.sent {
            Sent::Change => self.max_bytes + CHANGES,
            _ => self.max_bytes,
        };
        if expendable && state.unread_bytes + len > room {
            drop(state);
            if let Some(count) = DROPPED.add() {
                tracing::warn!(count, "messages were dropped: their clients read too slowly");
            }
            return;
        }
        state.ended = message.is_last();
        state.unread_bytes += len;
        state.unread.push_back(message);
        state.wake();
    }

    /// Ends the lane without a response.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        state.wake();
    }

    /// Ends what the present reader sees, when there is one; the next goes on
    /// from there.
    pub(super) fn pause(&self, retry: Option<Duration>) {
        let mut state = self.lock();
        state.paused = Some((state.reader, retry));
        state.reader += 1;
        state.is_read = false;
        state.wake();
    }

    /// Whether nothing will be added.
    pub(super) fn is_ended(&self) -> bool {
        self.lock().ended
    }

    /// Whether something was given up that nobody had read.
    pub(super) fn is_lost(&self) -> bool {
        self.lock().lost
    }

    /// Whether somebody reads.
    pub(super) fn is_read(&self) -> bool {
        self.lock().is_read
    }

    /// Bytes that nobody has read.
    pub(super) fn len(&self) -> usize {
        self.lock().unread_bytes
    }

    /// The number of the last message that was read.
    pub(super) fn position(&self) -> u64 {
        self.lock().next - 1
    }

    /// Starts to read where the last reader stopped, which sees the end.
    pub(super) fn read(self: &Arc<Self>) -> Turn {
        let mut state = self.lock();
        state.reader += 1;
        state.is_read = true;
        state.wake();
        Turn { mailbox: Arc::clone(self), number: state.reader }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that holds the lock can leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether an equal message has not been read yet.
    fn waits(&self, message: &Outgoing) -> bool {
        self.unread.iter().any(|unread| unread.bytes == message.bytes)
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// The right to read a mailbox, until somebody else takes over.
#[derive(Debug)]
pub(super) struct Turn {
    mailbox: Arc<Mailbox>,
    number: u64,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.mailbox.lock();
        if state.reader != self.number {
            return;
        }
        state.is_read = false;
        // Of what nobody reads only so much is kept for a client that comes back.
        if state.unread_bytes > self.mailbox.max_bytes {
            state.unread = VecDeque::new();
            state.unread_bytes = 0;
            state.lost = true;
            state.ended = true;
        }
    }
}

impl Turn {
    pub(super) fn position(&self) -> u64 {
        self.mailbox.position()
    }

    /// Whether it was told to come back later, and after how long.
    pub(super) fn paused(&self) -> Option<Option<Duration>> {
        let paused = self.mailbox.lock().paused;
        paused.filter(|(turn, _)| *turn == self.number).map(|(_, retry)| retry)
    }

    /// The next message and its number; `None` at the end of the lane, when it
    /// was paused, or when another reader has taken over.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(u64, Outgoing)>> {
        let mut state = self.mailbox.lock();
        if state.reader != self.number {
            return Poll::Ready(None);
        }
        let Some(message) = state.unread.pop_front() else {
            if state.ended {
                return Poll::Ready(None);
            }
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        let number = state.next;
        state.next += 1;
        state.unread_bytes -= message.bytes.len();
        Poll::Ready(Some((number, message)))
    }
}

#[cfg(test)]
mod tests;
