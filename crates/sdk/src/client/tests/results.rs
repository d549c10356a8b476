//! What comes back from a tool, and what goes there again with answers.

use super::super::*;
use super::scripted::Script;
use crate::transport::MemoryTransport;
use carrick_proto::types::{Elicit, ElicitResult, Implementation};
use serde_json::{Value, json, value::RawValue};
use std::collections::BTreeSet;

async fn open(handlers: Handlers) -> (Client, Script) {
    let (transport, mut script): (MemoryTransport, Script) = Script::new();
    let config = ClientConfig::new(Implementation::new("tests", "0"));
    let connecting = Client::connect(transport, config, handlers);
    let (client, ()) = tokio::join!(connecting, script.open());
    (client.unwrap(), script)
}

/// The same in a session.
#[cfg(feature = "validate")]
async fn open_session() -> (Client, Script) {
    let (transport, mut script) = Script::new();
    let mut config = ClientConfig::new(Implementation::new("tests", "0"));
    config.era = Some(Era::Legacy);
    let (client, ()) = tokio::join!(Client::connect(transport, config, None), async {
        let hello = script.hear().await.unwrap();
        let result = json!({ "protocolVersion": hello["params"]["protocolVersion"],
            "capabilities": { "tools": { "listChanged": true } } });
        script.answer(&hello, &result).await;
        script.hear().await.unwrap();
    });
    (client.unwrap(), script)
}

