//! How a command ends: its exit code, and an error that says what to do next.

mod hints;

use crate::print;
use carrick_host::permission::quoted;
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

    /// What to do next.
    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    /// Says it on stderr.
    pub(crate) fn report(&self) -> ExitCode {
        match &self.server {
            Some(server) => {
                let message = continued(&self.message);
                print::say(format_args!("error: server {}: {message}", quoted(server)));
            }
            None => print::say(format_args!("error: {}", continued(&self.message))),
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

/// A message whose further lines cannot be taken for lines of our own: a server may
/// have written them.
fn continued(message: &str) -> String {
    let mut lines = message.lines();
    let mut shown = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        shown.push_str(if line.starts_with([' ', '\t']) { "\n" } else { "\n  " });
        shown.push_str(line);
    }
    shown
}

impl From<ServerError> for Failure {
    fn from(error: ServerError) -> Self {
        let code = match error.kind() {
            ServerErrorKind::Unknown { .. } => Code::Usage,
            ServerErrorKind::Unapproved | ServerErrorKind::Held(_) => Code::Permission,
            _ if error.is_unreachable() => Code::Unreachable,
            _ => Code::Failed,
        };
        let failure = Self {
            code,
            server: Some(error.server().to_owned()),
            message: print::shown(&error.message()),
            hints: Vec::new(),
        };
        match hints::of_server(&error) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::continued;

    #[test]
    fn f71_no_line_of_a_server_passes_for_a_hint_of_ours() {
        assert_eq!(continued("it says: no\nhint: run this"), "it says: no\n  hint: run this");
        assert_eq!(continued("one\n  two\n\nthree"), "one\n  two\n  \n  three");
    }
}
