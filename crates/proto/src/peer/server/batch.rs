//! Answers that go out together, as one array (`basic`, Batching).

use crate::peer::Lane;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Where an answer goes.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) lane: Lane,
    /// The batch that it belongs to.
    pub(super) batch: Option<u64>,
}

impl From<Lane> for Place {
    fn from(lane: Lane) -> Self {
        Self { lane, batch: None }
    }
}

/// The batches that are not answered yet.
#[derive(Default)]
pub(super) struct Batches {
    next: u64,
    open: BTreeMap<u64, Batch>,
}

struct Batch {
    lane: Lane,
    /// Calls still to be answered, and one more while the batch is read.
    waiting: usize,
    answers: Vec<u8>,
}

impl Batches {
    /// Begins a batch, to be ended with [`Batches::done`].
    pub(super) fn begin(&mut self, lane: Lane) -> Place {
        let key = self.next;
        self.next += 1;
        self.open.insert(key, Batch { lane, waiting: 1, answers: Vec::new() });
        Place { lane, batch: Some(key) }
    }

    /// A call of the batch will be answered later.
    pub(super) fn wait(&mut self, key: u64) {
        if let Some(batch) = self.open.get_mut(&key) {
            batch.waiting += 1;
        }
    }

    /// Adds an answer.
    pub(super) fn add(&mut self, key: u64, answer: &[u8]) {
        if let Some(batch) = self.open.get_mut(&key) {
            batch.answers.push(if batch.answers.is_empty() { b'[' } else { b',' });
            batch.answers.extend_from_slice(answer);
        }
    }

    /// One thing less to wait for; the array to send when that was the last
    /// and there is any answer.
    pub(super) fn done(&mut self, key: u64) -> Option<(Lane, Vec<u8>)> {
        let batch = self.open.get_mut(&key)?;
        batch.waiting -= 1;
        if batch.waiting > 0 {
            return None;
        }
        let mut batch = self.open.remove(&key)?;
        batch.answers.push(b']');
        (batch.answers.len() > 1).then_some((batch.lane, batch.answers))
    }
}
