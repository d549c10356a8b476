//! Which lifecycle a server has, and how a client finds out.

use super::*;
use crate::method::Method;
use crate::revision::Revision;

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

fn modern(result: Value) -> ServerDescription {
    let mut client = Client::new(config());
    let probe = client.take_one();
    client.answer(&probe, result);
    assert!(client.sent.is_empty(), "{:?}", client.sent);
    client.ready()
}

#[test]
fn the_probe_comes_first_and_carries_what_every_request_does() {
    let mut client = Client::new(config());
    let probe = client.take_one();
    assert_eq!(probe["method"], "server/discover");
    let meta = &probe["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], NEW);
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "test-client");
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
    client.answer(&probe, json!({
        "resultType": "complete", "supportedVersions": [NEW, OLD], "ttlMs": 0, "cacheScope": "public",
        "capabilities": { "tools": {}, "prompts": {} }, "instructions": "read this",
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "s", "version": "3" } },
    }));
    let server = client.ready();
    assert_eq!((server.era(), server.revision), (Era::Modern, Revision::NEWEST));
    assert_eq!(server.info.unwrap().name, "s");
    assert_eq!(server.instructions.as_deref(), Some("read this"));
    assert!(server.capabilities.prompts.is_some() && server.capabilities.resources.is_none());
    assert!(client.sent.is_empty(), "a modern server is told nothing more");
}

#[test]
fn every_request_but_the_handshake_is_sent_with_its_revision_beside_it() {
    let mut peer = ClientPeer::new(config());
    let beside = |peer: &mut ClientPeer| {
        let sent = core::iter::from_fn(|| peer.poll_output()).find_map(|output| match output {
            ClientOutput::Send { head, .. } if head.is_request => Some(head),
            _ => None,
        });
        let head = sent.unwrap();
        (head.method, head.revision.map(Revision::date))
    };
    peer.connect(Duration::ZERO, None);
    assert_eq!(beside(&mut peer), (Method::ServerDiscover, Some(NEW)));
    peer.connect(Duration::ZERO, Some(Era::Legacy));
    assert_eq!(beside(&mut peer), (Method::Initialize, None), "it is not agreed on yet");
    let hello = json!({ "jsonrpc": "2.0", "id": 2, "result": initialized("2025-06-18") });
    peer.handle_input(Duration::ZERO, Lane::Connection, hello.to_string().into());
    peer.call(Duration::ZERO, "tools/list", b"", None, CallOptions::default());
    assert_eq!(beside(&mut peer), (Method::ToolsList, Some("2025-06-18")));
}

#[test]
fn d042_whatever_is_missing_or_odd_the_server_stays_modern() {
    let results = include_str!("../../../../../cases/handed/D042/results.jsonl");
    for line in results.lines() {
        let server = modern(serde_json::from_str(line).unwrap());
        assert_eq!(server.revision, Revision::NEWEST, "{line}");
        assert!(server.info.is_none(), "{line}");
    }
}

#[test]
fn any_error_that_is_not_a_modern_one_leads_to_the_handshake() {
    for code in [-32601, -32602, -32600, -32603, -32700, -32000, -32002, 0, 404] {
        let mut client = Client::new(config());
        let probe = client.take_one();
        client.fail(&probe, code);
        let hello = client.take_one();
        assert_eq!(hello["method"], "initialize", "{code}");
        assert_eq!(hello["params"]["protocolVersion"], OLD);
        assert_eq!(hello["params"]["clientInfo"]["name"], "test-client");
        assert!(hello["params"].get("_meta").is_none(), "no session has this metadata");
        client.answer(&hello, initialized(OLD));
        assert_eq!(client.ready().era(), Era::Legacy);
        assert_eq!(client.take_one()["method"], "notifications/initialized");
    }
}

#[test]
fn silence_leads_to_the_handshake_within_the_time_for_connecting() {
    let mut client = Client::new(config());
    client.take_one();
    client.pass(SECOND * 2);
    assert!(client.sent.is_empty());
    client.pass(SECOND);
    let hello = client.take_one();
    assert_eq!(hello["method"], "initialize");
    client.pass(SECOND * 6);
    assert!(client.heard.is_empty());
    client.pass(SECOND);
    assert!(matches!(client.failed(), CallError::Timeout(_)));
    assert!(client.sent.is_empty(), "an initialize is never cancelled");
}

