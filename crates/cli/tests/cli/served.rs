//! `carrick serve`: a configured server for clients of any revision.

mod leaky;

use crate::support::{BOUND, Running, Sandbox, case, peer, shell, until};
use carrick_testkit::fixture::checksum_of;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const NEW: &str = "2026-07-28";

/// A run of `carrick serve --http` that listens, and where.
struct Served {
    running: Running,
    address: String,
}

impl Served {
    fn start(sandbox: &Sandbox, more: &[&str]) -> Self {
        let mut running = sandbox.start(&[&["serve", "--http", "127.0.0.1:0"], more].concat());
        let said = running.said("listening on http://");
        let (_, rest) = said.split_once("http://").unwrap();
        let address = rest.trim().strip_suffix("/mcp").unwrap().to_owned();
        Self { running, address }
    }

    /// A request of the newest revision; the status and the body.
    fn ask(&self, id: u32, method: &str, params: Value) -> (u16, Value) {
        let (status, body) = exchange(&mut self.begin(id, method, params));
        (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
    }

    /// The text that a tool of the fixture answers with.
    fn call(&self, tool: &str, arguments: Value) -> String {
        let answer = self.ask(1, "tools/call", json!({ "name": tool, "arguments": arguments }));
        text(&answer.1)
    }

    /// The same, sent and not read.
    fn begin(&self, id: u32, method: &str, mut params: Value) -> TcpStream {
        let name = params["name"].as_str().map(|name| format!("Mcp-Name: {name}\r\n"));
        params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": NEW,
            "io.modelcontextprotocol/clientCapabilities": {} });
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let more = format!(
            "MCP-Protocol-Version: {NEW}\r\nMcp-Method: {method}\r\n{}",
            name.unwrap_or_default()
        );
        self.post(&format!("Host: {}\r\n{more}", self.address), &body.to_string())
    }

    fn post(&self, headers: &str, body: &str) -> TcpStream {
        self.send(&format!(
            "POST /mcp HTTP/1.1\r\n{headers}Content-Type: application/json\r\nConnection: close\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    }

    fn send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }
}

/// Reads an answer to its end.
fn exchange(stream: &mut TcpStream) -> (u16, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

fn text(answer: &Value) -> String {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {answer}")).to_owned()
}

fn fixture() -> Sandbox {
    Sandbox::with_servers([("fixture", peer(&["fixture"]))])
}

/// What `carrick serve --stdio` answers to these lines.
fn fed(sandbox: &Sandbox, input: impl AsRef<[u8]>) -> Vec<Value> {
    sandbox.run_with(input, &["serve", "--stdio"]).exits(0).json_lines()
}

fn with_id<'a>(messages: &'a [Value], id: &Value) -> &'a Value {
    let mut found = messages.iter().filter(|message| message.get("id") == Some(id));
    let message = found.next().unwrap_or_else(|| panic!("no answer {id}: {messages:#?}"));
    assert!(found.next().is_none(), "{id} is answered twice: {messages:#?}");
    message
}

#[test]
fn d001_names_are_matched_on_both_sides_alike() {
    let messages = fed(&fixture(), fs::read(case("D001/in.jsonl")).unwrap());
    assert_eq!(text(with_id(&messages, &json!(1))), "safe: x");
    assert!(!format!("{messages:?}").contains("danger"), "{messages:#?}");
}

#[test]
fn d069_text_of_every_script_passes_through() {
    let messages = fed(&fixture(), fs::read(case("D069/in.jsonl")).unwrap());
    assert_eq!(text(with_id(&messages, &json!(1))), "数据网关 🧭🛰 مرحبا e\u{301}");
    assert_eq!(text(with_id(&messages, &json!(2))), "上下🚀");
}

#[test]
fn d008_d013_d068_handed_lines_have_the_same_outcome_through_it() {
    let sandbox = fixture();
    let messages = fed(&sandbox, fs::read(case("D008/in.jsonl")).unwrap());
    let fives: Vec<&Value> = messages.iter().filter(|message| message["id"] == 5).collect();
    assert_eq!(fives.len(), 2, "{messages:#?}");
    assert!(fives.iter().any(|message| message["error"]["code"] == -32600));
    let ran = fives.iter().find(|message| message["result"].is_object());
    assert_eq!(text(ran.unwrap()), "slept 300");
    let messages = fed(&sandbox, fs::read(case("D013/in.jsonl")).unwrap());
    assert_eq!(text(with_id(&messages, &json!(1))), "slept 200");
    let messages = fed(&sandbox, fs::read(case("D068/in.jsonl")).unwrap());
    assert_eq!(with_id(&messages, &json!(1))["error"]["code"], -32602);
    assert_eq!(with_id(&messages, &json!(2))["result"]["isError"], true);
    assert_eq!(with_id(&messages, &json!(3))["error"]["code"], -32002);
}

