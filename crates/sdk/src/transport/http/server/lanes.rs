//! The streams of a session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use carrick_proto::peer::{Lane, Sent};

use super::mailbox::{Mailbox, Outgoing};
use super::reader::Reader;
use super::session::Common;
use super::store::{ReplayError, StreamKey};

/// Ended streams that are kept for clients that resume.
const MAX_ENDED: usize = 64;
/// So many more may be there before the oldest are forgotten, all at once: to look
/// at each stream whenever one ends would cost more than the answer.
const SLACK: usize = 16;

/// The connection's own stream (number 0) and one for each request. They are made
/// when they are first needed: most sessions are idle at most times.
pub(super) struct Lanes {
    session: u128,
    common: Arc<Common>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: u64,
    connection: Option<Arc<Mailbox>>,
    requests: BTreeMap<u64, Arc<Mailbox>>,
    /// At most so many of them have ended, with so many bytes that nobody has read.
    ended_streams: usize,
    ended_bytes: usize,
    /// Streams that are opened now end at once.
    ended: bool,
}

impl Lanes {
    /// The streams of the session with this key in the store.
    pub(super) fn new(session: u128, common: Arc<Common>) -> Self {
        Self { session, common, state: Mutex::default() }
    }

    /// Reads the messages that answer no request, from where it was read last.
    pub(super) fn connection(&self) -> Reader {
        let mailbox = self.lock().connection(self.common.replay_bytes);
        self.reader(0, &mailbox)
    }

    /// Reads a stream after the event with this number.
    ///
    /// # Errors
    ///
    /// When not all of it is kept.
    pub(super) async fn resume(&self, stream: u64, after: u64) -> Result<Reader, ReplayError> {
        let mailbox = match stream {
            0 => Some(self.lock().connection(self.common.replay_bytes)),
            _ => self.lock().requests.get(&stream).cloned(),
        };
        let mailbox = mailbox.filter(|mailbox| !mailbox.is_lost()).ok_or(ReplayError::Gone)?;
        Reader::resume(&mailbox, self.key(stream), Arc::clone(&self.common.store), after).await
    }

    /// A number for the answer to a request, which may never need a stream.
    pub(super) fn reserve(&self) -> u64 {
        let mut state = self.lock();
        state.last += 1;
        state.last
    }

    /// Opens the stream with a reserved number.
    pub(super) fn open(&self, number: u64) -> Reader {
        let mailbox = Mailbox::new(self.common.replay_bytes);
        let mut state = self.lock();
        if state.ended {
            mailbox.end();
        }
        state.requests.insert(number, Arc::clone(&mailbox));
        drop(state);
        self.reader(number, &mailbox)
    }

    /// Forgets a stream that was never sent as one.
    pub(super) fn discard(&self, number: u64) {
        let mut state = self.lock();
        state.requests.remove(&number);
        if state.requests.is_empty() {
            // An empty one may still hold memory.
            state.requests = BTreeMap::new();
        }
    }

    /// Puts a message where it belongs. Only notifications may be lost.
    pub(super) fn deliver(&self, lane: Lane, message: Outgoing) {
        let Some(mailbox) = self.of(lane) else {
            tracing::debug!(?lane, "a message for a stream that is gone");
            return;
        };
        let last = message.is_last();
        // What is asked must be answered, so only notifications may be lost.
        let droppable = matches!(message.sent, Sent::Notification | Sent::Change);
        mailbox.push(message, droppable);
        if last {
            self.trim(mailbox.len());
        }
    }

    /// Bytes that nobody has read.
    pub(super) fn unread(&self) -> usize {
        let state = self.lock();
        state.connection.iter().chain(state.requests.values()).map(|mailbox| mailbox.len()).sum()
    }

    /// Whether a request of the server's own can be put on this stream. Its
    /// client comes back to the stream of a request of its own; whether it ever
    /// opens the connection's is its affair.
    pub(super) fn may_ask(&self, lane: Lane) -> bool {
        lane != Lane::Connection
            || self.lock().connection.as_ref().is_some_and(|mailbox| mailbox.is_read())
    }

    /// Ends a stream without a response.
    pub(super) fn end(&self, lane: Lane) {
        if let Some(mailbox) = self.of(lane) {
            mailbox.end();
            self.trim(mailbox.len());
        }
    }

    /// Closes a stream's connection; the rest waits for its client to come back.
    pub(super) fn pause(&self, lane: Lane, retry: Option<Duration>) {
        if let Some(mailbox) = self.of(lane) {
            mailbox.pause(retry);
        }
    }

