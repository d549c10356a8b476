//! What others write, on a terminal: nothing steers it.

use crate::support::{Pty, Sandbox, peer};
use carrick_testkit::model::{Provider, Reply, ScriptedModel, Tool};
use serde_json::json;

const EVIL: [char; 5] = ['\x1b', '\x07', '\u{9b}', '\u{202e}', '\u{202c}'];

/// Runs to the end on a terminal without colours, and sees that nothing has steered it.
#[track_caller]
fn seen(sandbox: &Sandbox, words: &[&str], typed: &str) -> (Option<i32>, String) {
    let mut command = sandbox.command(words);
    command.env("NO_COLOR", "1");
    let mut terminal = Pty::start(&command);
    terminal.types(typed);
    let (code, seen) = terminal.ends();
    for steering in EVIL {
        assert!(!seen.contains(steering), "{steering:?} after {words:?} in {seen:?}");
    }
    (code, seen)
}

fn steering() -> Sandbox {
    Sandbox::with_servers([("steers", peer(&["faulty", "steers"]))])
}

/// The text that every command must show and none may obey.
const SHOWN: &str = r"\u{1b}]0;owned\u{7}\u{1b}[?1049h\u{1b}[6n\u{9b}2J\u{202e}liam";

#[test]
fn f71_no_command_lets_a_server_steer_the_terminal() {
    let sandbox = steering();
    for (words, code, begin) in [
        (&["tools", "--long"][..], 0, "tool"),
        (&["call", "steers", "steer", "x=1"], 0, "result"),
        (&["call", "steers", "dies"], 1, "fatal error"),
        (&["read", "steers"], 0, "resource"),
        (&["read", "steers", "test://a"], 0, "contents"),
        (&["doctor"], 0, "info"),
        (&["-v", "tools"], 0, "noise"),
    ] {
        let (ended, seen) = seen(&sandbox, words, "");
        assert_eq!(ended, Some(code), "{words:?} {seen}");
        assert!(seen.contains(&format!("{begin} {SHOWN}")), "{words:?} {seen}");
    }
}

#[test]
fn f71_nor_does_route_or_ask() {
    let mut sandbox = steering();
    let request = "{\"tool_calls\":[{\"name\":\"steers.steer\",\"arguments\":{}}]}\n\x04";
    let (code, screen) = seen(&sandbox, &["route"], request);
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("reading the model's output from stdin, end with Ctrl-D"), "{screen}");
    // The result stands in JSON, which escapes some of it by itself.
    assert!(screen.contains(r"[?1049h") && screen.contains("liam"), "{screen}");
    let xml = "<use_mcp_tool><server_name>steers</server_name><tool_name>steer</tool_name>\
        <arguments>{}</arguments></use_mcp_tool>\n\x04";
    let (code, screen) = seen(&sandbox, &["route"], xml);
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(screen.matches(&format!("result {SHOWN}")).count(), 2, "{screen}");
    let script = [
        Reply::text("so \x1b[2J\u{9b}31m\u{202e}! ").and_call(
            "c",
            Tool::Named("steers__steer"),
            &json!({ "x": "\x1b[2J\u{202e}" }),
        ),
        Reply::text("done \x1b]52;c;aGk=\x07"),
    ];
    let model = ScriptedModel::start(Provider::OpenAi, script).unwrap();
    sandbox.use_model(Provider::OpenAi, &model);
    let (code, screen) = seen(&sandbox, &["ask", "go"], "");
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains(r"done \u{1b}]52;c;aGk=\u{7}"), "{screen}");
}

#[test]
fn f71_nor_does_the_config() {
    let sandbox = Sandbox::new();
    let servers = json!({
        "a": { "command": "run\x1b]0;owned\x07", "args": ["\u{9b}2J"] },
        "odd": { "command": 3, "\x1b[2J": 1 },
    });
    sandbox.write(".mcp.json", json!({ "mcpServers": servers }).to_string());
    let (code, screen) = seen(&sandbox, &["trust"], "y\n");
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains(r"\u{1b}]0;owned\u{7}"), "{screen}");
    for (words, code) in
        [(&["trust", "--list"][..], 0), (&["servers"], 0), (&["doctor"], 4), (&["tools"], 4)]
    {
        assert_eq!(seen(&sandbox, words, "").0, Some(code), "{words:?}");
    }
    sandbox.write(".mcp.json", json!({ "\u{9b}31m\x1b": 1 }).to_string());
    let (code, screen) = seen(&sandbox, &["servers"], "");
    assert!(code == Some(2) && screen.contains(r"\u{9b}31m\u{1b}"), "{screen}");
}

#[test]
fn f70_json_on_a_terminal_escapes_what_shows_nothing() {
    let sandbox = steering();
    let (code, screen) = seen(&sandbox, &["--json", "call", "steers", "steer"], "");
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains(r"\u001b]0;owned\u0007\u001b[?1049h"), "{screen}");
    assert!(screen.contains(r"\u009b2J\u202eliam\u202c"), "{screen}");
    for words in [&["--json", "tools"][..], &["--json", "read", "steers"]] {
        assert_eq!(seen(&sandbox, words, "").0, Some(0), "{words:?}");
    }
}

#[test]
fn f71_into_a_pipe_all_goes_byte_for_byte() {
    let evil = "\x1b]0;owned\x07\x1b[?1049h\x1b[6n\u{9b}2J\u{202e}liam\u{202c}\x07";
    let sandbox = steering();
    let run = sandbox.run(&["call", "steers", "steer"]).exits(0);
    assert_eq!(run.stdout, format!("result {evil}\n"));
    let run = sandbox.run(&["read", "steers", "test://a"]).exits(0);
    assert_eq!(run.stdout, format!("contents {evil}"));
    let xml = "<use_mcp_tool><server_name>steers</server_name><tool_name>steer</tool_name>\
        <arguments>{}</arguments></use_mcp_tool>";
    let run = sandbox.run_with(xml, &["route"]).exits(0);
    assert!(run.stdout.contains(&format!("result {evil}")), "{run}");
}