#[test]
fn d004_what_is_no_message_is_refused_and_the_connection_stays() {
    let rubbish = b"\xff\xfe\x00\n{\n[]\n{}\n7\n\"x\"\nnull\n\n \t\n{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}\n";
    let mut input = fs::read(case("D001/in.jsonl")).unwrap();
    input.extend_from_slice(rubbish);
    input.extend("[".repeat(100_000).bytes());
    input.extend_from_slice(b"\n{\"jsonrpc\":\"2.0\",\"id\":\"after\",\"method\":\"ping\"}\n");
    // And one that never comes to its end.
    input.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":\"half\",\"meth");
    let messages = fed(&fixture(), input);
    assert!(with_id(&messages, &json!("after"))["result"].is_object(), "{messages:#?}");
    for message in messages.iter().filter(|message| message["error"].is_object()) {
        let code = message["error"]["code"].as_i64().unwrap();
        assert!([-32700, -32600].contains(&code), "{message}");
    }
    assert!(!messages.iter().any(|message| message["id"] == "half"), "{messages:#?}");
}

#[test]
fn d009_a_server_that_dies_fails_its_calls_and_is_started_again() {
    // So that all calls are at one process.
    let mut dying = peer(&["faulty", "dies"]);
    dying["session"] = json!("shared");
    let sandbox = Sandbox::with_servers([("dying", dying)]);
    let served = Served::start(&sandbox, &[]);
    let mut held: Vec<TcpStream> = (1..=2)
        .map(|n| {
            let params = json!({ "name": "hold", "arguments": { "n": n } });
            served.begin(n, "tools/call", params)
        })
        .collect();
    let params = json!({ "name": "die", "arguments": { "after": 2 } });
    held.push(served.begin(3, "tools/call", params));
    for stream in &mut held {
        let (_, body) = exchange(stream);
        assert!(body.contains("dying") && body.contains("exit code 3"), "{body}");
        assert!(body.contains("panic: 内存不足"), "{body}");
    }
    assert_eq!(served.call("echo", json!({ "t": "again" })), "again");
}

#[test]
fn d012_a_hundred_clients_at_once_get_their_own_answers() {
    let sandbox = fixture();
    let served = Served::start(&sandbox, &[]);
    let texts: Vec<String> = (0..100).map(|n| format!("{n}-").repeat(10_000)).collect();
    // All have the same id.
    let mut streams: Vec<TcpStream> = texts
        .iter()
        .map(|text| {
            let arguments = json!({ "t": text });
            served.begin(1, "tools/call", json!({ "name": "checksum", "arguments": arguments }))
        })
        .collect();
    for (stream, sent) in streams.iter_mut().zip(&texts) {
        let (status, body) = exchange(stream);
        assert_eq!(status, 200, "{body}");
        let answer: Value = serde_json::from_str(&body).unwrap_or_default();
        assert_eq!(text(&answer), checksum_of(sent));
    }
}

#[test]
fn d092_a_page_can_neither_reach_it_nor_make_it_start_anything() {
    let sandbox = fixture();
    let served = Served::start(&sandbox, &[]);
    let port = served.address.rsplit_once(':').unwrap().1;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
        { "name": "count", "arguments": {}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": NEW,
            "io.modelcontextprotocol/clientCapabilities": {} } } })
    .to_string();
    let own =
        format!("MCP-Protocol-Version: {NEW}\r\nMcp-Method: tools/call\r\nMcp-Name: count\r\n");
    // What a page reaches it by, and what a page cannot hide.
    for (host, origin) in [
        (format!("0.0.0.0:{port}"), ""),
        (format!("192.168.0.7:{port}"), ""),
        (format!("evil.example:{port}"), ""),
        ("localhost".into(), ""),
        (format!("localhost:{port}"), "Origin: https://evil.example\r\n"),
        (format!("127.0.0.1:{port}"), "Origin: null\r\n"),
        (format!("127.0.0.1:{port}"), "Origin: http://127.0.0.1:1\r\n"),
    ] {
        let headers = format!("Host: {host}\r\n{origin}{own}");
        let (status, _) = exchange(&mut served.post(&headers, &body));
        assert_eq!(status, 403, "{host} {origin}");
    }
    // There is one path, and no way to name a program or another server.
    for path in
        ["/", "/start", "/mcp//", "/mcp/x", "//mcp", "/../mcp", "/sse", "/config", "/health"]
    {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", served.address);
        let (status, _) = exchange(&mut served.send(&request));
        assert_eq!(status, 404, "{path}");
    }
    for hint in
        ["X-Command: touch x\r\n", "X-Target-Url: http://127.0.0.1:9/\r\n", "X-Server: other\r\n"]
    {
        let headers = format!("Host: {}\r\n{hint}{own}", served.address);
        let (status, answer) = exchange(&mut served.post(&headers, &body));
        assert_eq!(status, 200, "{answer}");
    }
    assert_eq!(served.call("count", json!({})), "4", "those that were refused never ran");
}