#[test]
fn results_that_are_no_discovery_lead_to_the_handshake() {
    let nonsense = [
        json!({}),
        json!({ "ok": true }),
        json!("pong"),
        json!(null),
        json!({ "supportedVersions": "2026-07-28" }),
        json!({ "resultType": "input_required", "requestState": "x" }),
    ];
    for result in nonsense {
        let mut client = Client::new(config());
        let probe = client.take_one();
        client.answer(&probe, result.clone());
        assert_eq!(client.take_one()["method"], "initialize", "{result}");
    }
}

#[test]
fn a_server_that_lists_only_sessions_gets_the_handshake() {
    let mut client = Client::new(config());
    let probe = client.take_one();
    client.answer(&probe, json!({ "supportedVersions": [OLD], "capabilities": {} }));
    assert_eq!(client.take_one()["method"], "initialize");
}

#[test]
fn a_server_without_a_common_revision_is_told_apart() {
    let mut client = Client::new(config());
    let probe = client.take_one();
    client.answer(&probe, json!({ "supportedVersions": ["1900-01-01"], "capabilities": {} }));
    let text = client.failed().to_string();
    assert!(text.contains("1900-01-01") && text.contains(NEW), "{text}");
    assert!(client.sent.is_empty(), "a modern server is not sent an initialize");
}

#[test]
fn of_the_revisions_of_a_server_ten_are_named_and_that_there_are_more() {
    for (count, more) in [(0, false), (10, false), (11, true), (10_000, true)] {
        let mut client = Client::new(config());
        let probe = client.take_one();
        let versions: Vec<String> = (0..count).map(|n| format!("v{n}")).collect();
        client.answer(&probe, json!({ "supportedVersions": versions, "capabilities": {} }));
        let text = client.failed().to_string();
        assert_eq!(text.contains('…'), more, "{text}");
        assert!(text.contains("v9") == (count > 9) && !text.contains("v10"), "{text}");
    }
}

fn unsupported(supported: Value) -> Value {
    json!({ "code": -32022, "message": "no", "data": { "supported": supported } })
}

#[test]
fn an_unsupported_version_is_settled_by_what_the_server_supports() {
    // Only sessions.
    let mut client = Client::new(config());
    let probe = client.take_one();
    client.fail_with(&probe, unsupported(json!([OLD])));
    assert_eq!(client.take_one()["method"], "initialize");

    // Nothing of ours.
    let mut client = Client::new(config());
    let probe = client.take_one();
    client.fail_with(&probe, unsupported(json!(["1900-01-01"])));
    assert!(client.failed().to_string().contains("1900-01-01"));
    assert!(client.sent.is_empty());

    // What it has just refused: once more, and no further.
    let mut client = Client::new(config());
    let probe = client.take_one();
    client.fail_with(&probe, unsupported(json!([NEW])));
    let probe = client.take_one();
    assert_eq!(probe["method"], "server/discover");
    client.fail_with(&probe, unsupported(json!([NEW])));
    assert!(matches!(client.failed(), CallError::Rpc(error) if error.code == -32022));
    assert!(client.sent.is_empty(), "the same is not asked a third time");
}

#[test]
fn other_modern_errors_are_no_reason_for_a_handshake() {
    for error in [
        json!({ "code": -32021, "message": "no", "data": { "requiredCapabilities": {} } }),
        json!({ "code": -32020, "message": "no" }),
        json!({ "code": -32022, "message": "no list" }),
    ] {
        let mut client = Client::new(config());
        let probe = client.take_one();
        client.fail_with(&probe, error.clone());
        assert!(matches!(client.failed(), CallError::Rpc(_)), "{error}");
        assert!(client.sent.is_empty());
    }
}

#[test]
fn two_sides_that_send_each_other_back_and_forth_come_to_an_end() {
    let mut client = Client::new(config());
    let mut requests = 0;
    while let Some(request) = client.sent.pop() {
        requests += 1;
        let other = if request["method"] == "initialize" { NEW } else { OLD };
        client.fail_with(&request, unsupported(json!([other])));
    }
    assert_eq!(requests, 4);
    assert!(matches!(client.failed(), CallError::Rpc(error) if error.code == -32022));
}

