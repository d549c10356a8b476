//! What the least clients have in common: the messages, and the account of them.

use std::time::{Duration, Instant};

use crate::Era;

/// Calls before those that count.
pub const WARM_UP: u64 = 200;

const HEAD: &str = r#"{"jsonrpc":"2.0","id":"#;

/// What a modern client says of itself with every request, as members of `_meta`.
const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"client-calls","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}"#;

/// The messages of a client that calls `echo` again and again: those of Carrick's, byte for
/// byte, which asks for progress by the id of the call.
pub struct Call {
    /// What comes between the id and the token for progress.
    middle: String,
    tail: String,
    text_length: usize,
}

impl Call {
    /// Calls with a text of so many bytes, one in 80 of which needs an escape.
    #[must_use]
    pub fn new(era: Era, size: usize) -> Call {
        const LINE: &str =
            "The quick brown fox jumps over the lazy dog and then it runs back home 0123456\n";
        let text: String = LINE.chars().cycle().take(size).collect();
        let text = serde_json::Value::from(text);
        let own = match era {
            Era::Legacy => String::new(),
            Era::Modern => format!("{META},"),
        };
        let middle =
            format!(r#","method":"tools/call","params":{{"_meta":{{{own}"progressToken":"#);
        let tail = format!(r#"}},"name":"echo","arguments":{{"message":{text}}}}}}}"#);
        Call { middle, tail, text_length: size }
    }

    /// The first message to a server of which nothing is known.
    #[must_use]
    pub fn probe() -> String {
        format!(r#"{HEAD}1,"method":"server/discover","params":{{"_meta":{{{META}}}}}}}"#)
    }

    /// The messages that open a session: a request, and a notification behind its answer.
    #[must_use]
    pub fn handshake() -> [String; 2] {
        let params = r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"client-calls","version":"1.0.0"}}"#;
        [
            format!(r#"{HEAD}2,"method":"initialize","params":{params}}}"#),
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        ]
    }

    /// Appends the call with this id.
    pub fn write(&self, id: u64, out: &mut Vec<u8>) {
        let id = id.to_string();
        for part in [HEAD, &id, &self.middle, &id, &self.tail] {
            out.extend_from_slice(part.as_bytes());
        }
    }

    /// Refuses what cannot be the echo; looks no further than it must.
    ///
    /// # Errors
    /// When there is no result, or it is too short.
    pub fn check(&self, answer: &[u8]) -> Result<(), String> {
        let is_result = memchr::memmem::find(answer, b"\"result\"").is_some();
        if is_result && answer.len() >= self.text_length {
            return Ok(());
        }
        let start = &answer[..answer.len().min(200)];
        Err(format!("not the echo: {}", String::from_utf8_lossy(start)))
    }
}

/// The account of the calls that count.
pub struct Measured {
    latencies: Vec<Duration>,
    begun: Instant,
    spent_before: u64,
}

impl Measured {
    /// Begins to count.
    #[must_use]
    pub fn begin(count: usize) -> Measured {
        let latencies = Vec::with_capacity(count);
        Measured { latencies, begun: Instant::now(), spent_before: spent() }
    }

    /// Adds a call.
    pub fn add(&mut self, took: Duration) {
        self.latencies.push(took);
    }

    /// The report, one line of JSON.
    #[must_use]
    pub fn finish(mut self) -> String {
        let (elapsed, cpu) = (self.begun.elapsed(), spent() - self.spent_before);
        self.latencies.sort_unstable();
        let middle = self.latencies.get(self.latencies.len() / 2).copied().unwrap_or_default();
        format!(
            r#"{{"requests":{},"elapsed_ns":{},"cpu_ns":{cpu},"p50_ns":{}}}"#,
            self.latencies.len(),
            elapsed.as_nanos(),
            middle.as_nanos()
        )
    }
}

/// The processor time of this process so far, in nanoseconds.
#[must_use]
pub fn spent() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live local of the type that is filled in.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    if failed != 0 {
        return 0;
    }
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn calls_are_json_with_the_text_and_the_metadata_of_their_era() {
        for era in [Era::Legacy, Era::Modern] {
            let mut bytes = Vec::new();
            Call::new(era, 100).write(7, &mut bytes);
            let call: Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(call["id"], 7);
            assert_eq!(call["params"]["arguments"]["message"].as_str().unwrap().len(), 100);
            let meta = &call["params"]["_meta"];
            assert_eq!(meta["progressToken"], 7);
            let version = &meta["io.modelcontextprotocol/protocolVersion"];
            assert_eq!(version.is_string(), era == Era::Modern);
        }
        let probe: Value = serde_json::from_str(&Call::probe()).unwrap();
        assert_eq!(probe["method"], "server/discover");
        let [open, _] = Call::handshake();
        let open: Value = serde_json::from_str(&open).unwrap();
        assert_eq!(open["params"]["clientInfo"]["name"], "client-calls");
    }

    #[test]
    fn what_is_no_echo_is_refused() {
        let call = Call::new(Era::Legacy, 4);
        assert!(call.check(br#"{"result":1}"#).is_ok());
        assert!(call.check(br#"{"error":{}}"#).is_err());
        assert!(Call::new(Era::Legacy, 100).check(br#"{"result":1}"#).is_err());
    }

    #[test]
    fn the_report_is_json() {
        let mut measured = Measured::begin(3);
        for nanoseconds in [3, 1, 2] {
            measured.add(Duration::from_nanos(nanoseconds));
        }
        let report: Value = serde_json::from_str(&measured.finish()).unwrap();
        assert_eq!((&report["requests"], &report["p50_ns"]), (&json!(3), &json!(2)));
        assert!(report["cpu_ns"].is_u64() && report["elapsed_ns"].is_u64());
    }
}
