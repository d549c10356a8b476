//! Conversations as data: every file of `cases/transcripts` is replayed.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a transcript that does not fit fails the test, and says where"
)]

mod client;
mod file;
mod server;

use file::{Side, Transcript};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/transcripts")
}

fn transcripts() -> Vec<Transcript> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder()).expect("the folder of transcripts") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name == "README.md" {
            continue;
        }
        assert!(name.ends_with(".txt"), "{name} is no transcript and would be forgotten");
        let text = std::fs::read_to_string(&path).expect("a transcript is text");
        all.push(Transcript::parse(&name, &text).unwrap_or_else(|what| panic!("{name}: {what}")));
    }
    all
}

#[tokio::test(start_paused = true)]
async fn servers_say_what_the_transcripts_say() {
    let mut replayed = 0;
    for transcript in transcripts().iter().filter(|t| t.side == Side::Server) {
        server::replay(transcript).await;
        replayed += 1;
    }
    assert!(replayed > 0);
}

#[test]
fn clients_say_what_the_transcripts_say() {
    let mut replayed = 0;
    for transcript in transcripts().iter().filter(|t| t.side == Side::Client) {
        client::replay(transcript);
        replayed += 1;
    }
    assert!(replayed > 0);
}

#[test]
fn a_transcript_without_a_reason_is_none() {
    let bad = [
        ("", "no `guards:`"),
        ("guards: x\n", "no `side:`"),
        ("guards: x\nside: both\n\n> {}", "`side:` is `server` or `client`"),
        ("guards: x\nside: server\n", "nothing is said"),
        ("guards: x\nside: server\n\n< {", "line 4"),
        ("guards: x\nside: server\n\n? {}", "line 4"),
    ];
    for (text, why) in bad {
        let error = Transcript::parse("bad", text).map(|_| ()).expect_err(text);
        assert!(error.contains(why), "{text:?}: {error}");
    }
}
