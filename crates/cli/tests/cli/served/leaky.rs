//! Clients without sessions before a server of sessions that tells one what it
//! heard from another, if it is let.

use super::{NEW, Served, exchange};
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::Duration;

/// A gateway before it; what it stands in has to stay as long.
fn leaky() -> (Sandbox, Served) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/faults/leaky.py");
    let server = json!({ "command": "python3", "args": [script] });
    let sandbox = Sandbox::with_servers([("leaky", server)]);
    let served = Served::start(&sandbox, &[]);
    (sandbox, served)
}

impl Served {
    /// Sends a call of a client that can do this, with more members of `_meta`
    /// and of the parameters.
    fn call_as(&self, tool: &str, arguments: Value, abilities: Value, more: Value) -> TcpStream {
        let mut params = json!({ "name": tool, "arguments": arguments });
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(NEW);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = abilities;
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let headers = format!(
            "Host: {}\r\nMCP-Protocol-Version: {NEW}\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n",
            self.address
        );
        self.post(&headers, &body.to_string())
    }
}

/// Waits for an answer that does not come within so many milliseconds.
fn wait_in_vain(stream: &mut TcpStream, millis: u64) {
    stream.set_read_timeout(Some(Duration::from_millis(millis))).unwrap();
    let read = stream.read(&mut [0]).map_err(|error| error.kind());
    assert!(matches!(read, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut)), "{read:?}");
}

/// The answer, whether it comes in an event or by itself.
fn answer(body: &str) -> Value {
    let (from, to) = (body.find('{').unwrap(), body.rfind('}').unwrap());
    serde_json::from_str(&body[from..=to]).unwrap_or_else(|error| panic!("{error}: {body}"))
}

#[test]
fn f01_what_is_asked_of_one_client_is_not_put_to_another() {
    let (_sandbox, served) = leaky();
    let form = json!({ "elicitation": { "form": {} } });
    let mut alice = served.call_as("ask", json!({ "who": "alice" }), form.clone(), json!({}));
    wait_in_vain(&mut alice, 500);
    drop(alice);
    let (_, heard) = exchange(&mut served.call_as("sleep", json!({}), form, json!({})));
    assert!(!heard.contains("alice"), "bob has heard: {heard}");
    assert_eq!(answer(&heard)["result"]["content"][0]["text"], "done");
}

#[test]
fn f02_what_one_client_has_logged_is_not_told_to_another() {
    let (_sandbox, served) = leaky();
    let level = json!({ "_meta": { "io.modelcontextprotocol/logLevel": "debug" } });
    let mut alice = served.call_as("sleep", json!({}), json!({}), level);
    wait_in_vain(&mut alice, 500);
    let mut bob = served.call_as("log", json!({ "who": "bob" }), json!({}), json!({}));
    assert_eq!(answer(&exchange(&mut bob).1)["result"]["content"][0]["text"], "done");
    alice.set_read_timeout(Some(crate::support::BOUND)).unwrap();
    let (_, heard) = exchange(&mut alice);
    assert!(heard.contains("done") && !heard.contains("bob"), "alice has heard: {heard}");
}

#[test]
fn f03_what_one_client_answered_does_not_answer_for_another() {
    let (_sandbox, served) = leaky();
    for (who, other) in [("alice", "bob"), ("bob", "alice")] {
        let call = |more| served.call_as("folders", json!({}), json!({ "roots": {} }), more);
        let asked = exchange(&mut call(json!({}))).1;
        let result = answer(&asked)["result"].clone();
        let question = &result["inputRequests"]["ask_0"]["method"];
        assert_eq!(question, "roots/list", "{who} is not asked: {asked}");
        let roots = json!({ "roots": [{ "uri": format!("file:///{who}") }] });
        let retry = json!({ "requestState": result["requestState"],
            "inputResponses": { "ask_0": roots } });
        let done = exchange(&mut call(retry)).1;
        assert!(done.contains(who) && !done.contains(other), "{who} has heard: {done}");
    }
}
