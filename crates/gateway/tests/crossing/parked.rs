//! Calls of clients without sessions that a server of sessions asks about.

use crate::raw::{Asking, Heard, MODERN, RawClient, answers};
use crate::support::{Over, gateway, gateway_with};
use carrick::proto::revision::Revision;
use carrick::types::Implementation;
use carrick_gateway::{Gateway, GatewayOptions};
use carrick_testkit::crossing::server;
use serde_json::{Value, json};
use std::time::Duration;

fn options() -> GatewayOptions {
    GatewayOptions::new(Implementation::new("gateway", "1"))
}

fn accepted() -> Value {
    json!({ "action": "accept", "content": { "name": "Ada" } })
}

async fn crossing(over: Over) -> Gateway {
    gateway(server(Revision::NEWEST_HANDSHAKE), over).await
}

#[tokio::test]
async fn a_disconnect_between_rounds_does_not_end_the_call() {
    for over in [Over::Memory, Over::Http] {
        let gateway = crossing(over).await;
        let mut client = RawClient::of(gateway.clone());
        let asked = client.call("ask_name", &json!({})).await;
        drop(client);
        assert_eq!(gateway.parked().0, 1);
        let mut another = RawClient::of(gateway.clone());
        let done = another.call("ask_name", &answers(&asked, &accepted())).await;
        assert_eq!(done["result"]["content"][0]["text"], "accepted {\"name\":\"Ada\"}");
        assert_eq!(gateway.parked(), (0, 0));
    }
}

#[tokio::test]
async fn a_state_goes_with_its_call_only_and_once() {
    let gateway = crossing(Over::Memory).await;
    let mut client = RawClient::of(gateway.clone());
    let asked = client.call("ask_name", &json!({})).await;
    let retry = answers(&asked, &accepted());
    let refused = |answer: &Value| answer["error"]["code"] == -32602;
    // Another tool, other arguments, a state that was touched.
    assert!(refused(&client.call("ask_model", &retry).await));
    let mut other = retry.clone();
    other["arguments"] = json!({ "x": 1 });
    assert!(refused(&client.call("ask_name", &other).await));
    for state in [json!("x"), json!(7), json!(null)] {
        let mut broken = retry.clone();
        broken["requestState"] = state;
        assert!(refused(&client.call("ask_name", &broken).await));
    }
    assert_eq!(gateway.parked().0, 1, "none of them has touched it");
    let done = client.call("ask_name", &retry).await;
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
    assert!(refused(&client.call("ask_name", &retry).await), "it has been used");
}

