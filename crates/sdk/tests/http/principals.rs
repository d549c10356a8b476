//! Who sent a request, and that nothing of one principal's reaches another.

mod shared;

use std::net::SocketAddr;
use std::sync::Arc;

use carrick::server::{CallInfo, ConnectionInfo, Extension, Principal, TransportKind};
use carrick::transport::http::{
    Denied, EventLimits, HttpServerOptions, Identify, MemoryEventStore,
};
use carrick::{Context, Server, ToolError, tool, tools};
use http::HeaderValue;
use serde_json::{Value, json};

use crate::raw::*;

const ALICE: &str = "X-User: alice";
const BOB: &str = "X-User: bob";

/// Something that an author's hook has found out.
#[derive(Clone)]
struct Desk(u32);

/// Something that nobody ever adds.
#[derive(Clone)]
struct Missing;

/// Says who called.
#[tool]
async fn whoami(
    context: Context,
    principal: Principal,
    maybe: Option<Principal>,
    connection: Arc<ConnectionInfo>,
    info: CallInfo,
    desk: Extension<Desk>,
    missing: Option<Extension<Missing>>,
) -> String {
    assert_eq!((context.principal(), info.principal()), (Some(&principal), Some(&principal)));
    assert_eq!((maybe.as_ref(), connection.principal()), (Some(&principal), Some(&principal)));
    assert!(missing.is_none() && context.extension::<Missing>().is_none());
    assert!(context.headers().unwrap().get("x-user").is_none(), "the hook took it out");
    assert!(connection.local_addr().unwrap().to_string().starts_with("127.0.0.1:"));
    assert_ne!(connection.local_addr(), connection.remote_addr());
    json!({
        "who": principal.subject(),
        "transport": format!("{:?}", connection.transport()),
        "stateless": connection.is_stateless_request(),
        "desk": desk.0.0,
        "verb": context.http().unwrap().method.as_str(),
        "thing": context.headers().unwrap().get("x-thing").map(|thing| thing.to_str().unwrap()),
    })
    .to_string()
}

/// Takes what there never is.
#[tool]
async fn needs(_missing: Extension<Missing>) -> String {
    "unreachable".into()
}

/// Asks for the client's folders.
#[tool]
async fn folders(context: Context) -> Result<String, ToolError> {
    let roots = context.roots().await?;
    Ok(roots.into_iter().map(|root| root.uri).collect())
}

fn server() -> Server {
    Server::builder("known", "1").tools(tools![whoami, needs, folders]).build()
}

/// Takes a principal from `X-User`, and a desk from `X-Desk`.
fn identified() -> HttpServerOptions {
    let mut options = HttpServerOptions::default();
    options.sse_path = Some("/sse".into());
    options.identify = Some(Identify::new(|request| {
        let challenge = HeaderValue::from_static("Bearer realm=\"tests\"");
        let Some(user) = request.headers.remove("x-user") else {
            return Err(Denied::unauthorized(challenge));
        };
        match user.to_str().unwrap() {
            "mallory" => return Err(Denied::forbidden().with_message("not mallory")),
            "narrow" => return Err(Denied::forbidden().with_challenge(challenge)),
            "anybody" => {}
            user => drop(request.extensions.insert(Principal::new("tests", user))),
        }
        let desk = request.headers.get("x-desk").map_or("0", |desk| desk.to_str().unwrap());
        request.extensions.insert(Desk(desk.parse().unwrap()));
        Ok(())
    }));
    options
}

async fn post(address: SocketAddr, headers: &[&str], body: &Value) -> Answer {
    exchange(address, request("POST", address, headers, &body.to_string())).await
}

fn call(id: u32, tool: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool } })
}

/// Opens a session for somebody; the header that names it.
async fn open(address: SocketAddr, user: &str) -> String {
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        { "protocolVersion": LEGACY, "capabilities": { "roots": {} } } });
    let answer = post(address, &[user], &hello).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let session = format!("Mcp-Session-Id: {}", answer.headers["mcp-session-id"]);
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(post(address, &[user, &session], &ready).await.status, 202);
    session
}

/// What `whoami` said.
fn said(answer: &Value) -> Value {
    let text = answer["result"]["content"][0]["text"].as_str();
    serde_json::from_str(text.unwrap_or_else(|| panic!("{answer}"))).unwrap()
}

async fn next(wire: &mut Wire) -> Value {
    loop {
        let event = wire.event().await.unwrap();
        if !event.data.is_empty() {
            return serde_json::from_str(&event.data).unwrap();
        }
    }
}

/// A request that stays open for its stream.
async fn streaming(address: SocketAddr, request: String) -> Wire {
    let mut wire = Wire::open(address).await;
    wire.write(request).await;
    let (start, _) = wire.head().await;
    assert!(start.contains("200"), "{start}");
    wire
}

/// Opens a stream of HTTP+SSE; where its messages go.
async fn open_sse(address: SocketAddr, user: &str) -> (Wire, String) {
    let get = request("GET", address, &[user, "Accept: text/event-stream"], "");
    let mut wire = streaming(address, get.replace("/mcp", "/sse")).await;
    let endpoint = wire.event().await.unwrap();
    assert_eq!(&*endpoint.event, "endpoint");
    (wire, endpoint.data)
}

