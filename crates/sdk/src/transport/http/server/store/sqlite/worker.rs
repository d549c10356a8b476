//! The thread that has the file.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, Statement, params};
use tokio::sync::{mpsc, oneshot};

use super::super::ledger::{Ledger, Removed};
use super::super::{EventLimits, ReplayError, StoredEvent, StreamKey};
use super::{Backlog, SqliteStoreError};

/// Most commands of one transaction.
const BATCH: usize = 256;

/// The file is ours alone, and not worth the time to make it safe: it is emptied
/// at the next start.
const SETTINGS: &str = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY;
    PRAGMA synchronous = OFF;";

/// Taking the write lock here keeps it.
const TABLE: &str = "BEGIN IMMEDIATE;
    DROP TABLE IF EXISTS carrick_events;
    CREATE TABLE carrick_events (
        session BLOB NOT NULL, stream INTEGER NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL,
        PRIMARY KEY (session, stream, number)
    );
    COMMIT;";

type Replayed = Result<Vec<StoredEvent>, ReplayError>;

/// What the thread is asked to do, in this order.
#[derive(Debug)]
pub(super) enum Command {
    Append(StreamKey, StoredEvent),
    Replay(StreamKey, u64, oneshot::Sender<Replayed>),
    Forget(StreamKey),
    ForgetSession(u128),
}

pub(super) struct Worker {
    file: Connection,
    ledger: Ledger,
    backlog: Arc<Backlog>,
}

struct Statements<'a> {
    insert: Statement<'a>,
    select: Statement<'a>,
    delete_old: Statement<'a>,
    delete_stream: Statement<'a>,
    delete_session: Statement<'a>,
}

impl Worker {
    pub(super) fn open(
        path: &Path,
        limits: EventLimits,
        backlog: Arc<Backlog>,
    ) -> Result<Self, SqliteStoreError> {
        let sqlite = SqliteStoreError::Sqlite;
        let file = Connection::open(path).map_err(sqlite)?;
        file.busy_timeout(std::time::Duration::ZERO).map_err(sqlite)?;
        let others = "SELECT count(*) FROM sqlite_schema WHERE tbl_name <> 'carrick_events'";
        let others: i64 = file.query_row(others, [], |row| row.get(0)).map_err(sqlite)?;
        if others > 0 {
            return Err(SqliteStoreError::NotAStore);
        }
        file.execute_batch(SETTINGS).map_err(sqlite)?;
        file.execute_batch(TABLE).map_err(sqlite)?;
        Ok(Self { file, ledger: Ledger::new(limits), backlog })
    }

    /// Runs until the store is dropped.
    pub(super) fn run(self, inbox: mpsc::UnboundedReceiver<Command>) {
        if let Err(error) = self.work(inbox) {
            tracing::error!(%error, "the event store has stopped: no stream can be resumed");
        }
    }

    fn work(mut self, mut inbox: mpsc::UnboundedReceiver<Command>) -> rusqlite::Result<()> {
        let mut statements = Statements::prepare(&self.file)?;
        let mut commands = Vec::with_capacity(BATCH);
        while inbox.blocking_recv_many(&mut commands, BATCH) > 0 {
            self.file.execute_batch("BEGIN")?;
            for command in commands.drain(..) {
                statements.perform(command, &mut self.ledger, &self.backlog);
            }
            self.file.execute_batch("COMMIT")?;
        }
        Ok(())
    }
}

impl<'a> Statements<'a> {
    fn prepare(file: &'a Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            insert: file.prepare("INSERT INTO carrick_events VALUES (?1, ?2, ?3, ?4)")?,
            select: file.prepare(
                "SELECT number, data FROM carrick_events
                 WHERE session = ?1 AND stream = ?2 AND number >= ?3 AND number < ?4
                 ORDER BY number",
            )?,
            delete_old: file.prepare(
                "DELETE FROM carrick_events WHERE session = ?1 AND stream = ?2 AND number <= ?3",
            )?,
            delete_stream: file
                .prepare("DELETE FROM carrick_events WHERE session = ?1 AND stream = ?2")?,
            delete_session: file.prepare("DELETE FROM carrick_events WHERE session = ?1")?,
        })
    }

    /// A command that fails costs its stream, not the store.
    fn perform(&mut self, command: Command, ledger: &mut Ledger, backlog: &Backlog) {
        let done = match command {
            Command::Append(stream, event) => {
                let done = self.append(stream, &event, ledger);
                backlog.shrink(event.data.len());
                done.inspect_err(|_| ledger.forget(stream))
            }
            Command::Replay(stream, after, answer) => {
                // Whoever asked may be gone.
                drop(answer.send(self.replay(stream, after, ledger)));
                Ok(())
            }
            Command::Forget(stream) => {
                ledger.forget(stream);
                self.remove(&Removed::Stream(stream))
            }
            Command::ForgetSession(session) => match ledger.forget_session(session).next() {
                Some(_) => self.delete_session.execute([blob(session)]).map(drop),
                None => Ok(()),
            },
        };
        if let Err(error) = done {
            tracing::warn!(%error, "an event cannot be kept: its stream cannot be resumed");
        }
    }

    fn append(
        &mut self,
        key: StreamKey,
        event: &StoredEvent,
        ledger: &mut Ledger,
    ) -> rusqlite::Result<()> {
        for removed in ledger.append(key, event.number, event.data.len()) {
            self.remove(&removed)?;
        }
        let (session, stream) = (blob(key.session), signed(key.stream));
        self.insert.execute(params![session, stream, signed(event.number), &event.data[..]])?;
        Ok(())
    }

    fn remove(&mut self, removed: &Removed) -> rusqlite::Result<()> {
        match *removed {
            Removed::Stream(key) => {
                self.delete_stream.execute(params![blob(key.session), signed(key.stream)])?;
            }
            Removed::UpTo(key, number) => {
                let (session, stream) = (blob(key.session), signed(key.stream));
                self.delete_old.execute(params![session, stream, signed(number)])?;
            }
        }
        Ok(())
    }

    fn replay(&mut self, key: StreamKey, after: u64, ledger: &Ledger) -> Replayed {
        let numbers = ledger.after(key, after).ok_or(ReplayError::Gone)?;
        let (start, end) = (signed(numbers.start), signed(numbers.end));
        let given = params![blob(key.session), signed(key.stream), start, end];
        let read = self.select.query_map(given, |row| {
            let data: Vec<u8> = row.get(1)?;
            Ok(StoredEvent { number: row.get::<_, i64>(0)?.cast_unsigned(), data: data.into() })
        });
        let events: rusqlite::Result<Vec<_>> = read.and_then(Iterator::collect);
        let events = events.map_err(|error| ReplayError::Failed(Box::new(error)))?;
        let complete = events.iter().map(|event| event.number).eq(numbers);
        if complete { Ok(events) } else { Err(ReplayError::Gone) }
    }
}

fn blob(session: u128) -> [u8; 16] {
    session.to_be_bytes()
}

/// SQLite has no unsigned numbers; these come back as they went.
fn signed(number: u64) -> i64 {
    number.cast_signed()
}
