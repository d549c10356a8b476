//! How a command ends: its exit code, and an error that says what to do next.

use crate::print;
use carrick::client::ClientError;
use carrick::transport::child::SpawnError;
use carrick_host::permission::{quoted, visible};
use carrick_host::registry::{ServerError, ServerErrorKind};
use carrick_host::turn::Event;
use std::fmt::Display;
use std::process::ExitCode;

/// What the exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Something failed.
    Failed = 1,
    /// The command was used wrongly.
    Usage = 2,
    /// A permission was denied, or is needed.
    Permission = 3,
    /// A server that was needed could not be reached.
    Unreachable = 4,
    /// A tool reported an error.
    Tool = 5,
    /// Ctrl-C, as shells have it.
    Interrupted = 130,
    /// SIGTERM, as shells have it.
    Terminated = 143,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    code: Code,
    /// The server at fault, which the message does not name.
    server: Option<String>,
    message: String,
    /// What to do next.
    hints: Vec<String>,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Display) -> Self {
        Self { code, server: None, message: message.to_string(), hints: Vec::new() }
    }

    pub(crate) fn failed(message: impl Display) -> Self {
        Self::new(Code::Failed, message)
    }

    pub(crate) fn usage(message: impl Display) -> Self {
        Self::new(Code::Usage, message)
    }

    /// A call would have to be asked about, and nobody can be asked.
    pub(crate) fn permission_needed(what: &str) -> Self {
        let message = format!("a permission is needed for:\n{}", what.trim_end());
        Self::new(Code::Permission, message).hint(
            "--yes runs such calls, --deny refuses them; \"permissions\" in the config decides \
             for good",
        )
    }

    pub(crate) fn server(mut self, server: &str) -> Self {
        self.server = Some(server.to_owned());
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Says it on stderr.
    pub(crate) fn report(&self) -> ExitCode {
        match &self.server {
            Some(server) => {
                print::say(format_args!("error: server {}: {}", quoted(server), self.message));
            }
            None => print::say(format_args!("error: {}", self.message)),
        }
        for hint in &self.hints {
            print::say(format_args!("hint: {hint}"));
        }
        self.code.into()
    }

    /// Says it on stderr and as an event on stdout.
    pub(crate) fn report_json(&self) -> ExitCode {
        let event = Event::Error { server: self.server.clone(), message: self.message.clone() };
        if let Err(failure) = print::json(&event) {
            failure.report();
        }
        self.report()
    }
}

impl From<ServerError> for Failure {
    fn from(error: ServerError) -> Self {
        let code = match error.kind() {
            ServerErrorKind::Unknown { .. } => Code::Usage,
            ServerErrorKind::Unapproved | ServerErrorKind::Held(_) => Code::Permission,
            _ if error.is_unreachable() => Code::Unreachable,
            _ => Code::Failed,
        };
        let hint = match error.kind() {
            ServerErrorKind::Unknown { known } => match error.server().split_once('/') {
                // As lists of tools have it.
                Some((server, tool)) if known.iter().any(|known| known == server) => {
                    format!("write two words: {} {}", visible(server), visible(tool))
                }
                _ => "`carrick servers` tells more about them".into(),
            },
            ServerErrorKind::Disabled => {
                "take \"disabled\" out of its entry in the config to use it".into()
            }
            ServerErrorKind::Unapproved => {
                "`carrick trust` shows what the project's config would run, and approves it".into()
            }
            ServerErrorKind::Held(_) => {
                format!("`carrick trust --tools {}` approves it", visible(error.server()))
            }
            ServerErrorKind::Connect(error) => connect_hint(error).to_owned(),
            _ => String::new(),
        };
        let failure = Self {
            code,
            server: Some(error.server().to_owned()),
            message: print::shown(&error.message()),
            hints: Vec::new(),
        };
        if hint.is_empty() { failure } else { failure.hint(hint) }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

fn connect_hint(error: &ClientError) -> &'static str {
    match error {
        ClientError::Spawn(SpawnError::NotFound { .. } | SpawnError::NoSuchFile { .. }) => {
            "install the program, or write its whole path as \"command\" in the config"
        }
        _ => "`carrick doctor` tries every server, also for output that is no message",
    }
}
