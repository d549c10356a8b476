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

/// Rounds of calls that are counted, after as many that are not.
const ROUNDS: u64 = 100;

const ERAS: [Revision; 2] = [Revision::NEWEST, Revision::NEWEST_HANDSHAKE];

#[test]
fn a_scan_allocates_once() {
    let call = shared(call(Revision::NEWEST, "7", "", "Lisbon"));
    let counted = allocation_counter::measure(|| {
        drop(scan(call.clone(), Limits::default()).unwrap());
    });
    assert_eq!(counted.count_total, 1, "where the parts of the message lie");
}

#[test]
fn passing_a_call_on_allocates_nothing() {
    for revision in ERAS {
        for (token, size) in [("", 100), ("", 10 << 10), (r#""progressToken":7"#, 100)] {
            let counted = counted(&mut Between::new(revision, token), 1, size);
            assert_eq!(counted, 0.0, "for {size} bytes {token} and an answer in {revision}");
        }
    }
}

#[test]
fn what_else_a_call_may_cost_is_bounded() {
    for revision in ERAS {
        // Nodes of the tables, which are trees, come and go.
        let many = counted(&mut Between::new(revision, ""), 32, 1000);
        assert!(many <= 0.3, "{many} for a call, 32 in flight in {revision}");
        // A text that stands for a call is kept until the call ends.
        let token = counted(&mut Between::new(revision, r#""progressToken":"t""#), 1, 100);
        assert!(token <= 1.0, "{token} for a call with a token that is a text in {revision}");
        let mut texts = Between::new(revision, "");
        texts.quote = "\"";
        let id = counted(&mut texts, 1, 100);
        assert!(id <= 1.0, "{id} for a call with an id that is a text in {revision}");
        // The bytes of either message, which are not kept.
        let large = counted(&mut Between::new(revision, ""), 1, 100 << 10);
        assert!(large <= 2.0, "{large} for a call of 100 KiB in {revision}");
    }
}

#[test]
fn large_messages_and_bursts_leave_little_behind() {
    for (calls, size, most) in [(1, 4 << 20, 2 << 10), (200, 10 << 10, 800 << 10)] {
        let mut between = Between::new(Revision::NEWEST, "");
        let counted = allocation_counter::measure(|| {
            between.pass(calls, size);
        });
        let kept = counted.bytes_current;
        assert!(kept <= most, "{kept} bytes are kept after {calls} calls of {size} bytes");
    }
}

/// Allocations for a call when so many are in flight at once.
fn counted(between: &mut Between, calls: u64, size: usize) -> f64 {
    let mut count = || (0..ROUNDS).map(|_| between.pass(calls, size)).sum::<u64>() as f64;
    // Tables and buffers take their room with the first calls.
    count();
    count() / (ROUNDS * calls) as f64
}

/// A gateway's two engines, both in one revision.
struct Between {
    front: ServerPeer,
    back: ClientPeer,
    revision: Revision,
    /// A member of the metadata of calls, or nothing.
    token: String,
    /// What stands before and behind the numbers that the client's ids are.
    quote: &'static str,
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
            token: token.into(),
            quote: "",
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

    /// Passes calls and then their answers on; the allocations for all.
    fn pass(&mut self, calls: u64, size: usize) -> u64 {
        let place = "x".repeat(size);
        let numbers = self.next..self.next + calls;
        self.next += calls;
        let asked: Vec<Bytes> = numbers
            .clone()
            .map(|number| {
                let id = format!("{0}{number}{0}", self.quote);
                shared(call(self.revision, &id, &self.token, &place))
            })
            .collect();
        let answers: Vec<Bytes> = numbers.map(|number| shared(answer(number, &place))).collect();
        let mut keys = Vec::with_capacity(asked.len());
        let mut sent = 0;
        let counted = allocation_counter::measure(|| {
            for call in asked {
                self.front.handle_input(Lane::Connection, call);
                let Some(ServerOutput::Call(call)) = self.front.poll_output() else { return };
                keys.push(call.key);
                self.back.forward(NOW, Forward::new(call.message, call.revision));
            }
            while let Some(ClientOutput::Send { bytes, .. }) = self.back.poll_output() {
                // The transport has written it.
                self.back.reuse(bytes);
                sent += 1;
            }
            for (answer, key) in answers.into_iter().zip(&keys) {
                self.back.handle_input(NOW, Lane::Connection, answer);
                let output = self.back.poll_output();
                let Some(ClientOutput::Forwarded(_, reply)) = output else { return };
                self.front.respond(*key, Outcome::Forwarded(reply));
            }
            while let Some(ServerOutput::Send { bytes, error: None, .. }) = self.front.poll_output()
            {
                self.front.reuse(bytes);
                sent += 1;
            }
        });
        assert_eq!(sent, calls * 2);
        counted.count_total
    }
}

/// An answer of the server behind.
fn answer(number: u64, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{number},"result":{{"resultType":"complete","content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

/// A call with `token`, a member of its metadata or nothing.
fn call(revision: Revision, id: &str, token: &str, place: &str) -> String {
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
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"_meta":{{{}}},"name":"look","arguments":{{"place":"{place}"}}}}}}"#,
        meta.join(",")
    )
}

/// As transports hand messages on: slices of buffers that others share.
fn shared(text: String) -> Bytes {
    let bytes = Bytes::from(text);
    drop(bytes.clone());
    bytes
}
