//! Requests for input in place of a result: where they may stand, and what of.

use super::*;
use crate::revision::Revision;

const NEW: &str = "2026-07-28";
const OLD: &str = "2025-11-25";

/// A client that can be asked for forms and for its folders.
fn asked(revision: &str) -> Client {
    let mut config = config();
    config.capabilities = r#"{"elicitation":{},"roots":{}}"#.into();
    config.revision = Revision::from_date(revision);
    let mut client = Client::new(config);
    let first = client.take_one();
    let mut said = initialized(revision);
    said["supportedVersions"] = json!([revision]);
    client.answer(&first, said);
    client.ready();
    client.sent.clear();
    client
}

/// What comes of a request that is answered with this.
fn answered(revision: &str, method: &str, result: Value) -> Result<Value, CallError> {
    let mut client = asked(revision);
    let params = json!({ "name": "x", "uri": "a://b" });
    let (id, request) = client.call(method, params, CallOptions::default());
    client.answer(&request, result);
    assert!(client.sent.is_empty(), "nothing is answered: {:?}", client.sent);
    client.resolved(id)
}

fn form() -> Value {
    json!({ "method": "elicitation/create", "params": { "message": "m",
        "requestedSchema": { "type": "object", "properties": {} } } })
}

fn round(requests: Value) -> Value {
    json!({ "resultType": "input_required", "inputRequests": requests, "requestState": "s" })
}

#[test]
fn f40_only_calls_prompts_and_reads_are_answered_with_rounds() {
    for method in ["tools/call", "prompts/get", "resources/read"] {
        let result = answered(NEW, method, round(json!({ "a": form() })));
        let Err(CallError::InputRequired(asked)) = result else { panic!("{method}: {result:?}") };
        assert_eq!(asked.requests.len(), 1);
    }
    for method in ["tools/list", "resources/list", "completion/complete", "x/own"] {
        let result = answered(NEW, method, round(json!({ "a": form() })));
        let Err(CallError::Protocol(what)) = result else { panic!("{method}: {result:?}") };
        assert!(what.contains("request for input"), "{what}");
    }
}

#[test]
fn f40_a_round_is_refused_as_a_whole() {
    let page = json!({ "method": "elicitation/create",
        "params": { "mode": "url", "message": "m", "url": "https://e.example" } });
    let many: Vec<(String, Value)> = (0..101).map(|n| (n.to_string(), form())).collect();
    for (bad, said) in [
        (
            json!({ "a": form(), "b": { "method": "sampling/createMessage", "params": {} } }),
            "\"b\"",
        ),
        (json!({ "a": form(), "b": { "method": "tools/list" } }), "tools/list"),
        (json!({ "a": form(), "b": { "method": "x" } }), "\"x\""),
        (json!({ "a": form(), "b": page }), "URL"),
        (json!({ "a": form(), "b": { "method": "elicitation/create", "params": {} } }), "message"),
        (json!({ "a": form(), "b": { "method": "roots/list", "params": [] } }), "object"),
        (json!({ "a": form(), "b": { "params": {} } }), "method"),
        (json!({ "a": form(), "b": 7 }), "invalid type"),
        (json!(many.into_iter().collect::<serde_json::Map<_, _>>()), "more than 100"),
    ] {
        let result = answered(NEW, "tools/call", round(bad.clone()));
        let Err(CallError::Protocol(what)) = result else { panic!("{bad}: {result:?}") };
        assert!(what.contains(said), "{what} says nothing of {said}");
    }
    let good = json!({ "a": form(), "b": { "method": "roots/list" } });
    let result = answered(NEW, "tools/call", round(good));
    assert!(matches!(result, Err(CallError::InputRequired(asked)) if asked.requests.len() == 2));
}

#[test]
fn f40_where_results_have_no_type_they_are_complete() {
    let mut result = round(json!({ "a": form() }));
    result["content"] = json!([{ "type": "text", "text": "there" }]);
    let read = answered(OLD, "tools/call", result).unwrap();
    assert_eq!(read["content"][0]["text"], "there");
    assert_eq!(read["resultType"], "complete");
    for kind in [json!("input_required"), json!("teapot"), json!(7)] {
        let read = answered(OLD, "tools/list", json!({ "tools": [], "resultType": kind })).unwrap();
        assert_eq!(read["resultType"], "complete");
    }
    // Nor is what has nothing else a tool's empty result.
    let bare = answered(OLD, "tools/call", round(json!({ "a": form() })));
    assert!(matches!(bare, Err(CallError::Protocol(_))), "{bare:?}");
}

#[test]
fn f40_in_a_session_a_question_is_admitted_as_in_a_round() {
    let mut client = asked(OLD);
    let mut ask = |method: &str, params: Value| {
        let request = json!({ "jsonrpc": "2.0", "id": "q", "method": method, "params": params });
        client.say(&request.to_string());
        match client.heard.pop() {
            Some(ClientOutput::Request { id, .. }) => {
                client.peer.respond(client.now, &id, Ok(b"{}".to_vec()));
                client.drain();
                client.take_one()["result"].clone()
            }
            _ => client.take_one()["error"]["code"].clone(),
        }
    };
    assert_eq!(ask("elicitation/create", form()["params"].clone()), json!({}));
    let page = json!({ "mode": "url", "message": "m", "url": "https://e.example" });
    assert_eq!(ask("elicitation/create", page), -32602);
    assert_eq!(ask("elicitation/create", json!({})), -32602);
    assert_eq!(ask("sampling/createMessage", json!({})), -32601);
}