#[test]
fn a_modern_server_that_is_slow_to_start_is_not_mistaken() {
    let discovery = json!({ "supportedVersions": [NEW], "capabilities": {} });
    // It answers in order: the probe late, then the handshake with an error.
    let mut client = Client::new(config());
    let probe = client.take_one();
    client.pass(SECOND * 3);
    let hello = client.take_one();
    client.answer(&probe, discovery.clone());
    assert!(client.heard.is_empty(), "the handshake is under way: {:?}", client.heard);
    client.fail(&hello, -32601);
    assert_eq!(client.ready().era(), Era::Modern);
    let (_, request) = client.call("tools/list", json!({}), CallOptions::default());
    assert_eq!(request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], NEW);

    // It never answers an initialize.
    let mut client = Client::new(config());
    let probe = client.take_one();
    client.pass(SECOND * 3);
    client.answer(&probe, discovery.clone());
    client.pass(SECOND * 7);
    assert_eq!(client.ready().era(), Era::Modern);

    // It answers out of order: the handshake's error first, the probe never.
    let mut client = Client::new(config());
    client.take_one();
    client.pass(SECOND * 3);
    let hello = client.take_one();
    client.fail(&hello, -32602);
    let again = client.take_one();
    assert_eq!(again["method"], "server/discover");
    client.answer(&again, discovery);
    assert_eq!(client.ready().era(), Era::Modern);
}

#[test]
fn a_server_of_both_eras_that_is_slow_to_start_keeps_its_session() {
    let mut client = Client::new(config());
    let probe = client.take_one();
    client.pass(SECOND * 3);
    let hello = client.take_one();
    client.answer(&probe, json!({ "supportedVersions": [NEW, OLD], "capabilities": {} }));
    client.answer(&hello, initialized(OLD));
    assert_eq!(client.ready().era(), Era::Legacy);
}

#[test]
fn an_answer_to_a_forgotten_probe_means_nothing_once_open() {
    let mut client = Client::new(config());
    let probe = client.take_one();
    client.pass(SECOND * 3);
    let hello = client.take_one();
    client.answer(&hello, initialized(OLD));
    client.ready();
    assert!(matches!(client.heard.pop(), Some(ClientOutput::Abandon(_))), "its stream may close");
    client.answer(&probe, json!({ "supportedVersions": [NEW], "capabilities": {} }));
    assert!(matches!(client.heard.pop(), Some(ClientOutput::Ignored { noise: false, .. })));
    assert_eq!(client.peer.revision(), Revision::NEWEST_HANDSHAKE);
}

#[test]
fn versions_are_negotiated_down_and_unknown_ones_end_it() {
    let mut client = Client::connected(OLD);
    assert_eq!(client.peer.revision().date(), OLD);
    let (_, request) = client.call("tools/list", json!({}), CallOptions::default());
    let meta = request["params"]["_meta"].as_object().unwrap();
    assert_eq!(meta.keys().collect::<Vec<_>>(), ["progressToken"]);

    for version in ["1900-01-01", NEW] {
        let mut client = Client::new(config());
        let probe = client.take_one();
        client.fail(&probe, -32601);
        let hello = client.take_one();
        client.answer(&hello, initialized(version));
        assert!(client.failed().to_string().contains(version));
        assert!(client.sent.is_empty(), "no initialized for a revision that is not spoken");
    }
}

#[test]
fn what_is_known_of_the_server_saves_the_probe() {
    let mut legacy = config();
    legacy.era = Some(Era::Legacy);
    let mut client = Client::new(legacy);
    let hello = client.take_one();
    assert_eq!(hello["method"], "initialize");
    // The server has been replaced by a modern one since.
    client.fail(&hello, -32601);
    let probe = client.take_one();
    assert_eq!(probe["method"], "server/discover");
    client.answer(&probe, json!({ "supportedVersions": [NEW], "capabilities": {} }));
    assert_eq!(client.ready().era(), Era::Modern);

    let mut modern = config();
    modern.era = Some(Era::Modern);
    let mut client = Client::new(modern);
    client.take_one();
    client.pass(SECOND * 4);
    assert!(client.sent.is_empty(), "a modern server is given more time than an unknown one");
}

