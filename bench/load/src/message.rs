//! The few messages that a generator sends, and the quick looks at what comes back.

use crate::table::size_name;

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
const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"load","version":"0.0.0"},"io.modelcontextprotocol/clientCapabilities":{}"#;
const PROGRESS: &str = r#""progressToken":"load""#;

impl Mode {
    /// The revision that a request of this mode names.
    pub(crate) fn revision(self) -> &'static str {
        match self {
            Mode::Legacy => "2025-11-25",
            Mode::Stateless => "2026-07-28",
        }
    }

    /// `_meta` as a member, or nothing where there is nothing to say.
    fn meta(self, progress: bool) -> Option<String> {
        let members = [(self == Mode::Stateless).then_some(META), progress.then_some(PROGRESS)];
        let members: Vec<&str> = members.into_iter().flatten().collect();
        (!members.is_empty()).then(|| format!(r#""_meta":{{{}}}"#, members.join(",")))
    }

    pub(crate) fn tools_list(self) -> String {
        let mut line = Vec::new();
        self.list().write(2, &mut line);
        String::from_utf8_lossy(&line).into_owned()
    }

    /// A request for the list of tools, ready but for its id.
    pub(crate) fn list(self) -> Call {
        let meta = self.meta(false).unwrap_or_default();
        Call { tail: format!(r#","method":"tools/list","params":{{{meta}}}}}"#).into_bytes() }
    }

    /// A call of an echo tool, ready but for its id.
    pub(crate) fn echo(self, tool: &str, payload: &str, progress: bool) -> Call {
        let meta = self.meta(progress).map(|meta| meta + ",").unwrap_or_default();
        let message = serde_json::Value::from(payload);
        let tail = format!(
            r#","method":"tools/call","params":{{{meta}"name":"{tool}","arguments":{{"message":{message}}}}}}}"#
        );
        Call { tail: tail.into_bytes() }
    }
}

/// What is asked again and again in one scenario, and what its answers must be.
pub(crate) struct Request {
    pub(crate) mode: Mode,
    /// What the scenario is called.
    pub(crate) name: String,
    pub(crate) method: &'static str,
    /// The tool, where one is called.
    pub(crate) tool: String,
    pub(crate) call: Call,
    /// What a call must echo; none for a list.
    payload: Option<String>,
}

impl Request {
    /// Calls of an echo tool with a text of so many bytes, with or without a wish to
    /// hear of progress.
    pub(crate) fn echo(mode: Mode, tool: &str, size: usize, progress: bool) -> Request {
        let payload = payload(size);
        Request {
            mode,
            name: size_name(size),
            method: "tools/call",
            tool: tool.to_owned(),
            call: mode.echo(tool, &payload, progress),
            payload: Some(payload),
        }
    }

    /// The list of tools.
    pub(crate) fn list(mode: Mode) -> Request {
        Request {
            mode,
            name: "tools/list".to_owned(),
            method: "tools/list",
            tool: String::new(),
            call: mode.list(),
            payload: None,
        }
    }

    /// How many bytes an answer has at least.
    pub(crate) fn at_least(&self) -> usize {
        self.payload.as_ref().map_or(1, String::len)
    }

    /// Looks at an answer in full.
    pub(crate) fn verify(&self, answer: &[u8]) -> Result<(), String> {
        match &self.payload {
            Some(payload) => verify(answer, payload),
            None if looks_like_result(answer) => Ok(()),
            None => Err(format!("no list: {}", excerpt(answer))),
        }
    }
}

/// A prepared request: everything but the id, which comes between head and tail.
#[derive(Clone)]
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
fn payload(size: usize) -> String {
    const LINE: &str =
        "The quick brown fox jumps over the lazy dog and then it runs back home 0123456\n";
    let mut text = LINE.repeat(size / LINE.len() + 1);
    text.truncate(size);
    text
}

/// Whether an answer, parsed in full, echoes the payload.
fn verify(answer: &[u8], payload: &str) -> Result<(), String> {
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
            mode.echo("say", &payload, true).write(42, &mut line);
            let call: serde_json::Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(call["id"], 42);
            assert_eq!(call["params"]["name"], "say");
            assert_eq!(call["params"]["arguments"]["message"], payload);
            let meta = &call["params"]["_meta"];
            assert_eq!(meta["progressToken"], "load");
            let version = &meta["io.modelcontextprotocol/protocolVersion"];
            assert_eq!(version.is_string(), mode == Mode::Stateless);
            serde_json::from_str::<serde_json::Value>(&mode.tools_list()).unwrap();
        }
    }

    #[test]
    fn lists_are_asked_for_and_looked_at() {
        let request = Request::list(Mode::Legacy);
        let mut line = Vec::new();
        request.call.write(3, &mut line);
        let list: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(
            (&list["method"], &list["params"]),
            (&"tools/list".into(), &serde_json::json!({}))
        );
        assert!(request.verify(br#"{"result":{"tools":[]}}"#).is_ok());
        assert!(request.verify(br#"{"error":{}}"#).is_err());
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
