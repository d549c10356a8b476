//! `tools`, `call`, `read`, `servers`, `doctor` and `server`, and how each of them ends.

use crate::support::{Listening, Sandbox, peer, peer_path, shell};
use serde_json::{Value, json};

fn fixture() -> Sandbox {
    Sandbox::with_servers([("fixture", peer(&["fixture"]))])
}

#[test]
fn tools_are_listed_with_nothing_set_up() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["tools"]).exits(0);
    run.prints(["time/convert_time", "time/current_time", "files/search_files"]);
    let run = sandbox.run(&["tools", "time", "--long"]).exits(0);
    assert!(!run.stdout.contains("files/"), "{run}");
    run.prints(["source_timezone: string", "date?: string"]);
}

#[test]
fn tools_as_json_are_a_line_each() {
    let run = fixture().run(&["tools", "--json"]).exits(0);
    let lines = run.json_lines();
    let echo = lines.iter().find(|line| line["name"] == "echo").unwrap();
    assert_eq!(echo["server"], "fixture");
    assert_eq!(echo["description"], "Says the text back.");
    assert_eq!(echo["inputSchema"]["required"], json!(["t"]));
}

#[test]
fn tools_of_an_unknown_server_are_wrong_usage() {
    let run = fixture().run(&["tools", "nobody"]).exits(2);
    assert_eq!(run.stdout, "");
    run.says(["\"nobody\"", "there are: fixture"]);
}

#[test]
fn call_prints_the_result_alone() {
    let sandbox = fixture();
    assert_eq!(sandbox.run(&["call", "fixture", "echo", "t=hello"]).exits(0).stdout, "hello\n");
    let run = sandbox.run(&["call", "fixture", "slow"]).exits(0).says(["/10 working"]);
    assert_eq!(run.stdout, "done\n");
}

