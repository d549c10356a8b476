//! Servers that misbehave: each is named, the others go on.

use crate::support::{Listening, Sandbox, case, peer, peer_path, result_text, shell};
use carrick_testkit::fixture::checksum_of;
use carrick_testkit::model::{Provider, Reply, ScriptedModel, Tool};
use serde_json::{Value, json};
use std::fs;

/// A result event with exactly these parts in its text.
#[track_caller]
fn assert_failed(result: &Value, parts: &[&str]) {
    assert_eq!(result["isError"], true, "{result}");
    for part in parts {
        assert!(result_text(result).contains(part), "no {part:?} in {result}");
    }
}

#[test]
fn d009_a_server_that_dies_fails_all_its_calls_and_is_started_again() {
    let mut sandbox = Sandbox::with_servers([
        ("dying", peer(&["faulty", "dies"])),
        ("fixture", peer(&["fixture"])),
    ]);
    let call = |id: &str, tool| (id.to_owned(), Tool::Named(tool));
    let (hold, die) = (call("h1", "dying__hold"), call("d", "dying__die"));
    let script = [
        Reply::call(&hold.0, hold.1, &json!({ "n": 1 }))
            .and_call("h2", Tool::Named("dying__hold"), &json!({ "n": 2 }))
            .and_call(&die.0, die.1, &json!({ "after": 2 }))
            .and_call("other", Tool::Named("fixture__echo"), &json!({ "t": "I go on" })),
        Reply::call("again", Tool::Named("dying__echo"), &json!({ "t": "restarted" })),
        Reply::text("done"),
    ];
    let model = ScriptedModel::start(Provider::OpenAi, script).unwrap();
    sandbox.use_model(Provider::OpenAi, &model);

    let run = sandbox.run(&["ask", "--json", "go"]).exits(0);

    let events = run.events();
    for id in ["h1", "h2", "d"] {
        let result = events.with("result", "id", id);
        assert_failed(result, &["dying", "exit code 3", "stack frame 20", "panic: 内存不足"]);
        // The last lines, not all of them.
        assert!(!result_text(result).contains("stack frame 1\n"), "{result}");
    }
    assert_eq!(result_text(events.with("result", "id", "other")), "I go on");
    assert_eq!(result_text(events.with("result", "id", "again")), "restarted");
    let errors = events.of("error");
    assert_eq!(errors.len(), 3, "{run}");
    assert!(errors.iter().all(|error| error["server"] == "dying"), "{run}");
    events.with("server", "state", "closed");
}

#[test]
fn d009_a_call_by_hand_tells_how_the_server_died() {
    let sandbox = Sandbox::with_servers([("dying", peer(&["faulty", "dies"]))]);
    let run = sandbox.run(&["call", "dying", "die"]).exits(1);
    assert_eq!(run.stdout, "");
    run.says(["\"dying\"", "exit code 3", "panic: 内存不足"]);
    let text = r#"{"tool_calls":[{"name":"dying.die","arguments":{}}]}"#;
    sandbox.run_with(text, &["route"]).exits(1).prints(["exit code 3", "\"isError\":true"]);
}

#[test]
fn d010_what_is_not_installed_or_exits_at_once_is_told_and_the_others_start() {
    let sandbox = Sandbox::with_servers([
        ("absent", json!({ "command": "carrick-no-such-program" })),
        ("exits", peer(&["faulty", "exits"])),
        ("fixture", peer(&["fixture"])),
    ]);
    let run = sandbox.run(&["tools"]).exits(4).prints(["fixture/echo"]);
    let run = run.says(["\"absent\"", "carrick-no-such-program", "not found"]);
    run.says(["\"exits\"", "exit code 7", "cannot open the database: no such file"]);
    sandbox
        .run(&["call", "absent", "x"])
        .exits(4)
        .says(["not found", "install carrick-no-such-program"]);
    sandbox.run(&["call", "exits", "x"]).exits(4).says(["exit code 7", "cannot open"]);
    sandbox.run(&["call", "fixture", "echo", "t=x"]).exits(0);
}

