//! Asking the person at the terminal.

use crate::print::shown;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, IsTerminal, Write};

/// Asks yes or no; none when nobody is there.
pub(crate) async fn confirmed(text: String, question: &'static str) -> Option<bool> {
    let asked = tokio::task::spawn_blocking(move || Terminal::open()?.confirm(&text, question));
    asked.await.ok().flatten()
}

/// Asks for a number from 1 to `most`; none when nobody is there or wants one.
pub(crate) fn number(text: &str, most: usize) -> Option<usize> {
    let mut terminal = Terminal::open()?;
    loop {
        let numbers = if most == 1 { "1".to_owned() } else { format!("1-{most}") };
        let answer = terminal.ask(&format!("{text}\nWhich? [{numbers}, Enter for none] "))?;
        match answer.trim() {
            "" => return None,
            word => match word.parse::<usize>() {
                Ok(n) if (1..=most).contains(&n) => return Some(n),
                _ => {}
            },
        }
    }
}

/// The terminal itself, whatever stdin and stdout are.
pub(super) struct Terminal {
    reader: BufReader<File>,
    writer: File,
}

impl Terminal {
    pub(super) fn open() -> Option<Self> {
        // Without a person at stderr the question would not be seen.
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let reader = OpenOptions::new().read(true).open("/dev/tty").ok()?;
        let writer = OpenOptions::new().write(true).open("/dev/tty").ok()?;
        Some(Self { reader: BufReader::new(reader), writer })
    }

    /// Asks yes or no; none when the person has gone.
    pub(super) fn confirm(&mut self, text: &str, question: &str) -> Option<bool> {
        loop {
            let answer = self.ask(&format!("{text}\n{question} [y/N] "))?;
            match answer.trim().to_lowercase().as_str() {
                "y" | "yes" => return Some(true),
                "" | "n" | "no" => return Some(false),
                _ => {}
            }
        }
    }

    /// Shows a line.
    pub(super) fn say(&mut self, text: &str) -> Option<()> {
        writeln!(self.writer, "{}", shown(text)).and_then(|()| self.writer.flush()).ok()
    }

    /// Asks for a line.
    pub(super) fn ask(&mut self, text: &str) -> Option<String> {
        write!(self.writer, "{}", shown(text)).and_then(|()| self.writer.flush()).ok()?;
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(n) if n > 0 => Some(line),
            _ => None,
        }
    }
}
