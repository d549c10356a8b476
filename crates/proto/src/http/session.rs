//! Session ids (legacy).

use core::fmt;

/// Longest session id that is accepted, in bytes.
pub const MAX_SESSION_ID_LEN: usize = 1024;

/// Why a session id is no session id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionIdError {
    /// It is empty.
    Empty,
    /// It is longer than [`MAX_SESSION_ID_LEN`].
    TooLong {
        /// Its length in bytes.
        len: usize,
    },
    /// It holds a character outside `!` to `~`.
    Character,
}

impl fmt::Display for SessionIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the session id is empty"),
            Self::TooLong { len } => {
                write!(f, "the session id has {len} bytes; the limit is {MAX_SESSION_ID_LEN} bytes")
            }
            Self::Character => {
                f.write_str("the session id holds a character that is not visible ASCII")
            }
        }
    }
}

impl core::error::Error for SessionIdError {}

/// Checks a session id: visible ASCII of sane length (`basic/transports`,
/// Session Management).
///
/// # Errors
///
/// [`SessionIdError`] says what is wrong with it.
pub fn check_session_id(value: &[u8]) -> Result<&str, SessionIdError> {
    if value.is_empty() {
        return Err(SessionIdError::Empty);
    }
    if value.len() > MAX_SESSION_ID_LEN {
        return Err(SessionIdError::TooLong { len: value.len() });
    }
    if !value.iter().all(u8::is_ascii_graphic) {
        return Err(SessionIdError::Character);
    }
    core::str::from_utf8(value).map_err(|_| SessionIdError::Character)
}
