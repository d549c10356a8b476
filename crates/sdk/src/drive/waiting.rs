//! Calls that wait for others to end, in the order of their arrival.

use carrick_proto::peer::{Call, CallKey};
use std::collections::BTreeMap;

/// A queue from whose middle a call can be taken as cheaply as from its front.
#[derive(Default)]
pub(super) struct Waiting {
    calls: BTreeMap<u64, Call>,
    places: BTreeMap<CallKey, u64>,
    next: u64,
    bytes: usize,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Memory that all of them take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, mut call: Call) {
        call.message.detach();
        self.bytes += cost(&call);
        self.places.insert(call.key, self.next);
        self.calls.insert(self.next, call);
        self.next += 1;
    }

    pub(super) fn pop(&mut self) -> Option<Call> {
        let (_, call) = self.calls.pop_first()?;
        self.places.remove(&call.key);
        self.bytes -= cost(&call);
        Some(call)
    }

    pub(super) fn remove(&mut self, key: CallKey) {
        let Some(place) = self.places.remove(&key) else { return };
        if let Some(call) = self.calls.remove(&place) {
            self.bytes -= cost(&call);
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Memory that a waiting call takes: many small ones cost more than their bytes.
pub(super) fn cost(call: &Call) -> usize {
    call.message.bytes().len() + size_of::<Call>()
}