#[test]
fn d010_a_turn_goes_on_without_the_servers_that_do_not_start() {
    let mut sandbox = Sandbox::with_servers([
        ("absent", json!({ "command": "carrick-no-such-program" })),
        ("exits", peer(&["faulty", "exits"])),
        ("fixture", peer(&["fixture"])),
    ]);
    let script = [
        Reply::call("c", Tool::Named("fixture__echo"), &json!({ "t": "here" })),
        Reply::text("done"),
    ];
    let model = ScriptedModel::start(Provider::Anthropic, script).unwrap();
    sandbox.use_model(Provider::Anthropic, &model);
    let run = sandbox.run(&["ask", "--json", "go"]).exits(0);
    let events = run.events();
    let message = |server| events.with("error", "server", server)["message"].to_string();
    assert!(message("absent").contains("not found"), "{run}");
    assert!(message("exits").contains("cannot open the database"), "{run}");
    assert_eq!(result_text(events.only("result")), "here");
}

#[test]
fn d011_a_flood_on_stderr_holds_nothing_up() {
    let sandbox = Sandbox::with_servers([("flood", peer(&["faulty", "floods"]))]);
    let run = sandbox.run(&["call", "flood", "flood"]).exits(0);
    assert_eq!(run.stdout, "still here\n");
}

