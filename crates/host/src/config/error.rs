//! What can be wrong with a config file, and where.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use carrick_policy::json::{ParseError, ParseFault};

use super::text::Position;
use carrick_policy::{Effect, quoted, visible};

/// A file could not be used, or one entry of it could not.
///
/// The display form is `file:line:column: what is wrong, and what was
/// expected`. Names taken from the file are quoted with control characters
/// made visible, so the text is safe to print.
#[derive(Clone, Debug)]
pub struct ConfigError(Box<Details>);

#[derive(Clone, Debug)]
struct Details {
    file: PathBuf,
    position: Option<Position>,
    server: Option<String>,
    fault: Fault,
}

/// What is wrong.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The operating system refused to read the file.
    #[error("cannot be read: {0}")]
    Read(#[source] Arc<io::Error>),
    /// The path names a folder, a pipe or a device.
    #[error("is not a regular file")]
    NotAFile,
    /// The file is larger than any config file should be.
    #[error("is larger than {limit} bytes, the most that is read")]
    TooLarge {
        /// The bound, in bytes.
        limit: u64,
    },
    /// The file is text in another encoding.
    #[error("is {found} text; save it as UTF-8")]
    Encoding {
        /// The encoding that was recognised.
        found: &'static str,
    },
    /// The file is not text in any encoding that was recognised.
    #[error("this byte is not UTF-8 text; save the file as UTF-8")]
    NotUtf8,
    /// Not JSON, comments and trailing commas aside.
    #[error("not valid JSON: {message}")]
    Syntax {
        /// What the parser found.
        message: String,
    },
    /// Lists and objects nested too deeply.
    #[error("nested more than {limit} levels deep")]
    TooDeep {
        /// The bound, in levels.
        limit: usize,
    },
    /// A key that means nothing here.
    #[error("unknown key {} in {context}{hint}", quoted(.key))]
    UnknownKey {
        /// The key as written.
        key: String,
        /// What kind of object it stands in.
        context: &'static str,
        /// A suggestion, with the punctuation that joins it to the message.
        hint: String,
    },
    /// A value of the wrong type.
    #[error("{} must be {expected}, not {found}", quoted(.field))]
    WrongType {
        /// The key, or a path such as `args[0]`.
        field: String,
        /// What was expected.
        expected: &'static str,
        /// What stands there.
        found: &'static str,
    },
    /// A value of the right type that cannot be used.
    #[error("{}: {reason}", quoted(.field))]
    Invalid {
        /// The key, or a path such as `args[0]`.
        field: String,
        /// Why not, and what would do.
        reason: String,
    },
    /// Keys that must, or must not, come together.
    #[error("{0}")]
    Combination(&'static str),
    /// A variable without a value and without a default.
    #[error(
        "{} uses ${{{variable}}}, which is not set; set {variable}, or give a default: \
         ${{{variable}:-…}}", quoted(.field)
    )]
    Unset {
        /// The variable.
        variable: String,
        /// The key, or a path such as `args[0]`.
        field: String,
    },
    /// A type of server that this version of Carrick cannot drive.
    #[error("type {} comes in a later version of Carrick; the server is left out", quoted(.kind))]
    Later {
        /// The type as written.
        kind: String,
    },
}

/// A fault and the byte offset in the text at which it was found.
#[derive(Debug)]
pub(crate) struct Located {
    pub(crate) at: usize,
    pub(crate) fault: Fault,
}

impl From<ParseError> for Located {
    fn from(error: ParseError) -> Self {
        let fault = match error.fault {
            ParseFault::TooDeep { limit } => Fault::TooDeep { limit },
            ParseFault::Syntax { message } => Fault::Syntax { message },
            other => Fault::Syntax { message: other.to_string() },
        };
        Self { at: error.at, fault }
    }
}

impl ConfigError {
    pub(crate) fn new(file: &Path, position: Option<Position>, fault: Fault) -> Self {
        Self(Box::new(Details { file: file.to_owned(), position, server: None, fault }))
    }

    pub(crate) fn in_server(mut self, name: &str) -> Self {
        self.0.server = Some(name.to_owned());
        self
    }

    /// The file, as it was named.
    pub fn file(&self) -> &Path {
        &self.0.file
    }

    /// Where in the file, if the fault is at one place.
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }

    /// The server whose entry is wrong; `None` if it is the file as a whole.
    pub fn server(&self) -> Option<&str> {
        self.0.server.as_deref()
    }

    /// The display form without the server's name, for where it is told already.
    pub fn without_server(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| {
            self.write_place(f)?;
            write!(f, ": {}", self.0.fault)
        })
    }

    /// What is wrong.
    pub fn fault(&self) -> &Fault {
        &self.0.fault
    }

    fn write_place(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", visible(&self.0.file.to_string_lossy()))?;
        match self.0.position {
            Some(position) => write!(f, ":{position}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_place(f)?;
        if let Some(server) = &self.0.server {
            write!(f, ": server {}", quoted(server))?;
        }
        write!(f, ": {}", self.0.fault)
    }
}

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.0.fault)
    }
}

/// Something that works, yet is probably not what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The file.
    pub file: PathBuf,
    /// Where in the file.
    pub position: Position,
    /// What was noticed.
    pub kind: WarningKind,
}

/// What was noticed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WarningKind {
    /// The same key twice in one object; the last one counts.
    #[error("key {} stands here again (first at {first}); this one counts", quoted(.key))]
    DuplicateKey {
        /// The key.
        key: String,
        /// Where it stood first.
        first: Position,
    },
    /// A time that looks like seconds.
    #[error("{} is {millis} milliseconds; Carrick counts milliseconds, not seconds", quoted(.field))]
    ShortTime {
        /// The key.
        field: String,
        /// The value as written.
        millis: u64,
    },
    /// Another host's `${…}` form, which stays as it is.
    #[error("{} holds {}, which stays as written: Carrick expands ${{NAME}} only", quoted(.field), quoted(.form))]
    LiteralForm {
        /// The key, or a path such as `args[0]`.
        field: String,
        /// The beginning of the form, such as `${input:`.
        form: String,
    },
    /// An allow rule that holds for none of the servers that it is about.
    #[error(
        "allow rule {} has no effect: the server comes from a file that the rule does not hold \
         for; a project's allow rules hold for its own servers, others for those of their own \
         file and of weaker ones",
        quoted(.rule)
    )]
    IneffectiveAllow {
        /// The rule as written.
        rule: String,
    },
    /// A rule about servers of which there is none.
    #[error("{effect} rule {} names no server there is{hint}", quoted(.rule))]
    NoSuchServer {
        /// What the rule says.
        effect: Effect,
        /// Its pattern.
        rule: String,
        /// A suggestion, with the punctuation that joins it to the message.
        hint: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", visible(&self.file.to_string_lossy()), self.position, self.kind)
    }
}
