//! One run of `carrick`.

use super::{BOUND, Events};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// A run that goes on.
pub(crate) struct Running {
    child: Owned,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    seen: String,
    /// Lines of stderr that nobody has waited for yet.
    said: Receiver<String>,
    stderr: JoinHandle<String>,
}

/// The process, which does not outlive the test.
struct Owned(Child);

impl Drop for Owned {
    fn drop(&mut self) {
        // Mostly it has ended before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Running {
    pub(super) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, lines) = channel();
        let stdout = child.stdout.take().unwrap();
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut bytes = Vec::new();
            while stdout.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
                let line = String::from_utf8(std::mem::take(&mut bytes)).expect("stdout is UTF-8");
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let (sender, said) = channel();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            let mut start = 0;
            while stderr.read_line(&mut text).expect("stderr is UTF-8") > 0 {
                // Most tests look at the whole of it at the end.
                let _ = sender.send(text[start..].to_owned());
                start = text.len();
            }
            text
        });
        let stdin = child.stdin.take();
        Self { stdin, child: Owned(child), lines, seen: String::new(), said, stderr }
    }

    /// Writes to stdin, on which more may follow.
    pub(crate) fn write(&mut self, input: &[u8]) {
        let Some(stdin) = &mut self.stdin else { return };
        // A program that has read enough may be gone.
        let _ = stdin.write_all(input).and_then(|()| stdin.flush());
    }

    /// Waits for the next line of stdout.
    pub(crate) fn line(&mut self) -> String {
        let line = self.lines.recv_timeout(BOUND).expect("a line of stdout");
        self.seen.push_str(&line);
        line
    }

    /// Waits for the next event of this type.
    pub(crate) fn event(&mut self, kind: &str) -> Value {
        loop {
            let event: Value = serde_json::from_str(&self.line()).expect("JSON");
            if event["type"] == kind {
                return event;
            }
        }
    }

    /// Waits for a line of stderr with this in it.
    #[track_caller]
    pub(crate) fn said(&mut self, text: &str) -> String {
        let end = Instant::now() + BOUND;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.said.recv_timeout(left) {
                Ok(line) if line.contains(text) => return line,
                Ok(_) => {}
                Err(error) => panic!("no {text:?} on stderr: {error}"),
            }
        }
    }

    /// The process's id.
    #[cfg(target_os = "linux")]
    pub(crate) fn id(&self) -> u32 {
        self.child.0.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.0.id()).unwrap()), signal).unwrap();
    }

    /// Closes stdin and waits for the end.
    pub(crate) fn finish(mut self) -> Run {
        drop(self.stdin.take());
        self.ended()
    }

    /// Waits for an end that has another reason.
    pub(crate) fn ended(mut self) -> Run {
        let end = Instant::now() + BOUND;
        let mut stdout = std::mem::take(&mut self.seen);
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => stdout.push_str(&line),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(_) => panic!("carrick did not end; so far it said:\n{stdout}"),
            }
        }
        let status = self.child.0.wait().unwrap();
        let stderr = self.stderr.join().unwrap();
        Run { status, stdout, stderr }
    }
}

impl Run {
    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{self}");
        self
    }

    /// The signal that ended it.
    pub(crate) fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// Asserts that stderr has these texts in it.
    #[track_caller]
    pub(crate) fn says<const N: usize>(self, texts: [&str; N]) -> Self {
        for text in texts {
            assert!(self.stderr.contains(text), "no {text:?} in stderr of:\n{self}");
        }
        self
    }

    /// Asserts that stdout has these texts in it.
    #[track_caller]
    pub(crate) fn prints<const N: usize>(self, texts: [&str; N]) -> Self {
        for text in texts {
            assert!(self.stdout.contains(text), "no {text:?} in stdout of:\n{self}");
        }
        self
    }

    /// The events of a run with `--json`: every line of stdout must be one.
    #[track_caller]
    pub(crate) fn events(&self) -> Events {
        Events::new(self.json_lines())
    }

    /// The lines of stdout, each a JSON object.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let read = |line: &str| match serde_json::from_str::<Value>(line) {
            Ok(value) if value.is_object() => value,
            _ => panic!("no JSON object: {line:?} in\n{self}"),
        };
        self.stdout.lines().map(read).collect()
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { status, stdout, stderr } = self;
        write!(f, "{status}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}
