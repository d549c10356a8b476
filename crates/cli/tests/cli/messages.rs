//! What a newcomer reads after each mistake: what to do.

use crate::support::{Sandbox, peer};
use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::unix::fs::PermissionsExt;

#[test]
fn f75_a_server_that_cannot_start_says_what_to_change() {
    let mut sandbox = Sandbox::new();
    sandbox.write("script.py", "print(1)");
    let bad = sandbox.write("bad.sh", "#!/no/such/interpreter\n");
    fs::set_permissions(bad, fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.set_config(&json!({ "mcpServers": {
        "words": { "command": "carrick-python server.py --x" },
        "path": { "command": "./nothing here", "cwd": sandbox.project() },
        "absent": { "command": "carrick-no-such-program" },
        "data": { "command": "./script.py", "cwd": sandbox.project() },
        "bang": { "command": "./bad.sh", "cwd": sandbox.project() },
        "folder": { "command": "sh", "cwd": "/no/such/folder" },
        "closed": { "url": "http://127.0.0.1:1/mcp" },
        "ends": peer(&["faulty", "exits"]),
        "echoes": { "command": "cat" },
        "nothing": { "command": "true" },
    } }));
    for (server, parts) in [
        ("words", &["\"command\": \"carrick-python\", \"args\": [\"server.py\", \"--x\"]"][..]),
        ("path", &["put \"here\" into \"args\""]),
        ("absent", &["install carrick-no-such-program"]),
        ("data", &["chmod +x", "script.py"]),
        ("bang", &["first line"]),
        ("folder", &["\"cwd\""]),
        ("closed", &["nothing listens there", "\"url\""]),
        ("ends", &["cannot open the database", "-v shows"]),
        ("echoes", &["is it an MCP server?"]),
        ("nothing", &["wrote nothing to stderr", "by hand"]),
    ] {
        let run = sandbox.run(&["call", server, "x"]).exits(4);
        let hint = run.stderr.lines().find(|line| line.starts_with("hint: "));
        let hint = hint.unwrap_or_else(|| panic!("no hint: {run}"));
        assert!(!hint.contains("carrick doctor"), "{hint}");
        for part in parts {
            assert!(run.stderr.contains(part), "{server}: no {part:?} in {run}");
        }
    }
    // The doctor says as much of each, and sends nobody to the doctor.
    let run = sandbox.run(&["doctor"]).exits(4);
    assert_eq!(run.stdout.matches("     hint: ").count(), 10, "{run}");
    assert!(!run.stdout.contains("carrick doctor"), "{run}");
    let run = sandbox.run(&["--json", "doctor"]).exits(4);
    let hints = run.json_lines().iter().filter(|line| line["hint"].is_string()).count();
    assert_eq!(hints, 10, "{run}");
}

#[test]
fn f75_silence_has_a_next_step() {
    let mut sandbox = Sandbox::with_servers([("mute", peer(&["faulty", "mute"]))]);
    let servers = sandbox.marked([("mute", peer(&["faulty", "mute"]))]);
    sandbox.set_config(&json!({ "mcpServers": servers, "limits": { "connectTimeout": 1200 } }));
    sandbox.run(&["tools"]).exits(4).says(["no answer within", "\"connectTimeout\"", "-v shows"]);
    let sandbox = Sandbox::with_servers([("silent", peer(&["faulty", "silent"]))]);
    let run = sandbox.run(&["--timeout", "1", "call", "silent", "wait"]).exits(1);
    run.says(["no answer within 1 s", "--timeout SECONDS waits longer"]);
}

#[test]
fn f75_an_address_without_a_scheme_is_completed() {
    let mut sandbox = Sandbox::new();
    sandbox.set("KEY", "s3cret");
    for (url, told) in [
        ("localhost:8123/mcp", "write http://localhost:8123/mcp"),
        ("127.0.0.1:8123", "write http://127.0.0.1:8123"),
        ("example.com/mcp?key=${KEY}", "write https://example.com/mcp"),
        ("/mcp", "as in http://localhost:8123/mcp"),
        ("ws://example.com/", "WebSocket"),
    ] {
        sandbox.set_config(&json!({ "mcpServers": { "a": { "url": url } } }));
        let run = sandbox.run(&["tools"]).exits(4);
        assert!(run.stderr.contains(told), "{url}: {run}");
        assert!(!run.stderr.contains("s3cret"), "{run}");
    }
}

#[test]
fn f75_names_that_are_nearly_right_are_told() {
    let sandbox = Sandbox::new();
    sandbox.run(&["call", "tim", "x"]).exits(2).says(["did you mean time?", "files, time"]);
    let run = sandbox.run(&["call", "time", "conver_time"]).exits(2);
    run.says(["did you mean convert_time?", "it has: convert_time, current_time"]);
    sandbox.run(&["tools", "filse"]).exits(2).says(["did you mean files?"]);
    sandbox.run(&["call", "time"]).exits(2).says(["no tool is named", "carrick tools time"]);
    sandbox.run(&["call", "tmie/x"]).exits(2).says(["no tool is named", "SERVER TOOL"]);
    sandbox.run(&["tools", "time/x"]).exits(2).says(["the server is time"]);
}

#[test]
fn f75_a_tool_may_be_named_as_it_is_listed() {
    let sandbox = Sandbox::with_servers([("fixture", peer(&["fixture"]))]);
    for words in [&["call", "fixture/echo", "t=x"][..], &["call", "fixture/echo", "{\"t\":\"x\"}"]]
    {
        assert_eq!(sandbox.run(words).exits(0).stdout, "x\n");
    }
    sandbox.run(&["call", "fixture/noargs"]).exits(0).prints(["ok"]);
}

#[test]
fn f75_nobody_is_sent_to_a_file_that_they_have_not() {
    let sandbox = Sandbox::new();
    let path = sandbox.write("wrong.json", "{\"mcpServer\": {}}");
    let run = sandbox.run(&["--config", path.to_str().unwrap(), "tools"]).exits(2);
    run.says(["did you mean \"mcpServers\"?", "https://", "/docs/config.md describes the file"]);
    let run = sandbox.run(&["--config", "nothing.json", "tools"]).exits(2);
    run.says(["nothing.json", "CARRICK_CONFIG", ".mcp.json is used"]);
    sandbox.run(&["trust"]).exits(2).says(["a project's config is a file .mcp.json"]);
}

#[test]
fn f75_what_fits_nothing_says_where_the_built_in_servers_are() {
    let sandbox = Sandbox::with_servers([("fixture", peer(&["fixture"]))]);
    let run = sandbox.run(&["ask", "--model", "builtin:match", "What time is it in Tokyo?"]);
    run.exits(1).says(["no tool fits", "\"time\": {\"type\": \"builtin\", \"name\": \"time\"}"]);
    let run = Sandbox::new().run(&["ask", "--model", "builtin:match", "xyzzy plugh"]).exits(1);
    assert!(!run.stderr.contains("builtin\""), "{run}");
}

#[test]
fn f75_what_was_not_run_is_said_once() {
    let sandbox = Sandbox::new();
    for request in [
        r#"{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"nosuch","arguments":"{}"}}]}"#,
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"nosuch","input":{}}]}"#,
        r#"{"tool_calls":[{"name":"nosuch","arguments":{}}]}"#,
    ] {
        let run = sandbox.run_with(request, &["route"]).exits(1);
        assert_eq!(run.stdout.to_lowercase().matches("not run").count(), 1, "{run}");
    }
}

