//! Events in a SQLite file.

mod worker;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use tokio::sync::{Notify, mpsc, oneshot};

use super::{EventLimits, EventStore, ReplayError, StoredEvent, StreamKey};

use worker::{Command, Worker};

/// Bytes that may wait to be written before streams wait with them.
const BACKLOG: usize = 4 << 20;

/// Keeps events in a SQLite file, within [`EventLimits`], so that long streams of
/// many sessions take disk in place of memory.
///
/// The file belongs to one store: it is emptied when it is opened, since sessions
/// end with their server, and nobody else can open it meanwhile. What it held is
/// lost when the machine fails. A thread of its own reads and writes it.
#[derive(Debug)]
pub struct SqliteEventStore {
    commands: mpsc::UnboundedSender<Command>,
    backlog: Arc<Backlog>,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteStoreError {
    /// It holds something else, which would be lost.
    #[error("the database holds tables that are no event store's")]
    NotAStore,
    /// SQLite refuses it; perhaps another process has it open.
    #[error("the event store cannot be opened")]
    Sqlite(#[source] rusqlite::Error),
    /// There is no thread for it.
    #[error("no thread can be started for the event store")]
    Thread(#[source] io::Error),
}

/// Bytes on their way to the file.
#[derive(Debug, Default)]
struct Backlog {
    bytes: AtomicUsize,
    smaller: Notify,
}

impl SqliteEventStore {
    /// Opens the file, makes it if there is none, and empties it.
    ///
    /// # Errors
    ///
    /// When it holds something else, or cannot be opened by this process alone.
    pub fn open(path: impl AsRef<Path>, limits: EventLimits) -> Result<Self, SqliteStoreError> {
        let backlog = Arc::new(Backlog::default());
        let worker = Worker::open(path.as_ref(), limits, Arc::clone(&backlog))?;
        let (commands, inbox) = mpsc::unbounded_channel();
        std::thread::Builder::new()
            .name("event-store".into())
            .spawn(move || worker.run(inbox))
            .map_err(SqliteStoreError::Thread)?;
        Ok(Self { commands, backlog })
    }

    fn send(&self, command: Command) {
        // The thread ends before this only by a panic; then nothing is kept, and
        // every replay says so.
        drop(self.commands.send(command));
    }
}

impl EventStore for SqliteEventStore {
    fn append(&self, stream: StreamKey, event: StoredEvent) -> Option<BoxFuture<'static, ()>> {
        let waiting = self.backlog.grow(event.data.len());
        self.send(Command::Append(stream, event));
        if waiting <= BACKLOG || self.commands.is_closed() {
            return None;
        }
        let (backlog, commands) = (Arc::clone(&self.backlog), self.commands.clone());
        Some(Box::pin(async move {
            tokio::select! {
                () = backlog.fits() => {}
                () = commands.closed() => {}
            }
        }))
    }

    fn replay(
        &self,
        stream: StreamKey,
        after: u64,
    ) -> BoxFuture<'_, Result<Vec<StoredEvent>, ReplayError>> {
        let (answer, answered) = oneshot::channel();
        self.send(Command::Replay(stream, after, answer));
        Box::pin(async move {
            let ended = || ReplayError::Failed("the event store's thread has ended".into());
            answered.await.unwrap_or_else(|_| Err(ended()))
        })
    }

    fn forget(&self, stream: StreamKey) {
        self.send(Command::Forget(stream));
    }

    fn forget_session(&self, session: u128) {
        self.send(Command::ForgetSession(session));
    }
}

impl Backlog {
    /// Adds to what waits, and returns all of it.
    fn grow(&self, bytes: usize) -> usize {
        self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    fn shrink(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.smaller.notify_waiters();
    }

    async fn fits(&self) {
        loop {
            let smaller = self.smaller.notified();
            if self.bytes.load(Ordering::Relaxed) <= BACKLOG {
                return;
            }
            smaller.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn streams_wait_while_more_is_on_its_way_to_the_file_than_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.db");
        let store = SqliteEventStore::open(path, EventLimits::default()).unwrap();
        let add = |number, bytes| {
            let event = StoredEvent::new(number, vec![b'x'; bytes].into());
            store.append(StreamKey::new(1, 1), event)
        };
        assert!(add(1, 10).is_none(), "there is room");
        let wait = add(2, BACKLOG + 1).expect("it is too much at once");
        wait.await;
        assert!(add(3, 10).is_none(), "it has been written");
    }
}