#[tokio::test]
async fn a_question_without_an_answer_is_asked_again() {
    let gateway = crossing(Over::Memory).await;
    let mut client = RawClient::of(gateway.clone());
    let asked = client.call("ask_name", &json!({})).await;
    let state = asked["result"]["requestState"].clone();
    for responses in [json!({}), json!({ "other": {} })] {
        let retry = json!({ "requestState": state, "inputResponses": responses });
        let again = client.call("ask_name", &retry).await;
        assert_eq!(again["result"]["inputRequests"], asked["result"]["inputRequests"]);
    }
    let odd = json!({ "requestState": state, "inputResponses": [] });
    assert_eq!(client.call("ask_name", &odd).await["error"]["code"], -32602);
    let done = client.call("ask_name", &answers(&asked, &accepted())).await;
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_not() {
    let gateway = crossing(Over::Memory).await;
    let mut client = RawClient::of(gateway.clone());
    let params = json!({ "name": "ask_roots", "arguments": {} });
    let id = client.ask("tools/call", params).await;
    let answer = client.hear().await;
    assert_eq!(answer["id"], id);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(gateway.parked().0, 0);
    // The same call of one that can be asked is parked.
    client
        .say(&json!({ "jsonrpc": "2.0", "id": "able", "method": "tools/call", "params": {
            "name": "ask_roots", "arguments": {}, "_meta": {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": { "roots": {} } } } }))
        .await;
    let asked = client.hear().await;
    assert_eq!(asked["id"], "able");
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert_eq!(gateway.parked().0, 1);
}

#[tokio::test]
async fn a_request_that_has_no_rounds_is_not_parked() {
    let asking = Asking::default();
    let gateway = Gateway::open(asking.clone(), options()).await.unwrap();
    let mut client = RawClient::of(gateway.clone());
    client.ask("tools/list", json!({})).await;
    asking.refused(1).await;
    assert_eq!(gateway.parked(), (0, 0));
    // The same question in a call, which has rounds, is parked.
    client.call("any", &json!({})).await;
    assert_eq!(gateway.parked().0, 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_given_up_when_its_time_is_over() {
    let asking = Asking::default();
    let mut options = options();
    options.parked.lifetime = Duration::from_secs(60);
    let gateway = Gateway::open(asking.clone(), options).await.unwrap();
    let mut client = RawClient::of(gateway.clone());
    let asked = client.call("any", &json!({})).await;
    assert_eq!(gateway.parked().0, 1);
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert_eq!(gateway.parked().0, 1);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(gateway.parked(), (0, 0));
    let late = client.call("any", &answers(&asked, &accepted())).await;
    assert_eq!(late["error"]["code"], -32602);
    let Heard { calls, refusals, cancels, answers: answered, .. } = asking.heard();
    assert_eq!((calls, refusals, cancels, answered), (1, 1, 1, 0), "the server is told");
    // An answer in time reaches the server.
    let asked = client.call("any", &json!({})).await;
    let done = client.call("any", &answers(&asked, &accepted())).await;
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
    assert_eq!(asking.heard().answers, 1);
}

#[tokio::test(start_paused = true)]
async fn of_ten_thousand_calls_the_bound_keeps_so_many_and_refuses_the_rest_clearly() {
    const CALLS: usize = 10_000;
    let asking = Asking::default();
    let gateway = Gateway::open(asking.clone(), options()).await.unwrap();
    let mut client = RawClient::of(gateway.clone());
    let (mut parked, mut refused) = (0, 0);
    // In portions: more than a connection may have waiting is refused by itself.
    for _ in 0..CALLS / 100 {
        for _ in 0..100 {
            client.ask("tools/call", json!({ "name": "any", "arguments": {} })).await;
        }
        for _ in 0..100 {
            let answer = client.hear().await;
            match answer["error"]["message"].as_str() {
                None => parked += 1,
                Some(text) => {
                    assert!(text.contains("1024 calls wait for input already"), "{text}");
                    refused += 1;
                }
            }
        }
    }
    assert_eq!((parked, refused), (1024, CALLS - 1024));
    let (count, bytes) = gateway.parked();
    assert_eq!(count, 1024);
    assert!(bytes <= 64 << 20, "{bytes} bytes");
    // Those that were refused are over at the server too.
    assert_eq!(asking.heard().refusals, CALLS - 1024);
    tokio::time::sleep(Duration::from_secs(601)).await;
    assert_eq!(gateway.parked(), (0, 0), "what has expired takes no memory");
    assert_eq!(asking.heard().cancels, CALLS);
}

#[tokio::test]
async fn a_server_that_breaks_down_ends_its_calls_and_is_connected_again() {
    let asking = Asking::default();
    let gateway = Gateway::open(asking.clone(), options()).await.unwrap();
    let mut client = RawClient::of(gateway.clone());
    let asked = client.call("any", &json!({})).await;
    asking.break_down();
    let ended = client.call("any", &answers(&asked, &accepted())).await;
    let text = ended["error"]["message"].as_str().unwrap();
    assert!(text.contains("asking") && text.contains("it broke down"), "{text}");
    let again = client.call("any", &json!({})).await;
    assert_eq!(again["result"]["resultType"], "input_required", "{again}");
    assert_eq!(asking.heard().connections, 3);
}

#[tokio::test(start_paused = true)]
async fn without_a_free_connection_a_call_waits_and_is_then_refused() {
    let mut options = options();
    options.max_processes = 2;
    let server = server(Revision::NEWEST_HANDSHAKE);
    let gateway = gateway_with(server, Over::Memory, options).await;
    let (mut one, mut two) = (RawClient::of(gateway.clone()), RawClient::of(gateway.clone()));
    // The first connection stays; the other one is this client's as long as it is there.
    let asked = one.call("ask_name", &json!({})).await;
    let refused = two.call("ask_name", &json!({})).await;
    let text = refused["error"]["message"].as_str().unwrap();
    assert!(text.contains("all 2 connections") && text.contains("try again later"), "{text}");
    let done = one.call("ask_name", &answers(&asked, &accepted())).await;
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
    drop(one);
    let next = two.call("ask_name", &json!({})).await;
    assert_eq!(next["result"]["resultType"], "input_required", "{next}");
}
