//! The client against servers that answer as a test says.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use carrick::Client;
use carrick::client::{
    CallError, ClientConfig, ClientError, ClientEvent, Era, EventHandler, LaneEnd,
};
use carrick::net::{HttpClient, Options};
use carrick::transport::http::{HttpOptions, HttpTransport, HttpTransportError};
use carrick::types::Implementation;

use crate::raw::handed;
use crate::scripted::*;

pub(crate) fn transport(url: &str) -> HttpTransport {
    let mut options = HttpOptions::default();
    options.retry.base = Duration::from_millis(1);
    options.retry.ceiling = Duration::from_millis(60);
    options.retry.max_retries = Some(2);
    let http = HttpClient::new(Options::default());
    HttpTransport::new(http, url, [("Authorization", "Bearer t")], options).unwrap()
}

pub(crate) fn config(era: Option<Era>) -> ClientConfig {
    let mut config = ClientConfig::new(Implementation::new("t", "0"));
    config.era = era;
    config
}

pub(crate) async fn connect(server: &Scripted, era: Option<Era>) -> Result<Client, ClientError> {
    Client::connect(transport(&server.url), config(era), None).await
}

pub(crate) async fn legacy(
    answer: impl Fn(&Seen) -> String + Send + Sync + 'static,
) -> (Scripted, Client) {
    let server = Scripted::start(answer_in_session(answer)).await;
    let client = connect(&server, Some(Era::Legacy)).await.unwrap();
    (server, client)
}

pub(crate) async fn modern(
    answer: impl Fn(&Seen) -> String + Send + Sync + 'static,
) -> (Scripted, Client) {
    let server = Scripted::start(move |seen| match seen.method().as_str() {
        "server/discover" => probed(seen),
        _ => answer(seen),
    })
    .await;
    let client = connect(&server, None).await.unwrap();
    (server, client)
}

fn probed(seen: &Seen) -> String {
    answer(seen, DISCOVERED)
}

/// Handshake, session and no stream; the rest as `answer` says.
pub(crate) fn answer_in_session(
    answer: impl Fn(&Seen) -> String + Send + Sync + 'static,
) -> impl Fn(&Seen) -> String + Send + Sync + 'static {
    move |seen| match seen.method().as_str() {
        "initialize" => json(200, &["Mcp-Session-Id: s-1"], &result(seen, INITIALIZED)),
        "notifications/initialized" => empty(202),
        "GET" if seen.header("last-event-id").is_none() => empty(405),
        "DELETE" => empty(200),
        _ => answer(seen),
    }
}

pub(crate) async fn call(client: &Client) -> Result<String, CallError> {
    match client.call_tool("echo", br#"{"t":"x"}"#).await {
        Ok(result) => Ok(serde_json::to_value(&result).unwrap()["content"][0]["text"].to_string()),
        Err(ClientError::Call(error)) => Err(error),
        Err(other) => panic!("{other}"),
    }
}

#[track_caller]
pub(crate) fn lost(result: Result<String, CallError>) -> String {
    match result {
        Err(CallError::Exchange(LaneEnd::Lost(how))) => how,
        other => panic!("not lost: {other:?}"),
    }
}

