//! Clients that do not read.

use std::net::SocketAddr;
use std::sync::Arc;

use carrick::server::Tool;
use carrick::transport::http::HttpServerOptions;
use carrick::types::LogLevel;
use carrick::{Context, Server, State, tool, tools};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::raw::*;

const REPORTS: usize = 400;
const SIZE: usize = 64 << 10;

/// Says more than any buffer takes, and does not wait for anybody to read it.
#[tool]
async fn flood(context: Context, done: State<Arc<Notify>>) -> String {
    for report in 0..REPORTS {
        let text = format!("{report:08}").repeat(SIZE / 8);
        context.log(LogLevel::Error, &text);
        context.progress(report as f64 + 1.0, None, Some(&text));
        tokio::task::yield_now().await;
    }
    done.notify_one();
    "done".into()
}

fn listen(address: SocketAddr) -> String {
    let filter = r#""notifications":{"toolsListChanged":true}"#;
    let body = modern_body("subscriptions/listen", filter);
    let version = format!("MCP-Protocol-Version: {VERSION}");
    request("POST", address, &[&version, "Mcp-Method: subscriptions/listen"], &body)
}

async fn next(wire: &mut Wire) -> Value {
    loop {
        let event = wire.event().await.unwrap();
        if !event.data.is_empty() {
            return serde_json::from_str(&event.data).unwrap();
        }
    }
}

/// The call of one who asks to hear of everything.
async fn call(address: SocketAddr, modern: bool) -> String {
    if modern {
        let meta = r#""_meta":{"progressToken":1,"io.modelcontextprotocol/logLevel":"debug","#;
        let body = modern_body("tools/call", r#""name":"flood","arguments":{}"#)
            .replace(r#""_meta":{"#, meta);
        let version = format!("MCP-Protocol-Version: {VERSION}");
        let headers = [version.as_str(), "Mcp-Method: tools/call", "Mcp-Name: flood"];
        return request("POST", address, &headers, &body);
    }
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": { "protocolVersion": LEGACY, "capabilities": {} } });
    let opened = exchange(address, request("POST", address, &[], &hello.to_string())).await;
    let session = format!("Mcp-Session-Id: {}", opened.headers["mcp-session-id"]);
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    exchange(address, request("POST", address, &[&session], ready)).await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
        { "name": "flood", "arguments": {}, "_meta": { "progressToken": 1 } } });
    request("POST", address, &[&session], &call.to_string())
}

#[tokio::test]
async fn d138_one_who_does_not_read_holds_nobody_up_and_is_not_kept_for() {
    for modern in [true, false] {
        let done = Arc::new(Notify::new());
        let server = Server::builder("flood", "1")
            .state(done.clone())
            .tools(tools![flood])
            .tools_may_change()
            .build();
        let running = start(server.clone(), HttpServerOptions::default()).await;
        let address = running.address;
        let mut others = Vec::new();
        for _ in 0..200 {
            let mut wire = Wire::open(address).await;
            wire.write(listen(address)).await;
            wire.head().await;
            let first = next(&mut wire).await;
            assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
            others.push(wire);
        }
        let mut slow = Wire::open(address).await;
        slow.write(call(address, modern).await).await;

        // The handler comes to its end though nobody reads what it says.
        done.notified().await;
        for round in 0..3 {
            let name = format!("new{round}");
            server.add_tool(Tool::new(name, async || "x".to_owned()));
            for wire in &mut others {
                let told = next(wire).await;
                assert_eq!(told["method"], "notifications/tools/list_changed");
            }
        }
        let (start, _) = slow.head().await;
        assert!(start.contains("200"), "{start}");
        let (mut bytes, mut newest) = (0, 0.0);
        let answer = loop {
            let message = next(&mut slow).await;
            if message["id"] == 1 {
                break message;
            }
            bytes += message.to_string().len();
            if let Some(progress) = message["params"]["progress"].as_f64() {
                assert!(progress > newest, "in order");
                newest = progress;
            }
        };
        assert_eq!(answer["result"]["content"][0]["text"], "done");
        let said = 2 * REPORTS * SIZE;
        assert!(bytes < said * 3 / 4, "{bytes} of {said} bytes were kept for it");
    }
}
