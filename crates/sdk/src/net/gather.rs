//! Bodies put together from their chunks.

use bytes::Bytes;

/// Memory that is taken at once because a length was announced, at most.
const AHEAD: u64 = 2 << 20;

/// A body of which some has come.
///
/// Chunks are copied as they come, so that the memory that they were read into is free for the
/// next ones: a large body would be in memory twice otherwise, and most of the time that it takes
/// is the system's, which has to find the memory. A body of one chunk is that chunk.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    /// The length that was announced.
    expected: u64,
    only: Bytes,
    /// All of it, once there is a second chunk.
    whole: Vec<u8>,
}

impl Gather {
    /// Nothing yet, of a body that has at least so many bytes as it says.
    pub(crate) fn new(expected: u64) -> Self {
        Self { expected, ..Self::default() }
    }

    /// How much has come.
    pub(crate) fn len(&self) -> usize {
        self.only.len() + self.whole.len()
    }

    /// Adds what comes next.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        if self.len() == 0 {
            self.only = chunk;
            return;
        }
        if self.whole.is_empty() {
            let ahead = usize::try_from(self.expected.min(AHEAD)).unwrap_or(0);
            self.whole.reserve(ahead.max(self.only.len() + chunk.len()));
            self.whole.extend_from_slice(&std::mem::take(&mut self.only));
        }
        self.whole.extend_from_slice(&chunk);
    }

    /// All that has come.
    pub(crate) fn finish(self) -> Bytes {
        if self.whole.is_empty() { self.only } else { self.whole.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_chunk_is_not_copied_and_several_are_put_together() {
        let mut one = Gather::new(3);
        let chunk = Bytes::from(vec![1, 2, 3]);
        one.push(chunk.clone());
        assert_eq!(one.len(), 3);
        assert_eq!(one.finish().as_ptr(), chunk.as_ptr());

        // A length that is far from the truth does no harm.
        for expected in [0, 5, u64::MAX] {
            let mut several = Gather::new(expected);
            for chunk in ["", "ab", "", "c", "de"] {
                several.push(Bytes::from_static(chunk.as_bytes()));
            }
            assert_eq!(several.len(), 5);
            assert!(several.whole.capacity() <= AHEAD as usize);
            assert_eq!(several.finish(), "abcde");
        }
        assert!(Gather::new(9).finish().is_empty());
    }
}
