//! Memory of messages that are done with, for those that come next.

use super::Message;
use super::message::Parts;
use alloc::boxed::Box;
use alloc::vec::Vec;
use bytes::Bytes;

/// Things of one kind that one engine keeps at most.
const MOST: usize = 64;

/// The memory of larger messages than this is not kept.
const LARGEST: usize = 64 << 10;

/// The memory of all buffers that are kept, at most.
const ALL: usize = 256 << 10;

/// What an engine scans and writes into again.
///
/// It is for connections: nothing is kept until a driver gives a first buffer
/// back. From then on as much is kept as was ever missing at once.
#[derive(Default)]
pub(crate) struct Spares(Option<Box<Shelves>>);

#[derive(Default)]
struct Shelves {
    messages: Shelf<Message>,
    buffers: Shelf<Vec<u8>>,
    /// The capacity of all buffers.
    bytes: usize,
}

/// Things of one kind, the last one on top.
struct Shelf<T> {
    list: Vec<T>,
    /// How many there were too few: so many are in use, and worth keeping.
    missed: usize,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        // Whoever gives something back has missed it.
        Self { list: Vec::new(), missed: 1 }
    }
}

impl<T> Shelf<T> {
    fn take(&mut self) -> Option<T> {
        let top = self.list.pop();
        if top.is_none() {
            self.missed = MOST.min(self.missed + 1);
        }
        top
    }

    fn has_room(&self) -> bool {
        self.list.len() < self.missed
    }
}

impl Spares {
    /// A message of these parts.
    pub(super) fn message(&mut self, parts: Parts) -> Message {
        match self.0.as_mut().and_then(|shelves| shelves.messages.take()) {
            Some(mut message) => {
                *message.0 = parts;
                message
            }
            None => Message(Box::new(parts)),
        }
    }

    /// Takes back a message that nobody needs any more.
    pub(crate) fn done(&mut self, mut message: Message) {
        let Some(shelves) = &mut self.0 else { return };
        if shelves.messages.has_room() {
            // What it was read together with is needed by others.
            message.0.bytes = Bytes::new();
            message.0.id = None;
            message.0.shadows = Vec::new();
            shelves.messages.list.push(message);
        }
    }

    /// An empty buffer for about so many bytes.
    pub(crate) fn buffer(&mut self, len: usize) -> Vec<u8> {
        if let Some(shelves) = self.0.as_mut().filter(|_| len <= LARGEST)
            && let Some(buffer) = shelves.buffers.take()
        {
            shelves.bytes -= buffer.capacity();
            if buffer.capacity() >= len {
                return buffer;
            }
        }
        Vec::with_capacity(len)
    }

    /// Takes back a buffer that has been written out.
    pub(crate) fn written(&mut self, mut buffer: Vec<u8>) {
        let shelves = self.0.get_or_insert_default();
        let capacity = buffer.capacity();
        let fits = capacity <= LARGEST && shelves.bytes + capacity <= ALL;
        if fits && shelves.buffers.has_room() {
            buffer.clear();
            shelves.bytes += capacity;
            shelves.buffers.list.push(buffer);
        }
    }

    /// Gives everything back.
    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }
}
