//! Requests that bring their own metadata.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use carrick::transport::http::{AccessRules, Hosts, HttpServerOptions};
use carrick::{Context, Server, State, tool, tools};
use tokio::sync::Notify;

use crate::raw::*;

#[tokio::test]
async fn d019_repeated_and_missing_headers() {
    let server = start_handed().await;
    for file in [handed!("D019/dup_method.http"), handed!("D019/no_name.http")] {
        let answer = exchange(server.address, file).await;
        assert_eq!((answer.status, answer.error_code()), (400, -32020));
        assert_eq!(answer.json()["id"], 1);
    }
    let no_version = handed!("D019/no_name.http")
        .replace("MCP-Protocol-Version: 2026-07-28\r\n", "Mcp-Name: echo\r\n");
    let answer = exchange(server.address, no_version).await;
    assert_eq!((answer.status, answer.error_code()), (400, -32020));
}

#[tokio::test]
async fn d020_blanks_and_letter_case() {
    let server = start_handed().await;
    let file = handed!("D020/ows.http");
    let answer = exchange(server.address, file).await;
    assert_eq!(answer.status, 200);
    assert!(answer.json()["result"]["tools"].is_array());
    let other_case = file.replace("\ttools/list \t\r\n", "\tTools/List \t\r\n");
    assert_ne!(other_case, file);
    let answer = exchange(server.address, other_case).await;
    assert_eq!((answer.status, answer.error_code()), (400, -32020));
}

#[tokio::test]
async fn d022_header_and_body_name_different_revisions() {
    let server = start_handed().await;
    let answer = exchange(server.address, handed!("D022/mismatch.http")).await;
    assert_eq!((answer.status, answer.error_code()), (400, -32020));
}

#[tokio::test]
async fn d023_media_ranges_and_qualities() {
    let server = start_fixture().await;
    let body = modern_body("tools/list", "");
    let version = format!("MCP-Protocol-Version: {VERSION}");
    for (accept, status) in [
        ("Accept: */*", 200),
        ("Accept: application/*, text/*", 200),
        ("Accept: application/json;q=0.1, text/event-stream;q=0.9", 200),
        ("Accept: application/json, text/html", 406),
    ] {
        let json = "Content-Type: application/json";
        let headers = [&version, json, "Mcp-Method: tools/list", accept];
        let answer = exchange(server.address, bare_post(server.address, &headers, &body)).await;
        assert_eq!(answer.status, status, "{accept}");
    }
}

