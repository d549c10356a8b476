//! Where one message ends and the next begins.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use memchr::memchr;

/// The most digits a length may have.
const LONGEST_LENGTH: usize = 10;

/// How messages follow each other on a byte stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// One message a line; empty lines mean nothing.
    #[default]
    Newline,
    /// The number of bytes in decimal digits, a line feed, then that many bytes. Blank
    /// space before a number means nothing.
    Length,
}

/// A stream that cannot be split into messages any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FramingError {
    /// A message is longer than allowed.
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// There is no number where a message's length must be.
    Length,
}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit } => write!(f, "a message is longer than {limit} bytes"),
            Self::Length => f.write_str("a message does not begin with its length"),
        }
    }
}

impl core::error::Error for FramingError {}

impl Framing {
    /// Appends `message` with its frame. It must not hold a line break if lines are the
    /// frames, as messages written by this module do not.
    pub fn write(self, message: &str, out: &mut Vec<u8>) {
        if self == Self::Length {
            // Writing to a vector by way of a string cannot fail.
            out.extend_from_slice(alloc::format!("{}\n", message.len()).as_bytes());
        }
        out.extend_from_slice(message.as_bytes());
        if self == Self::Newline {
            out.push(b'\n');
        }
    }

    /// Finds the first message in `buffer`: where it stands, and how many bytes are done
    /// with when it has been taken. `None` until it is complete.
    ///
    /// `seen` is what an earlier call on a shorter buffer with the same beginning has
    /// looked at already (0 at first, and after a message was taken); it keeps the work
    /// linear when bytes trickle in. The message is empty when only blank space was found.
    ///
    /// # Errors
    ///
    /// [`FramingError`] once no more messages can be told apart.
    pub fn split(
        self,
        buffer: &[u8],
        seen: usize,
        limit: usize,
    ) -> Result<Option<(Range<usize>, usize)>, FramingError> {
        match self {
            Self::Newline => {
                let seen = seen.min(buffer.len());
                let end = memchr(b'\n', &buffer[seen..]).map(|at| seen + at);
                if end.unwrap_or(buffer.len()) > limit {
                    return Err(FramingError::TooLarge { limit });
                }
                Ok(end.map(|end| (trim(buffer, 0..end), end + 1)))
            }
            Self::Length => {
                let blanks = buffer.iter().take_while(|b| b.is_ascii_whitespace()).count();
                if blanks > 0 {
                    return Ok(Some((blanks..blanks, blanks)));
                }
                split_length(buffer, limit)
            }
        }
    }
}

fn split_length(
    buffer: &[u8],
    limit: usize,
) -> Result<Option<(Range<usize>, usize)>, FramingError> {
    let digits = buffer.iter().take_while(|b| b.is_ascii_digit()).count();
    let line = &buffer[..digits];
    let start = match buffer.get(digits..) {
        _ if digits > LONGEST_LENGTH => return Err(FramingError::Length),
        None | Some([] | [b'\r']) => return Ok(None),
        Some([b'\n', ..]) if digits > 0 => digits + 1,
        Some([b'\r', b'\n', ..]) if digits > 0 => digits + 2,
        Some(_) => return Err(FramingError::Length),
    };
    let length = line.iter().fold(0_u64, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > limit {
        return Err(FramingError::TooLarge { limit });
    }
    let end = start + length;
    Ok((buffer.len() >= end).then_some((start..end, end)))
}

fn trim(buffer: &[u8], mut line: Range<usize>) -> Range<usize> {
    let blank = |at: usize| buffer.get(at).is_some_and(u8::is_ascii_whitespace);
    while !line.is_empty() && blank(line.start) {
        line.start += 1;
    }
    while !line.is_empty() && blank(line.end - 1) {
        line.end -= 1;
    }
    line
}
