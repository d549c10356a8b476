//! Calls from one engine to the other, in both lifecycles.

use super::pair::Pair;
use super::*;
use crate::types::LogLevel;

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

#[test]
fn calls_are_answered_in_any_order() {
    for era in ERAS {
        let mut pair = Pair::open(era);
        let ids: Vec<u64> =
            (0..5).map(|n| pair.call("tools/call", &json!({ "name": "x", "n": n }))).collect();
        pair.drive();
        let calls: Vec<CallKey> = pair.calls.iter().map(|call| call.key).collect();
        for (n, key) in calls.into_iter().enumerate().rev() {
            pair.respond(key, &json!({ "content": [{ "type": "text", "text": n.to_string() }] }));
        }
        for (n, id) in ids.into_iter().enumerate() {
            let result = pair.resolved(id).unwrap().unwrap();
            assert_eq!(result["content"][0]["text"], n.to_string());
            assert_eq!(result["resultType"], "complete", "the newest shape in {era:?}");
        }
        assert!(pair.heard.is_empty() && pair.client.poll_timeout().is_some());
        pair.pass(SECOND * 100);
        assert_eq!(pair.client.poll_timeout(), None, "nothing is left to wait for");
    }
}

#[test]
fn progress_and_logs_come_before_the_answer() {
    for era in ERAS {
        let mut pair = Pair::open(era);
        let id = pair.call(
            "tools/call",
            &json!({ "name": "x", "_meta":
            { "io.modelcontextprotocol/logLevel": "debug" } }),
        );
        pair.drive();
        let key = pair.calls[0].key;
        assert!(pair.calls[0].wants_progress);
        pair.server.progress(key, 1.0, Some(2.0), Some("half"));
        pair.server.log(key, LogLevel::Error, None, br#""oh""#);
        pair.respond(key, &json!({ "content": [] }));
        let kinds: Vec<&str> = pair
            .heard
            .iter()
            .map(|output| match output {
                ClientOutput::Progress(of, p) if *of == id && p.total == Some(2.0) => "progress",
                ClientOutput::Log(_) => "log",
                ClientOutput::Resolved(of, Ok(_)) if *of == id => "result",
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(kinds, ["progress", "log", "result"]);
    }
}

#[test]
fn giving_up_a_call_reaches_the_application() {
    for era in ERAS {
        let mut pair = Pair::open(era);
        let id = pair.call("tools/call", &json!({ "name": "x" }));
        pair.drive();
        pair.client.cancel(id, "no longer needed");
        pair.drive();
        let key = pair.calls[0].key;
        assert_eq!(pair.cancelled, [key]);
        pair.log.clear();
        pair.respond(key, &json!({ "content": [] }));
        assert!(pair.log.is_empty(), "{:?}", pair.log);
        assert!(pair.heard.iter().all(|output| matches!(output, ClientOutput::Abandon(_))));
    }
}

#[test]
fn a_call_that_times_out_is_cancelled_on_the_other_side() {
    for era in ERAS {
        let mut pair = Pair::open(era);
        let id = pair.call("tools/call", &json!({ "name": "x" }));
        pair.drive();
        pair.pass(SECOND * 59);
        assert!(pair.cancelled.is_empty());
        pair.pass(SECOND);
        assert!(matches!(pair.resolved(id), Some(Err(CallError::Timeout(_)))));
        assert_eq!(pair.cancelled.len(), 1);
    }
}

#[test]
fn a_thousand_calls_leave_nothing_behind() {
    for era in ERAS {
        let mut pair = Pair::open(era);
        for _ in 0..1000 {
            let id = pair.call("tools/list", &json!({}));
            pair.drive();
            let key = pair.calls.pop().unwrap().key;
            pair.respond(key, &json!({ "tools": [], "ttlMs": 0, "cacheScope": "private" }));
            assert!(pair.resolved(id).unwrap().is_ok());
        }
        assert!(pair.heard.is_empty() && pair.cancelled.is_empty());
        assert_eq!((pair.server.in_flight(), pair.server.slots()), (0, 1));
    }
}

#[test]
fn a_closed_connection_ends_every_call_once() {
    let mut pair = Pair::open(Era::Modern);
    let ids: Vec<u64> = (0..3).map(|_| pair.call("tools/call", &json!({ "name": "x" }))).collect();
    pair.drive();
    pair.client.handle_closed("gone");
    pair.drive();
    for id in ids {
        assert!(matches!(pair.resolved(id), Some(Err(CallError::Closed(_)))));
    }
    assert!(pair.heard.is_empty());
}