#[test]
fn d130_told_to_end_it_lets_calls_finish() {
    for arguments in [&["serve", "--http", "127.0.0.1:0"][..], &["serve", "--stdio"]] {
        let sandbox = fixture();
        let stdio = arguments.contains(&"--stdio");
        if stdio {
            let mut running = sandbox.start(arguments);
            running.write(&fs::read(case("D013/in.jsonl")).unwrap());
            running.line();
            // The call may not have been read yet: an answer to what comes after it says so.
            running.write(b"{\"jsonrpc\":\"2.0\",\"id\":\"read\",\"method\":\"ping\"}\n");
            assert!(running.line().contains("\"read\""));
            running.signal(Signal::SIGTERM);
            let run = running.ended();
            assert_eq!(run.status.code(), Some(0), "{run}");
            run.prints(["slept 200"]);
        } else {
            let served = Served::start(&sandbox, &[]);
            let params = json!({ "name": "slow", "arguments": {} });
            let mut stream = served.begin(1, "tools/call", params);
            // Another call after it has been answered, so it has been read.
            assert_eq!(served.call("echo", json!({ "t": "x" })), "x");
            served.running.signal(Signal::SIGTERM);
            let (status, body) = exchange(&mut stream);
            assert_eq!(status, 200);
            assert!(body.contains("done"), "{body}");
            let run = served.running.ended();
            assert_eq!(run.status.code(), Some(0), "{run}");
        }
    }
}

#[test]
fn d130_told_twice_it_ends_at_once() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let sandbox = fixture();
        let served = Served::start(&sandbox, &[]);
        let params = json!({ "name": "sleep_ms", "arguments": { "ms": 600_000 } });
        let _stream = served.begin(1, "tools/call", params);
        assert_eq!(served.call("echo", json!({ "t": "x" })), "x");
        served.running.signal(signal);
        // Once it takes no more connections, it has heard that.
        until("the end of the listening", || TcpStream::connect(&served.address).err());
        let before = Instant::now();
        served.running.signal(signal);
        let run = served.running.ended();
        assert_eq!(run.status.code(), Some(128 + signal as i32), "{run}");
        assert!(before.elapsed() < Duration::from_secs(5), "it did not wait for the call");
    }
}

#[test]
fn d129_a_server_whose_entry_changes_is_started_anew() {
    let mut sandbox = fixture();
    let mut served = Served::start(&sandbox, &[]);
    assert_eq!(served.call("echo", json!({ "t": "x" })), "x");
    // Half a file, as of one that is just being saved; for good it is an error.
    let path = sandbox.root().join("servers.json");
    let good = fs::read_to_string(&path).unwrap();
    fs::write(&path, &good[..good.len() / 2]).unwrap();
    served.running.said("goes on as it was");
    assert_eq!(served.call("count", json!({})), "1");
    // The same as before: nothing to do, and nothing is started anew.
    fs::write(&path, &good).unwrap();
    let docs = sandbox.marked([("fixture", peer(&["docs"])), ("other", peer(&["weather"]))]);
    let replaced = sandbox.root().join("new.json");
    fs::write(&replaced, json!({ "mcpServers": docs }).to_string()).unwrap();
    fs::rename(&replaced, &path).unwrap();
    served.running.said("\"fixture\" starts anew");
    assert_eq!(served.call("write", json!({ "text": "x" })), "wrote: x");
    // An entry of another server is of no concern.
    let mut other = docs.clone();
    other.insert("other".into(), shell("exit 1"));
    sandbox.set_config(&json!({ "mcpServers": other }));
    let mut off = other.clone();
    off["fixture"]["disabled"] = json!(true);
    sandbox.set_config(&json!({ "mcpServers": off }));
    served.running.said("\"fixture\" is disabled and ends");
    let answer =
        served.ask(1, "tools/call", json!({ "name": "write", "arguments": { "text": "" } }));
    assert!(answer.1["error"]["message"].to_string().contains("disabled"), "{}", answer.1);
    // Without its file it stays what it was.
    fs::remove_file(&path).unwrap();
    served.running.said("goes on as it was");
    sandbox.set_config(&json!({ "mcpServers": docs }));
    served.running.said("\"fixture\" starts anew");
    assert_eq!(served.call("write", json!({ "text": "y" })), "wrote: y");
    served.running.signal(Signal::SIGTERM);
    let run = served.running.ended();
    assert_eq!(run.stderr.matches("starts anew").count(), 2, "{run}");
}

#[test]
fn d129_a_project_that_changes_is_not_run_before_it_is_approved() {
    let sandbox = Sandbox::new();
    let write = |server: Value| {
        let servers = sandbox.marked([("s", server)]);
        sandbox.write(".mcp.json", json!({ "mcpServers": servers }).to_string());
    };
    write(peer(&["fixture"]));
    sandbox.run(&["trust", "--yes"]).exits(0);
    let mut served = Served::start(&sandbox, &[]);
    let mark = sandbox.root().join("ran");
    let script = format!("touch '{}'; exec \"$PEER\" docs", mark.display());
    write(shell(&script));
    served.running.said("goes on as it was");
    assert_eq!(served.call("echo", json!({ "t": "x" })), "x");
    assert!(!mark.exists());
    sandbox.run(&["trust", "--yes"]).exits(0);
    served.running.said("\"s\" starts anew");
    assert_eq!(served.call("write", json!({ "text": "x" })), "wrote: x");
    assert!(mark.exists());
}
