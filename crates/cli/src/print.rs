//! Writing data to stdout and talk to stderr.
//!
//! What servers, models and config files say may hold anything. stdout gets it
//! byte for byte, unless it is a terminal: that gets nothing that could steer it.
//! stderr is for people, and is never steered.

mod one_line;

use crate::environment::colours;
use crate::exit::Failure;
use carrick_host::permission::is_hidden;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// Prints one object as a line of JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(Failure::failed)?;
    raw_json(&text)
}

/// Prints JSON as one line, whatever its form was; its numbers keep their text.
pub(crate) fn raw_json(text: &str) -> Result<(), Failure> {
    let mut line = one_line::json(text, io::stdout().is_terminal());
    line.push('\n');
    bytes(line.as_bytes())
}

/// Prints a line: as it is into a file or a pipe, made safe on a terminal.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    bytes(format!("{}\n", stdout_form(text)).as_bytes())
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

/// Prints text that a server or a model wrote, and ends its last line.
pub(crate) fn foreign(text: &str) -> Result<(), Failure> {
    line(text.strip_suffix('\n').unwrap_or(text))
}

/// Text as stdout may have it.
pub(crate) fn stdout_form(text: &str) -> String {
    if io::stdout().is_terminal() { shown(text) } else { text.to_owned() }
}

/// How many there are of something, such as `1 tool` and `2 tools`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// Says a line on stderr. When nobody can hear it, the work goes on.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{}", shown(&text.to_string()));
}

/// Says a line in a colour, where there are colours.
pub(crate) fn say_in(colour: &str, text: &str) {
    if !colours() {
        return say(text);
    }
    let _ = writeln!(io::stderr().lock(), "\x1b[{colour}m{}\x1b[0m", shown(text));
}

/// Foreign text for a terminal: lines and tabs are kept, whatever else shows
/// nothing or steers is written out.
pub(crate) fn shown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' | '\t' => safe.push(character),
            '\r' if characters.peek() == Some(&'\n') => {}
            '\r' => safe.push_str("\\r"),
            _ if is_hidden(character) => safe.extend(character.escape_unicode()),
            _ => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn f71_lines_and_tabs_are_kept_and_nothing_steers() {
        assert_eq!(shown("a\tb\r\nc\n"), "a\tb\nc\n");
        assert_eq!(
            shown("\u{1b}]0;x\u{7}\u{9b}31m\u{202e}a\rb"),
            r"\u{1b}]0;x\u{7}\u{9b}31m\u{202e}a\rb"
        );
    }

    #[test]
    fn f71_what_was_made_visible_stays_as_it_is() {
        let once = shown("\u{1b}[2J\u{200b} é 文 🙂 \\n");
        assert_eq!(shown(&once), once);
    }
}
