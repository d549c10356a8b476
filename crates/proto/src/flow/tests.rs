use super::*;
use crate::method::Method;
use crate::peer::Reply;
use crate::revision::Revision;
use crate::rpc::{Json, Limits, Scanned, scan};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use bytes::Bytes;
use core::time::Duration;
use serde_json::{Value, json};
use std::string::ToString;

const SECOND: Duration = Duration::from_secs(1);

fn token(n: u8) -> Token {
    [n; 16]
}

fn limits(count: usize, bytes: usize) -> ParkLimits {
    ParkLimits { count, bytes, lifetime: 10 * SECOND }
}

#[test]
fn a_parked_call_is_taken_once() {
    let mut parked = Parked::new(limits(4, 100));
    parked.park(Duration::ZERO, token(1), 10, "a").unwrap();
    assert_eq!((parked.len(), parked.bytes()), (1, 10));
    assert_eq!(parked.take(&token(2)), None);
    assert_eq!(parked.take(&token(1)), Some("a"));
    assert_eq!(parked.take(&token(1)), None, "a second client finds nothing");
    assert!(parked.is_empty() && parked.bytes() == 0 && parked.poll_timeout().is_none());
}

#[test]
fn count_and_bytes_are_bounded_and_the_call_comes_back() {
    let mut parked = Parked::new(limits(2, 100));
    parked.park(Duration::ZERO, token(1), 60, 'a').unwrap();
    assert_eq!(parked.park(Duration::ZERO, token(2), 41, 'b'), Err((Full::Bytes(100), 'b')));
    parked.park(Duration::ZERO, token(2), 40, 'b').unwrap();
    assert_eq!(parked.park(Duration::ZERO, token(3), 0, 'c'), Err((Full::Count(2), 'c')));
    assert!(parked.take(&token(1)).is_some());
    parked.park(Duration::ZERO, token(3), 60, 'c').unwrap();
    assert_eq!(parked.grow(&token(3), 0), Ok(()));
    assert_eq!(parked.grow(&token(3), 1), Err((Full::Bytes(100), 'c')));
    assert_eq!((parked.len(), parked.bytes()), (1, 40));
    assert_eq!(parked.grow(&token(9), 1000), Ok(()), "nobody is there to grow");
}

#[test]
fn each_waits_for_its_own_time_and_no_longer() {
    let mut parked = Parked::new(limits(9, 100));
    for n in 0..3 {
        parked.park(u32::from(n) * SECOND, token(n), 1, n).unwrap();
    }
    assert_eq!(parked.poll_timeout(), Some(10 * SECOND));
    assert_eq!(parked.expired(9 * SECOND), None);
    assert_eq!(parked.expired(11 * SECOND), Some(0));
    assert_eq!(parked.expired(11 * SECOND), Some(1));
    assert_eq!(parked.expired(11 * SECOND), None);
    assert_eq!(parked.drain().collect::<Vec<_>>(), [2]);
    assert!(parked.is_empty() && parked.bytes() == 0 && parked.poll_timeout().is_none());
}

#[test]
fn the_bound_holds_for_ten_thousand() {
    let mut parked = Parked::new(ParkLimits::default());
    let mut refused = 0;
    for n in 0..10_000u32 {
        let mut token = token(0);
        token[..4].copy_from_slice(&n.to_le_bytes());
        refused += usize::from(parked.park(Duration::ZERO, token, 1000, n).is_err());
    }
    assert_eq!((parked.len(), refused), (1024, 10_000 - 1024));
    let mut gone = 0;
    while parked.expired(ParkLimits::default().lifetime).is_some() {
        gone += 1;
    }
    assert_eq!((gone, parked.len(), parked.bytes()), (1024, 0, 0));
}

#[test]
fn what_is_asked_at_once_is_one_round_and_what_lacks_an_answer_is_asked_again() {
    let mut call = Bridged::<&str, &str>::default();
    assert_eq!(call.step(), Next::Wait);
    call.ask("name?");
    call.ask("age?");
    assert_eq!(call.step(), Next::Round);
    assert_eq!(call.asks().collect::<Vec<_>>(), [("ask_0", &"name?"), ("ask_1", &"age?")]);
    let answers = |of: &[(&str, i32)]| -> BTreeMap<String, i32> {
        of.iter().map(|(key, answer)| (key.to_string(), *answer)).collect()
    };
    let given = call.answered(answers(&[("ask_1", 7), ("other", 1)])).collect::<Vec<_>>();
    assert_eq!(given, [("age?", 7)]);
    assert_eq!(call.step(), Next::Round);
    assert_eq!(call.asks().collect::<Vec<_>>(), [("ask_0", &"name?")]);
    call.retain(|ask| *ask != "name?");
    assert_eq!(call.step(), Next::Wait);
    call.ask("sure?");
    assert_eq!(call.asks().collect::<Vec<_>>(), [("ask_2", &"sure?")], "no name is used twice");
}

#[test]
fn the_end_comes_before_what_is_still_asked_and_once() {
    let mut call = Bridged::<i32, &str>::default();
    call.ask(1);
    call.end("done");
    assert_eq!(call.step(), Next::End("done"));
    assert_eq!(call.step(), Next::Wait);
    call.ask(2);
    assert_eq!(call.give_up().collect::<Vec<_>>(), [2]);
    assert_eq!(call.step(), Next::Wait);
}

fn reply(result: &Value) -> Reply {
    let line = json!({ "jsonrpc": "2.0", "id": 1, "result": result }).to_string();
    let Ok(Scanned::One(message)) = scan(line.into(), Limits::default()) else { panic!() };
    Reply::new(message, Revision::NEWEST).unwrap()
}

#[test]
fn a_round_is_written_and_read_again() {
    let asks: [(&str, &str, &[u8]); 2] =
        [("a\"", "elicitation/create", br#"{"message":"m","n":1.0}"#), ("b", "roots/list", b"{}")];
    let body: Value = serde_json::from_slice(&input_required(asks, "state")).unwrap();
    assert_eq!(body["requestState"], "state");
    let (read, state) = input_asks(&reply(&body)).unwrap();
    assert_eq!(state.unwrap().get(), "\"state\"");
    let keys: Vec<_> = read.iter().map(|ask| (ask.key.as_str(), ask.method)).collect();
    assert_eq!(keys, [("a\"", Method::ElicitationCreate), ("b", Method::RootsList)]);
    assert_eq!(read[0].message.body_bytes(), br#"{"message":"m","n":1.0}"#);
}

#[test]
fn answers_come_by_name_and_become_responses() {
    assert!(input_responses(None).unwrap().is_empty());
    assert!(input_responses(Some(b"[1]")).is_err());
    let mut answers = input_responses(Some(br#"{"k":{"action":"accept","n":1.50}}"#)).unwrap();
    let answer = answers.remove("k").unwrap();
    let reply = as_reply(&answer, Revision::NEWEST).unwrap();
    assert_eq!(reply.message().body_bytes(), br#"{"action":"accept","n":1.50}"#);
    assert!(!reply.is_error() && !reply.is_input_required());
    let odd = Json::parse(Bytes::from_static(b"7"), Limits::default()).unwrap();
    assert!(as_reply(&odd, Revision::NEWEST).is_ok(), "what it means is not judged here");
}
