//! The least work that still answers MCP: one parse that skips what it can, and one copy
//! of the payload. No validation, no errors worth the name: a bound, not a server.

use serde::Deserialize;
use serde_json::value::RawValue;

const TOOLS: &str = r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"echo","description":"Echo the message back","inputSchema":{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}}]}"#;
const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"0.0.0"}}"#;
const DISCOVERED: &str = r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"0.0.0"}}"#;

/// What kind of message was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The start of a session.
    Initialize,
    /// Any other request.
    Request,
    /// A message that gets no answer.
    Notification,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: &'a str,
    #[serde(borrow, default)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, default)]
    arguments: Option<Arguments<'a>>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

/// Appends the answer to one JSON-RPC message to `out`, and nothing for a notification.
pub fn answer(message: &[u8], out: &mut Vec<u8>) -> Kind {
    let Ok(message) = serde_json::from_slice::<Message<'_>>(message) else {
        out.extend_from_slice(br#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse"}}"#);
        return Kind::Request;
    };
    let Some(id) = message.id else { return Kind::Notification };
    let mut write =
        |parts: &[&str]| parts.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
    write(&[r#"{"jsonrpc":"2.0","id":"#, id.get()]);
    match message.method {
        "tools/call" => match message.params.and_then(|params| params.arguments?.message) {
            Some(text) => write(&[
                r#","result":{"resultType":"complete","content":[{"type":"text","text":"#,
                text.get(),
                "}]}}",
            ]),
            None => write(&[r#","error":{"code":-32602,"message":"params"}}"#]),
        },
        "initialize" => {
            write(&[r#","result":"#, INITIALIZED, "}"]);
            return Kind::Initialize;
        }
        "tools/list" => write(&[r#","result":"#, TOOLS, "}"]),
        "server/discover" => write(&[r#","result":"#, DISCOVERED, "}"]),
        "ping" => write(&[r#","result":{}}"#]),
        _ => write(&[r#","error":{"code":-32601,"message":"method"}}"#]),
    }
    Kind::Request
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn answered(message: &Value) -> (Kind, Value) {
        let mut out = Vec::new();
        let kind = answer(message.to_string().as_bytes(), &mut out);
        (kind, serde_json::from_slice(&out).unwrap_or(Value::Null))
    }

    #[test]
    fn the_message_comes_back_as_it_was() {
        let (kind, value) = answered(
            &json!({"id": 7, "method": "tools/call", "params": {"name": "echo", "arguments": {"message": "a\n\"b\""}}}),
        );
        assert_eq!(
            (kind, &value["id"], &value["result"]["content"][0]["text"]),
            (Kind::Request, &json!(7), &json!("a\n\"b\""))
        );
    }

    #[test]
    fn both_lifecycles_begin() {
        let (kind, value) = answered(&json!({"id": 1, "method": "initialize"}));
        assert_eq!(
            (kind, &value["result"]["protocolVersion"]),
            (Kind::Initialize, &json!("2025-11-25"))
        );
        let (_, value) = answered(&json!({"id": 1, "method": "server/discover"}));
        assert_eq!(value["result"]["supportedVersions"], json!(["2026-07-28"]));
        assert_eq!(
            answered(&json!({"method": "notifications/initialized"})),
            (Kind::Notification, Value::Null)
        );
    }

    #[test]
    fn what_it_does_not_know_is_an_error() {
        assert_eq!(answered(&json!({"id": 1, "method": "x"})).1["error"]["code"], -32601);
        assert_eq!(answered(&json!({"id": 1, "method": "tools/call"})).1["error"]["code"], -32602);
        assert_eq!(answered(&json!([])).1["error"]["code"], -32700);
    }
}
