//! Sessions.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use carrick::transport::http::HttpServerOptions;
use carrick::{Context, Server, State, tool, tools};
use tokio::sync::Notify;

use crate::raw::*;

fn initialize(version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"t","version":"0"}}}}}}"#
    )
}

pub(crate) fn call(id: u32, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{"progressToken":{id}}}}}}}"#
    )
}

/// Opens a session and returns the header that names it.
pub(crate) async fn open(address: SocketAddr) -> String {
    open_in(address, LEGACY).await
}

/// The same in another revision.
async fn open_in(address: SocketAddr, version: &str) -> String {
    let answer = exchange(address, request("POST", address, &[], &initialize(version))).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["result"]["protocolVersion"], version);
    let id = &answer.headers["mcp-session-id"];
    assert!(id.len() >= 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let session = format!("Mcp-Session-Id: {id}");
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let answer = exchange(address, request("POST", address, &[&session], ready)).await;
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
    session
}

#[tokio::test]
async fn a_session_from_initialize_to_delete() {
    let server = start_fixture().await;
    let address = server.address;
    let session = open(address).await;
    let version = format!("MCP-Protocol-Version: {LEGACY}");
    let headers = [session.as_str(), version.as_str()];
    let echo = request("POST", address, &headers, &call(1, "echo", r#"{"t":"hi"}"#));
    let answer = exchange(address, &echo).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["result"]["content"][0]["text"], "hi");
    assert!(
        answer.json()["result"].get("resultType").is_none(),
        "D044: only fields of its revision"
    );
    assert!(!answer.headers.contains_key("mcp-session-id"));

    let delete = request("DELETE", address, &headers, "");
    assert_eq!(exchange(address, &delete).await.status, 204);
    assert_eq!(exchange(address, &delete).await.status, 404);
    assert_eq!(exchange(address, &echo).await.status, 404);
}

#[tokio::test]
async fn d002_a_batch_is_answered_in_one_body_where_there_are_batches() {
    let server = start_fixture().await;
    let address = server.address;
    let lines: Vec<&str> = handed!("D002/in.jsonl").lines().collect();
    let session = open_in(address, "2025-03-26").await;
    let post = |session: String, body: String| async move {
        exchange(address, request("POST", address, &[&session], &body)).await
    };
    let answer = post(session.clone(), lines[0].into()).await;
    assert_eq!(answer.status, 200);
    let array = answer.json();
    assert_eq!(array[0], serde_json::json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    assert!(array[1]["result"]["tools"].is_array(), "{array}");
    assert_eq!(array.as_array().unwrap().len(), 2);
    assert_eq!(post(session.clone(), lines[1].into()).await.error_code(), -32600);
    let answer = post(session.clone(), lines[2].into()).await;
    assert_eq!(answer.json()[0]["error"]["code"], -32600);
    let ready = r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#;
    let answer = post(session.clone(), ready.into()).await;
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
    // Quick and slow calls side by side, and one answer for both.
    let calls = format!("[{},{}]", call(3, "sleep_ms", r#"{"ms":5}"#), call(4, "noargs", "{}"));
    let answer = post(session, calls).await;
    let array = answer.json();
    let mut ids: Vec<_> = array.as_array().unwrap().iter().map(|one| &one["id"]).collect();
    ids.sort_by_key(|id| id.as_u64());
    assert_eq!(ids, [3, 4]);

    let session = open(address).await;
    for line in lines {
        let answer = post(session.clone(), line.into()).await;
        assert_eq!((answer.status, answer.error_code()), (400, -32600));
    }
}

#[tokio::test]
async fn d027_a_message_needs_its_session() {
    let server = start_fixture().await;
    let address = server.address;
    let list = r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#;
    let answer = exchange(address, request("POST", address, &[], list)).await;
    assert_eq!((answer.status, &answer.json()["id"]), (400, &5.into()));
    for verb in ["GET", "DELETE"] {
        let accept = ["Accept: text/event-stream"];
        assert_eq!(exchange(address, request(verb, address, &accept, "")).await.status, 400);
    }
    let unknown = ["Mcp-Session-Id: 0123456789abcdef0123456789abcdef"];
    assert_eq!(exchange(address, request("POST", address, &unknown, list)).await.status, 404);
    let put = exchange(address, request("PUT", address, &[], "")).await;
    assert_eq!((put.status, put.headers["allow"].as_str()), (405, "POST, GET, DELETE"));
}

#[tokio::test]
async fn d022_initialize_may_not_contradict_its_header() {
    let server = start_fixture().await;
    let post = |header: &str| {
        let post = request("POST", server.address, &[header], &initialize(LEGACY));
        exchange(server.address, post)
    };
    let answer = post("MCP-Protocol-Version: 2025-06-18").await;
    assert_eq!(answer.status, 400);
    assert!(!answer.headers.contains_key("mcp-session-id"));
    let agreeing = post(&format!("MCP-Protocol-Version: {LEGACY}")).await;
    assert_eq!(agreeing.status, 200);
    assert!(agreeing.headers.contains_key("mcp-session-id"), "a session would have been seen");
}

#[tokio::test]
async fn an_unknown_revision_in_the_header_is_refused() {
    let server = start_fixture().await;
    let session = open(server.address).await;
    let list = r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#;
    let headers = [session.as_str(), "MCP-Protocol-Version: 1999-01-01"];
    let answer = exchange(server.address, request("POST", server.address, &headers, list)).await;
    assert_eq!(answer.status, 400);
}

#[tokio::test]
async fn d036_abandoned_handshakes_leave_nothing() {
    let mut options = HttpServerOptions::default();
    options.max_sessions = 2;
    let server = start(carrick_testkit::fixture::server(), options.clone()).await;
    let post = request("POST", server.address, &[], &initialize(LEGACY));
    for _ in 0..20 {
        assert_eq!(exchange(server.address, &post).await.status, 200);
    }

    options.session_half_open = Duration::ZERO;
    let server = start(carrick_testkit::fixture::server(), options).await;
    let post = request("POST", server.address, &[], &initialize(LEGACY));
    for _ in 0..20 {
        assert_eq!(exchange(server.address, &post).await.status, 200);
    }
}

#[tokio::test]
async fn f25_the_session_that_is_idle_for_longest_makes_room() {
    let mut options = HttpServerOptions::default();
    options.max_sessions = 3;
    let server = start(carrick_testkit::fixture::server(), options).await;
    let address = server.address;
    let list = r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#;
    let status = async |session: &str| {
        exchange(address, request("POST", address, &[session], list)).await.status
    };
    let streaming = open(address).await;
    let mut stream = Wire::open(address).await;
    let headers = [streaming.as_str(), "Accept: text/event-stream"];
    stream.write(request("GET", address, &headers, "")).await;
    assert!(stream.event_of_answer().await);
    let oldest = open(address).await;
    // The clock of sessions has milliseconds.
    tokio::time::sleep(Duration::from_millis(3)).await;
    let newer = open(address).await;
    let newest = open(address).await;
    assert_eq!(status(&oldest).await, 404);
    for session in [&streaming, &newer, &newest] {
        assert_eq!(status(session).await, 200);
    }
}

#[tokio::test]
async fn f25_sessions_in_use_make_no_room() {
    let mut options = HttpServerOptions::default();
    options.max_sessions = 1;
    let server = start(carrick_testkit::fixture::server(), options).await;
    let address = server.address;
    let session = open(address).await;
    let mut stream = Wire::open(address).await;
    stream.write(request("GET", address, &[&session, "Accept: text/event-stream"], "")).await;
    assert!(stream.event_of_answer().await);
    let hello = request("POST", address, &[], &initialize(LEGACY));
    let refused = exchange(address, &hello).await;
    assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (503, "5"));
    assert!(refused.body.contains("max_sessions"), "{refused:?}");
}

#[tokio::test]
async fn f26_a_session_has_one_revision() {
    let server = start_fixture().await;
    let address = server.address;
    let session = open_in(address, "2025-06-18").await;
    let list = r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#;
    for (version, status) in
        [("2025-06-18", 200), ("2025-03-26", 400), (LEGACY, 400), (VERSION, 400), ("x", 400)]
    {
        let version = format!("MCP-Protocol-Version: {version}");
        let headers = [session.as_str(), version.as_str(), "Accept: text/event-stream"];
        let post = request("POST", address, &headers[..2], list);
        assert_eq!(exchange(address, post).await.status, status, "{version}");
        if status != 200 {
            for verb in ["GET", "DELETE"] {
                let answer = exchange(address, request(verb, address, &headers, "")).await;
                assert_eq!(answer.status, 400, "{verb} {version}");
            }
        }
    }
    let twice = ["MCP-Protocol-Version: 2025-06-18"; 2];
    let post = request("POST", address, &[&session, twice[0], twice[1]], list);
    assert_eq!(exchange(address, post).await.status, 400);
}

#[tokio::test]
async fn d037_a_failed_handshake_has_no_session_id() {
    let server = start_fixture().await;
    let body = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
    let answer = exchange(server.address, request("POST", server.address, &[], body)).await;
    assert_eq!(answer.error_code(), -32602);
    assert!(!answer.headers.contains_key("mcp-session-id"));
}

#[tokio::test]
async fn d043_a_second_handshake_is_refused() {
    let server = start_fixture().await;
    let session = open(server.address).await;
    let again = request("POST", server.address, &[&session], &initialize(LEGACY));
    let answer = exchange(server.address, again).await;
    assert_eq!(answer.error_code(), -32600);
}

#[tokio::test]
async fn d045_both_eras_on_one_endpoint() {
    let server = start_fixture().await;
    let session = open(server.address).await;
    let answer = exchange(server.address, modern(server.address, "tools/list")).await;
    assert_eq!(answer.json()["result"]["resultType"], "complete");
    let list = r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#;
    let answer = exchange(server.address, request("POST", server.address, &[&session], list)).await;
    assert!(answer.json()["result"]["tools"].is_array());
}

#[tokio::test]
async fn d039_a_panic_leaves_the_session_usable() {
    let server = start_fixture().await;
    let session = open(server.address).await;
    let post = |body: String| {
        exchange(server.address, request("POST", server.address, &[&session], &body))
    };
    assert_eq!(post(call(1, "panics", "{}")).await.error_code(), -32603);
    assert_eq!(post(call(2, "echo", r#"{"t":"x"}"#)).await.status, 200);
}

#[tokio::test]
async fn progress_comes_on_the_stream_of_its_request_with_ids() {
    let server = start_fixture().await;
    let session = open(server.address).await;
    let post = request("POST", server.address, &[&session], &call(3, "slow", "{}"));
    let answer = exchange(server.address, post).await;
    assert!(answer.is_events());
    let events = answer.events();
    assert_eq!((events[0].id.as_deref(), events[0].data.as_str()), (Some("1-0"), ""));
    let last = events.last().unwrap();
    assert!(last.data.contains(r#""id":3"#) && last.data.contains("result"));
    let ids: Vec<_> = events.iter().map(|event| event.id.clone().unwrap()).collect();
    let expected: Vec<_> = (0..events.len()).map(|number| format!("1-{number}")).collect();
    assert_eq!(ids, expected);
}

#[derive(Default)]
struct Gate {
    started: Notify,
    open: Notify,
}

/// Reports progress, waits for the test, answers.
#[tool]
async fn gated(gate: State<Arc<Gate>>, context: Context) -> String {
    context.progress(1.0, None, None);
    gate.started.notify_one();
    gate.open.notified().await;
    "through".into()
}

async fn start_gated() -> (Running, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let server = Server::builder("gated", "1")
        .state(Arc::clone(&gate))
        .tools(tools![gated, leaving])
        .build();
    (start(server, HttpServerOptions::default()).await, gate)
}

#[tokio::test]
async fn d047_a_broken_stream_can_be_resumed_and_only_that_one() {
    let (server, gate) = start_gated().await;
    let address = server.address;
    let session = open(address).await;
    let mut wire = Wire::open(address).await;
    wire.write(request("POST", address, &[&session], &call(1, "gated", "{}"))).await;
    wire.head().await;
    assert_eq!(wire.event().await.unwrap().data, "");
    let progress = wire.event().await.unwrap();
    assert!(progress.data.contains("notifications/progress"));
    drop(wire);

    gate.open.notify_one();
    let resume = format!("Last-Event-ID: {}", progress.id.unwrap());
    let headers = [session.as_str(), "Accept: text/event-stream", resume.as_str()];
    let answer = exchange(address, request("GET", address, &headers, "")).await;
    let events = answer.events();
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].data.contains("through"));

    let other = open(address).await;
    let headers = [other.as_str(), "Accept: text/event-stream", resume.as_str()];
    assert_eq!(exchange(address, request("GET", address, &headers, "")).await.status, 400);
    for bad in ["1-99", "x", "1", "1-01", "-1-1"] {
        let bad = format!("Last-Event-ID: {bad}");
        let headers = [session.as_str(), "Accept: text/event-stream", bad.as_str()];
        assert_eq!(exchange(address, request("GET", address, &headers, "")).await.status, 400);
    }
}

/// Lets go of its stream, then waits.
#[tool]
async fn leaving(gate: State<Arc<Gate>>, context: Context) -> String {
    context.close_stream(Some(Duration::from_millis(700)));
    gate.started.notify_one();
    gate.open.notified().await;
    context.progress(1.0, None, None);
    "there".into()
}

#[tokio::test]
async fn a_handler_closes_its_stream_and_the_client_comes_back_for_the_rest() {
    let (server, gate) = start_gated().await;
    let address = server.address;
    let session = open(address).await;
    let mut wire = Wire::open(address).await;
    wire.write(request("POST", address, &[&session], &call(1, "leaving", "{}"))).await;
    wire.head().await;
    assert_eq!(wire.event().await.unwrap().data, "");
    let last = wire.event().await.unwrap();
    assert_eq!((last.data.as_str(), last.retry), ("", Some(Duration::from_millis(700))));
    assert_eq!(wire.event().await, None, "the stream ends while the handler still waits");
    gate.started.notified().await;

    gate.open.notify_one();
    let resume = format!("Last-Event-ID: {}", last.id.unwrap());
    let headers = [session.as_str(), "Accept: text/event-stream", resume.as_str()];
    let events = exchange(address, request("GET", address, &headers, "")).await.events();
    assert_eq!(events.len(), 2, "{events:?}");
    assert!(events[0].data.contains("notifications/progress"));
    assert!(events[1].data.contains("there"));
}

#[tokio::test]
async fn a_stream_stays_where_clients_do_not_come_back() {
    let (server, gate) = start_gated().await;
    let address = server.address;
    let older = open_in(address, "2025-06-18").await;
    let session = request("POST", address, &[&older], &call(1, "leaving", "{}"));
    let modern = modern_call(address, "leaving", "{}", &[]);
    for post in [session, modern] {
        let mut wire = Wire::open(address).await;
        wire.write(post).await;
        gate.started.notified().await;
        gate.open.notify_one();
        let answer = wire.answer().await;
        assert!(answer.body.contains("there") && !answer.body.contains("retry"), "{answer:?}");
    }
}

#[tokio::test]
async fn d046_nothing_comes_after_a_cancellation() {
    let (server, gate) = start_gated().await;
    let address = server.address;
    let session = open(address).await;
    let mut wire = Wire::open(address).await;
    wire.write(request("POST", address, &[&session], &call(9, "gated", "{}"))).await;
    gate.started.notified().await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#;
    let answer = exchange(address, request("POST", address, &[&session], cancel)).await;
    assert_eq!(answer.status, 202);
    gate.open.notify_one();
    // A later message of the session proves that the cancellation was handled.
    let ping = r#"{"jsonrpc":"2.0","id":10,"method":"ping"}"#;
    assert_eq!(exchange(address, request("POST", address, &[&session], ping)).await.status, 200);
    wire.head().await;
    assert_eq!(wire.event().await.unwrap().data, "");
    assert!(wire.event().await.unwrap().data.contains("notifications/progress"));
    assert_eq!(wire.event().await, None, "the stream ends without a response");
    // The same call with the same gate open answers when it is left alone.
    gate.open.notify_one();
    let again = exchange(address, request("POST", address, &[&session], &call(11, "gated", "{}")));
    assert!(again.await.events().last().unwrap().data.contains("through"));
}

#[tokio::test]
async fn three_streams_at_once() {
    let server = start_fixture().await;
    let session = open(server.address).await;
    let calls = (1..=3).map(|id| {
        let post = request("POST", server.address, &[&session], &call(id, "slow", "{}"));
        let address = server.address;
        async move { (id, exchange(address, post).await.events()) }
    });
    for (id, events) in futures_util::future::join_all(calls).await {
        assert!(events.last().unwrap().data.contains(&format!(r#""id":{id}"#)));
        let token = format!(r#""progressToken":{id}"#);
        let progress = &events[1..events.len() - 1];
        assert!(!progress.is_empty() && progress.iter().all(|event| event.data.contains(&token)));
    }
}

#[tokio::test]
async fn a_second_listener_takes_over() {
    let server = start_fixture().await;
    let session = open(server.address).await;
    let get = request("GET", server.address, &[&session, "Accept: text/event-stream"], "");
    let mut first = Wire::open(server.address).await;
    first.write(&get).await;
    let (start, headers) = first.head().await;
    assert!(start.contains("200") && headers["content-type"] == "text/event-stream");
    assert_eq!(first.event().await.unwrap().id.as_deref(), Some("0-0"));
    let mut second = Wire::open(server.address).await;
    second.write(&get).await;
    assert_eq!(second.head().await.0, start);
    assert_eq!(first.event().await, None);
    let delete = request("DELETE", server.address, &[&session], "");
    assert_eq!(exchange(server.address, delete).await.status, 204);
    assert_eq!(second.event().await.unwrap().id.as_deref(), Some("0-0"));
    assert_eq!(second.event().await, None, "the end of the session ends its streams");
    let no_events = request("GET", server.address, &[&session, "Accept: application/json"], "");
    assert_eq!(exchange(server.address, no_events).await.status, 404);
}

#[tokio::test]
async fn f20_too_much_to_do_is_503_with_the_time_to_come_back() {
    let mut options = HttpServerOptions::default();
    options.max_calls = 0;
    let server = start(carrick_testkit::fixture::server(), options).await;
    let address = server.address;
    let session = open(address).await;
    let in_session = request("POST", address, &[&session], &call(1, "echo", r#"{"t":"hi"}"#));
    for request in [in_session, modern_call(address, "echo", r#"{"t":"hi"}"#, &[])] {
        let answer = exchange(address, request).await;
        assert_eq!((answer.status, answer.error_code()), (503, -32050), "{answer:?}");
        assert_eq!(answer.headers["retry-after"], "5");
        assert_eq!(answer.json()["id"], 1);
        assert!(answer.body.contains("max_calls"), "{answer:?}");
    }
}
