//! Which events are kept: numbers and sizes, without the events.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::{EventLimits, StreamKey};

/// What an event costs besides its data.
const OVERHEAD: usize = 64;

/// The books of a store.
#[derive(Debug)]
pub(super) struct Ledger {
    limits: EventLimits,
    sessions: HashMap<u128, Session>,
}

#[derive(Debug, Default)]
struct Session {
    bytes: usize,
    /// Counts the events of the session, to tell which stream was silent longest.
    clock: u64,
    streams: BTreeMap<u64, Stream>,
}

#[derive(Debug, Default)]
struct Stream {
    bytes: usize,
    last_used: u64,
    /// The number of the oldest event that is kept.
    first: u64,
    /// What each one costs.
    costs: VecDeque<usize>,
}

/// What is to be removed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Removed {
    /// The events of a stream up to this number.
    UpTo(StreamKey, u64),
    /// A whole stream.
    Stream(StreamKey),
}

impl Ledger {
    pub(super) fn new(limits: EventLimits) -> Self {
        Self { limits, sessions: HashMap::new() }
    }

    /// Enters an event, and says what has to make room for it. An event that does
    /// not follow the last of its stream starts the stream anew.
    pub(super) fn append(&mut self, key: StreamKey, number: u64, len: usize) -> Vec<Removed> {
        let session = self.sessions.entry(key.session).or_default();
        session.clock += 1;
        let stream = session.streams.entry(key.stream).or_default();
        let mut removed = Vec::new();
        if stream.next() != Some(number) {
            if !stream.costs.is_empty() {
                removed.push(Removed::Stream(key));
            }
            session.bytes -= stream.bytes;
            *stream = Stream { first: number, ..Stream::default() };
        }
        let cost = len.saturating_add(OVERHEAD);
        stream.last_used = session.clock;
        stream.costs.push_back(cost);
        stream.bytes = stream.bytes.saturating_add(cost);
        session.bytes = session.bytes.saturating_add(cost);
        let before = stream.first;
        while stream.bytes > self.limits.stream_bytes && stream.costs.len() > 1 {
            let Some(oldest) = stream.costs.pop_front() else { break };
            stream.first += 1;
            stream.bytes -= oldest;
            session.bytes -= oldest;
        }
        if stream.first > before {
            removed.push(Removed::UpTo(key, stream.first - 1));
        }
        removed.extend(session.make_room(key, self.limits.session_bytes));
        removed
    }

    /// The numbers to read after this one; none at all when one of them is
    /// missing.
    pub(super) fn after(&self, key: StreamKey, after: u64) -> Option<std::ops::Range<u64>> {
        let stream = self.sessions.get(&key.session)?.streams.get(&key.stream)?;
        let (start, end) = (after.checked_add(1)?, stream.next()?);
        (stream.first <= start && start <= end).then_some(start..end)
    }

    pub(super) fn forget(&mut self, key: StreamKey) {
        let Some(session) = self.sessions.get_mut(&key.session) else { return };
        if let Some(stream) = session.streams.remove(&key.stream) {
            session.bytes -= stream.bytes;
        }
        if session.streams.is_empty() {
            self.sessions.remove(&key.session);
        }
    }

    /// Forgets a session, and gives the streams that it had.
    pub(super) fn forget_session(&mut self, session: u128) -> impl Iterator<Item = StreamKey> {
        let streams = self.sessions.remove(&session).map(|session| session.streams);
        let numbers = streams.unwrap_or_default().into_keys();
        numbers.map(move |stream| StreamKey { session, stream })
    }
}

impl Session {
    /// Forgets other streams than this one until the rest fits.
    fn make_room(&mut self, key: StreamKey, limit: usize) -> Vec<Removed> {
        let mut removed = Vec::new();
        while self.bytes > limit {
            let others = self.streams.iter().filter(|(number, _)| **number != key.stream);
            let Some(number) = others.min_by_key(|(_, s)| s.last_used).map(|(n, _)| *n) else {
                break;
            };
            if let Some(stream) = self.streams.remove(&number) {
                self.bytes -= stream.bytes;
                removed.push(Removed::Stream(StreamKey { stream: number, ..key }));
            }
        }
        removed
    }
}

impl Stream {
    /// The number that follows the last event, if there is one.
    fn next(&self) -> Option<u64> {
        (!self.costs.is_empty()).then_some(self.first + self.costs.len() as u64)
    }
}