#[tokio::test]
async fn d024_only_json_is_dispatched() {
    let server = start_handed().await;
    let file = handed!("D024/text_plain.http");
    assert_eq!(exchange(server.address, file).await.status, 403);
    let no_origin = file.replace("Origin: https://evil.example\r\n", "");
    assert_eq!(exchange(server.address, no_origin).await.status, 415);

    let server = start_fixture().await;
    let body = modern_body("tools/call", r#""name":"count","arguments":{}"#);
    let version = format!("MCP-Protocol-Version: {VERSION}");
    let post = |content_type: &str| {
        let accept = "Accept: application/json, text/event-stream";
        let mut headers = vec![&version, accept, "Mcp-Method: tools/call", "Mcp-Name: count"];
        headers.extend((!content_type.is_empty()).then_some(content_type));
        exchange(server.address, bare_post(server.address, &headers, &body))
    };
    for refused in ["Content-Type: text/plain", "Content-Type: text/plain; a=application/json", ""]
    {
        assert_eq!(post(refused).await.status, 415, "{refused}");
    }
    // Compressed bodies are not read, and not taken for broken ones.
    for (coding, status) in [("gzip", 415), ("br, identity", 415), ("Identity", 200)] {
        let coding = format!("Content-Encoding: {coding}");
        let list = modern(server.address, "tools/list");
        let list = list.replacen("\r\n", &format!("\r\n{coding}\r\n"), 1);
        assert_eq!(exchange(server.address, list).await.status, status, "{coding}");
    }
    for (run, accepted) in
        ["Content-Type: APPLICATION/JSON; charset=utf-8", "Content-Type: application/json;"]
            .iter()
            .enumerate()
    {
        let answer = post(accepted).await;
        assert_eq!(answer.status, 200, "{accepted}");
        let text = &answer.json()["result"]["content"][0]["text"];
        assert_eq!(text.as_str().unwrap(), (run + 1).to_string(), "the refused ones did not run");
    }
}

#[tokio::test]
async fn d027_what_belongs_to_sessions_means_nothing_without_them() {
    let mut options = HttpServerOptions::default();
    options.sessions = false;
    let server = start(carrick_testkit::fixture::server(), options).await;
    for verb in ["GET", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH", "TRACE", "post"] {
        let accept = ["Accept: text/event-stream", "Mcp-Session-Id: x"];
        let mut wire = Wire::open(server.address).await;
        wire.write(request(verb, server.address, &accept, "")).await;
        let (start, headers) = wire.head().await;
        assert!(start.contains(" 405 "), "{verb}: {start}");
        assert_eq!(headers["allow"], "POST");
        assert!(!headers.contains_key("mcp-session-id"));
    }
    let more = ["Mcp-Session-Id: x", "Last-Event-ID: 1-1"];
    let call = modern_call(server.address, "echo", r#"{"t":"hi"}"#, &more);
    let answer = exchange(server.address, call).await;
    assert_eq!(answer.status, 200);
    assert!(!answer.headers.contains_key("mcp-session-id"));
    let initialize = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{LEGACY}"}}}}"#
    );
    let answer = exchange(server.address, request("POST", server.address, &[], &initialize)).await;
    assert_eq!((answer.status, answer.error_code()), (400, -32020));
    assert!(answer.body.contains(VERSION), "the error names what is spoken: {}", answer.body);
}

#[tokio::test]
async fn errors_have_the_status_they_ask_for() {
    let server = start_fixture().await;
    let address = server.address;
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "no/such"] {
        let answer = exchange(address, modern(address, method)).await;
        assert_eq!((answer.status, answer.error_code()), (404, -32601), "{method}");
        assert_eq!(answer.json()["id"], 1);
    }
    let unknown = modern_in("v999.0.0", address, "tools/list");
    let answer = exchange(address, unknown).await;
    assert_eq!((answer.status, answer.error_code()), (400, -32022));
    assert_eq!(answer.json()["error"]["data"]["requested"], "v999.0.0");

    let version = format!("MCP-Protocol-Version: {VERSION}");
    let headers = [version.as_str(), "Mcp-Method: tools/list"];
    for body in [
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{}}}"#.to_owned(),
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{VERSION}"}}}}}}"#
        ),
    ] {
        let answer = exchange(address, request("POST", address, &headers, &body)).await;
        assert_eq!((answer.status, answer.error_code()), (400, -32602), "{body}");
        assert_eq!(answer.json()["id"], 7);
    }
    let answer = exchange(address, request("POST", address, &headers, "{\"jsonrpc\":")).await;
    assert_eq!((answer.status, answer.error_code()), (400, -32700));
    let answer = exchange(address, modern_call(address, "nothing", "{}", &[])).await;
    assert_eq!((answer.status, answer.error_code()), (200, -32602));
}

#[tokio::test]
async fn notifications_are_accepted_and_responses_are_not() {
    let server = start_fixture().await;
    let version = format!("MCP-Protocol-Version: {VERSION}");
    let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    let answer = exchange(server.address, request("POST", server.address, &[&version], note)).await;
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
    let response = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let answer =
        exchange(server.address, request("POST", server.address, &[&version], response)).await;
    assert_eq!(answer.status, 400);
}

