//! The streams of a session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use carrick_proto::peer::{Lane, Sent};

use super::mailbox::{Mailbox, Outgoing};

/// Ended streams that are kept for clients that resume.
const MAX_ENDED: usize = 64;

/// The connection's own stream (number 0) and one for each request.
#[derive(Debug)]
pub(super) struct Lanes {
    connection: Arc<Mailbox>,
    requests: Mutex<Requests>,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct Requests {
    last: u64,
    open: BTreeMap<u64, Arc<Mailbox>>,
}

impl Lanes {
    /// Keeps up to `max_bytes` of each stream, and of all ended ones.
    pub(super) fn new(max_bytes: usize) -> Self {
        let requests = Mutex::default();
        Self { connection: Mailbox::new(max_bytes), requests, max_bytes }
    }

    pub(super) fn connection(&self) -> Arc<Mailbox> {
        Arc::clone(&self.connection)
    }

    pub(super) fn get(&self, number: u64) -> Option<Arc<Mailbox>> {
        match number {
            0 => Some(self.connection()),
            _ => self.lock().open.get(&number).cloned(),
        }
    }

    /// Opens a stream for the answer to a request.
    pub(super) fn open(&self) -> (u64, Arc<Mailbox>) {
        let mailbox = Mailbox::new(self.max_bytes);
        let mut requests = self.lock();
        requests.last += 1;
        let number = requests.last;
        requests.open.insert(number, Arc::clone(&mailbox));
        (number, mailbox)
    }

    /// Forgets a stream that nobody can resume.
    pub(super) fn forget(&self, number: u64) {
        self.lock().open.remove(&number);
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
            self.trim();
        }
    }

    /// Whether a request of the server's own can be put on this stream. Its
    /// client comes back to the stream of a request of its own; whether it ever
    /// opens the connection's is its affair.
    pub(super) fn may_ask(&self, lane: Lane) -> bool {
        lane != Lane::Connection || self.connection.is_read()
    }

    /// Ends a stream without a response.
    pub(super) fn end(&self, lane: Lane) {
        if let Some(mailbox) = self.of(lane) {
            mailbox.end();
            self.trim();
        }
    }

    /// Closes a stream's connection; the rest waits for its client to come back.
    pub(super) fn pause(&self, lane: Lane, retry: Option<Duration>) {
        if let Some(mailbox) = self.of(lane) {
            mailbox.pause(retry);
        }
    }

    /// Ends every stream.
    pub(super) fn end_all(&self) {
        self.connection.end();
        for mailbox in self.lock().open.values() {
            mailbox.end();
        }
    }

    fn of(&self, lane: Lane) -> Option<Arc<Mailbox>> {
        match lane {
            Lane::Connection => Some(self.connection()),
            Lane::Exchange(number) => self.get(number),
        }
    }

    /// Forgets the oldest ended streams until the rest fits.
    fn trim(&self) {
        let mut requests = self.lock();
        let mut bytes = 0;
        let mut count = 0;
        let mut excess = Vec::new();
        for (number, mailbox) in requests.open.iter().rev().filter(|(_, m)| m.is_ended()) {
            bytes += mailbox.len();
            count += 1;
            // The newest one stays, whatever its size: its client may be about
            // to read it.
            if count > 1 && (bytes > self.max_bytes || count > MAX_ENDED) {
                excess.push(*number);
            }
        }
        for number in excess {
            requests.open.remove(&number);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn answer(size: usize) -> Outgoing {
        Outgoing { bytes: vec![b'x'; size].into(), sent: Sent::Response, error: None }
    }

    #[test]
    fn messages_reach_their_own_stream_only() {
        let lanes = Lanes::new(100);
        let (one, _) = lanes.open();
        let (two, _) = lanes.open();
        assert_eq!((one, two), (1, 2));
        lanes.deliver(Lane::Exchange(two), answer(5));
        assert_eq!(lanes.get(one).unwrap().len(), 0);
        assert_eq!(lanes.get(two).unwrap().len(), 5);
        let note =
            Outgoing { bytes: Bytes::from_static(b"n"), sent: Sent::Notification, error: None };
        lanes.deliver(Lane::Connection, note);
        assert_eq!(lanes.get(0).unwrap().len(), 1);
        lanes.deliver(Lane::Exchange(99), answer(1));
        assert!(lanes.get(99).is_none());
    }

    #[test]
    fn d047_ended_streams_are_kept_within_the_bound() {
        let lanes = Lanes::new(100);
        let (running, _) = lanes.open();
        for _ in 0..3 {
            let (number, _) = lanes.open();
            lanes.deliver(Lane::Exchange(number), answer(60));
        }
        assert!(lanes.get(running).is_some());
        assert!(lanes.get(2).is_none() && lanes.get(3).is_none());
        assert_eq!(lanes.get(4).unwrap().len(), 60);
        let (big, _) = lanes.open();
        lanes.deliver(Lane::Exchange(big), answer(1000));
        assert_eq!(lanes.get(big).unwrap().len(), 1000);
        for _ in 0..MAX_ENDED + 10 {
            let (number, _) = lanes.open();
            lanes.deliver(Lane::Exchange(number), answer(0));
        }
        assert_eq!(lanes.lock().open.len(), MAX_ENDED + 1);
    }
}
