//! Ctrl-C and SIGTERM, wherever they come: 130 and 143, with the servers ended in order.

use crate::support::{Pty, Sandbox, peer, shell, until};
use carrick_testkit::model::{Provider, Reply, ScriptedModel, Tool};
use nix::sys::signal::Signal;
use serde_json::json;

const SIGNALS: [(Signal, i32); 2] = [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)];

/// A server that does not answer, and tells in files that it has been called and that it has
/// seen the end of its stdin.
fn orderly() -> Sandbox {
    let mut sandbox = Sandbox::new();
    let script = "\"$PEER\" faulty silent 2> \"$FILES/called\"; echo > \"$FILES/ended\"";
    let mut server = shell(script);
    server["env"]["FILES"] = json!(sandbox.root());
    let servers = sandbox.marked([("silent", server)]);
    sandbox.set_config(&json!({ "mcpServers": servers, "permissions": { "allow": ["*/*"] } }));
    sandbox.write("request", r#"{"tool_calls":[{"name":"silent.wait","arguments":{}}]}"#);
    sandbox
}

#[test]
fn f72_inside_a_turn_and_inside_a_call() {
    for words in [
        &["ask", "go"][..],
        &["ask", "--json", "go"],
        &["call", "silent", "wait"],
        &["route", "request"],
    ] {
        for (signal, code) in SIGNALS {
            let mut sandbox = orderly();
            let script = [Reply::call("c", Tool::Named("silent__wait"), &json!({}))];
            let model = ScriptedModel::start(Provider::OpenAi, script).unwrap();
            sandbox.use_model(Provider::OpenAi, &model);
            let running = sandbox.start(words);
            let called = sandbox.root().join("called");
            until("the call", || called.metadata().ok().filter(|file| file.len() > 0));
            running.signal(signal);
            let run = running.ended().exits(code);
            assert!(sandbox.root().join("ended").exists(), "the server was cut off: {run}");
            if words.contains(&"--json") {
                assert_eq!(run.events().of("error").len(), 1, "{run}");
            }
        }
    }
}

#[test]
fn f72_while_connecting() {
    for words in [&["tools"][..], &["doctor"], &["read", "mute"], &["serve"], &["ask", "x"]] {
        let mut sandbox = Sandbox::new();
        let started = sandbox.root().join("started");
        let script = format!("touch '{}'; exec \"$PEER\" faulty mute", started.display());
        let servers = sandbox.marked([("mute", shell(&script))]);
        sandbox.set_config(&json!({
            "mcpServers": servers, "limits": { "connectTimeout": 300 },
        }));
        let running = sandbox.start(words);
        until("the server", || started.exists().then_some(()));
        running.signal(Signal::SIGINT);
        running.ended().exits(130);
    }
}

#[test]
fn f72_while_stdin_is_read() {
    let sandbox = Sandbox::with_servers([("fixture", peer(&["fixture"]))]);
    // What is said in the end shows that the signal was heard, not what it was before.
    for words in [&["route"][..], &["ask", "-"], &["call", "fixture", "echo", "-"]] {
        let running = sandbox.start(&[&["-v"], words].concat());
        // There is nothing to see of a program that reads. It hears signals before it does.
        until("the program", || listens(running.id()).then_some(()));
        running.signal(Signal::SIGINT);
        running.ended().exits(130).says(["interrupted"]);
    }
}

/// Whether SIGINT is caught by this process.
fn listens(id: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << (Signal::SIGINT as u64 - 1)) != 0
}

#[test]
fn f72_at_a_prompt() {
    let sandbox = Sandbox::new();
    let servers = sandbox.marked([("fixture", peer(&["fixture"]))]);
    sandbox.write(".mcp.json", json!({ "mcpServers": servers }).to_string());
    for words in [&["trust"][..], &["tools"]] {
        let mut terminal = Pty::start(&sandbox.command(words));
        terminal.sees("Approve exactly this?");
        terminal.types("\x03");
        let (code, seen) = terminal.ends();
        assert_eq!(code, Some(130), "{seen}");
    }
    let mut terminal = Pty::start(&sandbox.command(&["call", "fixture", "echo", "-"]));
    terminal.sees("Approve exactly this?");
    terminal.types("y\n");
    terminal.sees("reading the arguments, a JSON object, from stdin, end with Ctrl-D");
    terminal.types("\x03");
    assert_eq!(terminal.ends().0, Some(130));
}
