//! How a command ends: its exit code, and an error that says what to do next.

use crate::print;
use carrick_host::registry::{ServerError, ServerErrorKind};
use serde_json::json;
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

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Says it on stderr.
    pub(crate) fn report(&self) -> ExitCode {
        print::say(format_args!("error: {}", self.message));
        for hint in &self.hints {
            print::say(format_args!("hint: {hint}"));
        }
        self.code.into()
    }

    /// Says it on stderr and as an event on stdout.
    pub(crate) fn report_json(&self) -> ExitCode {
        let mut event = json!({ "type": "error", "message": self.message });
        if let Some(server) = &self.server {
            event["server"] = json!(server);
        }
        // That it cannot be written changes nothing about what went wrong.
        let _ = print::json(&event);
        self.report()
    }
}

impl From<ServerError> for Failure {
    fn from(error: ServerError) -> Self {
        let code = match error.kind() {
            ServerErrorKind::Unknown { .. } => Code::Usage,
            ServerErrorKind::Unapproved => Code::Permission,
            _ if error.is_unreachable() => Code::Unreachable,
            _ => Code::Failed,
        };
        let hint = match error.kind() {
            ServerErrorKind::Unknown { .. } => Some("`carrick servers` lists the servers"),
            ServerErrorKind::Disabled => {
                Some("take \"disabled\" out of its entry in the config to use it")
            }
            ServerErrorKind::Unapproved => {
                Some("`carrick trust` shows what the project's config would run, and approves it")
            }
            ServerErrorKind::Connect(_) => {
                Some("`carrick doctor` tries each server and shows what it says")
            }
            _ => None,
        };
        let failure = Self {
            code,
            server: Some(error.server().to_owned()),
            message: error.to_string(),
            hints: Vec::new(),
        };
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