#[test]
fn a_wrong_memory_of_a_modern_server_leads_to_the_handshake() {
    let remembered = || {
        let mut config = config();
        config.era = Some(Era::Modern);
        let mut client = Client::new(config);
        let probe = client.take_one();
        (client, probe)
    };
    let (mut refused, probe) = remembered();
    refused.fail(&probe, -32601);
    let (mut silent, _) = remembered();
    silent.pass(SECOND * 5);
    for mut client in [refused, silent] {
        let hello = client.take_one();
        assert_eq!(hello["method"], "initialize");
        client.answer(&hello, initialized(OLD));
        assert!(client.heard.iter().any(|out| matches!(out, ClientOutput::Ready(_))));
    }
}

fn legacy_by_memory() -> (Client, Value) {
    let mut config = config();
    config.era = Some(Era::Legacy);
    let mut client = Client::new(config);
    let hello = client.take_one();
    assert_eq!(hello["method"], "initialize");
    (client, hello)
}

#[test]
fn f17_silence_on_a_handshake_by_memory_leads_to_the_probe_in_the_same_time() {
    let (mut client, _) = legacy_by_memory();
    client.pass(SECOND * 4);
    assert!(client.sent.is_empty());
    client.pass(SECOND);
    let probe = client.take_one();
    assert_eq!(probe["method"], "server/discover");
    client.answer(&probe, json!({ "supportedVersions": [NEW], "capabilities": {} }));
    assert_eq!(client.ready().era(), Era::Modern);

    let (mut silent, _) = legacy_by_memory();
    silent.pass(SECOND * 5);
    silent.take_one();
    silent.pass(SECOND * 5);
    assert!(matches!(silent.failed(), CallError::Timeout(waited) if waited == SECOND * 10));
    assert!(silent.sent.is_empty());
}

#[test]
fn f17_a_server_that_is_only_slow_may_answer_the_handshake_after_the_probe_was_sent() {
    let (mut client, hello) = legacy_by_memory();
    client.pass(SECOND * 5);
    let probe = client.take_one();
    client.answer(&hello, initialized(OLD));
    assert_eq!(client.take_one()["method"], "notifications/initialized");
    assert_eq!(client.ready().era(), Era::Legacy);
    client.fail(&probe, -32601);
    assert!(client.sent.is_empty());
    assert!(matches!(client.heard.pop(), Some(ClientOutput::Ignored { noise: false, .. })));
    client.pass(SECOND * 20);
    assert!(client.heard.is_empty(), "the probe is not waited for any more");

    // One that refuses it late is a modern one, whose answer to the probe follows.
    let (mut client, hello) = legacy_by_memory();
    client.pass(SECOND * 5);
    let probe = client.take_one();
    client.fail(&hello, -32601);
    client.answer(&probe, json!({ "supportedVersions": [NEW], "capabilities": {} }));
    assert_eq!(client.ready().era(), Era::Modern);
}

#[test]
fn f11_opening_takes_longer_for_as_long_as_somebody_says_so_and_within_bounds() {
    let mut config = config();
    config.max_connect_timeout = SECOND * 14;
    let mut client = Client::new(config);
    client.take_one();
    assert!(!client.peer.extend_opening(client.now), "it is not about to fail");
    client.pass(SECOND * 3);
    client.take_one();
    client.now = SECOND * 10;
    assert!(client.peer.extend_opening(client.now));
    client.pass(SECOND * 2);
    assert!(client.heard.is_empty());
    client.now = SECOND * 10 + SECOND * 5 / 2;
    assert!(client.peer.extend_opening(client.now));
    client.now = SECOND * 14;
    assert!(!client.peer.extend_opening(client.now), "no longer than that");
    client.pass(Duration::ZERO);
    assert!(matches!(client.failed(), CallError::Timeout(waited) if waited == SECOND * 14));

    // What it is extended for is the answer.
    let mut client = Client::new(self::config());
    client.take_one();
    client.pass(SECOND * 3);
    let late = client.take_one();
    client.now = SECOND * 10;
    assert!(client.peer.extend_opening(client.now));
    client.answer(&late, initialized(OLD));
    assert_eq!(client.ready().era(), Era::Legacy);
}

