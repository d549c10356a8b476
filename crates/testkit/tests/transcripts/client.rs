//! Transcripts against the client's engine, with a clock that is a number.

use crate::file::{Step, Transcript, What, fits};
use carrick::proto::peer::{CallOptions, ClientConfig, ClientOutput, ClientPeer, Lane};
use carrick::types::Implementation;
use serde_json::Value;
use std::collections::VecDeque;
use std::time::Duration;

struct Replay<'a> {
    transcript: &'a Transcript,
    peer: ClientPeer,
    now: Duration,
    calls: Vec<u64>,
    sent: VecDeque<Value>,
    heard: VecDeque<ClientOutput>,
}

/// Plays the server's lines and compares the client's.
pub(crate) fn replay(transcript: &Transcript) {
    let config = ClientConfig::new(Implementation::new("transcript", "0"));
    let mut replay = Replay {
        transcript,
        peer: ClientPeer::new(config),
        now: Duration::ZERO,
        calls: Vec::new(),
        sent: VecDeque::new(),
        heard: VecDeque::new(),
    };
    replay.peer.connect(replay.now, None);
    replay.drain();
    for step in &transcript.steps {
        replay.step(step);
    }
    let end = transcript.at(transcript.steps.last().expect("a step"));
    assert!(replay.sent.is_empty(), "{end}: and then it says {:?}", replay.sent);
    assert!(replay.heard.is_empty(), "{end}: and then it reports {:?}", replay.heard);
}

impl Replay<'_> {
    fn step(&mut self, step: &Step) {
        let at = self.transcript.at(step);
        match &step.what {
            What::ServerSays(line) => {
                self.peer.handle_input(self.now, Lane::Connection, line.clone().into());
                self.drain();
            }
            What::ClientSays(line) => {
                let expected: Value = serde_json::from_str(line).expect("checked when parsed");
                let found = self.sent.pop_front();
                let found = found.unwrap_or_else(|| panic!("{at}: the client says nothing"));
                assert!(fits(&expected, &found), "{at}: expected\n{expected}\nfound\n{found}");
            }
            What::Do(what) => {
                let (verb, rest) = what.split_once(' ').unwrap_or((what, ""));
                if !self.act(verb, rest) {
                    self.expect(&at, verb, rest);
                }
                self.drain();
            }
        }
    }

    /// Does something to the client; false for what it is expected to report.
    fn act(&mut self, verb: &str, rest: &str) -> bool {
        match verb {
            "call" => {
                let (method, params) = rest.split_once(' ').unwrap_or((rest, ""));
                let options = CallOptions::default();
                let id = self.peer.call(self.now, method, params.as_bytes(), None, options);
                self.calls.push(id);
            }
            "cancel" => {
                let id = self.id(rest);
                self.peer.cancel(id, "no longer wanted");
            }
            "pass" => {
                self.now += Duration::from_secs(rest.parse().expect("a number of seconds"));
                self.peer.handle_timeout(self.now);
            }
            "closed" => self.peer.handle_closed(rest),
            _ => return false,
        }
        true
    }

    fn expect(&mut self, at: &str, verb: &str, rest: &str) {
        let found = self.heard.pop_front().unwrap_or_else(|| panic!("{at}: nothing is reported"));
        let (n, rest) = match verb {
            "result" | "error" | "progress" => rest.split_once(' ').expect("a call and more"),
            _ => ("", rest),
        };
        let is_of = |id: &u64| *id == self.id(n);
        let fitting = match (verb, &found) {
            ("ready", ClientOutput::Ready(server)) => server.revision.date() == rest,
            ("failed", ClientOutput::Failed(error)) => error.to_string().contains(rest),
            ("result", ClientOutput::Resolved(id, Ok(json))) => {
                let expected: Value = serde_json::from_str(rest).expect("JSON");
                is_of(id) && fits(&expected, &json.read::<Value>().expect("JSON"))
            }
            ("error", ClientOutput::Resolved(id, Err(error))) => {
                is_of(id) && error.to_string().contains(rest)
            }
            ("progress", ClientOutput::Progress(id, progress)) => {
                is_of(id) && progress.progress == rest.parse::<f64>().expect("a number")
            }
            ("noise", ClientOutput::Ignored { noise, .. }) => *noise,
            ("ignored", ClientOutput::Ignored { noise, .. }) => !*noise,
            _ => false,
        };
        assert!(fitting, "{at}: expected {verb} {rest}, found {found:?}");
    }

    /// The id of the n-th call, from 1.
    fn id(&self, n: &str) -> u64 {
        self.calls[n.parse::<usize>().expect("the number of a call") - 1]
    }

    fn drain(&mut self) {
        while let Some(output) = self.peer.poll_output() {
            match output {
                ClientOutput::Send { bytes, .. } => {
                    self.sent.push_back(serde_json::from_slice(&bytes).expect("JSON"));
                }
                // Closes a stream, where there is one.
                ClientOutput::Abandon(_) => {}
                other => self.heard.push_back(other),
            }
        }
    }
}
