//! Transcripts against the test server, over a transport in memory.

use crate::file::{Step, Transcript, What, fits};
use carrick::proto::peer::Lane;
use carrick::transport::{Event, MemoryTransport, Outgoing, Transport, memory};
use carrick_testkit::fixture;
use serde_json::{Value, json};
use std::future::poll_fn;
use std::time::Duration;

struct Replay<'a> {
    transcript: &'a Transcript,
    transport: MemoryTransport,
}

/// Plays the client's lines and compares the server's.
pub(crate) async fn replay(transcript: &Transcript) {
    let (transport, theirs) = memory();
    let serving = tokio::spawn(async move { carrick::serve(&fixture::server(), theirs).await });
    let mut replay = Replay { transcript, transport };
    for step in &transcript.steps {
        replay.step(step).await;
    }
    poll_fn(|cx| replay.transport.poll_close(cx)).await;
    let last = transcript.steps.last().expect("a step");
    if let Some(more) = replay.next().await {
        panic!("{}: and then {more}", transcript.at(last));
    }
    serving.await.expect("no panic").expect("no failure");
}

impl Replay<'_> {
    async fn step(&mut self, step: &Step) {
        let at = self.transcript.at(step);
        match &step.what {
            What::ClientSays(line) => self.say(line).await,
            What::ServerSays(line) => {
                let expected: Value = serde_json::from_str(line).expect("checked when parsed");
                let found = self.next().await.unwrap_or_else(|| panic!("{at}: it has ended"));
                assert!(fits(&expected, &found), "{at}: expected\n{expected}\nfound\n{found}");
            }
            What::Do(what) => match what.split_once(' ') {
                Some(("session", revision)) => self.shake_hands(revision).await,
                None if what == "close" => {
                    poll_fn(|cx| self.transport.poll_close(cx)).await;
                }
                None if what == "silence" => {
                    let more = tokio::time::timeout(Duration::from_secs(100), self.next()).await;
                    assert!(more.is_err(), "{at}: {more:?}");
                }
                _ => panic!("{at}: no such step"),
            },
        }
    }

    async fn shake_hands(&mut self, revision: &str) {
        let hello = json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
            "protocolVersion": revision, "capabilities": {},
            "clientInfo": { "name": "transcript", "version": "0" } } });
        self.say(&hello.to_string()).await;
        let answer = self.next().await.expect("an answer to initialize");
        assert_eq!(answer["result"]["protocolVersion"], revision);
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }

    async fn say(&mut self, line: &str) {
        self.transport.send(Outgoing::from_server(Lane::Connection, line.as_bytes().to_vec()));
        poll_fn(|cx| self.transport.poll_flush(cx)).await.expect("the server reads");
    }

    async fn next(&mut self) -> Option<Value> {
        match poll_fn(|cx| self.transport.poll_recv(cx)).await {
            Event::Message { bytes, .. } => {
                Some(serde_json::from_slice(&bytes).expect("the server says JSON"))
            }
            Event::Closed(_) => None,
            other => panic!("{other:?}"),
        }
    }
}
