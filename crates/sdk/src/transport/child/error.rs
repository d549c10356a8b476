//! Why a server could not be started or ended.

use std::{io, path::PathBuf};

/// Why a server was not started. No process of it is left when this is returned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// No file of the program's name is in any folder of `PATH`.
    #[error("program `{program}` not found in PATH ({})", shown(searched.as_deref()))]
    NotFound {
        /// The name that was looked for.
        program: String,
        /// The `PATH` that the command gives; none when it has no such variable.
        searched: Option<String>,
    },
    /// The program was given as a path and no file is there.
    #[error("program `{}` not found", path.display())]
    NoSuchFile {
        /// The path that was tried.
        path: PathBuf,
    },
    /// A file of the program's name exists, but may not be executed.
    #[error("program `{}` may not be executed: permission denied", path.display())]
    NotExecutable {
        /// The file that was found.
        path: PathBuf,
    },
    /// The program's file exists, but the interpreter or loader that it asks for does not.
    #[error("program `{}` needs an interpreter that was not found (see its first line)", path.display())]
    NoInterpreter {
        /// The program's file.
        path: PathBuf,
    },
    /// The folder to start in does not exist or is not a folder.
    #[error("cannot start in folder `{}`: {source}", path.display())]
    WorkingDirectory {
        /// The folder.
        path: PathBuf,
        /// What the system said about it.
        source: io::Error,
    },
    /// The command cannot be expressed to the system, for instance because of a NUL character.
    #[error("invalid command: {what}")]
    Invalid {
        /// Which part is wrong, and how.
        what: String,
    },
    /// The system refused to execute the program for another reason.
    #[error("program `{}` could not be started: {source}", path.display())]
    Exec {
        /// The program's file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The supervising process failed before it had started the server.
    #[error("the supervisor of program `{}` failed: {source}", path.display())]
    Supervisor {
        /// The program's file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// No pipes could be made, for instance because too many files are open.
    #[error("no pipes for the server: {0}")]
    Pipes(#[source] io::Error),
}

impl SpawnError {
    /// Tells apart what executing `path`, a file that was there a moment ago, answered.
    pub(super) fn from_exec(path: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::NoInterpreter { path },
            io::ErrorKind::PermissionDenied => Self::NotExecutable { path },
            _ => Self::Exec { path, source },
        }
    }
}

/// Some process of a server survived being killed, which only the system can be the reason of: it
/// waits inside the kernel, or belongs to another user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("processes of the server are still running after SIGKILL")]
pub struct StillRunning;

fn shown(searched: Option<&str>) -> String {
    match searched {
        None => "which is not set".to_owned(),
        Some("") => "which is empty".to_owned(),
        Some(searched) if std::env::split_paths(searched).all(|folder| folder.is_absolute()) => {
            searched.to_owned()
        }
        Some(searched) => format!("{searched}, of which empty and relative entries are not used"),
    }
}