    /// Ends the stream that no call will end.
    pub(super) fn end_connection(&self) {
        self.lock().connection(self.common.replay_bytes).end();
    }

    /// Ends every stream.
    pub(super) fn end_all(&self) {
        let mut state = self.lock();
        state.ended = true;
        for mailbox in state.connection.iter().chain(state.requests.values()) {
            mailbox.end();
        }
    }

    fn reader(&self, stream: u64, mailbox: &Arc<Mailbox>) -> Reader {
        Reader::new(mailbox, self.key(stream), Arc::clone(&self.common.store))
    }

    fn key(&self, stream: u64) -> StreamKey {
        StreamKey { session: self.session, stream }
    }

    fn of(&self, lane: Lane) -> Option<Arc<Mailbox>> {
        match lane {
            Lane::Connection => Some(self.lock().connection(self.common.replay_bytes)),
            Lane::Exchange(number) => self.lock().requests.get(&number).cloned(),
        }
    }

    /// Forgets the oldest ended streams until the rest fits, after one more has
    /// ended with so many unread bytes.
    fn trim(&self, unread: usize) {
        let mut state = self.lock();
        state.ended_streams += 1;
        state.ended_bytes += unread;
        if state.ended_streams <= MAX_ENDED + SLACK && state.ended_bytes <= self.common.replay_bytes
        {
            return;
        }
        let (mut bytes, mut count) = (0, 0);
        let (mut kept, mut kept_bytes) = (0, 0);
        let mut excess = Vec::new();
        for (number, mailbox) in state.requests.iter().rev().filter(|(_, m)| m.is_ended()) {
            bytes += mailbox.len();
            count += 1;
            // The newest one stays, whatever its size: its client may be about
            // to read it.
            if count > 1 && (bytes > self.common.replay_bytes || count > MAX_ENDED) {
                excess.push(*number);
            } else {
                (kept, kept_bytes) = (count, bytes);
            }
        }
        (state.ended_streams, state.ended_bytes) = (kept, kept_bytes);
        for number in &excess {
            state.requests.remove(number);
        }
        drop(state);
        for number in excess {
            self.common.store.forget(self.key(number));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nobody adds to the streams any more: readers keep their session, and with it
/// this.
impl Drop for Lanes {
    fn drop(&mut self) {
        self.common.store.forget_session(self.session);
    }
}

impl State {
    fn connection(&mut self, max_bytes: usize) -> Arc<Mailbox> {
        let ended = self.ended;
        let mailbox = self.connection.get_or_insert_with(|| Mailbox::new(max_bytes));
        if ended {
            mailbox.end();
        }
        Arc::clone(mailbox)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::FutureExt;

    use std::sync::Weak;

    use super::super::store::{EventLimits, EventStore, MemoryEventStore};
    use super::*;

    fn answer(size: usize) -> Outgoing {
        Outgoing { bytes: vec![b'x'; size].into(), sent: Sent::Response, error: None }
    }

    fn lanes(max_bytes: usize) -> Lanes {
        let store = Arc::new(MemoryEventStore::new(EventLimits::default()));
        Lanes::new(1, Common::new(store, max_bytes, Weak::new()))
    }

    fn open(lanes: &Lanes) -> Reader {
        lanes.open(lanes.reserve())
    }

    fn note(text: &'static str) -> Outgoing {
        let bytes = Bytes::from_static(text.as_bytes());
        Outgoing { bytes, sent: Sent::Notification, error: None }
    }

    fn len(lanes: &Lanes, number: u64) -> Option<usize> {
        lanes.lock().requests.get(&number).map(|mailbox| mailbox.len())
    }

    /// Reads all that there is, and sends it as events.
    fn send(reader: &mut Reader) -> Vec<(u64, String)> {
        let mut sent = Vec::new();
        while let Some(Some((number, message))) = reader.next().now_or_never() {
            assert!(reader.keep(number, &message).is_none());
            sent.push((number, String::from_utf8(message.bytes.to_vec()).unwrap()));
        }
        sent
    }

    #[tokio::test]
    async fn messages_reach_their_own_stream_only() {
        let lanes = lanes(100);
        let (one, mut two) = (open(&lanes), open(&lanes));
        assert_eq!((one.stream(), two.stream()), (1, 2));
        lanes.deliver(Lane::Exchange(2), answer(5));
        lanes.deliver(Lane::Connection, note("n"));
        lanes.deliver(Lane::Exchange(99), answer(1));
        assert_eq!((len(&lanes, 1), len(&lanes, 2), len(&lanes, 99)), (Some(0), Some(5), None));
        assert_eq!(send(&mut two), [(1, "xxxxx".into())]);
        assert_eq!(send(&mut lanes.connection()), [(1, "n".into())]);
    }

    #[tokio::test]
    async fn nothing_is_made_before_it_is_needed() {
        let lanes = lanes(100);
        lanes.end_all();
        assert!(lanes.lock().connection.is_none());
        assert!(lanes.connection().next().now_or_never().unwrap().is_none(), "it has ended");
    }

    #[tokio::test]
    async fn d047_what_was_sent_can_be_read_again_by_number() {
        let lanes = lanes(100);
        let mut reader = open(&lanes);
        lanes.deliver(Lane::Exchange(1), note("a"));
        lanes.deliver(Lane::Exchange(1), note("b"));
        assert_eq!(send(&mut reader), [(1, "a".into()), (2, "b".into())]);
        lanes.deliver(Lane::Exchange(1), note("c"));
        let mut again = lanes.resume(1, 1).await.unwrap();
        assert_eq!(again.position(), 1);
        assert_eq!(send(&mut again), [(2, "b".into()), (3, "c".into())]);
        assert!(reader.next().now_or_never().unwrap().is_none(), "it was taken over");
        lanes.deliver(Lane::Exchange(1), answer(1));
        let mut from_start = lanes.resume(1, 0).await.unwrap();
        let texts: Vec<_> = send(&mut from_start).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["a", "b", "c", "x"]);
        assert!(from_start.next().now_or_never().unwrap().is_none());
        let mut end = lanes.resume(1, 4).await.unwrap();
        assert!(end.next().now_or_never().unwrap().is_none());
        for (stream, after) in [(1, 5), (1, u64::MAX), (2, 0), (0, 1)] {
            assert!(matches!(lanes.resume(stream, after).await, Err(ReplayError::Gone)));
        }
    }

    #[tokio::test]
    async fn d047_a_wrong_number_leaves_the_present_reader_alone() {
        let lanes = lanes(100);
        let mut reader = open(&lanes);
        assert!(lanes.resume(1, 7).await.is_err());
        lanes.deliver(Lane::Exchange(1), note("a"));
        assert_eq!(send(&mut reader), [(1, "a".into())]);
    }

    #[tokio::test]
    async fn the_end_of_a_session_removes_its_events() {
        let store: Arc<dyn EventStore> = Arc::new(MemoryEventStore::new(EventLimits::default()));
        let lanes = Lanes::new(5, Common::new(Arc::clone(&store), 100, Weak::new()));
        let mut reader = open(&lanes);
        lanes.deliver(Lane::Exchange(1), note("a"));
        send(&mut reader);
        assert!(store.replay(StreamKey::new(5, 1), 0).await.is_ok());
        drop(lanes);
        assert!(store.replay(StreamKey::new(5, 1), 0).await.is_err());
    }

    #[tokio::test]
    async fn d047_ended_streams_are_kept_within_the_bound() {
        let lanes = lanes(100);
        open(&lanes);
        for number in 2..5 {
            open(&lanes);
            lanes.deliver(Lane::Exchange(number), answer(60));
        }
        assert_eq!((len(&lanes, 1), len(&lanes, 2), len(&lanes, 3)), (Some(0), None, None));
        assert_eq!(len(&lanes, 4), Some(60));
        open(&lanes);
        lanes.deliver(Lane::Exchange(5), answer(1000));
        assert_eq!(len(&lanes, 5), Some(1000));
        let mut reader = open(&lanes);
        lanes.deliver(Lane::Exchange(6), answer(0));
        send(&mut reader);
        assert!(lanes.resume(6, 0).await.is_ok());
        for number in 7..7 + (MAX_ENDED + SLACK) as u64 + 10 {
            open(&lanes);
            lanes.deliver(Lane::Exchange(number), answer(0));
        }
        // One of them has not ended.
        let kept = lanes.lock().requests.len() - 1;
        assert!((MAX_ENDED..=MAX_ENDED + SLACK).contains(&kept), "{kept}");
        assert!(
            lanes.common.store.replay(StreamKey::new(1, 6), 0).await.is_err(),
            "forgotten as well"
        );
    }
}
