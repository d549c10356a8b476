//! Lines that wait to be written.

use carrick_proto::peer::Lane;
use std::collections::VecDeque;
use std::io::IoSlice;

/// Messages of at least this size are not copied into a buffer with others.
const LARGE: usize = 4 << 10;

/// Memory that an empty queue keeps for the next message. One very large
/// message must not hold its memory for good.
const KEEP: usize = 64 << 10;

/// Memory of written messages that waits to be used again, at most.
const SPENT: usize = 256 << 10;

/// Pieces that are written in one go.
pub(super) const AT_ONCE: usize = 16;

/// Lines in their order, in as few pieces as that takes without copying what
/// is large.
#[derive(Default)]
pub(super) struct Queue {
    pieces: VecDeque<Vec<u8>>,
    /// Which exchange a piece is of, where it is that message alone, in the order of the
    /// pieces. They are few: such a message is large.
    large: VecDeque<(Lane, u64)>,
    /// The number of the first piece.
    first: u64,
    /// What is written of the first piece.
    written: usize,
    /// In all pieces, without what is written.
    len: usize,
    /// What was written or copied.
    spent: Vec<Vec<u8>>,
    /// The capacity of all of `spent`.
    spent_bytes: usize,
}

impl Queue {
    /// Bytes that are not yet written.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Memory in use.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.pieces.iter().chain(&self.spent).map(Vec::capacity).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a message as a line. JSON may have line ends between its parts; a
    /// line may not.
    pub(super) fn push_line(&mut self, lane: Lane, mut message: Vec<u8>) {
        let mut from = 0;
        while let Some(at) = memchr::memchr(b'\n', &message[from..]) {
            from += at + 1;
            message[from - 1] = b' ';
        }
        self.len += message.len() + 1;
        let has_room = |piece: &&mut Vec<u8>| piece.len() + message.len() < KEEP;
        if message.len() < LARGE
            && let Some(last) = self.pieces.back_mut().filter(has_room)
        {
            last.extend_from_slice(&message);
            last.push(b'\n');
            return self.keep(message);
        }
        message.push(b'\n');
        // Nothing is put behind so large a one.
        if message.len() > KEEP {
            self.large.push_back((lane, self.first + self.pieces.len() as u64));
        }
        self.pieces.push_back(message);
    }

    /// Takes out a message that nobody wants any more, if nothing of it is written and it is
    /// large enough to be worth that.
    pub(super) fn remove(&mut self, lane: Lane) {
        let Some(at) = self.large.iter().position(|(of, _)| *of == lane) else { return };
        let Some((_, number)) = self.large.get(at).copied() else { return };
        let index = usize::try_from(number - self.first).unwrap_or(usize::MAX);
        if index == 0 && self.written > 0 {
            return;
        }
        self.large.remove(at);
        if let Some(piece) = self.pieces.get_mut(index) {
            self.len -= piece.len();
            // Nothing is written of an empty piece, and the numbers of the others stay.
            *piece = Vec::new();
        }
    }

