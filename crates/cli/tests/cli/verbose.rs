//! What `-v`, `CARRICK_LOG` and `--long` show.

use crate::support::{Sandbox, peer, shell};

fn talking() -> Sandbox {
    let script = "echo 'starting up' >&2; printf 'half' >&2; exec \"$PEER\" fixture";
    Sandbox::with_servers([("talks", shell(script))])
}

#[test]
fn f76_v_shows_what_servers_write_to_stderr() {
    let run = talking().run(&["-v", "call", "talks", "echo", "t=x"]).exits(0);
    let line = run.stderr.lines().find(|line| line.contains("starting up"));
    assert!(line.is_some_and(|line| line.contains("name=\"talks\"")), "{run}");
    assert!(run.stderr.lines().any(|line| line.ends_with("half")), "{run}");
    let run = talking().run(&["call", "talks", "echo", "t=x"]).exits(0);
    assert_eq!(run.stderr, "");
    let run = talking().run(&["-vv", "call", "talks", "echo", "t=x"]).exits(0);
    assert!(run.stderr.contains("starting up") && !run.stderr.contains("received {"), "{run}");
}

#[test]
fn f76_trace_shows_the_messages_both_ways() {
    let mut sandbox = talking();
    sandbox.set("CARRICK_LOG", "carrick=trace");
    let run = sandbox.run(&["call", "talks", "echo", "t=needle"]).exits(0);
    let lines = |with: &str| {
        let fits = |line: &&str| line.contains("name=\"talks\"") && line.contains(with);
        run.stderr.lines().filter(fits).count()
    };
    assert!(lines("sent {") >= 2 && lines("received {") >= 2, "{run}");
    assert_eq!(
        run.stderr.lines().filter(|l| l.contains("sent {") && l.contains("needle")).count(),
        1,
        "{run}"
    );
    // So it is for what is served.
    sandbox.set("CARRICK_LOG", "carrick::wire=trace");
    let ask = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\
        \"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n";
    let run = sandbox.run_with(ask, &["serve"]).exits(0);
    assert!(run.stderr.contains("received {\"jsonrpc\":\"2.0\",\"id\":1"), "{run}");
}

#[test]
fn f76_a_log_filter_that_is_none_is_said() {
    let mut sandbox = Sandbox::new();
    sandbox.set("CARRICK_LOG", "carrick=loud");
    sandbox.run(&["servers"]).exits(0).says(["CARRICK_LOG", "carrick=trace"]);
}

#[test]
fn f76_long_shows_choices_defaults_and_hints() {
    let sandbox = Sandbox::with_servers([("t", peer(&["weather"]))]);
    let run = sandbox.run(&["tools", "--long", "t"]).exits(0);
    assert!(run.stdout.contains("it says of itself: only reads"), "{run}");
    let run = Sandbox::new().run(&["tools", "--long", "files"]).exits(0);
    assert!(run.stdout.contains("(default"), "{run}");
    let run = Sandbox::new().run(&["--json", "tools", "files"]).exits(0);
    assert!(
        run.json_lines().iter().all(|tool| tool["annotations"]["readOnlyHint"] == true),
        "{run}"
    );
}
