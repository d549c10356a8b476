//! The least work that still answers MCP: one parse that skips what it can, and one copy
//! of the payload. No validation, no errors worth the name: a bound, not a server.

use serde::Deserialize;
use serde_json::value::RawValue;

mod client;
mod command_line;

pub use client::{Call, Measured, WARM_UP, spent};
pub use command_line::CommandLine;

const MODERN: &str = r#""resultType":"complete","ttlMs":0,"cacheScope":"private","#;
const TOOLS: &str = r#""tools":[{"name":"echo","description":"Echo the message back","inputSchema":{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}}]}"#;
const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"0.0.0"}}"#;
const DISCOVERED: &str = r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"0.0.0"}}"#;

/// One of the two lifecycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// A handshake opens a session.
    Legacy,
    /// Every request says what it speaks.
    Modern,
}

/// What kind of message was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The start of a session.
    Initialize,
    /// Any other request.
    Request,
    /// A message that gets no answer.
    Notification,
    /// The first message of a client of the other era.
    Refused,
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

/// A server without a transport.
#[derive(Debug)]
pub struct Answers {
    /// The only era that it speaks; none means both, in the words of the newer one.
    only: Option<Era>,
    /// The whole result of `tools/list`.
    tools: String,
}

impl Answers {
    /// A server that has the one tool, unless `tools` is the result of another list.
    #[must_use]
    pub fn new(only: Option<Era>, tools: Option<String>) -> Answers {
        let own = || match only {
            Some(Era::Legacy) => format!("{{{TOOLS}"),
            _ => format!("{{{MODERN}{TOOLS}"),
        };
        Answers { only, tools: tools.unwrap_or_else(own) }
    }

    /// Appends the answer to one JSON-RPC message to `out`, and nothing for a notification.
    pub fn answer(&self, message: &[u8], out: &mut Vec<u8>) -> Kind {
        let Ok(message) = serde_json::from_slice::<Message<'_>>(message) else {
            out.extend_from_slice(
                br#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse"}}"#,
            );
            return Kind::Request;
        };
        let Some(id) = message.id else { return Kind::Notification };
        let mut write =
            |parts: &[&str]| parts.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
        write(&[r#"{"jsonrpc":"2.0","id":"#, id.get()]);
        match (message.method, self.only) {
            ("tools/call", _) => {
                match message.params.and_then(|params| params.arguments?.message) {
                    Some(text) => write(&[
                        r#","result":{"#,
                        if self.only == Some(Era::Legacy) {
                            ""
                        } else {
                            r#""resultType":"complete","#
                        },
                        r#""content":[{"type":"text","text":"#,
                        text.get(),
                        "}]}}",
                    ]),
                    None => write(&[r#","error":{"code":-32602,"message":"params"}}"#]),
                }
            }
            ("initialize", None | Some(Era::Legacy)) => {
                write(&[r#","result":"#, INITIALIZED, "}"]);
                return Kind::Initialize;
            }
            ("server/discover", None | Some(Era::Modern)) => {
                write(&[r#","result":"#, DISCOVERED, "}"]);
            }
            ("tools/list", _) => write(&[r#","result":"#, &self.tools, "}"]),
            ("ping", _) => write(&[r#","result":{}}"#]),
            (method, _) => {
                write(&[r#","error":{"code":-32601,"message":"method"}}"#]);
                if matches!(method, "initialize" | "server/discover") {
                    return Kind::Refused;
                }
            }
        }
        Kind::Request
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn answered(message: &Value) -> (Kind, Value) {
        answered_by(&Answers::new(None, None), message)
    }

    fn answered_by(server: &Answers, message: &Value) -> (Kind, Value) {
        let mut out = Vec::new();
        let kind = server.answer(message.to_string().as_bytes(), &mut out);
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

    #[test]
    fn a_server_of_one_era_refuses_the_other_and_speaks_its_own() {
        let list = json!({"id": 1, "method": "tools/list"});
        for (only, own, other) in [
            (Era::Legacy, "initialize", "server/discover"),
            (Era::Modern, "server/discover", "initialize"),
        ] {
            let server = Answers::new(Some(only), None);
            let (kind, refused) = answered_by(&server, &json!({"id": 1, "method": other}));
            assert_eq!((kind, &refused["error"]["code"]), (Kind::Refused, &json!(-32601)));
            let (_, begun) = answered_by(&server, &json!({"id": 1, "method": own}));
            assert!(begun["result"].is_object());
            let (_, tools) = answered_by(&server, &list);
            assert_eq!(tools["result"]["tools"][0]["name"], "echo");
            assert_eq!(tools["result"]["resultType"].is_string(), only == Era::Modern);
        }
    }

    #[test]
    fn another_list_is_sent_as_it_is() {
        let server = Answers::new(None, Some(r#"{"tools":[1]}"#.into()));
        let (_, tools) = answered_by(&server, &json!({"id": 1, "method": "tools/list"}));
        assert_eq!(tools["result"], json!({"tools": [1]}));
    }
}
