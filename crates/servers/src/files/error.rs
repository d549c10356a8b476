//! What can go wrong with a request for files, by who has to mend it.

use super::{path::PathFault, place::Kind};
use crate::text::quoted;
use std::io;

/// Paths are repeated in messages up to this many characters.
const SHOWN: usize = 200;

/// A request for files that could not be answered.
///
/// The text is written for a model. It never tells whether anything exists outside of the given
/// folders.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilesError {
    /// The path lies outside of all folders.
    #[error("\"{path}\" is outside of the folders that may be used: {}", roots.join(", "))]
    Outside {
        /// The path as asked for.
        path: String,
        /// The folders that may be used.
        roots: Vec<String>,
    },
    /// A link on the way leads outside of all folders.
    #[error("\"{path}\" goes through a link that leads outside of the folders that may be used")]
    LinkOutside {
        /// The path as asked for.
        path: String,
    },
    /// The path is of a form that is never used.
    #[error("\"{path}\" cannot be used as a path: {fault}")]
    Path {
        /// The path as asked for.
        path: String,
        /// What is wrong with it.
        fault: PathFault,
    },
    /// Nothing is there.
    #[error("\"{path}\" does not exist")]
    NotFound {
        /// The path as asked for.
        path: String,
    },
    /// Something else is there than was asked for.
    #[error("\"{path}\" is {}, not {}", kind.article(), wanted.article())]
    WrongKind {
        /// The path as asked for.
        path: String,
        /// What is there.
        kind: Kind,
        /// What was asked for.
        wanted: Kind,
    },
    /// The operating system refuses.
    #[error("no permission to use \"{path}\"")]
    Permission {
        /// The path as asked for.
        path: String,
    },
    /// The file is not text.
    #[error(
        "\"{path}\" is not text ({mime}, {size} bytes){}",
        uri.as_ref().map(|uri| format!("; read it as the resource {uri}")).unwrap_or_default()
    )]
    Binary {
        /// The path as asked for.
        path: String,
        /// What it probably is, as a MIME type.
        mime: &'static str,
        /// Its size in bytes.
        size: u64,
        /// The resource that has its bytes, if it can be named.
        uri: Option<String>,
    },
    /// More bytes than one request may move.
    #[error("\"{path}\" has {size} bytes, more than the limit of {limit} ({what}){hint}")]
    TooLarge {
        /// The path as asked for.
        path: String,
        /// Its size in bytes.
        size: u64,
        /// The most that is allowed.
        limit: u64,
        /// The name of the limit, a field of [`Limits`](super::Limits).
        what: &'static str,
        /// What to do instead, with the punctuation before it.
        hint: &'static str,
    },
    /// A line was asked for that the file does not have.
    #[error("\"{path}\" has only {lines} lines; offset {offset} is beyond its end")]
    NoSuchLine {
        /// The path as asked for.
        path: String,
        /// The line that was asked for.
        offset: u64,
        /// How many lines there are.
        lines: u64,
    },
    /// Another argument than the path is wrong.
    #[error("{argument}: {reason}")]
    Argument {
        /// The name of the argument.
        argument: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Writing is switched off.
    #[error("the folders can only be read")]
    ReadOnly,
    /// None of the folders given at the start exists.
    #[error("none of the folders that this server was given can be used")]
    NoRoots,
    /// Nobody waits for the answer any more.
    #[error("cancelled")]
    Cancelled,
    /// The operating system failed in another way.
    #[error("\"{path}\" could not be used")]
    Io {
        /// The path as asked for.
        path: String,
        /// What the operating system said.
        source: io::Error,
    },
}

impl FilesError {
    pub(super) fn path(text: &str, fault: PathFault) -> Self {
        Self::Path { path: shown(text), fault }
    }

    pub(super) fn wrong_kind(text: &str, kind: Kind, wanted: Kind) -> Self {
        Self::WrongKind { path: shown(text), kind, wanted }
    }

    pub(super) fn argument(argument: &'static str, reason: impl Into<String>) -> Self {
        Self::Argument { argument, reason: reason.into() }
    }

    /// What an error of the operating system means for the path `text`.
    pub(super) fn io(text: &str, source: io::Error) -> Self {
        let path = shown(text);
        if is_escape(&source) {
            return Self::LinkOutside { path };
        }
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            // A file stands where the path needs a folder: nothing of that name can be there.
            io::ErrorKind::NotADirectory => Self::NotFound { path },
            io::ErrorKind::PermissionDenied => Self::Permission { path },
            io::ErrorKind::InvalidFilename => Self::Path { path, fault: PathFault::TooLong },
            _ => Self::Io { path, source },
        }
    }

    /// Whether the request can never succeed, however often it is made, because of what it says.
    /// The others are failures of the machine.
    pub fn is_callers_fault(&self) -> bool {
        !matches!(self, Self::Io { .. } | Self::NoRoots | Self::Cancelled)
    }
}

/// Whether an error says that a path would have left its folder. The sandbox makes this error
/// itself, so it carries no code of the operating system.
pub(super) fn is_escape(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// `text` as it is repeated in messages.
pub(super) fn shown(text: &str) -> String {
    quoted(text, SHOWN)
}
