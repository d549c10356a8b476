//! `carrick` on a terminal of its own.

use super::BOUND;
use nix::pty::openpty;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

/// A program whose controlling terminal is the test.
pub(crate) struct Pty {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    seen: Vec<u8>,
}

impl Pty {
    /// Starts a program of which this is the terminal, on all three streams.
    pub(crate) fn start(command: &Command) -> Self {
        let pty = openpty(None, None).unwrap();
        // It takes its stdin for the terminal of a new session, and then is the program itself.
        let mut session = Command::new("setsid");
        session.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
        session.current_dir(command.get_current_dir().unwrap());
        session.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let end = || Stdio::from(pty.slave.try_clone().unwrap());
        let child = session.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        // Else the end of the program would not be the end of what is on the screen.
        drop(session);
        drop(pty.slave);
        let keyboard = File::from(pty.master);
        let mut reader = keyboard.try_clone().unwrap();
        let (sender, screen) = channel();
        thread::spawn(move || {
            let mut bytes = vec![0; 4096];
            // Once the program has gone, reading fails.
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..n].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keyboard, screen, seen: Vec::new() }
    }

    /// Types something.
    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until this is on the screen.
    #[track_caller]
    pub(crate) fn sees(&mut self, text: &str) {
        let end = Instant::now() + BOUND;
        while !self.screen().contains(text) {
            let left = end.saturating_duration_since(Instant::now());
            match self.screen.recv_timeout(left) {
                Ok(bytes) => self.seen.extend(bytes),
                Err(error) => panic!("no {text:?} ({error}) in {}", self.screen()),
            }
        }
    }

    /// Waits for the end: the exit code, and all that was seen.
    #[track_caller]
    pub(crate) fn ends(mut self) -> (Option<i32>, String) {
        let end = Instant::now() + BOUND;
        while let Ok(bytes) =
            self.screen.recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            self.seen.extend(bytes);
        }
        assert!(Instant::now() < end, "it did not end: {}", self.screen());
        let status = self.child.wait().unwrap();
        (status.code(), self.screen())
    }

    fn screen(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // Mostly it has ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
