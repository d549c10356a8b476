//! What every store must do, and each of ours does.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::*;

/// Runs a test with every store.
macro_rules! contract {
    ($($(#[$about:meta])* async fn $name:ident($new:ident) $body:block)*) => {
        $($(#[$about])* async fn $name($new: impl Fn(EventLimits) -> Box<dyn EventStore>) $body)*

        mod memory {
            $(#[tokio::test]
            async fn $name() {
                super::$name(|limits| Box::new(super::MemoryEventStore::new(limits))).await;
            })*
        }

        #[cfg(feature = "event-store-sqlite")]
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                let folder = tempfile::tempdir().unwrap();
                let count = std::cell::Cell::new(0);
                super::$name(|limits| {
                    count.set(count.get() + 1);
                    let path = folder.path().join(format!("{}.db", count.get()));
                    Box::new(super::SqliteEventStore::open(path, limits).unwrap())
                })
                .await;
            })*
        }
    };
}

fn key(session: u128, stream: u64) -> StreamKey {
    StreamKey::new(session, stream)
}

fn event(number: u64, text: &str) -> StoredEvent {
    StoredEvent::new(number, text.to_owned().into())
}

async fn add(store: &dyn EventStore, stream: StreamKey, number: u64, text: &str) {
    if let Some(wait) = store.append(stream, event(number, text)) {
        wait.await;
    }
}

/// What is replayed, and nothing when it is gone.
async fn texts(store: &dyn EventStore, stream: StreamKey, after: u64) -> Option<Vec<String>> {
    let replayed: BoxFuture<'_, _> = store.replay(stream, after);
    match replayed.await {
        Ok(events) => {
            let numbers = events.iter().map(|event| event.number);
            assert!(numbers.eq(after + 1..=after + events.len() as u64), "{events:?}");
            Some(events.iter().map(|e| String::from_utf8(e.data.to_vec()).unwrap()).collect())
        }
        Err(ReplayError::Gone) => None,
        Err(error) => panic!("{error}"),
    }
}

/// The sizes of these tests: each event costs 64 bytes besides its data.
fn limits(stream: usize, session: usize) -> EventLimits {
    EventLimits { stream_bytes: stream, session_bytes: session }
}

const ONE: usize = 64 + 36;

fn filled(letter: char) -> String {
    String::from(letter).repeat(36)
}

contract! {
    async fn d047_what_was_added_comes_back_in_order(new) {
        let store = new(EventLimits::default());
        for (number, text) in (1..).zip(["a", "b", "", "d"]) {
            add(&*store, key(7, 3), number, text).await;
        }
        assert_eq!(texts(&*store, key(7, 3), 0).await.unwrap(), ["a", "b", "", "d"]);
        assert_eq!(texts(&*store, key(7, 3), 2).await.unwrap(), ["", "d"]);
        assert_eq!(texts(&*store, key(7, 3), 4).await.unwrap(), [""; 0]);
        assert_eq!(texts(&*store, key(7, 3), 5).await, None);
        assert_eq!(texts(&*store, key(7, 3), u64::MAX).await, None);
    }

    async fn d047_no_stream_gives_the_events_of_another(new) {
        let store = new(EventLimits::default());
        let far = u64::MAX;
        let keys = [key(1, 0), key(1, 1), key(2, 1), key(u128::MAX, far), key(1 << 64, 1)];
        for stream in keys {
            for number in 1..=3 {
                add(&*store, stream, number, &format!("{stream:?} {number}")).await;
            }
        }
        for stream in keys {
            let expected: Vec<_> = (2..=3).map(|number| format!("{stream:?} {number}")).collect();
            assert_eq!(texts(&*store, stream, 1).await.unwrap(), expected);
        }
        for stranger in [key(1, 2), key(3, 1), key(0, 0)] {
            assert_eq!(texts(&*store, stranger, 0).await, None);
        }
    }

    async fn the_oldest_events_make_room_and_are_then_gone(new) {
        let store = new(limits(3 * ONE, 100 * ONE));
        for (number, letter) in (1..).zip('a'..='e') {
            add(&*store, key(1, 1), number, &filled(letter)).await;
        }
        assert_eq!(texts(&*store, key(1, 1), 1).await, None);
        let kept: Vec<_> = ('c'..='e').map(filled).collect();
        assert_eq!(texts(&*store, key(1, 1), 2).await.unwrap(), kept);
        // An event larger than the bound stands alone.
        let big = "x".repeat(10 * ONE);
        add(&*store, key(1, 1), 6, &big).await;
        assert_eq!(texts(&*store, key(1, 1), 4).await, None);
        assert_eq!(texts(&*store, key(1, 1), 5).await.unwrap(), [big]);
    }

    async fn empty_events_count_as_well(new) {
        let store = new(limits(64 * 10, 64 * 10));
        for number in 1..=100 {
            add(&*store, key(1, 1), number, "").await;
        }
        assert_eq!(texts(&*store, key(1, 1), 89).await, None);
        assert_eq!(texts(&*store, key(1, 1), 90).await.unwrap().len(), 10);
    }

    async fn the_stream_that_was_silent_longest_makes_room_in_its_session(new) {
        let store = new(limits(100 * ONE, 3 * ONE));
        add(&*store, key(9, 1), 1, &filled('z')).await;
        add(&*store, key(1, 1), 1, &filled('a')).await;
        add(&*store, key(1, 2), 1, &filled('b')).await;
        add(&*store, key(1, 1), 2, &filled('c')).await;
        add(&*store, key(1, 3), 1, &filled('d')).await;
        assert_eq!(texts(&*store, key(1, 2), 0).await, None);
        assert_eq!(texts(&*store, key(1, 1), 0).await.unwrap(), [filled('a'), filled('c')]);
        assert_eq!(texts(&*store, key(1, 3), 0).await.unwrap(), [filled('d')]);
        assert_eq!(texts(&*store, key(9, 1), 0).await.unwrap(), [filled('z')]);
    }

    async fn what_is_forgotten_is_gone_and_leaves_room(new) {
        let store = new(limits(2 * ONE, 2 * ONE));
        add(&*store, key(1, 1), 1, &filled('a')).await;
        add(&*store, key(1, 2), 1, &filled('b')).await;
        store.forget(key(1, 1));
        store.forget(key(5, 5));
        add(&*store, key(1, 3), 1, &filled('c')).await;
        assert_eq!(texts(&*store, key(1, 1), 0).await, None);
        assert_eq!(texts(&*store, key(1, 2), 0).await.unwrap(), [filled('b')]);
        store.forget_session(1);
        store.forget_session(6);
        assert_eq!(texts(&*store, key(1, 2), 0).await, None);
        assert_eq!(texts(&*store, key(1, 3), 0).await, None);
    }

    async fn a_gap_is_never_bridged(new) {
        let store = new(EventLimits::default());
        add(&*store, key(1, 1), 1, "a").await;
        add(&*store, key(1, 1), 3, "c").await;
        assert_eq!(texts(&*store, key(1, 1), 0).await, None);
        assert_eq!(texts(&*store, key(1, 1), 2).await.unwrap(), ["c"]);
    }

    async fn much_is_added_at_once(new) {
        let store = new(limits(8 << 20, 64 << 20));
        let text = "m".repeat(64 << 10);
        let streams: Vec<_> = (0..8).map(|number| key(1, number)).collect();
        let adding = streams.iter().map(|stream| {
            let (store, text) = (&*store, &text);
            async move {
                for number in 1..=32 {
                    add(store, *stream, number, text).await;
                }
            }
        });
        futures_util::future::join_all(adding).await;
        for stream in streams {
            assert_eq!(texts(&*store, stream, 0).await.unwrap().len(), 32);
        }
    }
}

#[test]
fn the_memory_answers_at_once() {
    let store = MemoryEventStore::new(EventLimits::default());
    assert!(store.append(key(1, 1), event(1, "a")).is_none());
    assert!(store.replay(key(1, 1), 0).now_or_never().is_some());
}

#[cfg(feature = "event-store-sqlite")]
mod file {
    use super::*;

    #[tokio::test]
    async fn a_file_is_emptied_when_it_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.db");
        let limits = EventLimits::default();
        let store = SqliteEventStore::open(&path, limits).unwrap();
        add(&store, key(1, 1), 1, "a").await;
        assert!(texts(&store, key(1, 1), 0).await.is_some());
        assert!(matches!(SqliteEventStore::open(&path, limits), Err(SqliteStoreError::Sqlite(_))));
        drop(store);
        // Its thread closes the file as soon as it sees that.
        let reopened = loop {
            match SqliteEventStore::open(&path, limits) {
                Ok(store) => break store,
                Err(SqliteStoreError::Sqlite(_)) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(texts(&reopened, key(1, 1), 0).await, None);
    }

    #[test]
    fn somebody_elses_database_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.db");
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute_batch("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)").unwrap();
        drop(other);
        let refused = SqliteEventStore::open(&path, EventLimits::default());
        assert!(matches!(refused, Err(SqliteStoreError::NotAStore)));
        let other = rusqlite::Connection::open(&path).unwrap();
        let count: i64 = other.query_row("SELECT count(*) FROM theirs", [], |r| r.get(0)).unwrap();
        assert_eq!(count, 1);
    }
}