#[test]
fn call_takes_arguments_in_each_form() {
    let sandbox = fixture();
    for arguments in [&["ms=1"][..], &["ms:=1"], &[r#"{"ms":1}"#]] {
        let run = sandbox.run(&[&["call", "fixture", "sleep_ms"], arguments].concat()).exits(0);
        assert_eq!(run.stdout, "slept 1\n");
    }
    let run = sandbox.run_with(r#"{"ms":2}"#, &["call", "fixture", "sleep_ms", "-"]).exits(0);
    assert_eq!(run.stdout, "slept 2\n");
    for wrong in ["ms", "{\"ms\":", "=1"] {
        sandbox.run(&["call", "fixture", "sleep_ms", wrong]).exits(2);
    }
}

#[test]
fn call_as_json_is_the_result_as_received() {
    let run = Sandbox::new()
        .run(&[
            "call",
            "time",
            "convert_time",
            "time=09:00",
            "source_timezone=Paris",
            "target_timezone=Tokyo",
            "date=2026-07-01",
            "--json",
        ])
        .exits(0);
    let [result] = &run.json_lines()[..] else { panic!("{run}") };
    assert!(result["content"][0]["text"].as_str().unwrap().contains("16:00"), "{result}");
    assert!(result["structuredContent"].is_object(), "{result}");
}

#[test]
fn call_ends_with_each_exit_code() {
    let mut sandbox = fixture();
    sandbox.run(&["call", "fixture", "fail"]).exits(5).prints(["it always fails"]);
    let run = sandbox.run(&["call", "fixture", "ecko"]).exits(2);
    run.says(["no tool \"ecko\"", "echo"]);
    sandbox.run(&["call", "nobody", "echo"]).exits(2).says(["\"nobody\""]);
    sandbox.run(&["call"]).exits(2);
    let servers = sandbox.marked([
        ("fixture", peer(&["fixture"])),
        ("off", json!({ "command": "sh", "disabled": true })),
        ("remote", json!({ "type": "http", "url": "http://127.0.0.1:1/mcp" })),
    ]);
    sandbox.set_config(&json!({
        "mcpServers": servers, "permissions": { "deny": ["fixture/danger_run"] },
    }));
    let run = sandbox.run(&["call", "fixture", "danger_run"]).exits(3);
    assert_eq!(run.stdout, "");
    run.says(["fixture/danger_run may not run"]);
    sandbox.run(&["call", "off", "x"]).exits(4).says(["disabled"]);
    sandbox.run(&["call", "remote", "x"]).exits(4).says(["\"remote\"", "127.0.0.1:1"]);
}

#[test]
fn an_error_is_an_event_with_json() {
    let run = fixture().run(&["call", "nobody", "echo", "--json"]).exits(2);
    let [event] = &run.json_lines()[..] else { panic!("{run}") };
    assert_eq!((&event["type"], &event["server"]), (&json!("error"), &json!("nobody")));
    assert!(event["message"].as_str().unwrap().contains("no server of that name"), "{event}");
}

#[test]
fn read_prints_text_and_bytes_as_they_are() {
    let sandbox = Sandbox::new();
    let text = sandbox.write("note.txt", "one\ntwo\n");
    let bytes = sandbox.write("raw.bin", [0u8, 1, 254, 255]);
    let uri = |path: &std::path::Path| format!("file://{}", path.canonicalize().unwrap().display());
    let run = sandbox.run(&["read", "files", &uri(&text)]).exits(0);
    assert_eq!(run.stdout, "one\ntwo\n");
    let output = sandbox.command(&["read", "files", &uri(&bytes)]).output().unwrap();
    assert_eq!(output.stdout, [0u8, 1, 254, 255]);
    let run = sandbox.run(&["read", "files", &uri(&text), "--json"]).exits(0);
    let [result] = &run.json_lines()[..] else { panic!("{run}") };
    assert_eq!(result["contents"][0]["text"], "one\ntwo\n");
    let run = sandbox.run(&["read", "files", "file:///etc/hostname"]).exits(1);
    run.says(["\"files\"", "`carrick read files` lists"]);
    sandbox.run(&["read", "files"]).exits(0).prints([uri(&text).as_str()]);
    sandbox.run(&["read", "nobody", "file:///x"]).exits(2);
    let remote = json!({ "url": "http://127.0.0.1:1/mcp" });
    let sandbox = Sandbox::with_servers([("remote", remote)]);
    sandbox.run(&["read", "remote", "file:///x"]).exits(4).says(["\"remote\""]);
}

#[test]
fn servers_lists_without_starting_any() {
    let mut sandbox = Sandbox::new();
    let servers = sandbox.marked([
        ("off", json!({ "command": "sh", "disabled": true })),
        ("broken", json!({ "command": "sh", "args": ["${CARRICK_TEST_UNSET}"] })),
        ("touch", json!({ "command": "touch", "args": ["started"] })),
        ("remote", json!({ "url": "https://example.com/mcp?key=secret" })),
    ]);
    sandbox.set_config(&json!({ "mcpServers": servers }));
    let run = sandbox.run(&["servers", "--json"]).exits(0);
    let lines = run.json_lines();
    let state = |name: &str| {
        let line = lines.iter().find(|line| line["server"] == name);
        line.unwrap_or_else(|| panic!("{run}"))["state"].clone()
    };
    assert_eq!(state("off"), "disabled");
    assert_eq!(state("broken"), "broken");
    assert_eq!(state("touch"), "not tried");
    assert!(!run.stdout.contains("secret"), "{run}");
    assert!(!sandbox.project().join("started").exists());
    let run = sandbox.run(&["servers"]).exits(0);
    run.prints(["touch", "https://example.com/mcp", "CARRICK_TEST_UNSET"]);
}

#[test]
fn doctor_tells_what_is_wrong() {
    let sandbox = Sandbox::with_servers([
        ("fixture", peer(&["fixture"])),
        ("absent", json!({ "command": "carrick-no-such-program" })),
        ("exits", peer(&["faulty", "exits"])),
    ]);
    let run = sandbox.run(&["doctor"]).exits(4);
    let run = run.prints(["ok   server fixture", "FAIL server absent", "not found"]);
    run.prints(["FAIL server exits", "cannot open the database", "model"]);
    let run = sandbox.run(&["doctor", "--json"]).exits(4);
    let lines = run.json_lines();
    let ok = |name: &str| lines.iter().find(|line| line["name"] == name).unwrap()["ok"].clone();
    assert_eq!((ok("fixture"), ok("absent")), (json!(true), json!(false)));
}

#[test]
fn doctor_is_content_with_nothing_set_up() {
    Sandbox::new().run(&["doctor"]).exits(0).prints(["ok   server time", "ok   server files"]);
}

#[test]
fn doctor_tells_of_a_model_that_cannot_be_used() {
    let mut sandbox = fixture();
    sandbox.set("CARRICK_MODEL", "openai:x");
    sandbox.run(&["doctor"]).exits(1).prints(["FAIL model", "OPENAI_API_KEY"]);
}

#[test]
fn a_server_is_served_over_http_and_used_from_there() {
    let arguments = ["server", "time", "--http", "127.0.0.1:0"];
    let server = Listening::start(env!("CARGO_BIN_EXE_carrick"), &arguments);
    let sandbox = Sandbox::with_servers([("clock", server.entry())]);
    let run = sandbox.run(&["call", "clock", "current_time", "timezone=Asia/Tokyo"]).exits(0);
    assert!(run.stdout.contains("Asia/Tokyo"), "{run}");
    // It ends by itself when it is asked to.
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn the_fixture_is_served_over_http_and_used_from_there() {
    let server = Listening::start(peer_path(), &["fixture", "http", "127.0.0.1:0"]);
    let sandbox = Sandbox::with_servers([("remote", server.entry())]);
    sandbox.run(&["call", "remote", "slow"]).exits(0).prints(["done"]).says(["/10 working"]);
    sandbox.run(&["call", "remote", "fail"]).exits(5).prints(["it always fails"]);
    drop(server);
    sandbox.run(&["call", "remote", "slow"]).exits(4).says(["\"remote\""]);
}

#[test]
fn server_refuses_what_it_cannot_serve() {
    let sandbox = Sandbox::new();
    sandbox.run(&["server", "weather"]).exits(2).says(["weather", "files, time"]);
    sandbox.run(&["server", "time", "--write"]).exits(2);
    sandbox.run(&["server", "time", "--http", "nowhere"]).exits(2).says(["nowhere"]);
    sandbox.run(&["server", "files", "no-such-folder"]).exits(2).says(["no-such-folder"]);
}

#[test]
fn f31_a_server_for_other_machines_says_who_may_enter() {
    let sandbox = Sandbox::new();
    let said = |more: &[&str]| {
        let mut server =
            sandbox.start(&[&["server", "time", "--http", "0.0.0.0:0"], more].concat());
        let line = server.said("listening on http://");
        let port = line.rsplit(':').next().unwrap().trim().trim_end_matches("/mcp").to_owned();
        (server, port)
    };
    let status = |port: &str, host: &str| {
        let mut stream = std::net::TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        let head = format!("GET /mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
        let mut answer = String::new();
        std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
        answer[9..12].to_owned()
    };
    let (mut bare, port) = said(&[]);
    assert!(bare.said("warning: ").contains("--allow-host"));
    assert_eq!(status(&port, "mcp.example"), "403");
    let (_named, port) = said(&["--allow-host", "mcp.example", "--allow-host", "b.example:81"]);
    for (host, wanted) in [("mcp.example", "400"), ("b.example:81", "400"), ("c.example", "403")] {
        assert_eq!(status(&port, host), wanted, "{host}");
    }
    assert_eq!(status(&port, &format!("localhost:{port}")), "400");
    let (_any, port) = said(&["--allow-host", "*"]);
    assert_eq!(status(&port, "c.example"), "400");
    for bad in ["http://mcp.example", "", "a b"] {
        sandbox
            .run(&["server", "time", "--http", "127.0.0.1:0", "--allow-host", bad])
            .exits(2)
            .says(["--allow-host"]);
    }
    sandbox.run(&["server", "time", "--allow-host", "a"]).exits(2).says(["--http"]);
}

#[test]
fn a_server_is_served_on_stdio_and_used_from_there() {
    let sandbox = Sandbox::new();
    sandbox.write("note.txt", "hello\n");
    let program = env!("CARGO_BIN_EXE_carrick");
    let mut with = Sandbox::new();
    let servers = with.marked([(
        "files",
        json!({ "command": program, "args": ["server", "files", "--write", sandbox.project()] }),
    )]);
    with.set_config(&json!({ "mcpServers": servers }));
    with.run(&["call", "files", "read_file", "path=note.txt"]).exits(0).prints(["hello"]);
    let words = ["call", "files", "write_file", "path=new.txt", "content=written"];
    with.run(&words).exits(0);
    let written: Vec<u8> = std::fs::read(sandbox.project().join("new.txt")).unwrap();
    assert_eq!(written, b"written");
    let value: Value = json!({ "path": "../outside.txt", "content": "x" });
    with.run(&["call", "files", "write_file", &value.to_string()]).exits(5);
    assert!(!sandbox.root().join("outside.txt").exists());
}

#[test]
fn how_a_server_is_spoken_to_is_found_out_once() {
    // One with sessions, which keeps the first thing that it was asked.
    let script = r#"
        while read -r line; do
          id=${line#*\"id\":}; id=${id%%,*}
          [ -f asked ] || echo "$line" > asked
          case $line in
            *\"initialize\"*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}' ;;
            *tools/list*) result='{"tools":[]}' ;;
            *notifications/*) continue ;;
            *) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"\"}}"
               continue ;;
          esac
          echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$result}"
        done"#;
    let sandbox = Sandbox::with_servers([("old", shell(script))]);
    for first in ["server/discover", "initialize", "initialize"] {
        sandbox.run(&["tools"]).exits(0);
        let asked = sandbox.project().join("asked");
        assert!(std::fs::read_to_string(&asked).unwrap().contains(first), "{first}");
        std::fs::remove_file(asked).unwrap();
    }
}