async fn post_sse(address: SocketAddr, path: &str, headers: &[&str], body: &Value) -> u16 {
    let text = request("POST", address, headers, &body.to_string());
    exchange(address, text.replacen("/mcp", path, 1)).await.status
}

#[tokio::test]
async fn a_hook_refuses_before_anything_else_is_looked_at() {
    let running = start(server(), identified()).await;
    let address = running.address;
    for (verb, path) in
        [("POST", "/mcp"), ("GET", "/mcp"), ("DELETE", "/mcp"), ("GET", "/sse"), ("PUT", "/x")]
    {
        let ask = |headers: &[&str]| request(verb, address, headers, "").replacen("/mcp", path, 1);
        let unknown = exchange(address, ask(&[])).await;
        assert_eq!(unknown.status, 401, "{verb} {path}");
        assert_eq!(unknown.headers["www-authenticate"], "Bearer realm=\"tests\"");
        let denied = exchange(address, ask(&["X-User: mallory"])).await;
        assert_eq!(denied.status, 403, "{verb} {path}");
        assert!(!denied.headers.contains_key("www-authenticate"));
        assert!(denied.json()["error"]["message"].as_str().unwrap().contains("not mallory"));
        let narrow = exchange(address, ask(&["X-User: narrow"])).await;
        assert_eq!(
            (narrow.status, &*narrow.headers["www-authenticate"]),
            (403, "Bearer realm=\"tests\"")
        );
    }
    // A host that may not enter is refused first, so the hook need not know of it.
    let elsewhere = exchange(address, "GET /mcp HTTP/1.1\r\nHost: evil.example\r\n\r\n").await;
    assert_eq!(elsewhere.status, 403);
}

#[tokio::test]
async fn a_handler_learns_who_sent_a_request_without_a_session() {
    let running = start(server(), identified()).await;
    let mut wire = Wire::open(running.address).await;
    // On one connection, as a proxy has it.
    for (user, desk) in [("alice", 1), ("alice", 2), ("bob", 3), ("alice", 4)] {
        let headers = [format!("X-User: {user}"), format!("X-Desk: {desk}"), "X-Thing: t".into()];
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        wire.write(modern_call(running.address, "whoami", "{}", &headers)).await;
        let answer = wire.answer().await.json();
        let expected = json!({ "who": user, "transport": "Http", "stateless": true, "desk": desk,
            "verb": "POST", "thing": "t" });
        assert_eq!(said(&answer), expected);
    }
}

#[tokio::test]
async fn each_request_of_a_session_brings_its_own_parts() {
    let running = start(server(), identified()).await;
    let session = open(running.address, ALICE).await;
    for desk in [1, 2] {
        let desk_header = format!("X-Desk: {desk}");
        let headers = [ALICE, session.as_str(), desk_header.as_str()];
        let answer = post(running.address, &headers, &call(desk, "whoami")).await.json();
        let expected = json!({ "who": "alice", "transport": "Http", "stateless": false,
            "desk": desk, "verb": "POST", "thing": null });
        assert_eq!(said(&answer), expected);
    }
}

#[tokio::test]
async fn a_stream_of_http_sse_is_known_as_one() {
    let running = start(server(), identified()).await;
    let address = running.address;
    let (mut wire, path) = open_sse(address, ALICE).await;
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        { "protocolVersion": "2024-11-05", "capabilities": {} } });
    assert_eq!(post_sse(address, &path, &[ALICE], &hello).await, 202);
    next(&mut wire).await;
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(post_sse(address, &path, &[ALICE], &ready).await, 202);
    assert_eq!(post_sse(address, &path, &[ALICE, "X-Desk: 9"], &call(1, "whoami")).await, 202);
    let expected = json!({ "who": "alice", "transport": "HttpSse", "stateless": false, "desk": 9,
        "verb": "POST", "thing": null });
    assert_eq!(said(&next(&mut wire).await), expected);
}

#[tokio::test]
async fn what_a_handler_needs_and_does_not_get_is_named() {
    let running = start(server(), identified()).await;
    let anybody = "X-User: anybody";
    let answer =
        exchange(running.address, modern_call(running.address, "whoami", "{}", &[anybody]));
    let error = answer.await.json()["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("principal"), "{error}");
    let answer = exchange(running.address, modern_call(running.address, "needs", "{}", &[anybody]));
    let error = answer.await.json()["error"].clone();
    assert_eq!(error["code"], -32603);
    assert!(error["message"].as_str().unwrap().contains("Missing"), "{error}");
}

#[test]
fn secrets_in_headers_are_not_shown() {
    let mut request = http::Request::new(());
    let secret = HeaderValue::from_static("Bearer s3cret");
    request.headers_mut().insert("authorization", secret);
    let connection = Arc::new(ConnectionInfo::new(TransportKind::Http));
    let info = CallInfo::new(connection).with_http(Arc::new(request.into_parts().0));
    assert!(!format!("{info:?}").contains("s3cret"));
    assert!(info.headers().unwrap().contains_key("authorization"));
}
