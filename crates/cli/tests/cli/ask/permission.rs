//! What a model may not do, and who says so.

use crate::support::{Sandbox, peer, result_text};
use carrick_testkit::model::{Provider, Reply, ScriptedModel, Tool};
use serde_json::{Value, json};

/// A model that calls `danger_run` once and then answers.
fn reckless(sandbox: &mut Sandbox) -> ScriptedModel {
    let script = [
        Reply::call("call-1", Tool::Named("fixture__danger_run"), &json!({})),
        Reply::text("Done what I could."),
    ];
    let model = ScriptedModel::start(Provider::OpenAi, script).unwrap();
    sandbox.use_model(Provider::OpenAi, &model);
    model
}

fn sandbox(permissions: Option<Value>) -> Sandbox {
    let mut sandbox = Sandbox::new();
    let servers = sandbox.marked([("fixture", peer(&["fixture"]))]);
    let mut config = json!({ "mcpServers": servers });
    if let Some(permissions) = permissions {
        config["permissions"] = permissions;
    }
    sandbox.set_config(&config);
    sandbox
}

#[test]
fn a_program_decides_on_stdin() {
    for (allow, code, said) in [(true, 0, "danger"), (false, 3, "not run")] {
        let mut sandbox = sandbox(None);
        let model = reckless(&mut sandbox);
        let mut running = sandbox.start(&["ask", "--json", "--approve", "stdin", "do it"]);
        let asked = running.event("permission");
        assert_eq!(asked["server"], "fixture");
        assert_eq!(asked["tool"], "danger_run");
        assert_eq!(asked["arguments"], json!({}));
        // Neither noise nor an answer to something else decides anything.
        running.write(b"well\n{\"id\":\"another\",\"allow\":true}\n");
        let answer = json!({ "id": asked["id"], "allow": allow });
        running.write(format!("{answer}\n").as_bytes());
        let run = running.finish().exits(code);
        let events = run.events();
        let result = events.only("result");
        assert_eq!(result["isError"], !allow);
        assert!(result_text(result).contains(said), "{result}");
        assert_eq!(events.only("answer")["text"], "Done what I could.");
        assert!(model.requests()[1].last().contains(said));
        run.says(["nothing was asked about \"another\""]);
    }
}

#[test]
fn nobody_to_ask_runs_nothing() {
    let mut sandbox = sandbox(None);
    let model = reckless(&mut sandbox);
    let run = sandbox.run(&["ask", "--json", "do it"]).exits(3);
    let events = run.events();
    assert!(events.of("result").is_empty(), "{run}");
    let error = events.only("error");
    assert!(error["message"].as_str().unwrap().contains("danger_run"), "{run}");
    assert_eq!(model.left(), 1, "no further round");
    run.says(["permission", "--yes", "danger_run"]);
}

#[test]
fn stdin_that_ends_without_an_answer_runs_nothing() {
    let mut sandbox = sandbox(None);
    let _model = reckless(&mut sandbox);
    let run = sandbox.run(&["ask", "--json", "--approve", "stdin", "do it"]).exits(3);
    assert!(run.events().of("result").is_empty(), "{run}");
}

#[test]
fn flags_decide() {
    for (flag, code, said) in [("--yes", 0, "danger"), ("--deny", 3, "not run")] {
        let mut sandbox = sandbox(None);
        let model = reckless(&mut sandbox);
        let run = sandbox.run(&["ask", "--json", flag, "do it"]).exits(code);
        assert!(result_text(run.events().only("result")).contains(said), "{run}");
        assert!(model.requests()[1].last().contains(said), "{run}");
    }
}

#[test]
fn what_the_config_denies_no_flag_runs() {
    let mut sandbox = sandbox(Some(json!({ "deny": ["fixture/danger_*"], "allow": ["*/*"] })));
    let model = reckless(&mut sandbox);
    let run = sandbox.run(&["ask", "--json", "--yes", "do it"]).exits(3);
    let events = run.events();
    assert!(result_text(events.only("result")).contains("not run"), "{run}");
    let error = events.with("error", "server", "fixture");
    assert!(error["message"].as_str().unwrap().contains("danger_"), "{error}");
    assert!(model.requests()[1].last().contains("not run"));
}

#[test]
fn what_is_asked_shows_hidden_characters() {
    let mut sandbox = sandbox(None);
    let arguments = json!({ "t": "safe\u{202e}txt.exe" });
    let script = [Reply::call("c", Tool::Named("fixture__echo"), &arguments)];
    let model = ScriptedModel::start(Provider::OpenAi, script).unwrap();
    sandbox.use_model(Provider::OpenAi, &model);
    let run = sandbox.run(&["ask", "do it"]).exits(3);
    assert!(!run.stderr.contains('\u{202e}'), "{:?}", run.stderr);
    run.says(["u{202e}"]);
}

#[test]
fn f07_yes_does_not_run_what_a_deny_rule_may_mean() {
    let rules = json!({ "deny": ["fixture/echo(t=secret/*)"] });
    for (text, runs) in [
        (json!("a/../secret/x"), false),
        (json!("a/../b"), false),
        (json!("sec\u{200b}ret"), false),
        (json!(["open"]), false),
        (json!("open/x"), true),
    ] {
        let mut sandbox = sandbox(Some(rules.clone()));
        let script = [
            Reply::call("c", Tool::Named("fixture__echo"), &json!({ "t": text })),
            Reply::text("Done."),
        ];
        let model = ScriptedModel::start(Provider::OpenAi, script).unwrap();
        sandbox.use_model(Provider::OpenAi, &model);
        let run = sandbox.run(&["ask", "--json", "--yes", "do it"]);
        let run = run.exits(if runs { 0 } else { 3 });
        let events = run.events();
        let told = result_text(events.only("result"));
        assert_eq!(told.contains("not run"), !runs, "{text}: {run}");
    }
    let sandbox = sandbox(Some(rules));
    sandbox.run(&["call", "fixture", "echo", "t=a/../b"]).exits(3).says(["cannot be judged"]);
    sandbox.run(&["call", "fixture", "echo", "t=open/x"]).exits(0).prints(["open/x"]);
}
