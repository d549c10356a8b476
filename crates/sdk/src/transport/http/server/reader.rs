//! Reading a lane, with what its client has missed before.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;

use carrick_proto::peer::Sent;

use super::budget::COUNTED;
use super::mailbox::{Mailbox, Outgoing, Turn};
use super::store::{EventStore, ReplayError, StoredEvent, StreamKey};

/// The one that may read a lane now.
#[derive(Debug)]
pub(super) struct Reader {
    turn: Turn,
    /// What the client has missed.
    missed: VecDeque<StoredEvent>,
    /// The number of the last event that the store has seen.
    stored: u64,
    key: StreamKey,
    store: Arc<dyn EventStore>,
}

impl Reader {
    /// Goes on where the last reader stopped.
    pub(super) fn new(mailbox: &Arc<Mailbox>, key: StreamKey, store: Arc<dyn EventStore>) -> Self {
        let turn = mailbox.read();
        Self { stored: turn.position(), turn, missed: VecDeque::new(), key, store }
    }

    /// Goes on after the event with this number, which the client saw last.
    ///
    /// # Errors
    ///
    /// When not all that followed is kept; then another reader may go on.
    pub(super) async fn resume(
        mailbox: &Arc<Mailbox>,
        key: StreamKey,
        store: Arc<dyn EventStore>,
        after: u64,
    ) -> Result<Self, ReplayError> {
        let mut missed = VecDeque::new();
        replay(&*store, key, after, mailbox.position(), &mut missed).await?;
        let mut reader = Self::new(mailbox, key, store);
        // What was sent meanwhile, to a connection that may be broken.
        let seen = after + missed.len() as u64;
        replay(&*reader.store, key, seen, reader.stored, &mut missed).await?;
        reader.missed = missed;
        Ok(reader)
    }

    /// The lane's number in the session.
    pub(super) fn stream(&self) -> u64 {
        self.key.stream
    }

    /// The number of the last message read.
    pub(super) fn position(&self) -> u64 {
        self.missed.front().map_or_else(|| self.turn.position(), |event| event.number - 1)
    }

    /// Whether it was told to come back later, and after how long.
    pub(super) fn paused(&self) -> Option<Option<Duration>> {
        self.turn.paused()
    }

    /// The next message and its number; `None` at the end of the lane, when it
    /// was paused, or when another reader has taken over.
    pub(super) async fn next(&mut self) -> Option<(u64, Outgoing)> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(u64, Outgoing)>> {
        let Some(event) = self.missed.pop_front() else { return self.turn.poll_next(cx) };
        // If it was the response, the lane has ended, and the turn will say so.
        let message = Outgoing { bytes: event.data, sent: Sent::Notification, error: None };
        Poll::Ready(Some((event.number, message)))
    }

    /// Puts a message that is about to be sent as an event into the store. The
    /// future is for the store that falls behind.
    pub(super) fn keep(
        &mut self,
        number: u64,
        message: &Outgoing,
    ) -> Option<BoxFuture<'static, ()>> {
        if number <= self.stored {
            return None;
        }
        self.stored = number;
        // What is kept for later must not count as what waits now.
        let data = match message.bytes.len() {
            COUNTED.. => Bytes::copy_from_slice(&message.bytes),
            _ => message.bytes.clone(),
        };
        self.store.append(self.key, StoredEvent { number, data })
    }
}

/// Adds the events after `after` up to `upto`. The store is not trusted to have
/// them all.
async fn replay(
    store: &dyn EventStore,
    key: StreamKey,
    after: u64,
    upto: u64,
    missed: &mut VecDeque<StoredEvent>,
) -> Result<(), ReplayError> {
    if after > upto {
        return Err(ReplayError::Gone);
    }
    if after < upto {
        let events = store.replay(key, after).await?;
        missed.extend(events.into_iter().take_while(|event| event.number <= upto));
    }
    let last = missed.back().map_or(after, |event| event.number);
    let numbers = missed.iter().map(|event| event.number);
    let complete = last == upto && numbers.eq(last + 1 - missed.len() as u64..=last);
    if complete { Ok(()) } else { Err(ReplayError::Gone) }
}