#[tokio::test]
async fn d050_what_a_handler_says_comes_before_its_answer() {
    let server = start_fixture().await;
    let body = modern_body("tools/call", r#""name":"slow","arguments":{}"#)
        .replace(r#""_meta":{"#, r#""_meta":{"progressToken":"p","#);
    let version = format!("MCP-Protocol-Version: {VERSION}");
    let headers = [version.as_str(), "Mcp-Method: tools/call", "Mcp-Name: slow"];
    let answer = exchange(server.address, request("POST", server.address, &headers, &body)).await;
    assert_eq!(answer.status, 200);
    assert!(answer.is_events());
    assert_eq!(answer.headers["x-accel-buffering"], "no");
    let events = answer.events();
    let (last, before) = events.split_last().unwrap();
    assert!(last.data.contains(r#""result""#), "{}", last.data);
    assert!(!before.is_empty());
    for event in &events {
        assert_eq!((event.event.as_str(), &event.id), ("message", &None));
    }
    assert!(before.iter().all(|event| event.data.contains("notifications/progress")));
}

#[tokio::test]
async fn a_silent_call_is_answered_by_a_stream() {
    let mut options = HttpServerOptions::default();
    options.quiet = Duration::ZERO;
    let server = start(carrick_testkit::fixture::server(), options).await;
    let call = modern_call(server.address, "sleep_ms", r#"{"ms":20}"#, &[]);
    let answer = exchange(server.address, call).await;
    assert!(answer.is_events());
    assert_eq!(answer.events().len(), 1);
    let call = modern_call(server.address, "echo", r#"{"t":"at once"}"#, &[]);
    assert!(!exchange(server.address, call).await.is_events());
}

#[tokio::test]
async fn d039_a_panic_touches_nothing_else() {
    let server = start_fixture().await;
    let mut wire = Wire::open(server.address).await;
    wire.write(modern_call(server.address, "panics", "{}", &[])).await;
    let answer = wire.answer().await;
    assert_eq!(answer.error_code(), -32603);
    // The connection itself goes on.
    wire.write(modern_call(server.address, "echo", r#"{"t":"alive"}"#, &[])).await;
    assert_eq!(wire.answer().await.status, 200);
}

/// Tells when a handler started, and when it was dropped.
#[derive(Default)]
struct Watch {
    started: Notify,
    dropped: Notify,
    ended: AtomicU64,
}

struct Guard(Arc<Watch>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::SeqCst);
        self.0.dropped.notify_one();
    }
}

/// Never answers.
#[tool]
async fn hang(watch: State<Arc<Watch>>, context: Context) -> String {
    let _guard = Guard(Arc::clone(&watch));
    context.progress(1.0, None, None);
    watch.started.notify_one();
    std::future::pending().await
}

#[tokio::test]
async fn d047_disconnecting_cancels() {
    for quiet in [Duration::ZERO, Duration::from_secs(3600)] {
        let watch = Arc::new(Watch::default());
        let server =
            Server::builder("hang", "1").state(Arc::clone(&watch)).tools(tools![hang]).build();
        let mut options = HttpServerOptions::default();
        options.quiet = quiet;
        let server = start(server, options).await;
        let mut wire = Wire::open(server.address).await;
        wire.write(modern_call(server.address, "hang", "{}", &[])).await;
        watch.started.notified().await;
        assert_eq!(watch.ended.load(Ordering::SeqCst), 0);
        drop(wire);
        watch.dropped.notified().await;
    }
}

#[tokio::test]
async fn d090_only_the_servers_own_hosts_are_answered() {
    let server = start_fixture().await;
    for file in [handed!("D090/post.http"), handed!("D090/get.http")] {
        for origin in ["", "Origin: http://evil.example:8000\r\n"] {
            for verb in ["POST", "GET", "DELETE"] {
                let (_, rest) = file.split_once(' ').unwrap();
                let request =
                    format!("{verb} {}", rest.replacen("\r\n", &format!("\r\n{origin}"), 1));
                let answer = exchange(server.address, request).await;
                assert_eq!(answer.status, 403, "{verb} {origin}");
                assert!(!answer.headers.contains_key("mcp-session-id"));
            }
        }
    }
    // It is the host alone that is wrong: with the right one, a session is opened.
    let own = handed!("D090/post.http").replace("evil.example:8000", &server.address.to_string());
    let answer = exchange(server.address, own).await;
    assert_eq!(answer.status, 200);
    assert!(answer.headers.contains_key("mcp-session-id"));
    let absolute =
        modern(server.address, "tools/list").replace("POST /mcp", "POST http://evil.example/mcp");
    assert_eq!(exchange(server.address, absolute).await.status, 403);
}

#[tokio::test]
async fn d091_origins() {
    let server = start_fixture().await;
    let own = format!("Origin: http://{}", server.address);
    let version = format!("MCP-Protocol-Version: {VERSION}");
    let body = modern_body("tools/list", "");
    let base = [version.as_str(), "Mcp-Method: tools/list"];
    for (origins, status) in [
        (vec!["Origin: https://evil.example"], 403),
        (vec!["Origin: null"], 403),
        (vec!["Origin: http://localhost:3000"], 403),
        (vec![], 200),
        (vec![own.as_str()], 200),
        (vec![own.as_str(), own.as_str()], 403),
    ] {
        let headers: Vec<_> = base.iter().chain(&origins).copied().collect();
        let post = request("POST", server.address, &headers, &body);
        assert_eq!(exchange(server.address, post).await.status, status, "{origins:?}");
    }
    let mut options = HttpServerOptions::default();
    let mut rules = AccessRules::new(Hosts::Any);
    rules.origins.push("null".into());
    options.access = Some(rules);
    let server = start(carrick_testkit::fixture::server(), options).await;
    let headers: Vec<_> = base.iter().chain(&["Origin: null"]).copied().collect();
    let post = request("POST", server.address, &headers, &body);
    assert_eq!(exchange(server.address, post).await.status, 200);
}

#[tokio::test]
async fn limits_name_themselves() {
    let mut options = HttpServerOptions::default();
    options.max_body_bytes = 400;
    let server = start(carrick_testkit::fixture::server(), options).await;
    let long = "x".repeat(1000);
    let call = modern_call(server.address, "echo", &format!(r#"{{"t":"{long}"}}"#), &[]);
    let answer = exchange(server.address, &call).await;
    assert_eq!(answer.status, 413);
    assert!(answer.body.contains("max_body_bytes"), "{}", answer.body);
    // One that only says that it is too large is not waited for.
    let head = call.split("\r\n\r\n").next().unwrap().replace("Length: ", "Length: 99999");
    let answer = exchange(server.address, head + "\r\n\r\n").await;
    assert_eq!(answer.status, 413);
    let long = format!("X-Long: {}", "x".repeat(300_000));
    let call = modern_call(server.address, "echo", r#"{"t":""}"#, &[&long]);
    assert_eq!(exchange(server.address, call).await.status, 431);
}

#[tokio::test]
async fn other_paths_are_not_found() {
    let server = start_fixture().await;
    let call = modern(server.address, "tools/list").replace("/mcp", "/other");
    assert_eq!(exchange(server.address, call).await.status, 404);
}

/// Where to run a query.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: Option<String>,
}

/// Says where it would run.
#[tool]
async fn query(place: carrick::Args<Place>) -> String {
    place.0.region.unwrap_or_default()
}

/// Says which number it was given.
#[tool]
async fn count(number: carrick::Args<Count>) -> String {
    number.0.n.to_string()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Count {
    #[schemars(extend("x-mcp-header" = "N"))]
    n: u64,
}

#[tokio::test]
async fn f44_integers_that_are_not_safe_in_headers_are_refused() {
    let server = Server::builder("numbers", "1").tools(tools![count]).build();
    let server = start(server, HttpServerOptions::default()).await;
    for (arguments, header, good) in [
        (r#"{"n":9007199254740991}"#, "Mcp-Param-N: 9007199254740991", true),
        (r#"{"n":9007199254740992}"#, "Mcp-Param-N: 9007199254740992", false),
        (r#"{"n":9007199254740992}"#, "X-None: x", false),
        // What nobody can read beside it does not switch the check off.
        (r#"{"x":1e999,"n":7}"#, "Mcp-Param-N: 8", false),
        (r#"{"n":7,"n":8}"#, "Mcp-Param-N: 7", false),
    ] {
        let call = modern_call(server.address, "count", arguments, &[header]);
        let answer = exchange(server.address, call).await;
        assert_eq!(answer.status == 200, good, "{arguments} {header}: {}", answer.body);
        if !good {
            assert_eq!(answer.error_code(), -32020);
        }
    }
}

#[tokio::test]
async fn mirrored_arguments_must_agree() {
    let server = Server::builder("regions", "1").tools(tools![query]).build();
    let server = start(server, HttpServerOptions::default()).await;
    let with = r#"{"region":"us west "}"#;
    for (arguments, header, status) in [
        (with, "Mcp-Param-Region: =?base64?dXMgd2VzdCA=?=", 200),
        (with, "mcp-param-REGION: =?base64?dXMgd2VzdCA=?=", 200),
        (with, "Mcp-Param-Region: =?base64?dXMgd2VzdCA?=", 400),
        (with, "Mcp-Param-Region: eu", 400),
        (with, "X-None: x", 400),
        ("{}", "X-None: x", 200),
        (r#"{"region":null}"#, "X-None: x", 200),
        ("{}", "Mcp-Param-Region: eu", 400),
    ] {
        let call = modern_call(server.address, "query", arguments, &[header]);
        let answer = exchange(server.address, call).await;
        assert_eq!(answer.status, status, "{arguments} {header}: {}", answer.body);
        if status == 400 {
            assert_eq!(answer.error_code(), -32020);
        }
    }
}
