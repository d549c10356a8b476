//! What sessions have said, kept for clients that resume a stream
//! (`basic/transports`, Resumability and Redelivery, of the revisions with
//! sessions).

#[cfg(test)]
mod contract;
mod ledger;
mod memory;
#[cfg(feature = "event-store-sqlite")]
mod sqlite;

use std::error::Error;
use std::fmt;

use bytes::Bytes;
use futures_util::future::BoxFuture;

pub use memory::MemoryEventStore;
#[cfg(feature = "event-store-sqlite")]
pub use sqlite::{SqliteEventStore, SqliteStoreError};

/// Names one stream of one session.
///
/// The session's part is made of random bits and of the principal that the session
/// belongs to, unlike that of any other session, and not the session's id: who reads a store learns nothing that opens a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct StreamKey {
    /// Its session.
    pub session: u128,
    /// Which of the session's streams: 0 is the one that answers no request.
    pub stream: u64,
}

impl StreamKey {
    /// The key of a stream.
    #[must_use]
    pub const fn new(session: u128, stream: u64) -> Self {
        Self { session, stream }
    }
}

/// One message of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredEvent {
    /// Its place in the stream: 1, 2, 3, and so on.
    pub number: u64,
    /// The message, as JSON.
    pub data: Bytes,
}

impl StoredEvent {
    /// An event.
    #[must_use]
    pub const fn new(number: u64, data: Bytes) -> Self {
        Self { number, data }
    }
}

/// How much a store keeps. Each event counts as many bytes as its data, and 64.
///
/// Where an event does not fit, the oldest of its stream go first, then whole
/// streams of its session, first the one that has been silent for longest. What
/// was added last stays, whatever its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventLimits {
    /// Bytes of one stream. Default: 1 MiB.
    pub stream_bytes: usize,
    /// Bytes of all streams of one session. Default: 4 MiB.
    pub session_bytes: usize,
}

impl Default for EventLimits {
    fn default() -> Self {
        Self { stream_bytes: 1 << 20, session_bytes: 4 << 20 }
    }
}

impl EventLimits {
    /// The same bound for a stream and for a whole session.
    #[must_use]
    pub const fn of(bytes: usize) -> Self {
        Self { stream_bytes: bytes, session_bytes: bytes }
    }
}

/// Why there is nothing to replay.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// Not all of the events asked for are kept (any more), or never were.
    #[error("the events after this Last-Event-ID are not kept any more")]
    Gone,
    /// The store cannot be read.
    #[error("the stored events cannot be read")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
}

/// Keeps the events of legacy streams, so that a client whose connection broke
/// can go on after the last one that it saw. Use [`MemoryEventStore`], or
/// `SqliteEventStore` (feature `event-store-sqlite`), or one of your own.
///
/// An event is added just before it is sent. Within a stream the numbers rise by
/// one; those of other streams have nothing to do with it.
///
/// An implementation must never give an event of another stream, and never leave
/// one out in the middle: what it could not keep is [`ReplayError::Gone`].
pub trait EventStore: fmt::Debug + Send + Sync + 'static {
    /// Adds an event to a stream. It must not block; when the store falls behind,
    /// it returns a future, and nothing is added to this stream before that is
    /// ready. The event itself has been taken all the same.
    fn append(&self, stream: StreamKey, event: StoredEvent) -> Option<BoxFuture<'static, ()>>;

    /// All events of a stream after the one with the number `after` (0 for all),
    /// in order.
    ///
    /// # Errors
    ///
    /// [`ReplayError::Gone`] unless all of them are kept and `after` is 0 or the
    /// number of an event that was added.
    fn replay(
        &self,
        stream: StreamKey,
        after: u64,
    ) -> BoxFuture<'_, Result<Vec<StoredEvent>, ReplayError>>;

    /// Removes a stream that nobody can resume any more.
    fn forget(&self, stream: StreamKey);

    /// Removes all streams of a session that has ended.
    fn forget_session(&self, session: u128);
}