#[test]
fn f75_a_request_to_a_wrong_server_says_which_there_are() {
    let sandbox = Sandbox::with_servers([
        ("silent", peer(&["faulty", "silent"])),
        ("exits", peer(&["faulty", "exits"])),
    ]);
    let request = |server: &str, tool: &str| {
        format!(
            "<use_mcp_tool>\n<server_name>{server}</server_name>\n<tool_name>{tool}</tool_name>\n\
             <arguments>{{}}</arguments>\n</use_mcp_tool>\n"
        )
    };
    for (server, tool, told) in [
        ("nosuch", "x", "not run: there is no server \"nosuch\"; there are: silent"),
        ("exits", "x", "not run: server \"exits\" cannot be used"),
        ("silemt", "wait", "did you mean silent/wait"),
        ("silent", "xyzzy", "not run: there is no tool \"silent/xyzzy\""),
    ] {
        let run = sandbox.run_with(request(server, tool), &["route"]).exits(1);
        run.prints([told]);
    }
}

#[test]
fn f75_an_address_that_refuses_says_what_to_change() {
    for (status, told) in [
        ("401 Unauthorized", "\"Authorization\": \"Bearer ${TOKEN}\""),
        ("403 Forbidden", "into its entry"),
        ("501 Not Implemented", "Most use /mcp"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    if stream.read(&mut byte).unwrap_or(0) == 0 {
                        break;
                    }
                    request.extend(byte);
                }
                let head = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                let _ = stream.write_all(head.as_bytes());
                let _ = stream.shutdown(Shutdown::Write);
                // It reads on, as the answer might be lost else.
                let _ = stream.read_to_end(&mut Vec::new());
            }
        });
        let mut sandbox = Sandbox::new();
        sandbox.set_config(&json!({ "mcpServers": { "far": { "url": url } } }));
        sandbox.run(&["tools", "far"]).exits(4).says(["hint: ", told]);
    }
}

#[test]
fn f75_an_address_to_listen_at_is_completed() {
    let sandbox = Sandbox::new();
    for (address, told) in [
        ("8000", "write 127.0.0.1:8000"),
        ("localhost", "add a port: localhost:8000"),
        ("127.0.0.1:99999", "up to 65535"),
        ("192.0.2.1:8000", "an address of this machine"),
    ] {
        let run = sandbox.run(&["server", "time", "--http", address]);
        assert!(run.stderr.contains(told), "{address}: {run}");
    }
}

#[test]
fn f75_one_tool_is_one_tool() {
    let sandbox = Sandbox::with_servers([("silent", peer(&["faulty", "silent"]))]);
    sandbox.run(&["doctor"]).exits(0).prints([", 1 tool  ("]);
}
