use crate::peer::{CallError, ClientConfig, ClientOutput, ClientPeer, Era, ServerDescription};
use crate::types::Implementation;
use alloc::string::String;
use alloc::vec::Vec;
use bytes::Bytes;
use core::time::Duration;

const DISCOVERED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"late","version":"1"}}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"old","version":"1"}}}"#;
const HANDSHAKE_REFUSED: &str = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32022,"message":"no handshake","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}"#;

/// A peer under a clock that the test moves, and what it has sent.
struct Opening {
    peer: ClientPeer,
    now: Duration,
    sent: Vec<String>,
    outcome: Option<Result<ServerDescription, CallError>>,
}

impl Opening {
    fn new(era: Option<Era>) -> Self {
        let config = ClientConfig::new(Implementation::new("test", "1"));
        let mut opening = Self {
            peer: ClientPeer::new(config),
            now: Duration::ZERO,
            sent: Vec::new(),
            outcome: None,
        };
        opening.peer.connect(opening.now, era);
        opening.drain();
        opening
    }

    /// A peer whose probe has not been answered in time.
    fn after_a_silent_probe() -> Self {
        let mut opening = Self::new(None);
        opening.silence();
        assert_eq!(opening.methods(), ["server/discover", "initialize"]);
        opening
    }

    fn hear(&mut self, line: &str) -> &mut Self {
        self.peer.handle_input(self.now, Bytes::copy_from_slice(line.as_bytes()));
        self.drain();
        self
    }

    /// Until the peer gives up waiting for what it waits for.
    fn silence(&mut self) -> &mut Self {
        self.now = self.peer.poll_timeout().unwrap();
        self.peer.handle_timeout(self.now);
        self.drain();
        self
    }

    fn drain(&mut self) {
        while let Some(output) = self.peer.poll_output() {
            match output {
                ClientOutput::Send { bytes, .. } => {
                    self.sent.push(String::from_utf8(bytes).unwrap());
                }
                ClientOutput::Ready(description) => self.outcome = Some(Ok(description)),
                ClientOutput::Failed(error) => self.outcome = Some(Err(error)),
                _ => {}
            }
        }
    }

    fn methods(&self) -> Vec<String> {
        let method = |line: &String| {
            let message: serde_json::Value = serde_json::from_str(line).unwrap();
            String::from(message["method"].as_str().unwrap())
        };
        self.sent.iter().map(method).collect()
    }

    #[track_caller]
    fn revision(&self) -> &'static str {
        match &self.outcome {
            Some(Ok(description)) => {
                assert_eq!(description.revision, self.peer.revision());
                description.revision.date()
            }
            other => panic!("not connected: {other:?}"),
        }
    }
}

#[test]
fn a_late_answer_to_the_probe_counts_when_the_handshake_is_refused() {
    let mut opening = Opening::after_a_silent_probe();
    opening.hear(DISCOVERED);
    assert!(opening.outcome.is_none(), "a server of both eras may still take the handshake");
    opening.hear(HANDSHAKE_REFUSED);
    assert_eq!(opening.revision(), "2026-07-28");
    assert_eq!(opening.methods(), ["server/discover", "initialize"]);

    // The next request speaks as the server does.
    opening.peer.call(opening.now, "tools/list", b"", None, Default::default());
    opening.drain();
    assert!(opening.sent[2].contains("io.modelcontextprotocol/protocolVersion"));
}

#[test]
fn a_late_answer_to_the_probe_counts_when_the_handshake_is_refused_in_any_way_or_ignored() {
    let mut opening = Opening::after_a_silent_probe();
    opening.hear(DISCOVERED);
    opening.hear(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"what?"}}"#);
    assert_eq!(opening.revision(), "2026-07-28");

    let mut opening = Opening::after_a_silent_probe();
    opening.hear(DISCOVERED).silence();
    assert_eq!(opening.revision(), "2026-07-28");
}

#[test]
fn a_handshake_that_is_taken_counts_over_a_late_answer_to_the_probe() {
    let mut opening = Opening::after_a_silent_probe();
    opening.hear(DISCOVERED).hear(INITIALIZED);
    assert_eq!(opening.revision(), "2025-11-25");

    let mut opening = Opening::after_a_silent_probe();
    opening.hear(INITIALIZED).hear(DISCOVERED);
    assert_eq!(opening.revision(), "2025-11-25");
}

#[test]
fn a_modern_refusal_of_the_handshake_is_answered_by_another_probe() {
    for era in [None, Some(Era::Legacy)] {
        let mut opening = Opening::new(era);
        let mut refusal = String::from(HANDSHAKE_REFUSED);
        if era.is_none() {
            opening.silence();
        } else {
            refusal = refusal.replace(r#""id":2"#, r#""id":1"#);
        }
        opening.hear(&refusal);
        assert_eq!(opening.methods().last().unwrap(), "server/discover");
        let id = opening.methods().len();
        opening.hear(&DISCOVERED.replace(r#""id":1"#, &alloc::format!(r#""id":{id}"#)));
        assert_eq!(opening.revision(), "2026-07-28");
    }
}

#[test]
fn a_server_that_only_refuses_is_not_asked_for_ever() {
    let mut opening = Opening::after_a_silent_probe();
    opening.hear(HANDSHAKE_REFUSED).silence();
    assert_eq!(opening.methods()[2..], ["server/discover", "initialize"]);
    opening.hear(&HANDSHAKE_REFUSED.replace(r#""id":2"#, r#""id":4"#));
    assert!(matches!(&opening.outcome, Some(Err(CallError::Rpc(error))) if error.code == -32022));

    // One that names a revision with a handshake, and refuses that as well.
    let mut opening = Opening::new(None);
    let refusal = HANDSHAKE_REFUSED.replace("[\"2026-07-28\"]", "[\"2025-11-25\"]");
    opening.hear(&refusal.replace(r#""id":2"#, r#""id":1"#)).hear(&refusal);
    assert_eq!(opening.methods(), ["server/discover", "initialize"]);
    assert!(matches!(&opening.outcome, Some(Err(CallError::Rpc(error))) if error.code == -32022));
}

#[test]
fn a_server_that_is_silent_throughout_fails_in_the_time_to_connect() {
    let mut opening = Opening::after_a_silent_probe();
    opening.silence();
    assert_eq!(opening.now, Duration::from_secs(10));
    assert!(matches!(opening.outcome, Some(Err(CallError::Timeout(_)))), "{:?}", opening.outcome);
}
