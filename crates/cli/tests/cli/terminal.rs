//! With a person at a terminal. `script` of util-linux gives one to what is run in it.

use crate::support::{MARK, Sandbox, peer};
use serde_json::json;
use std::io::Write;
use std::process::{Command, Stdio};

/// Runs `carrick` on a terminal where a person types this; the exit code, and all that is seen.
fn at_terminal(
    sandbox: &Sandbox,
    arguments: &[&str],
    typed: &str,
    variables: &[(&str, &str)],
) -> (Option<i32>, String) {
    let quoted = |word: &&str| format!("'{word}'");
    let words = arguments.iter().map(quoted).collect::<Vec<_>>().join(" ");
    let line = format!("{} {words}", env!("CARGO_BIN_EXE_carrick"));
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env_clear().current_dir(sandbox.project());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", sandbox.root().join("home")).env(MARK, sandbox.root());
    command.envs(variables.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A project whose server tells the weather.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let servers = sandbox.marked([("weather", peer(&["weather"]))]);
    sandbox.write(".mcp.json", json!({ "mcpServers": servers }).to_string());
    sandbox
}

const WEATHER: &[&str] = &["ask", "--model", "builtin:match", "北京今天天气怎么样?"];

#[test]
fn d103_a_person_is_asked_about_the_project_and_then_about_the_call() {
    let sandbox = project();
    let (code, seen) = at_terminal(&sandbox, WEATHER, "y\nyes\n", &[]);
    assert_eq!(code, Some(0), "{seen}");
    let place = |text: &str| seen.find(text).unwrap_or_else(|| panic!("no {text:?} in {seen}"));
    assert!(place("Approve exactly this?") < place("Run it?"), "{seen}");
    assert!(place("argument \"city\" = \"北京\"") < place("Run it?"), "{seen}");
    assert!(place("Run it?") < place("27 摄氏度"), "{seen}");
    // Once is enough for the project, not for the call.
    let (code, seen) = at_terminal(&sandbox, WEATHER, "n\n", &[]);
    assert_eq!(code, Some(3), "{seen}");
    assert!(!seen.contains("Approve exactly this?") && !seen.contains("27 摄氏度"), "{seen}");
    // An answer that is none is asked for again; Enter alone is a no.
    let (code, seen) = at_terminal(&sandbox, WEATHER, "perhaps\n\n", &[]);
    assert_eq!(code, Some(3), "{seen}");
    assert_eq!(seen.matches("Run it?").count(), 2, "{seen}");
}

#[test]
fn d103_a_project_that_is_not_approved_runs_nothing() {
    let sandbox = project();
    let (code, seen) = at_terminal(&sandbox, WEATHER, "\n", &[]);
    assert_eq!(code, Some(3), "{seen}");
    assert!(seen.contains("has not been approved") && !seen.contains("weather/get_weather"));
    let (code, seen) = at_terminal(&sandbox, &["trust"], "y\n", &[]);
    assert_eq!(code, Some(0), "{seen}");
    sandbox.run(&["tools"]).exits(0).prints(["weather/get_weather"]);
}

#[test]
fn no_color_is_respected() {
    let sandbox = Sandbox::new();
    let words =
        ["ask", "--model", "builtin:match", "What time is it in Tokyo when it is 09:00 in Paris?"];
    let coloured = |variables: &[(&str, &str)]| {
        let (code, seen) = at_terminal(&sandbox, &words, "", variables);
        assert_eq!(code, Some(0), "{seen}");
        seen.contains("\x1b[")
    };
    assert!(coloured(&[]));
    assert!(!coloured(&[("NO_COLOR", "1")]));
    assert!(coloured(&[("NO_COLOR", "")]), "an empty one counts as unset");
}

#[test]
fn d070_what_a_server_says_cannot_steer_the_terminal() {
    let mut sandbox = Sandbox::new();
    let servers = sandbox.marked([("fixture", peer(&["fixture"]))]);
    sandbox.set_config(&json!({ "mcpServers": servers }));
    let config = sandbox.root().join("servers.json");
    let words = ["--config", config.to_str().unwrap(), "call", "fixture", "echo"];
    let evil = r#"{"t":"a\u001b[2Jb\u202ec\u0000d\u009b31me\u0007\u007f"}"#;
    let (code, seen) = at_terminal(&sandbox, &[&words[..], &[evil]].concat(), "", &[]);
    assert_eq!(code, Some(0), "{seen}");
    for steering in ['\x1b', '\u{202e}', '\0', '\u{9b}', '\x07', '\x7f'] {
        assert!(!seen.contains(steering), "{steering:?} in {seen:?}");
    }
    // Into a pipe it goes byte for byte.
    let run = sandbox.run(&["call", "fixture", "echo", evil]).exits(0);
    assert_eq!(run.stdout, "a\x1b[2Jb\u{202e}c\0d\u{9b}31me\x07\x7f\n");
}

/// The server that asks, named by `--config`.
fn asking() -> (Sandbox, String) {
    let mut sandbox = Sandbox::new();
    let servers = sandbox.marked([("shop", peer(&["asking"]))]);
    sandbox.set_config(&json!({ "mcpServers": servers }));
    let config = sandbox.root().join("servers.json").to_str().unwrap().to_owned();
    (sandbox, config)
}

#[test]
fn a_form_is_filled_in_field_by_field() {
    let (sandbox, config) = asking();
    let words = ["--config", &config, "call", "shop", "order"];
    // What does not fit is asked for again; Enter takes the default or leaves it out.
    let typed = "y\nAda\n10\nten\n2\n\nIce, 1\nyes\nnobody\n\ny\n";
    let (code, seen) = at_terminal(&sandbox, &words, typed, &[]);
    assert_eq!(code, Some(0), "{seen}");
    for shown in [
        "server \"shop\" asks:",
        "| What shall it be?",
        "| server \"bank\" asks: nothing",
        "Your name (text): Who orders",
        "count (a whole number)",
        "size (one of a list, may be left out) [s]",
        "2. Large (l)",
        "gift (yes or no, may be left out) [false]",
        "a whole number is wanted",
        "an email address is wanted",
        "This goes to server \"shop\"",
    ] {
        assert!(seen.contains(shown), "no {shown:?} in {seen}");
    }
    assert!(!seen.lines().any(|line| line.starts_with("server \"bank\"")), "{seen}");
    let filled =
        r#"Accept: {"count":2,"extras":["ice","milk"],"gift":true,"name":"Ada","size":"s"}"#;
    assert!(seen.contains(filled), "{seen}");
}

#[test]
fn a_form_may_be_declined_before_and_after() {
    let (sandbox, config) = asking();
    let words = ["--config", &config, "call", "shop", "order"];
    for typed in ["n\n", "y\nAda\n1\n\n\n\n\nn\n"] {
        let (code, seen) = at_terminal(&sandbox, &words, typed, &[]);
        assert_eq!(code, Some(0), "{seen}");
        assert!(seen.contains("Decline: nothing"), "{seen}");
    }
}

#[test]
fn a_page_is_shown_whole_and_agreed_to() {
    let (sandbox, config) = asking();
    let words = ["--config", &config, "call", "shop", "page"];
    let (code, seen) = at_terminal(&sandbox, &words, "y\n", &[]);
    assert_eq!(code, Some(0), "{seen}");
    let shown = ["https://bank.example@shop.example/pay?order=7&back=%2F", "at shop.example"];
    assert!(shown.iter().all(|text| seen.contains(text)), "{seen}");
    assert!(seen.contains("Accept: nothing"), "{seen}");
    let (_, seen) = at_terminal(&sandbox, &words, "\n", &[]);
    assert!(seen.contains("Decline: nothing"), "{seen}");
}
