//! The three standard streams, read and written line by line with nothing in between.

use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Stdin, Write};

pub(super) struct Wire {
    input: BufReader<Stdin>,
    /// Where the lines that were read are kept as well.
    heard: Option<File>,
}

impl Wire {
    pub(super) fn new() -> Self {
        Self { input: BufReader::new(io::stdin()), heard: None }
    }

    /// Keeps every line that is read from now on in a file.
    pub(super) fn keep(&mut self, path: &str) -> io::Result<()> {
        self.heard = Some(File::options().create(true).append(true).open(path)?);
        Ok(())
    }

    /// The next message; null where a line is none, and nothing when stdin has ended.
    pub(super) fn read(&mut self) -> io::Result<Option<Value>> {
        let mut line = String::new();
        if self.input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if let Some(heard) = &mut self.heard {
            heard.write_all(line.as_bytes())?;
        }
        Ok(Some(serde_json::from_str(&line).unwrap_or_default()))
    }

    /// Writes a line as it is.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        let mut output = io::stdout().lock();
        writeln!(output, "{text}")?;
        output.flush()
    }

    pub(super) fn result(&mut self, id: &Value, result: &Value) -> io::Result<()> {
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string())
    }

    pub(super) fn refuse(&mut self, id: &Value) -> io::Result<()> {
        let error = json!({ "code": -32601, "message": "no such method" });
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())
    }

    /// Writes a line to stderr. Nobody need be there to read it.
    pub(super) fn complain(&mut self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }
}
