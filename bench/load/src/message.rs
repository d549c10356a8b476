//! The few messages that a generator sends, and the quick looks at what comes back.

/// Which of the two lifecycles a server is measured in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The newest revision with a handshake.
    Legacy,
    /// The stateless revision: no handshake, `_meta` on every request.
    Stateless,
}

pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"0.0.0"}}}"#;
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"load","version":"0.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

impl Mode {
    /// The revision that a request of this mode names.
    pub(crate) fn revision(self) -> &'static str {
        match self {
            Mode::Legacy => "2025-11-25",
            Mode::Stateless => "2026-07-28",
        }
    }

    pub(crate) fn tools_list(self) -> String {
        let meta = if self == Mode::Stateless { META } else { "" };
        format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{{{meta}}}}}"#)
    }

    /// A call of an echo tool, ready but for its id.
    pub(crate) fn echo(self, tool: &str, payload: &str) -> Call {
        let meta = if self == Mode::Stateless { format!("{META},") } else { String::new() };
        let message = serde_json::Value::from(payload);
        let tail = format!(
            r#","method":"tools/call","params":{{{meta}"name":"{tool}","arguments":{{"message":{message}}}}}}}"#
        );
        Call { tail: tail.into_bytes() }
    }
}

/// A prepared request: everything but the id, which comes between head and tail.
pub(crate) struct Call {
    tail: Vec<u8>,
}

impl Call {
    const HEAD: &'static [u8] = br#"{"jsonrpc":"2.0","id":"#;

    /// The bytes before and after the id.
    pub(crate) fn parts(&self) -> (&[u8], &[u8]) {
        (Self::HEAD, &self.tail)
    }

    /// Appends the request with this id.
    pub(crate) fn write(&self, id: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(Self::HEAD);
        out.extend_from_slice(id.to_string().as_bytes());
        out.extend_from_slice(&self.tail);
    }

    /// About how long a request is.
    pub(crate) fn len(&self) -> usize {
        Self::HEAD.len() + self.tail.len() + 8
    }
}

/// Text of `size` bytes; one in every 80 needs an escape in JSON.
pub(crate) fn payload(size: usize) -> String {
    const LINE: &str =
        "The quick brown fox jumps over the lazy dog and then it runs back home 0123456\n";
    let mut text = LINE.repeat(size / LINE.len() + 1);
    text.truncate(size);
    text
}

/// Whether an answer, parsed in full, echoes the payload.
pub(crate) fn verify(answer: &[u8], payload: &str) -> Result<(), String> {
    let value: serde_json::Value =
        serde_json::from_slice(answer).map_err(|error| format!("{error}: {}", excerpt(answer)))?;
    match value["result"]["content"][0]["text"].as_str() {
        Some(text) if text == payload => Ok(()),
        _ => Err(format!("not the echo: {}", excerpt(answer))),
    }
}

/// Whether the word "result" stands near one of the ends of a message.
pub(crate) fn looks_like_result(message: &[u8]) -> bool {
    const REACH: usize = 160;
    let has = |part: &[u8]| memchr::memmem::find(part, b"\"result\"").is_some();
    has(&message[..message.len().min(REACH)])
        || has(&message[message.len().saturating_sub(REACH)..])
}

/// The start of a message, for a person to read.
pub(crate) fn excerpt(message: &[u8]) -> String {
    const LENGTH: usize = 400;
    String::from_utf8_lossy(&message[..message.len().min(LENGTH)]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prepared_calls_are_json_with_the_id_and_the_payload() {
        for mode in [Mode::Legacy, Mode::Stateless] {
            let payload = payload(100);
            let mut line = Vec::new();
            mode.echo("say", &payload).write(42, &mut line);
            let call: serde_json::Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(call["id"], 42);
            assert_eq!(call["params"]["name"], "say");
            assert_eq!(call["params"]["arguments"]["message"], payload);
            assert_eq!(call["params"]["_meta"].is_object(), mode == Mode::Stateless);
            serde_json::from_str::<serde_json::Value>(&mode.tools_list()).unwrap();
        }
    }

    #[test]
    fn a_wrong_echo_is_found() {
        assert!(verify(br#"{"result":{"content":[{"text":"abc"}]}}"#, "abc").is_ok());
        assert!(verify(br#"{"result":{"content":[{"text":"abd"}]}}"#, "abc").is_err());
        assert!(verify(br#"{"error":{}}"#, "abc").is_err());
        assert!(verify(b"abc", "abc").is_err());
    }

    #[test]
    fn results_are_seen_at_either_end() {
        let long = "x".repeat(1000);
        assert!(looks_like_result(format!("{{\"result\":\"{long}\"}}").as_bytes()));
        assert!(looks_like_result(format!("{{\"x\":\"{long}\",\"result\":1}}").as_bytes()));
        assert!(!looks_like_result(br#"{"method":"a"}"#));
    }
}