fn pinned(revision: Revision) -> Client {
    let mut config = config();
    config.revision = Some(revision);
    // The pin is stronger than any memory.
    config.era = Some(if revision.is_legacy() { Era::Modern } else { Era::Legacy });
    Client::new(config)
}

#[test]
fn a_pinned_revision_is_the_only_one_offered_and_accepted() {
    for &revision in Revision::ALL {
        let mut client = pinned(revision);
        let first = client.take_one();
        if revision.is_legacy() {
            assert_eq!(first["method"], "initialize", "{revision}");
            assert_eq!(first["params"]["protocolVersion"], revision.date());
            client.answer(&first, initialized(revision.date()));
        } else {
            assert_eq!(first["method"], "server/discover", "{revision}");
            let both = json!({ "supportedVersions": [OLD, revision.date()], "capabilities": {} });
            client.answer(&first, both);
        }
        assert_eq!(client.ready().revision, revision);
    }
    for &revision in Revision::ALL.iter().filter(|revision| revision.is_legacy()) {
        let other = if revision.date() == OLD { "2025-06-18" } else { OLD };
        let mut client = pinned(revision);
        let hello = client.take_one();
        client.answer(&hello, initialized(other));
        let text = client.failed().to_string();
        assert!(text.contains(other) && text.contains(revision.date()), "{text}");
        // Nor is a modern server looked for.
        let mut client = pinned(revision);
        let hello = client.take_one();
        client.fail(&hello, -32601);
        assert!(matches!(client.failed(), CallError::Rpc(_)));
        assert!(client.sent.is_empty());
    }
}

#[test]
fn a_pinned_modern_revision_never_leads_to_the_handshake() {
    let sessions = json!({ "supportedVersions": [OLD], "capabilities": {} });
    let mut client = pinned(Revision::NEWEST);
    let probe = client.take_one();
    client.answer(&probe, sessions);
    assert!(client.failed().to_string().contains(OLD));
    let mut client = pinned(Revision::NEWEST);
    let probe = client.take_one();
    client.fail_with(&probe, unsupported(json!([OLD])));
    assert!(client.failed().to_string().contains(OLD));
    let mut client = pinned(Revision::NEWEST);
    let probe = client.take_one();
    client.fail(&probe, -32601);
    assert!(matches!(client.failed(), CallError::Rpc(error) if error.code == -32601));
    let mut client = pinned(Revision::NEWEST);
    client.take_one();
    client.pass(SECOND * 9);
    assert!(client.sent.is_empty() && client.heard.is_empty(), "it is given all the time there is");
    client.pass(SECOND);
    assert!(matches!(client.failed(), CallError::Timeout(_)));
}

#[test]
fn http_decides_by_its_verdict_and_never_falls_back_on_a_network_error() {
    let status = |status, fall_back| LaneEnd::Status {
        status,
        challenge: None,
        body: String::new(),
        fall_back,
    };
    for (end, falls_back) in [
        (status(400, true), true),
        (status(404, true), true),
        (status(401, false), false),
        (status(500, false), false),
        (LaneEnd::Lost("reset".into()), false),
    ] {
        let mut client = Client::new(config());
        client.take_one();
        client.peer.handle_lane_end(client.now, client.lane, end.clone());
        client.drain();
        if falls_back {
            assert_eq!(client.take_one()["method"], "initialize", "{end}");
        } else {
            assert!(matches!(client.failed(), CallError::Exchange(e) if e == end));
        }
    }
}

#[test]
fn a_connection_that_ends_while_opening_fails_once() {
    let mut client = Client::new(config());
    client.peer.handle_closed("exit status 3");
    client.peer.handle_closed("again");
    client.drain();
    assert!(matches!(client.failed(), CallError::Closed(how) if how == "exit status 3"));
    assert!(client.heard.is_empty());
    assert_eq!(client.peer.poll_timeout(), None);
}
