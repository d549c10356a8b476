//! Text in every script, byte for byte.

use carrick::server::{Resource, Tool};
use carrick::transport::http::HttpServerOptions;
use carrick::types::LogLevel;
use carrick::{Context, Server, ToolError, tool, tools};
use serde_json::{Value, json};

use crate::raw::*;

/// Raw, and the same with nothing but ASCII in it.
const TEXT: &str = "数据网关 🧭🛰 مرحبا e\u{301} \u{2028}\u{85}\u{7f}\u{feff}";
const ESCAPED: &str = r"\u6570\u636e\u7f51\u5173 \ud83e\udded\ud83d\udef0 \u0645\u0631\u062d\u0628\u0627 e\u0301 \u2028\u0085\u007f\ufeff";

/// Says the text back after telling of it by progress and log.
#[tool(name = "回声")]
async fn loud_echo(t: String, context: Context) -> String {
    context.progress(1.0, None, Some(&t));
    context.log(LogLevel::Error, &t);
    t
}

/// Fails with the text.
#[tool(name = "فشل")]
async fn fails(t: String) -> Result<String, ToolError> {
    Err(ToolError::new(t))
}

fn server() -> Server {
    Server::builder("服务器 🛰", "1")
        .tools(tools![loud_echo, fails])
        .tool(Tool::new("quiet", async || TEXT.to_owned()).title(TEXT))
        .resource(Resource::new("demo://控制", "控制", async || "a\0b\u{1b}[31mc\u{9b}d\r\n\te"))
        .build()
}

fn body(tool: &str, text: &str, meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"号","method":"tools/call","params":{{"name":"{tool}","arguments":{{"t":"{text}"}},"_meta":{{"progressToken":"令牌"{meta}}}}}}}"#
    )
}

/// The same call in both eras, and its messages.
async fn both_eras(running: &Running, tool: (&str, &str), text: &str) -> [Vec<Value>; 2] {
    let address = running.address;
    let hello = format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{LEGACY}","capabilities":{{}}}}}}"#
    );
    let opened = exchange(address, request("POST", address, &[], &hello)).await;
    assert_eq!(opened.json()["result"]["serverInfo"]["name"], "服务器 🛰");
    let session = format!("Mcp-Session-Id: {}", opened.headers["mcp-session-id"]);
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    exchange(address, request("POST", address, &[&session], ready)).await;
    let in_session = request("POST", address, &[&session], &body(tool.0, text, ""));

    let meta = format!(
        r#","io.modelcontextprotocol/protocolVersion":"{VERSION}","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/logLevel":"debug""#
    );
    let version = format!("MCP-Protocol-Version: {VERSION}");
    let name = format!("Mcp-Name: {}", tool.1);
    let headers = [version.as_str(), "Mcp-Method: tools/call", name.as_str()];
    let stateless = request("POST", address, &headers, &body(tool.0, text, &meta));
    [messages(exchange(address, in_session).await), messages(exchange(address, stateless).await)]
}

fn messages(answer: Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(!answer.body.contains("\\u"), "what can stand raw does: {}", answer.body);
    if !answer.is_events() {
        return vec![answer.json()];
    }
    let data = answer.events().into_iter().map(|event| event.data);
    data.filter(|data| !data.is_empty()).map(|data| serde_json::from_str(&data).unwrap()).collect()
}

#[tokio::test]
async fn d069_every_script_passes_raw_and_escaped_in_every_place() {
    let running = start(server(), HttpServerOptions::default()).await;
    for text in [TEXT, ESCAPED] {
        for said in both_eras(&running, ("回声", "=?base64?5Zue5aOw?="), text).await {
            assert_eq!(said.len(), 3, "{said:?}");
            for message in &said[..2] {
                let params = &message["params"];
                if message["method"] == "notifications/progress" {
                    assert_eq!(params["progressToken"], "令牌");
                    assert_eq!(params["message"], TEXT);
                } else {
                    assert_eq!(params["data"], TEXT);
                }
            }
            assert_eq!(said[2]["id"], "号");
            assert_eq!(said[2]["result"]["content"][0]["text"], TEXT);
        }
        for said in both_eras(&running, ("فشل", "=?base64?2YHYtNmE?="), text).await {
            assert_eq!(said[0]["result"]["isError"], true);
            assert_eq!(said[0]["result"]["content"][0]["text"], TEXT);
        }
        // The name itself may be escaped too, and stay the same.
        let spelt = r"\u56de\u58f0";
        for said in both_eras(&running, (spelt, "=?base64?5Zue5aOw?="), text).await {
            assert_eq!(said[2]["result"]["content"][0]["text"], TEXT);
        }
    }
}

#[tokio::test]
async fn d069_what_is_no_unicode_is_refused_and_never_guessed() {
    let running = start(server(), HttpServerOptions::default()).await;
    let address = running.address;
    let version = format!("MCP-Protocol-Version: {VERSION}");
    let headers = [version.as_str(), "Mcp-Method: tools/call", "Mcp-Name: quiet"];
    let call = |text: &str| modern_body("tools/call", &format!(r#""name":"quiet","x":"{text}""#));
    // Half of a pair of surrogates names no character.
    let mut half = request("POST", address, &headers, &call(r"\ud83d")).into_bytes();
    let answer = exchange(address, &half).await;
    assert_eq!(answer.status, 200, "nobody reads that member: {answer:?}");
    half = request("POST", address, &headers, &call(r"\ud83d").replace("\"x\"", "\"arguments\""))
        .into_bytes();
    assert_eq!(exchange(address, &half).await.error_code(), -32602);
    // Bytes that are no UTF-8, in as many places as there are kinds of it.
    for wrong in [&b"\xff"[..], b"\xc3", b"\xc0\xaf", b"\xed\xa0\xbd", b"\xf5\x80\x80\x80"] {
        let text = request("POST", address, &headers, &call("@@@@"));
        let mut bytes = text.into_bytes();
        let at = bytes.windows(4).position(|four| four == b"@@@@").unwrap();
        bytes[at..at + wrong.len()].copy_from_slice(wrong);
        let answer = exchange(address, &bytes).await;
        assert_eq!((answer.status, answer.error_code()), (400, -32700), "{wrong:?}");
    }
}

#[tokio::test]
async fn d070_control_characters_travel_as_escapes() {
    let running = start(server(), HttpServerOptions::default()).await;
    let address = running.address;
    let body = modern_body("resources/read", r#""uri":"demo://控制""#);
    let version = format!("MCP-Protocol-Version: {VERSION}");
    let name = "Mcp-Name: =?base64?ZGVtbzovL+aOp+WItg==?=";
    let headers = [version.as_str(), "Mcp-Method: resources/read", name];
    let answer = exchange(address, request("POST", address, &headers, &body)).await;
    assert!(answer.body.bytes().all(|byte| byte >= b' '), "{:?}", answer.body);
    let contents = &answer.json()["result"]["contents"][0];
    assert_eq!(contents["text"], json!("a\0b\u{1b}[31mc\u{9b}d\r\n\te"));
}
