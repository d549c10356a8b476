//! A server, started for one check.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use crate::{Result, process};

/// How long a server may take until it listens. Generous: a busy machine starts Node slowly.
const LIMIT: Duration = Duration::from_secs(60);

/// A running server. It ends, with all it started, when this is dropped.
pub(crate) struct Served(Child);

impl Served {
    /// Starts a server and waits for the first line for which `ready` gives something.
    pub(crate) fn start<T>(
        command: &mut Command,
        ready: impl Fn(&str) -> Option<T>,
    ) -> Result<(Served, T)> {
        let line = process::line(command);
        let mut child = process::start(&mut ends_with_us(command))?;
        let (sender, lines) = mpsc::channel();
        // Both streams are read to their ends, since a server with a full pipe stops.
        child.stdout.take().into_iter().for_each(|pipe| forward(pipe, sender.clone()));
        child.stderr.take().into_iter().for_each(|pipe| forward(pipe, sender.clone()));
        drop(sender);
        let served = Served(child);
        let mut said = String::new();
        while let Ok(text) = lines.recv_timeout(LIMIT) {
            if let Some(found) = ready(&text) {
                return Ok((served, found));
            }
            said += &text;
        }
        Err(format!("`{line}` never said that it listens; it said: {}", said.trim()))
    }
}

/// The same command, as a process that the system ends when the thread that started it ends:
/// a task that is killed drops nothing. Where the system cannot, it is the command itself.
fn ends_with_us(command: &Command) -> Command {
    let options = ["--pdeathsig", "KILL", "--"];
    let mut bound = if process::probe("setpriv", &[&options[..], &["true"]].concat()) {
        let mut bound = Command::new("setpriv");
        bound.args(options).arg(command.get_program());
        bound
    } else {
        Command::new(command.get_program())
    };
    bound.args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        bound.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => bound.env(name, value),
            None => bound.env_remove(name),
        };
    }
    bound
}

impl Drop for Served {
    fn drop(&mut self) {
        process::end(&mut self.0);
    }
}

fn forward(pipe: impl Read + Send + 'static, lines: Sender<String>) {
    thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            // Nobody listens any more once the server is ready; the pipe is drained all the same.
            let _ = lines.send(String::from_utf8_lossy(&line).into_owned());
            line.clear();
        }
    });
}

/// A port that nothing listens on at the moment, for servers that cannot choose one.
pub(crate) fn free_port() -> Result<u16> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")
        .map_err(|error| format!("cannot find a free port: {error}"))?;
    listener
        .local_addr()
        .map(|address| address.port())
        .map_err(|error| format!("cannot find a free port: {error}"))
}
