//! How often passing a call on allocates, which must not go up unnoticed.
//!
//! Both engines of a gateway stand back to back: the scan of a call, the edits for the next hop,
//! the scan of the answer, its way back to the client. Read are buffers that transports make; those
//! that engines write into come back to them, as from a transport.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test; the lint only knows test functions"
)]

use bytes::Bytes;
use carrick_proto::peer::{
    ClientConfig, ClientOutput, ClientPeer, Era, Forward, Identity, Lane, Outcome, ServerOutput,
    ServerPeer,
};
use carrick_proto::revision::Revision;
use carrick_proto::rpc::{Limits, scan};
use carrick_proto::types::{Implementation, ServerCapabilities};
use std::time::Duration;

const NOW: Duration = Duration::ZERO;

/// Calls that are counted, after as many that are not.
const CALLS: u64 = 100;

#[test]
fn a_scan_allocates_once() {
    let call = shared(call(Revision::NEWEST, ""));
    let counted = allocation_counter::measure(|| {
        drop(scan(call.clone(), Limits::default()).unwrap());
    });
    assert_eq!(counted.count_total, 1, "where the parts of the message lie");
}

#[test]
fn passing_a_call_on_allocates_no_more_than_it_did() {
    for (token, most) in [("", 2.0), (r#""progressToken":"t""#, 6.0)] {
        for revision in [Revision::NEWEST, Revision::NEWEST_HANDSHAKE] {
            let mut between = Between::new(revision, token);
            let mut count = || (0..CALLS).map(|_| between.pass()).sum::<u64>() as f64;
            // The tables of what is in flight take their room with the first calls.
            count();
            let counted = count() / CALLS as f64;
            assert!(
                counted <= most,
                "{counted} allocations for a call {token} and its answer in {revision}, up from {most}"
            );
        }
    }
}

/// A gateway's two engines, both in one revision.
struct Between {
    front: ServerPeer,
    back: ClientPeer,
    revision: Revision,
    call: Bytes,
    /// The id that the engine gives the next call.
    next: u64,
}

impl Between {
    fn new(revision: Revision, token: &str) -> Self {
        let info = Implementation::new("gateway", "1");
        let identity = Identity::new(&info, &ServerCapabilities::default(), None).unwrap();
        let mut config = ClientConfig::new(info);
        config.forwarding = true;
        config.revision = Some(revision);
        let mut between = Self {
            front: ServerPeer::new(identity.into(), Limits::default()),
            back: ClientPeer::new(config),
            revision,
            call: shared(call(revision, token)),
            next: 1,
        };
        between.open();
        between
    }

    fn open(&mut self) {
        let lane = Lane::Connection;
        let version = self.revision.date();
        self.back.connect(NOW, None);
        let server = match Era::of(self.revision) {
            Era::Legacy => {
                let client = format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"c","version":"0"}}}}}}"#
                );
                self.front.handle_input(lane, client.into());
                let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
                self.front.handle_input(lane, Bytes::from_static(ready.as_bytes()));
                format!(
                    r#""protocolVersion":"{version}","serverInfo":{{"name":"s","version":"0"}}"#
                )
            }
            Era::Modern => format!(r#""resultType":"complete","supportedVersions":["{version}"]"#),
        };
        let server =
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{{server},"capabilities":{{}}}}}}"#);
        self.back.handle_input(NOW, lane, server.into());
        while self.front.poll_output().is_some() {}
        while self.back.poll_output().is_some() {}
        self.next += 1;
    }

    /// Passes a call and its answer on; the allocations for both.
    fn pass(&mut self) -> u64 {
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"complete","content":[{{"type":"text","text":"Lisbon"}}]}}}}"#,
            self.next
        );
        self.next += 1;
        let (call, answer) = (self.call.clone(), shared(answer));
        let (mut asked, mut answered) = (None, None);
        let counted = allocation_counter::measure(|| {
            self.front.handle_input(Lane::Connection, call);
            let Some(ServerOutput::Call(call)) = self.front.poll_output() else { return };
            let key = call.key;
            self.back.forward(NOW, &Forward::new(call.message, call.revision));
            asked = self.back.poll_output();
            if let Some(ClientOutput::Send { bytes, .. }) = &mut asked {
                // A transport that has written it.
                self.back.reuse(std::mem::take(bytes));
            }
            self.back.handle_input(NOW, Lane::Connection, answer);
            let Some(ClientOutput::Forwarded(_, reply)) = self.back.poll_output() else { return };
            self.front.respond(key, Outcome::Forwarded(reply));
            answered = self.front.poll_output();
            if let Some(ServerOutput::Send { bytes, .. }) = &mut answered {
                self.front.reuse(std::mem::take(bytes));
            }
        });
        assert!(matches!(asked, Some(ClientOutput::Send { .. })), "{asked:?}");
        assert!(matches!(answered, Some(ServerOutput::Send { error: None, .. })), "{answered:?}");
        counted.count_total
    }
}

/// A call with `token`, a member of its metadata or nothing.
fn call(revision: Revision, token: &str) -> String {
    let version = format!(r#""io.modelcontextprotocol/protocolVersion":"{revision}""#);
    let capabilities = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
    let mut meta = match Era::of(revision) {
        Era::Legacy => Vec::new(),
        Era::Modern => vec![&*version, capabilities],
    };
    if !token.is_empty() {
        meta.push(token);
    }
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"_meta":{{{}}},"name":"look","arguments":{{"place":"Lisbon"}}}}}}"#,
        meta.join(",")
    )
}

/// As transports hand messages on: slices of buffers that others share.
fn shared(text: String) -> Bytes {
    let bytes = Bytes::from(text);
    drop(bytes.clone());
    bytes
}
