//! stdout is data, stderr is talk.

use crate::support::{Sandbox, peer, until};
use carrick_testkit::model::{Provider, Reply, ScriptedModel, Tool};
use serde_json::json;
use std::process::{Child, Stdio};

/// Waits for the end of a program whose output nobody may be reading.
#[track_caller]
fn ends_well(mut child: Child) {
    let status = until("the end", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let sandbox = Sandbox::with_servers([("fixture", peer(&["fixture"]))]);
    for words in [
        &["tools"][..],
        &["tools", "--json"],
        &["servers"],
        &["call", "fixture", "echo", "t=x"],
        &["call", "fixture", "echo", "t=x", "--json"],
    ] {
        let mut child = sandbox
            .command(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        drop(child.stderr.take());
        ends_well(child);
    }
}

#[test]
fn a_turn_whose_reader_goes_away_is_no_error() {
    for json in [true, false] {
        let mut sandbox = Sandbox::with_servers([("fixture", peer(&["fixture"]))]);
        let script = [
            Reply::text("Well. ").and_call("c", Tool::Named("fixture__slow"), &json!({})),
            Reply::text("done\n"),
        ];
        let model = ScriptedModel::start(Provider::OpenAi, script).unwrap();
        sandbox.use_model(Provider::OpenAi, &model);
        let words = if json { &["ask", "--json", "go"][..] } else { &["ask", "go"] };
        let mut child = sandbox
            .command(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        drop(child.stderr.take());
        ends_well(child);
        assert_eq!(model.left(), 0);
    }
}

#[test]
fn an_error_that_nobody_reads_keeps_its_exit_code() {
    let sandbox = Sandbox::new();
    for words in [&["call", "nobody", "x"][..], &["call", "nobody", "x", "--json"]] {
        let mut child = sandbox
            .command(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        drop(child.stderr.take());
        let status = until("the end", || child.try_wait().unwrap());
        assert_eq!(status.code(), Some(2));
    }
}

#[test]
fn nothing_is_coloured_without_a_terminal() {
    let mut sandbox = Sandbox::with_servers([
        ("fixture", peer(&["fixture"])),
        ("absent", json!({ "command": "carrick-no-such-program" })),
    ]);
    let script = [Reply::call("c", Tool::Named("fixture__fail"), &json!({})), Reply::text("done")];
    let model = ScriptedModel::start(Provider::OpenAi, script).unwrap();
    sandbox.use_model(Provider::OpenAi, &model);
    let run = sandbox.run(&["ask", "--verbose", "go"]).exits(0);
    assert!(!run.stdout.contains('\x1b') && !run.stderr.contains('\x1b'), "{run}");
}

#[test]
fn the_question_may_come_on_stdin() {
    let mut sandbox = Sandbox::new();
    let script = (0..2).map(|_| Reply::text("answered"));
    let model = ScriptedModel::start(Provider::OpenAi, script).unwrap();
    sandbox.use_model(Provider::OpenAi, &model);
    for words in [&["ask"][..], &["ask", "-"]] {
        let run = sandbox.run_with("东京现在几点?\n", words).exits(0);
        assert_eq!(run.stdout, "answered\n");
    }
    for request in model.requests() {
        assert_eq!(request.last(), "东京现在几点?");
    }
    sandbox.run_with(" \n", &["ask"]).exits(2).says(["empty"]);
    sandbox.run_with(b"\xff\xfe", &["ask"]).exits(2);
}

#[test]
fn wrong_usage_is_told_on_stderr() {
    let sandbox = Sandbox::new();
    for words in [
        &["fly"][..],
        &["ask", "--dialect", "morse", "x"],
        &["tools", "--timeout", "-1"],
        &["tools", "--timeout", "soon"],
        &["ask", "--yes", "--deny", "x"],
        &["ask", "--model", "nonsense", "x"],
        &[],
    ] {
        let run = sandbox.run(words).exits(2);
        assert_eq!(run.stdout, "", "{words:?}");
        assert!(!run.stderr.is_empty(), "{words:?}");
    }
}
