//! Numbers and bytes that look random and are the same in every run.

/// A generator (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

/// Pieces that change what a text means.
const PIECES: [&[u8]; 34] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b":",
    b",",
    b"\\",
    b"\\u",
    b"\\ud800",
    b"\\u0000",
    b"null",
    b"true",
    b"-0",
    b"1e999",
    b"1.0",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b" ",
    b"\t",
    b"\0",
    b"\xff",
    b"\xc3\xa9",
    b"\xf0\x9f\xa6\x80",
    b"data:",
    b"id:",
    b"retry:",
    b"=?base64?",
    b"?=",
    b"_meta",
    b"\"id\":1,",
    b"\xef\xbb\xbf",
];

impl Random {
    /// The generator of this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 if that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % (end.max(1) as u64)) as usize
    }

    /// Some bytes, fewer than `end`.
    pub fn bytes(&mut self, end: usize) -> Vec<u8> {
        let count = self.below(end);
        (0..count).map(|_| self.number() as u8).collect()
    }

    /// One of the seeds, changed in a few places; sometimes not at all, and
    /// sometimes something else altogether.
    pub fn case(&mut self, seeds: &[Vec<u8>], longest: usize) -> Vec<u8> {
        if seeds.is_empty() || self.below(16) == 0 {
            return self.bytes(256);
        }
        let mut data = seeds[self.below(seeds.len())].clone();
        for _ in 0..self.below(6) {
            self.change(&mut data, seeds);
        }
        data.truncate(longest);
        data
    }

    fn change(&mut self, data: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let at = self.below(data.len() + 1);
        match self.below(8) {
            0 if at < data.len() => data[at] ^= 1 << self.below(8),
            1 if at < data.len() => data[at] = self.number() as u8,
            2 => drop(data.splice(at..at, PIECES[self.below(PIECES.len())].iter().copied())),
            3 => drop(data.drain(at..(at + self.below(16)).min(data.len()))),
            4 => {
                let end = (at + self.below(64)).min(data.len());
                let piece = data[at..end].to_vec();
                let to = self.below(data.len() + 1);
                data.splice(to..to, piece);
            }
            5 => {
                let other = &seeds[self.below(seeds.len())];
                let from = self.below(other.len() + 1);
                let end = (from + self.below(256)).min(other.len());
                data.splice(at..at, other[from..end].iter().copied());
            }
            6 => data.truncate(at),
            _ => {
                let piece = PIECES[self.below(PIECES.len())];
                let end = (at + piece.len()).min(data.len());
                data.splice(at..end, piece.iter().copied());
            }
        }
    }
}