/// Fills in every form with `{"n":"1"}`.
fn answering() -> Handlers {
    Handlers::new().elicit(|ask| async move {
        assert!(matches!(ask, Elicit::Form { .. }));
        Ok(ElicitResult::accept(RawValue::from_string(r#"{"n":"1"}"#.into()).unwrap()))
    })
}

fn asks(key: &str, state: Option<&Value>) -> Value {
    let form = json!({ "mode": "form", "message": "m", "requestedSchema":
        { "type": "object", "properties": { "n": { "type": "string" } } } });
    let mut result = json!({ "resultType": "input_required",
        "inputRequests": { key: { "method": "elicitation/create", "params": form } } });
    if let Some(state) = state {
        result["requestState"] = state.clone();
    }
    result
}

#[tokio::test]
async fn d132_a_state_is_echoed_as_it_came_and_only_where_it_came() {
    let (client, mut script) = open(answering()).await;
    let results: Vec<Value> = include_str!("../../../../../cases/handed/D132/server.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["result"].clone())
        .collect();
    let (called, requests) = tokio::join!(client.call_tool("x", br#"{"a":1}"#), async {
        let mut requests = Vec::new();
        for result in &results {
            let request = script.hear().await.unwrap();
            script.answer(&request, result).await;
            requests.push(request);
        }
        requests
    });
    assert!(called.unwrap().content.is_empty());
    let params = |n: usize| &requests[n]["params"];
    assert_eq!(params(0).get("requestState").or(params(0).get("inputResponses")), None);
    assert_eq!(params(1)["requestState"], results[0]["requestState"]);
    assert_eq!(params(1)["inputResponses"]["k"]["content"], json!({ "n": "1" }));
    assert_eq!(params(2)["requestState"], "", "an empty one is one");
    assert_eq!(params(2).get("inputResponses"), None, "those were of the round before");
    let ids: BTreeSet<String> = requests.iter().map(|r| r["id"].to_string()).collect();
    assert_eq!(ids.len(), 3, "each round has an id of its own");
    for request in &requests {
        assert_eq!(request["params"]["arguments"], json!({ "a": 1 }));
    }
}

#[tokio::test]
async fn d132_large_and_absent_states() {
    let (client, mut script) = open(answering()).await;
    let large = json!("状态\u{1F6F0}\"\\\u{7f}\u{2028}".repeat(4096));
    let rounds = [asks("a", Some(&large)), asks("b", None), json!({ "content": [] })];
    let (called, requests) = tokio::join!(client.call_tool("x", b"{}"), async {
        let mut requests = Vec::new();
        for result in &rounds {
            let request = script.hear().await.unwrap();
            script.answer(&request, result).await;
            requests.push(request["params"].clone());
        }
        requests
    });
    called.unwrap();
    assert_eq!(requests[1]["requestState"], large);
    assert_eq!(requests[2].get("requestState"), None, "what is not there is not made up");
    assert!(requests[2]["inputResponses"].get("a").is_none(), "{}", requests[2]);
    assert!(requests[2]["inputResponses"]["b"].is_object());
}

#[tokio::test]
async fn d132_two_calls_side_by_side_keep_their_states_apart() {
    let (client, mut script) = open(answering()).await;
    let (first, second, ()) =
        tokio::join!(client.call_tool("one", b"{}"), client.call_tool("two", b"{}"), async {
            let firsts = [script.hear().await.unwrap(), script.hear().await.unwrap()];
            for request in &firsts {
                let state = json!(format!("of {}", request["params"]["name"]));
                script.answer(request, &asks("k", Some(&state))).await;
            }
            for _ in 0..2 {
                let retry = script.hear().await.unwrap();
                let own = format!("of {}", retry["params"]["name"]);
                assert_eq!(retry["params"]["requestState"], own);
                script.answer(&retry, &json!({ "content": [] })).await;
            }
        });
    first.unwrap();
    second.unwrap();
    // A later call knows nothing of them.
    let (later, ()) = tokio::join!(client.call_tool("one", b"{}"), async {
        let request = script.hear().await.unwrap();
        assert_eq!(request["params"].get("requestState"), None);
        script.answer(&request, &json!({ "content": [] })).await;
    });
    later.unwrap();
}

/// Calls a tool that answers with this.
async fn called(client: &Client, script: &mut Script, result: Value) -> Result<(), String> {
    let (called, ()) = tokio::join!(client.call_tool("measure", b"{}"), async {
        let request = script.hear().await.unwrap();
        script.answer(&request, &result).await;
    });
    match called {
        Ok(_) => Ok(()),
        Err(ClientError::Result { tool, what }) => {
            assert_eq!(tool, "measure");
            Err(what)
        }
        Err(other) => panic!("{other}"),
    }
}

async fn list(client: &Client, script: &mut Script, output: &Value) {
    let tool = json!({ "name": "measure", "inputSchema": { "type": "object" },
        "outputSchema": output });
    let (listed, ()) = tokio::join!(client.list_tools(), async {
        let request = script.hear().await.unwrap();
        script.answer(&request, &json!({ "tools": [tool] })).await;
    });
    assert_eq!(listed.unwrap().len(), 1);
}

#[cfg(feature = "validate")]
#[tokio::test]
async fn d065_a_result_that_does_not_fit_is_an_error_with_its_path() {
    let (client, mut script) = open_session().await;
    let wrong = json!({ "content": [], "structuredContent": { "at": { "n": "7" } } });
    // Nothing is known of the tool yet.
    assert_eq!(called(&client, &mut script, wrong.clone()).await, Ok(()));
    let schema = json!({ "type": "object", "required": ["at"], "properties":
        { "at": { "type": "object", "properties": { "n": { "type": "integer" } } } } });
    list(&client, &mut script, &schema).await;
    let what = called(&client, &mut script, wrong.clone()).await.unwrap_err();
    assert_eq!(what, "at.n must be an integer, not \"7\"");
    for (result, why) in [
        (json!({ "content": [] }), "there is no structured content"),
        (json!({ "content": [], "structuredContent": {} }), "at is missing"),
    ] {
        assert_eq!(called(&client, &mut script, result).await, Err(why.to_owned()));
    }
    let failure = json!({ "content": [], "isError": true });
    assert_eq!(called(&client, &mut script, failure).await, Ok(()), "failures need not fit");
    let mut failure = wrong.clone();
    failure["isError"] = json!(true);
    assert_eq!(called(&client, &mut script, failure).await, Ok(()));
    let right = json!({ "content": [], "structuredContent": { "at": { "n": 7 } } });
    assert_eq!(called(&client, &mut script, right).await, Ok(()));
    // A list that has changed says nothing any more.
    script.say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).await;
    assert_eq!(called(&client, &mut script, wrong.clone()).await, Ok(()));
    let anything = json!({ "type": "object" });
    list(&client, &mut script, &anything).await;
    assert_eq!(called(&client, &mut script, wrong).await, Ok(()));
}

#[cfg(feature = "validate")]
#[tokio::test]
async fn d063_a_result_is_not_taken_for_right_because_nobody_can_tell() {
    let (client, mut script) = open(Handlers::new()).await;
    list(&client, &mut script, &json!({ "$ref": "http://127.0.0.1:9/x.json" })).await;
    let result = json!({ "content": [], "structuredContent": {} });
    let what = called(&client, &mut script, result).await.unwrap_err();
    assert!(what.contains("http://127.0.0.1:9/x.json"), "{what}");
}

#[tokio::test]
async fn f40_nobody_is_asked_when_a_question_of_a_round_may_not_be() {
    let (client, mut script) = open(answering_none()).await;
    let mut round = asks("a", Some(&json!("s")));
    round["inputRequests"]["b"] = json!({ "method": "sampling/createMessage",
        "params": { "messages": [], "maxTokens": 1 } });
    let (called, ()) = tokio::join!(client.call_tool("x", b"{}"), async {
        let request = script.hear().await.unwrap();
        script.answer(&request, &round).await;
    });
    assert!(called.unwrap_err().to_string().contains("does not offer"));
    let (listed, ()) = tokio::join!(client.list_tools(), async {
        let request = script.hear().await.unwrap();
        script.answer(&request, &asks("a", None)).await;
    });
    assert!(listed.unwrap_err().to_string().contains("request for input"));
}

/// Has a user who must not be asked.
fn answering_none() -> Handlers {
    Handlers::new().elicit(|_| async { panic!("the user is asked") })
}
