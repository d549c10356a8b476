//! Requests of the server's own.

use super::pair::Pair;
use super::*;
use crate::method::Method;
use crate::types::RpcError;

const OFFERS: &str = r#"{"elicitation":{},"roots":{}}"#;
const ASK: &[u8] = br#"{"message":"m","requestedSchema":{"type":"object"}}"#;

fn calling(era: Era) -> (Pair, CallKey) {
    let mut pair = Pair::with_capabilities(era, OFFERS);
    pair.call("tools/call", &json!({ "name": "a" }));
    pair.drive();
    let key = pair.calls[0].key;
    (pair, key)
}

#[test]
fn a_session_carries_a_question_and_its_answer() {
    let (mut pair, key) = calling(Era::Legacy);
    assert_eq!(pair.calls[0].client_capabilities.as_deref(), Some(OFFERS));
    let ask = pair.server.ask(key, Method::ElicitationCreate, ASK).unwrap();
    pair.drive();
    let Some(ClientOutput::Request { id, method, params }) = pair.heard.pop() else {
        panic!("{:?}", pair.heard)
    };
    assert_eq!((method, params.as_bytes()), (Method::ElicitationCreate, ASK));
    pair.client.respond(pair.now, &id, Ok(br#"{"action":"decline"}"#.to_vec()));
    pair.drive();
    let (of, answer) = pair.answered.pop().unwrap();
    assert_eq!((of, answer.unwrap().as_bytes()), (ask, &br#"{"action":"decline"}"#[..]));
    // A second answer meets no question.
    pair.client.respond(pair.now, &id, Ok(b"{}".to_vec()));
    pair.drive();
    assert!(pair.answered.is_empty());
}

#[test]
fn a_call_waits_for_the_answer_of_a_person_but_not_forever() {
    let options = CallOptions::default();
    let asked = |pair: &mut Pair, key| {
        pair.server.ask(key, Method::ElicitationCreate, ASK).unwrap();
        pair.drive();
        let Some(ClientOutput::Request { id, .. }) = pair.heard.pop() else {
            panic!("{:?}", pair.heard)
        };
        id
    };
    let is_over = |pair: &Pair| {
        let timeout =
            |o: &ClientOutput| matches!(o, ClientOutput::Resolved(_, Err(CallError::Timeout(_))));
        pair.heard.iter().any(timeout)
    };
    let (mut pair, key) = calling(Era::Legacy);
    let id = asked(&mut pair, key);
    pair.pass(options.timeout * 2 - Duration::from_secs(1));
    assert!(!is_over(&pair));
    pair.client.respond(pair.now, &id, Ok(br#"{"action":"decline"}"#.to_vec()));
    // From here on it is the server's turn, with all its time.
    pair.pass(options.timeout - Duration::from_secs(1));
    assert!(!is_over(&pair));
    pair.pass(Duration::from_secs(1));
    assert!(is_over(&pair));

    let (mut pair, key) = calling(Era::Legacy);
    asked(&mut pair, key);
    while pair.now < options.max_total {
        assert!(!is_over(&pair));
        pair.pass(options.timeout / 2);
    }
    assert!(is_over(&pair));
}

#[test]
fn f48_questions_that_answer_themselves_do_not_stop_the_clock_and_have_an_end() {
    let options = CallOptions::default();
    let (mut pair, key) = calling(Era::Legacy);
    let mut asked = 0;
    let mut refused = 0;
    while !pair.heard.iter().any(|output| matches!(output, ClientOutput::Resolved(..))) {
        assert!(pair.now <= options.timeout, "the clock stands still");
        // The call may have ended meanwhile.
        if pair.server.ask(key, Method::ElicitationCreate, ASK).is_err() {
            break;
        }
        pair.drive();
        if let Some(ClientOutput::Request { id, .. }) = pair.heard.pop() {
            asked += 1;
            pair.client.respond(pair.now, &id, Ok(br#"{"action":"cancel"}"#.to_vec()));
            pair.drive();
        }
        if let Some((_, Err(error))) = pair.answered.pop() {
            assert_eq!(error.code, RpcError::INVALID_REQUEST);
            refused += 1;
        }
        pair.pass(Duration::from_millis(100));
    }
    assert_eq!(asked, 100);
    assert!(refused > 100, "{refused}");
    assert_eq!(pair.now, options.timeout);
}

#[test]
fn what_the_client_does_not_offer_is_refused() {
    let (mut pair, key) = calling(Era::Legacy);
    let ask = pair.server.ask(key, Method::SamplingCreateMessage, b"{}").unwrap();
    pair.drive();
    let (of, answer) = pair.answered.pop().unwrap();
    assert_eq!((of, answer.unwrap_err().code), (ask, RpcError::METHOD_NOT_FOUND));
}

#[test]
fn a_request_without_a_session_has_no_questions_of_this_kind() {
    let (mut pair, key) = calling(Era::Modern);
    assert!(pair.calls[0].client_capabilities.is_none(), "its _meta says it");
    assert!(pair.server.ask(key, Method::RootsList, b"{}").is_err());
    let body = br#"{"requestState":"s"}"#.to_vec();
    pair.server.respond(key, Outcome::InputRequired(body));
    pair.drive();
    let Some(ClientOutput::Resolved(_, Err(CallError::InputRequired(asked)))) = pair.heard.pop()
    else {
        panic!("{:?}", pair.heard)
    };
    assert_eq!(asked.state.unwrap().get(), "\"s\"");
}

#[test]
fn the_end_of_a_call_is_the_end_of_its_questions() {
    let (mut pair, key) = calling(Era::Legacy);
    pair.server.ask(key, Method::RootsList, b"{}").unwrap();
    pair.drive();
    pair.respond(key, &json!({ "content": [] }));
    pair.drive();
    let cancelled = |o: &ClientOutput| matches!(o, ClientOutput::RequestCancelled(_));
    assert!(pair.heard.iter().any(cancelled), "{:?}", pair.heard);
    assert!(pair.server.ask(key, Method::RootsList, b"{}").is_err(), "the call has ended");
}

#[test]
fn a_client_that_passes_on_refuses_what_its_own_clients_did_not_offer() {
    let mut config = config();
    config.forwarding = true;
    config.capabilities = OFFERS.into();
    for (revision, method, passes) in [
        ("2025-11-25", "elicitation/create", true),
        ("2025-11-25", "sampling/createMessage", false),
        // Without a session nothing is asked by requests.
        ("2026-07-28", "elicitation/create", false),
        ("2026-07-28", "sampling/createMessage", false),
    ] {
        let mut client = Client::connected_as(config.clone(), revision);
        let ask = json!({ "jsonrpc": "2.0", "id": "q", "method": method, "params": {} });
        client.say(&ask.to_string());
        let asked = |output: &ClientOutput| matches!(output, ClientOutput::Asked { .. });
        assert_eq!(client.heard.iter().any(asked), passes, "{method} in {revision}");
        let refused = client.sent.iter().any(|sent| sent["error"]["code"] == -32601);
        assert_eq!(refused, !passes, "{method} in {revision}");
    }
}
