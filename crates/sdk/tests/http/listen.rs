//! Hearing of changes.

use std::net::SocketAddr;

use carrick::server::Tool;
use carrick::transport::http::{HttpServer, HttpServerOptions};
use carrick::{Server, tool, tools};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::raw::*;

const ID: &str = "io.modelcontextprotocol/subscriptionId";

/// Adds a tool.
#[tool]
async fn learn(server: Server) -> String {
    server.add_tool(more());
    "learnt".into()
}

fn more() -> Tool {
    Tool::new("more", async || "x".to_owned())
}

fn changing() -> Server {
    let resource = carrick::server::Resource::new("x://y", "y", async || "z");
    Server::builder("changing", "1")
        .tools(tools![learn])
        .resource(resource)
        .tools_may_change()
        .resource_subscriptions()
        .build()
}

fn listen(address: SocketAddr, filter: &str) -> String {
    let body = modern_body("subscriptions/listen", &format!("\"notifications\":{filter}"));
    let version = format!("MCP-Protocol-Version: {VERSION}");
    request("POST", address, &[&version, "Mcp-Method: subscriptions/listen"], &body)
}

/// The next message of an event stream.
async fn next(wire: &mut Wire) -> Value {
    loop {
        let event = wire.event().await.unwrap();
        if !event.data.is_empty() {
            return serde_json::from_str(&event.data).unwrap();
        }
    }
}

async fn listening(address: SocketAddr, filter: &str) -> Wire {
    let mut wire = Wire::open(address).await;
    wire.write(listen(address, filter)).await;
    let (start, headers) = wire.head().await;
    assert!(start.contains("200"), "{start}");
    assert_eq!(headers["content-type"], "text/event-stream");
    let first = next(&mut wire).await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["_meta"][ID], 1);
    wire
}

#[tokio::test]
async fn a_listen_stays_open_and_carries_what_it_asked_for() {
    let server = changing();
    let running = start(server.clone(), HttpServerOptions::default()).await;
    let mut tools = listening(running.address, r#"{"toolsListChanged":true}"#).await;
    let mut resource =
        listening(running.address, r#"{"resourceSubscriptions":["x://y","x://z"]}"#).await;
    // A call of its own connection changes the server.
    let answer = exchange(running.address, modern_call(running.address, "learn", "{}", &[])).await;
    assert_eq!(answer.status, 200);
    assert!(!answer.body.contains("list_changed"), "it did not listen");
    let told = next(&mut tools).await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(told["params"]["_meta"][ID], 1);
    server.notify_resource_updated("x://z");
    server.notify_resource_updated("x://y");
    let told = next(&mut resource).await;
    assert_eq!((told["method"].as_str(), told["params"]["uri"].as_str()), {
        (Some("notifications/resources/updated"), Some("x://y"))
    });
}

#[tokio::test]
async fn what_is_no_filter_is_answered_with_an_error_and_no_stream() {
    let running = start(changing(), HttpServerOptions::default()).await;
    for filter in ["null", "[1]", r#"{"toolsListChanged":"yes"}"#] {
        let answer = exchange(running.address, listen(running.address, filter)).await;
        assert_eq!(answer.error_code(), -32602, "{filter}");
        assert!(!answer.is_events());
    }
}

fn serving(
    server: &Server,
) -> impl Future<Output = (SocketAddr, oneshot::Sender<()>, JoinHandle<()>)> {
    let server = server.clone();
    async move {
        let mut options = HttpServerOptions::default();
        options.grace = std::time::Duration::from_secs(3600);
        let bound = HttpServer::bind(server, ([127, 0, 0, 1], 0).into(), options).await.unwrap();
        let address = bound.local_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            bound.serve(async { drop(stopped.await) }).await.unwrap();
        });
        (address, stop, task)
    }
}

#[tokio::test]
async fn d130_a_server_that_ends_answers_those_that_listen() {
    let (address, stop, task) = serving(&changing()).await;
    let mut wires = Vec::new();
    for _ in 0..20 {
        wires.push(listening(address, r#"{"toolsListChanged":true}"#).await);
    }
    stop.send(()).unwrap();
    for wire in &mut wires {
        let cancelled = next(wire).await;
        assert_eq!(cancelled["method"], "notifications/cancelled");
        assert_eq!(cancelled["params"]["requestId"], 1);
        let last = next(wire).await;
        assert_eq!((&last["id"], &last["result"]["_meta"][ID]), (&json!(1), &json!(1)));
        assert_eq!(last["result"]["resultType"], "complete");
        assert_eq!(wire.event().await, None);
    }
    task.await.unwrap();
}

#[tokio::test]
async fn a_session_hears_on_its_stream_of_what_it_subscribed_to() {
    let server = changing();
    let running = start(server.clone(), HttpServerOptions::default()).await;
    let address = running.address;
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": { "protocolVersion": LEGACY, "capabilities": {} } });
    let answer = exchange(address, request("POST", address, &[], &hello.to_string())).await;
    assert_eq!(
        answer.json()["result"]["capabilities"],
        json!({ "tools": { "listChanged": true }, "resources": { "subscribe": true },
            "logging": {} })
    );
    let session = format!("Mcp-Session-Id: {}", answer.headers["mcp-session-id"]);
    let say = async |message: Value| {
        exchange(address, request("POST", address, &[&session], &message.to_string())).await
    };
    say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    let subscribe = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/subscribe",
        "params": { "uri": "x://y" } });
    assert_eq!(say(subscribe).await.json()["result"], json!({}));

    // Nobody reads yet: what is equal adds up to one.
    for _ in 0..100 {
        server.notify_resource_updated("x://y");
        server.add_tool(more());
        // Lets the session take it, so that it waits in the stream already.
        let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
        assert_eq!(say(ping).await.status, 200);
    }
    let mut wire = Wire::open(address).await;
    wire.write(request("GET", address, &[&session, "Accept: text/event-stream"], "")).await;
    wire.head().await;
    let mut told = [next(&mut wire).await, next(&mut wire).await];
    told.sort_by_key(|message| message["method"].to_string());
    assert_eq!(told[0]["method"], "notifications/resources/updated");
    assert_eq!(told[0]["params"], json!({ "uri": "x://y" }));
    assert_eq!(told[1]["method"], "notifications/tools/list_changed");
    server.remove_tool("more");
    assert_eq!(next(&mut wire).await["method"], "notifications/tools/list_changed");
}