    /// What to write next.
    pub(super) fn slices<'a, 'b>(
        &'a self,
        slices: &'b mut [IoSlice<'a>; AT_ONCE],
    ) -> &'b [IoSlice<'a>] {
        let mut count = 0;
        let mut skip = self.written;
        // What was taken out has left an empty piece.
        let pieces = self.pieces.iter().filter(|piece| !piece.is_empty());
        for (slice, piece) in slices.iter_mut().zip(pieces) {
            *slice = IoSlice::new(&piece[skip..]);
            skip = 0;
            count += 1;
        }
        &slices[..count]
    }

    /// Takes out what has been written.
    pub(super) fn written(&mut self, bytes: usize) {
        self.len -= bytes;
        self.written += bytes;
        loop {
            let only = self.pieces.len() == 1;
            let Some(first) = self.pieces.front_mut() else { return };
            if self.written < first.len() {
                return;
            }
            self.written -= first.len();
            if only && first.capacity() <= KEEP {
                // The last one stays, as a buffer for what comes next.
                return first.clear();
            }
            if let Some(written) = self.pieces.pop_front() {
                self.large.pop_front_if(|(_, number)| *number == self.first);
                self.first += 1;
                self.keep(written);
            }
        }
    }

    /// A buffer that is needed no more.
    pub(super) fn spent(&mut self) -> Option<Vec<u8>> {
        let buffer = self.spent.pop()?;
        self.spent_bytes -= buffer.capacity();
        Some(buffer)
    }

    fn keep(&mut self, buffer: Vec<u8>) {
        if self.spent_bytes + buffer.capacity() <= SPENT && buffer.capacity() <= KEEP {
            self.spent_bytes += buffer.capacity();
            self.spent.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes at most `step` bytes a time until the queue is empty.
    fn drain(queue: &mut Queue, step: usize) -> Vec<u8> {
        let mut out = Vec::new();
        while !queue.is_empty() {
            let mut slices = [IoSlice::new(&[]); AT_ONCE];
            let mut left = step;
            for slice in queue.slices(&mut slices) {
                let part = &slice[..slice.len().min(left)];
                out.extend_from_slice(part);
                left -= part.len();
            }
            queue.written(step - left);
        }
        out
    }

    #[test]
    fn lines_come_out_as_they_went_in_however_they_are_cut() {
        let sizes = [0, 1, 30, LARGE - 1, LARGE, 5, 5, KEEP + 7, 9, LARGE * 3, 2];
        let lines: Vec<Vec<u8>> =
            sizes.iter().enumerate().map(|(n, size)| vec![b'a' + n as u8; *size]).collect();
        let whole: Vec<u8> = lines.iter().flat_map(|line| [line, &b"\n"[..]].concat()).collect();
        for step in [1, 3, 100, LARGE, KEEP * 8] {
            let mut queue = Queue::default();
            for _ in 0..2 {
                lines.iter().for_each(|line| queue.push_line(Lane::Connection, line.clone()));
                assert_eq!(queue.len(), whole.len());
                assert!(drain(&mut queue, step) == whole, "in steps of {step}");
                assert_eq!(queue.len(), 0);
            }
        }
    }

    #[test]
    fn small_lines_share_a_piece_and_a_large_one_keeps_no_memory() {
        let mut queue = Queue::default();
        (0..100).for_each(|_| queue.push_line(Lane::Connection, vec![b'x'; 100]));
        assert_eq!(queue.pieces.len(), 1);
        drain(&mut queue, usize::MAX);
        queue.push_line(Lane::Connection, vec![b'x'; KEEP * 4]);
        drain(&mut queue, usize::MAX);
        assert!(queue.capacity() <= KEEP);
    }

    #[test]
    fn what_is_written_or_copied_is_handed_out_within_bounds() {
        let mut queue = Queue::default();
        (0..3).for_each(|_| queue.push_line(Lane::Connection, vec![b'x'; 100]));
        let copied = std::iter::from_fn(|| queue.spent()).count();
        assert_eq!(copied, 2, "the first is the piece that the others were copied into");
        (0..100).for_each(|_| queue.push_line(Lane::Connection, vec![b'x'; KEEP / 4]));
        drain(&mut queue, usize::MAX);
        assert!(queue.capacity() <= SPENT + KEEP);
        let kept: usize = std::iter::from_fn(|| queue.spent()).map(|spent| spent.capacity()).sum();
        assert!((SPENT / 2..=SPENT).contains(&kept), "{kept}");
        assert_eq!(queue.spent_bytes, 0);
    }

    #[test]
    fn f21_what_nobody_wants_any_more_leaves_the_queue() {
        let mut queue = Queue::default();
        let lane = Lane::Exchange;
        for number in 0..40 {
            queue.push_line(lane(number), vec![b'a' + number as u8 % 26; KEEP * 2]);
            queue.push_line(lane(100 + number), vec![b'-'; 10]);
        }
        let whole = queue.len();
        // Something of the first is written already.
        queue.written(1);
        for number in [0, 1, 7, 38, 39, 7, 99] {
            queue.remove(lane(number));
        }
        assert_eq!(queue.len(), whole - 1 - 4 * (KEEP * 2 + 1));
        let out = drain(&mut queue, KEEP);
        let lines: Vec<&[u8]> = out.split(|byte| *byte == b'\n').collect();
        assert_eq!(lines.len(), 40 - 4 + 40 + 1);
        assert_eq!(lines.iter().filter(|line| line.len() == 10).count(), 40);
        assert!(queue.is_empty() && queue.large.is_empty());
        // All that waits may go, and the queue is used on.
        for number in 0..40 {
            queue.push_line(lane(number), vec![b'x'; KEEP * 2]);
        }
        (0..40).for_each(|number| queue.remove(lane(number)));
        assert!(queue.is_empty() && queue.capacity() <= KEEP * 2);
        queue.push_line(lane(1), b"next".to_vec());
        assert_eq!(drain(&mut queue, 3), b"next\n");
    }
}