#[test]
fn d012_twenty_large_calls_at_once_arrive_whole() {
    let sandbox = Sandbox::with_servers([("fixture", peer(&["fixture"]))]);
    let texts: Vec<String> = (0..20u8)
        .map(|n| (0..64 * 1024).map(|at| char::from(b'!' + (at as u8 ^ n) % 90)).collect())
        .collect();
    let calls: Vec<Value> = texts
        .iter()
        .map(|text| json!({ "name": "fixture.checksum", "arguments": { "t": text } }))
        .collect();
    let input = json!({ "tool_calls": calls }).to_string();
    let run = sandbox.run_with(input, &["route"]).exits(0);
    let [line] = &run.json_lines()[..] else { panic!("{run}") };
    let sums: Vec<&str> = line["tool_results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["content"][0]["text"].as_str().unwrap())
        .collect();
    let expected: Vec<String> = texts.iter().map(|text| checksum_of(text)).collect();
    assert_eq!(sums, expected);
}

#[test]
fn d003_rubbish_on_stdout_is_skipped_and_told_once() {
    let mut sandbox = Sandbox::new();
    let played = case("D003/server_stdout.txt");
    let heard = sandbox.root().join("heard.jsonl");
    let arguments = ["faulty", "noisy", played.to_str().unwrap(), heard.to_str().unwrap()];
    let servers = sandbox.marked([("noisy", peer(&arguments))]);
    sandbox.set_config(&json!({ "mcpServers": servers }));

    let run = sandbox.run(&["tools", "--json"]).exits(0);

    let [tool] = &run.json_lines()[..] else { panic!("{run}") };
    assert_eq!((&tool["server"], &tool["name"]), (&json!("noisy"), &json!("a")));
    let warnings: Vec<&str> = run.stderr.lines().filter(|line| line.contains("noisy")).collect();
    assert_eq!(warnings.len(), 1, "{run}");
    assert!(warnings[0].contains("WARN") && warnings[0].contains("Welcome to demo"), "{run}");
    // Nothing is sent back for what was no message.
    for line in fs::read_to_string(heard).unwrap().lines() {
        let sent: Value = serde_json::from_str(line).unwrap();
        assert!(sent["method"].is_string() && sent.get("error").is_none(), "{line}");
    }
    let run = sandbox.run(&["doctor"]);
    run.prints(["FAIL server noisy", "Welcome to demo"]);
}

#[test]
fn a_server_that_dies_on_the_probe_is_started_once_more_and_kept() {
    let mut sandbox = Sandbox::new();
    let started = sandbox.root().join("started");
    let servers =
        sandbox.marked([("fragile", peer(&["faulty", "fragile", started.to_str().unwrap()]))]);
    sandbox.set_config(&json!({ "mcpServers": servers }));
    let run = sandbox.run(&["call", "fragile", "live"]).exits(0);
    assert_eq!(run.stdout, "alive\n");
    assert_eq!(fs::read_to_string(started).unwrap(), "started\nstarted\n");
}

#[test]
fn d014_pings_before_the_handshake_are_answered() {
    let sandbox = Sandbox::with_servers([("pings", peer(&["faulty", "pings"]))]);
    let run = sandbox.run(&["call", "pings", "pinged"]).exits(0);
    assert_eq!(run.stdout, "2 pings were answered\n");
}

#[test]
fn d018_a_server_that_leaves_a_daemon_behind_is_one_that_ended() {
    let script = "echo 'going to the background' >&2; sleep 600 & exit 0";
    let sandbox =
        Sandbox::with_servers([("daemon", shell(script)), ("fixture", peer(&["fixture"]))]);
    let run = sandbox.run(&["tools"]).exits(4).prints(["fixture/echo"]);
    run.says(["\"daemon\"", "exit code 0", "going to the background"]);
}

#[test]
fn d053_one_server_that_never_answers_keeps_no_other() {
    let mut sandbox = Sandbox::new();
    let servers = sandbox.marked([
        ("a", peer(&["fixture"])),
        ("b", peer(&["weather"])),
        ("c", peer(&["docs"])),
        ("d", peer(&["faulty", "dies"])),
        ("mute", peer(&["faulty", "mute"])),
    ]);
    sandbox.set_config(&json!({
        "mcpServers": servers, "permissions": { "allow": ["*/*"] },
        "limits": { "connectTimeout": 3000 },
    }));
    let run = sandbox.run(&["tools"]).exits(4);
    let run = run.prints(["a/echo", "b/get_weather", "c/write", "d/die"]);
    run.says(["\"mute\"", "no answer within 3", "reading, and thinking about it"]);
}

#[test]
fn a_call_that_is_never_answered_ends_at_its_timeout() {
    let mut sandbox = Sandbox::with_servers([
        ("silent", peer(&["faulty", "silent"])),
        ("fixture", peer(&["fixture"])),
    ]);
    let run = sandbox.run(&["--timeout", "0.5", "call", "silent", "wait"]).exits(1);
    run.says(["\"silent\"", "0.5 s", "the backend does not answer"]);

    let script = [
        Reply::call("s", Tool::Named("silent__wait"), &json!({})).and_call(
            "e",
            Tool::Named("fixture__echo"),
            &json!({ "t": "here" }),
        ),
        Reply::text("done"),
    ];
    let model = ScriptedModel::start(Provider::OpenAi, script).unwrap();
    sandbox.use_model(Provider::OpenAi, &model);
    let run = sandbox.run(&["--timeout", "0.5", "ask", "--json", "go"]).exits(0);
    let events = run.events();
    assert_failed(events.with("result", "id", "s"), &["silent", "the backend does not answer"]);
    assert_eq!(result_text(events.with("result", "id", "e")), "here");
}

#[test]
fn a_message_above_the_limit_is_refused_by_the_limits_name() {
    let server = Listening::start(peer_path(), &["fixture", "http", "127.0.0.1:0"]);
    let mut sandbox = Sandbox::new();
    let servers = sandbox.marked([("stdio", peer(&["fixture"])), ("http", server.entry())]);
    sandbox.set_config(&json!({ "mcpServers": servers, "limits": { "messageBytes": 20000 } }));
    let echo = |server, size| {
        let arguments = json!({ "t": "x".repeat(size) }).to_string();
        sandbox.run(&["call", server, "echo", &arguments])
    };
    for name in ["stdio", "http"] {
        echo(name, 15_000).exits(0);
        echo(name, 25_000).exits(1).says([name, "20000 bytes"]);
    }
}

#[test]
fn a_server_that_closes_its_stdout_and_lives_on_is_one_that_ended() {
    let script = "echo 'closing' >&2; exec >&-; while :; do sleep 66; done";
    let sandbox = Sandbox::with_servers([("shut", shell(script)), ("docs", peer(&["docs"]))]);
    let run = sandbox.run(&["tools"]).exits(4).prints(["docs/write"]);
    run.says(["\"shut\"", "closing"]);
}

#[test]
fn a_tool_that_panics_touches_nothing_else() {
    let sandbox = Sandbox::with_servers([("fixture", peer(&["fixture"]))]);
    let text = json!({ "tool_calls": [
        { "name": "panics", "arguments": {} },
        { "name": "echo", "arguments": { "t": "fine" } },
    ] });
    let run = sandbox.run_with(text.to_string(), &["route"]);
    let [line] = &run.json_lines()[..] else { panic!("{run}") };
    assert_eq!(line["tool_results"][0]["isError"], true, "{run}");
    assert_eq!(line["tool_results"][1]["content"][0]["text"], "fine", "{run}");
}