#[tokio::test]
async fn requests_carry_the_headers_of_their_revision() {
    let (server, client) = modern(|seen| answer(seen, TOOL_OK)).await;
    assert_eq!(call(&client).await.unwrap(), r#""ok""#);
    let _ = client.call_tool("Hello, 世界", b"{}").await;
    let seen = server.seen();
    assert_eq!(seen[0].header("mcp-method"), Some("server/discover"));
    assert_eq!(seen[1].header("mcp-method"), Some("tools/call"));
    assert_eq!(seen[1].header("mcp-name"), Some("echo"));
    assert_eq!(seen[1].header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(seen[1].header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(seen[1].header("content-type"), Some("application/json"));
    assert_eq!(seen[1].header("authorization"), Some("Bearer t"));
    assert_eq!(seen[1].header("mcp-session-id"), None);
    assert_eq!(seen[2].header("mcp-name"), Some("=?base64?SGVsbG8sIOS4lueVjA==?="));

    let (server, client) = legacy(|seen| answer(seen, TOOL_OK)).await;
    assert_eq!(call(&client).await.unwrap(), r#""ok""#);
    let seen = server.seen();
    let of = |method: &str| seen.iter().find(|seen| seen.method() == method).unwrap();
    assert_eq!(of("initialize").header("mcp-session-id"), None);
    assert_eq!(of("initialize").header("mcp-protocol-version"), None);
    for method in ["notifications/initialized", "tools/call"] {
        assert_eq!(of(method).header("mcp-session-id"), Some("s-1"));
        assert_eq!(of(method).header("mcp-protocol-version"), Some("2025-11-25"));
        assert_eq!(of(method).header("mcp-method"), None);
    }
}

#[tokio::test]
async fn d021_bad_tools_are_left_out_and_arguments_mirrored() {
    let tools = handed!("D021/tools.json");
    let (server, client) = modern(move |seen| match seen.method().as_str() {
        "tools/list" => {
            let list = tools.replacen(
                '{',
                r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","#,
                1,
            );
            answer(seen, &list)
        }
        _ => answer(seen, TOOL_OK),
    })
    .await;
    let names: Vec<_> =
        client.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["good", "nested_ok"]);
    client.call_tool("good", r#"{"r":"Zürich","x":1}"#.as_bytes()).await.unwrap();
    client.call_tool("nested_ok", br#"{"o":{"z":true}}"#).await.unwrap();
    client.call_tool("nested_ok", br#"{"o":{"z":null}}"#).await.unwrap();
    let seen = server.seen();
    assert_eq!(seen[2].header("mcp-param-region"), Some("=?base64?WsO8cmljaA==?="));
    assert_eq!(seen[3].header("mcp-param-zed"), Some("true"));
    assert_eq!(seen[4].header("mcp-param-zed"), None);
}

#[tokio::test]
async fn f44_a_call_that_no_header_can_carry_is_not_sent() {
    let (server, client) = modern(move |seen| match seen.method().as_str() {
        "tools/list" => answer(
            seen,
            r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"n",
                "inputSchema":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}]}"#,
        ),
        _ => answer(seen, TOOL_OK),
    })
    .await;
    client.list_tools().await.unwrap();
    client.call_tool("n", br#"{"n":9007199254740991}"#).await.unwrap();
    for number in ["9007199254740992", "123456789012345678901234567890"] {
        let error = client.call_tool("n", format!(r#"{{"n":{number}}}"#).as_bytes()).await;
        let error = error.unwrap_err();
        let Some(CallError::Params(what)) = error.call() else { panic!("{error}") };
        assert!(what.contains(number) && what.contains("\"n\""), "{what}");
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 3, "{:?}", server.methods());
    assert_eq!(seen[2].header("mcp-param-n"), Some("9007199254740991"));
}

#[tokio::test]
async fn d025_any_success_will_do_for_a_notification() {
    for accepted in [empty(202), empty(200), "HTTP/1.1 204 X\r\n\r\n".into(), json(200, &[], "{}")]
    {
        let server = Scripted::start(move |seen| match seen.method().as_str() {
            "initialize" => answer(seen, INITIALIZED),
            "notifications/initialized" => accepted.clone(),
            "GET" => empty(405),
            _ => answer(seen, TOOL_OK),
        })
        .await;
        let client = connect(&server, Some(Era::Legacy)).await.unwrap();
        assert_eq!(call(&client).await.unwrap(), r#""ok""#);
        assert_eq!(server.methods()[..2], ["initialize", "notifications/initialized"]);
    }
}

#[tokio::test]
async fn d026_the_error_in_a_refusal_reaches_the_caller() {
    for id in ["ID", "null", r#""server-error""#] {
        let (_server, client) = modern(move |seen| {
            let id = id.replace("ID", &seen.id());
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32021,"message":"no","data":{{"x":1}}}}}}"#
            );
            json(400, &[], &body)
        })
        .await;
        match call(&client).await {
            Err(CallError::Rpc(error)) => {
                assert_eq!(error.code, -32021);
                assert_eq!(error.data.unwrap().get(), r#"{"x":1}"#);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn d026_a_refused_login_keeps_its_challenge() {
    for refused in [401, 403] {
        let (_server, client) = modern(move |seen| {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32000,"message":"no"}}}}"#,
                seen.id()
            );
            let challenge = r#"WWW-Authenticate: Bearer resource_metadata="https://x.example/m""#;
            json(refused, &[challenge], &body)
        })
        .await;
        match call(&client).await {
            Err(CallError::Exchange(LaneEnd::Status { status, challenge, fall_back, .. })) => {
                assert_eq!((status, fall_back), (refused, false));
                assert!(challenge.unwrap().contains("resource_metadata"));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn d041_only_a_modern_error_keeps_the_client_modern() {
    let bodies = handed!("D041/bodies.jsonl");
    for (line, body) in bodies.lines().enumerate() {
        let body = body.to_owned();
        let first = Mutex::new(true);
        let server = Scripted::start(answer_in_session(move |seen| {
            let probe = seen.method() == "server/discover";
            if probe && std::mem::take(&mut *first.lock().unwrap()) {
                let media = if body.starts_with('<') { "text/html" } else { "application/json" };
                return json(400, &["Mcp-Session-Id: probe"], &body)
                    .replace("application/json", media);
            }
            answer(seen, if probe { DISCOVERED } else { TOOL_OK })
        }))
        .await;
        let client = connect(&server, None).await.unwrap();
        assert_eq!(call(&client).await.unwrap(), r#""ok""#);
        let methods = server.methods();
        let expected = if line < 4 { "initialize" } else { "server/discover" };
        assert_eq!(methods[1], expected, "line {line}");
        assert_eq!(methods.contains(&"initialize".to_owned()), line < 4);
        // D037: the id of a probe is none.
        assert_eq!(server.seen()[1].header("mcp-session-id"), None);
    }
}

#[tokio::test]
async fn d041_no_fallback_on_authentication_unknown_method_or_outage() {
    for (status, body) in [
        (401, String::new()),
        (403, String::new()),
        (503, String::new()),
        (404, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}"#.to_owned()),
    ] {
        let server = Scripted::start(move |_| json(status, &[], &body)).await;
        match connect(&server, None).await {
            Err(ClientError::Call(CallError::Exchange(LaneEnd::Status {
                status: got, ..
            }))) => {
                assert_eq!(got, status);
            }
            other => panic!("{status}: {:?}", other.err()),
        }
        assert_eq!(server.methods(), ["server/discover"]);
    }
}

#[tokio::test]
async fn d038_unusable_session_ids_fail_the_connection() {
    for id in ["a b", "\u{e9}", "", &"x".repeat(64 * 1024)] {
        let header = format!("Mcp-Session-Id: {id}");
        let server =
            Scripted::start(move |seen| json(200, &[&header], &result(seen, INITIALIZED))).await;
        let error = connect(&server, Some(Era::Legacy)).await.err().unwrap();
        assert!(error.to_string().contains("session id"), "{error}");
        assert_eq!(server.methods(), ["initialize"]);
    }
}

fn logs() -> (EventHandler, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let handler: EventHandler = Arc::new(move |event| {
        if let ClientEvent::Log(params) = event {
            let params: serde_json::Value = serde_json::from_slice(params.as_bytes()).unwrap();
            log.lock().unwrap().push(params["data"].to_string());
        }
    });
    (handler, seen)
}

#[tokio::test]
async fn d028_a_stream_in_every_spelling() {
    let stream = handed!("D028/stream.sse");
    let server = Scripted::start(answer_in_session(move |seen| {
        events(&stream.replace(r#""id":1,"#, &format!(r#""id":{},"#, seen.id())))
    }))
    .await;
    let (handler, seen) = logs();
    let client = Client::connect(transport(&server.url), config(Some(Era::Legacy)), Some(handler))
        .await
        .unwrap();
    let answer = client.request("x/y", Vec::new(), None, None).await.unwrap();
    assert_eq!(answer.as_bytes(), br#"{"ok":true}"#);
    assert_eq!(*seen.lock().unwrap(), [r#""一""#, r#""no space""#, r#""cr only""#]);
}

#[tokio::test]
async fn d029_other_events_are_passed_over() {
    let stream = handed!("D029/stream.sse");
    let (_server, client) = legacy(move |seen| {
        events(&stream.replace(r#""id":1,"#, &format!(r#""id":{},"#, seen.id())))
    })
    .await;
    assert_eq!(client.request("x/y", Vec::new(), None, None).await.unwrap().as_bytes(), b"{}");
}

#[tokio::test]
async fn d031_resuming_uses_the_last_good_id() {
    let stream = handed!("D031/stream.sse");
    let id = Mutex::new(String::new());
    let (server, client) = legacy(move |seen| {
        let mut id = id.lock().unwrap();
        if seen.verb == "POST" {
            *id = seen.id();
            return events(stream);
        }
        events(&format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n\n"))
    })
    .await;
    assert_eq!(client.request("x/y", Vec::new(), None, None).await.unwrap().as_bytes(), b"{}");
    let seen = server.seen();
    let resumed = seen.iter().find(|seen| seen.header("last-event-id").is_some()).unwrap();
    assert_eq!(resumed.header("last-event-id"), Some("ok1"));
    assert_eq!(resumed.header("mcp-session-id"), Some("s-1"));
}

const PROGRESS: &str = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":2,\"progress\":1}}\n\n";

#[tokio::test]
async fn d030_a_stream_without_a_response_is_a_transport_error() {
    let (server, client) = modern(|_| events(&PROGRESS.repeat(2))).await;
    assert!(lost(call(&client).await).contains("before the response"));
    let with_id = format!("id: 1\n{PROGRESS}");
    let (ids, other) = modern(move |_| events(&with_id)).await;
    assert!(lost(call(&other).await).contains("before the response"));
    for server in [server, ids] {
        assert_eq!(server.methods(), ["server/discover", "tools/call"], "nothing is resumed");
    }

    // Legacy, without ids.
    let (_server, client) = legacy(|_| events(PROGRESS)).await;
    lost(call(&client).await);
    // Legacy, where resuming fails each time.
    let with_id = format!("id: 1\n{PROGRESS}");
    let (server, client) = legacy(move |seen| match seen.verb.as_str() {
        "POST" => events(&with_id),
        _ => empty(503),
    })
    .await;
    lost(call(&client).await);
    let tries = server.seen().iter().filter(|seen| seen.header("last-event-id").is_some()).count();
    assert_eq!(tries, 2, "D034: as often as allowed");
}

#[tokio::test]
async fn d030_an_error_on_a_stream_is_the_answer() {
    let (_server, client) = modern(|seen| {
        let error = format!(
            r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32603,"message":"x"}}}}"#,
            seen.id()
        );
        events(&format!("{PROGRESS}data: {error}\n\n"))
    })
    .await;
    match call(&client).await {
        Err(CallError::Rpc(error)) => assert_eq!(error.code, -32603),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn d032_a_stream_that_always_ends_is_given_up_and_calls_go_on() {
    let server = Scripted::start(|seen| match seen.method().as_str() {
        "initialize" => answer(seen, INITIALIZED),
        "notifications/initialized" => empty(202),
        "GET" => events(""),
        _ => answer(seen, TOOL_OK),
    })
    .await;
    let client = connect(&server, Some(Era::Legacy)).await.unwrap();
    let gets = |seen: &[Seen]| seen.iter().filter(|seen| seen.verb == "GET").count();
    server.wait_until(|seen| gets(seen) == 3).await;
    for _ in 0..20 {
        assert_eq!(call(&client).await.unwrap(), r#""ok""#);
    }
    assert_eq!(gets(&server.seen()), 3);
}

#[tokio::test]
async fn d094_only_redirects_within_the_origin_are_followed() {
    for status in [307, 308] {
        let (server, client) = modern(move |seen| match seen.path.as_str() {
            "/mcp" => {
                format!("HTTP/1.1 {status} X\r\nLocation: /moved\r\nContent-Length: 0\r\n\r\n")
            }
            _ => answer(seen, TOOL_OK),
        })
        .await;
        assert_eq!(call(&client).await.unwrap(), r#""ok""#);
        let seen = server.seen();
        assert_eq!((seen[1].path.as_str(), seen[2].path.as_str()), ("/mcp", "/moved"));
        assert_eq!(seen[1].body, seen[2].body);
        assert_eq!(seen[2].header("mcp-name"), Some("echo"));
    }
    let elsewhere = Scripted::start(|seen| answer(seen, TOOL_OK)).await;
    for status in [301, 302, 303, 307, 308] {
        let target = if status < 307 { "/moved".to_owned() } else { elsewhere.url.clone() };
        let (server, client) = modern(move |_| {
            format!("HTTP/1.1 {status} X\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n")
        })
        .await;
        match call(&client).await {
            Err(CallError::Exchange(LaneEnd::Status { status: got, .. })) => {
                assert_eq!(got, status);
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(server.seen().len(), 2);
    }
    assert!(elsewhere.seen().is_empty());
    // It listens and would have been reached.
    let _ = connect(&elsewhere, Some(Era::Modern)).await;
    assert!(!elsewhere.seen().is_empty());
}

#[tokio::test]
async fn d131_closing_is_silent_and_sockets_are_reused() {
    for (status, calls) in [(200, 1000), (204, 1), (404, 10), (405, 1), (500, 1)] {
        let server = Scripted::start(move |seen| match seen.method().as_str() {
            "DELETE" if status == 204 => "HTTP/1.1 204 X\r\n\r\n".into(),
            "DELETE" => json(status, &[], r#"{"error":"whatever"}"#),
            "initialize" => json(200, &["Mcp-Session-Id: s-1"], &result(seen, INITIALIZED)),
            "notifications/initialized" => empty(202),
            "GET" => empty(405),
            _ => answer(seen, TOOL_OK),
        })
        .await;
        let client = connect(&server, Some(Era::Legacy)).await.unwrap();
        for _ in 0..calls {
            call(&client).await.unwrap();
        }
        client.close().await;
        let last = server.seen().pop().unwrap();
        assert_eq!((last.verb.as_str(), last.header("mcp-session-id")), ("DELETE", Some("s-1")));
        assert!(server.connections() <= 3, "{} connections", server.connections());
    }
}

#[tokio::test]
async fn an_answer_above_the_limit_fails_its_call_only() {
    let server = Scripted::start(|seen| match seen.method().as_str() {
        "server/discover" => answer(seen, DISCOVERED),
        "big/json" => answer(seen, &format!(r#"{{"x":"{}"}}"#, "x".repeat(5000))),
        "big/events" => events(&format!("data: {}\n\n", "x".repeat(5000))),
        _ => answer(seen, TOOL_OK),
    })
    .await;
    let mut options = HttpOptions::default();
    options.max_message_bytes = 4096;
    let http = HttpClient::new(Options::default());
    let none: [(&str, &str); 0] = [];
    let transport = HttpTransport::new(http, &server.url, none, options).unwrap();
    let client = Client::connect(transport, config(None), None).await.unwrap();
    for method in ["big/json", "big/events"] {
        match client.request(method, Vec::new(), None, None).await {
            Err(ClientError::Call(CallError::Exchange(LaneEnd::Lost(how)))) => {
                assert!(how.contains("4096"), "{how}");
            }
            other => panic!("{:?}", other.err()),
        }
    }
    assert_eq!(call(&client).await.unwrap(), r#""ok""#);
}

#[test]
fn urls_and_headers_that_cannot_be_used() {
    let make = |url: &str, header: (&str, &str)| {
        let http = HttpClient::new(Options::default());
        HttpTransport::new(http, url, [header], HttpOptions::default()).err()
    };
    for url in ["", "/mcp", "ftp://x/", "example.com/mcp"] {
        assert_eq!(make(url, ("x", "y")), Some(HttpTransportError::Url), "{url}");
    }
    for own in ["Host", "accept", "Mcp-Session-Id", "MCP-Protocol-Version"] {
        let error = HttpTransportError::OwnHeader(own.into());
        assert_eq!(make("http://x/", (own, "y")), Some(error));
    }
    let bad = HttpTransportError::Header("x".into());
    assert_eq!(make("http://x/", ("x", "a\r\nb: c")), Some(bad));
}
