//! Writing data to stdout and talk to stderr.

use crate::exit::Failure;
use carrick_host::permission::visible;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// Prints one object as a line of JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(value).map_err(Failure::failed)?;
    self::line(&line)
}

/// Prints a line as it is.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    bytes(format!("{text}\n").as_bytes())
}

/// Writes bytes to stdout and nothing else.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    match written {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| Failure::failed(format!("cannot write: {error}"))),
    }
}

/// Prints text that a server or a model wrote, and ends its last line: as it is
/// into a file or a pipe, with control characters made visible on a terminal.
pub(crate) fn foreign(text: &str) -> Result<(), Failure> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if io::stdout().is_terminal() { line(&shown(text)) } else { line(text) }
}

/// Says a line on stderr. When nobody can hear it, the work goes on.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Foreign text for a terminal, lines kept.
pub(crate) fn shown(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}
