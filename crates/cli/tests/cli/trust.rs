//! D103: a project's config runs nothing until a person has approved exactly it.

use crate::support::{Run, Sandbox, shell};
use serde_json::json;

/// A project whose server leaves a file behind when it is started.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    write(&sandbox, "started");
    sandbox
}

fn write(sandbox: &Sandbox, file: &str) {
    let mut server = shell(&format!("touch {file}; exec \"$PEER\" docs"));
    server["env"]["API_KEY"] = json!("a-secret-value");
    let servers = sandbox.marked([("repo", server)]);
    sandbox.write(".mcp.json", json!({ "mcpServers": servers }).to_string());
}

fn has_run(sandbox: &Sandbox) -> bool {
    sandbox.project().join("started").exists()
}

#[track_caller]
fn refused(sandbox: &Sandbox, run: Run) {
    assert_eq!(run.status.code(), Some(3), "{run}");
    assert!(!has_run(sandbox), "{run}");
    run.says(["has not been approved", "nothing in it has been run"]);
}

#[test]
fn d103_nothing_runs_unapproved() {
    let sandbox = project();
    for words in [
        &["tools"][..],
        &["servers"],
        &["doctor"],
        &["ask", "--yes", "--model", "builtin:match", "x"],
        &["call", "repo", "write", "text=x"],
        &["read", "repo", "doc://x"],
        &["tools", "--json"],
    ] {
        refused(&sandbox, sandbox.run(words));
    }
    let request = r#"{"tool_calls":[{"name":"write","arguments":{"text":"x"}}]}"#;
    refused(&sandbox, sandbox.run_with(request, &["route", "--yes"]));
}

#[test]
fn d103_what_would_run_is_shown_in_full_without_values() {
    let sandbox = project();
    let run = sandbox.run(&["trust", "--show"]).exits(0);
    assert!(!run.stdout.contains("a-secret-value"), "{run}");
    run.prints(["repo", "sh", "touch started; exec", "API_KEY"]);
    assert!(!has_run(&sandbox));
}

#[test]
fn d103_without_a_terminal_trust_asks_nobody() {
    let sandbox = project();
    sandbox.run(&["trust"]).exits(3).says(["touch started", "no terminal", "--yes"]);
    sandbox.run(&["tools"]).exits(3);
}

#[test]
fn d103_an_approved_file_runs_until_it_changes() {
    let sandbox = project();
    sandbox.run(&["trust", "--yes"]).exits(0).says(["touch started", "approved"]);
    sandbox.run(&["tools"]).exits(0).prints(["repo/write"]);
    assert!(has_run(&sandbox));
    std::fs::remove_file(sandbox.project().join("started")).unwrap();
    write(&sandbox, "started another");
    let run = sandbox.run(&["tools"]);
    refused(&sandbox, run);
    sandbox.run(&["tools"]).exits(3).says(["has changed since", "touch started another"]);
    // Back to what was approved.
    write(&sandbox, "started");
    sandbox.run(&["tools"]).exits(0);
}

#[test]
fn d103_an_approval_can_be_taken_back_and_listed() {
    let sandbox = project();
    sandbox.run(&["trust", "--yes"]).exits(0);
    sandbox.run(&["trust", "--list"]).exits(0).prints([".mcp.json"]);
    sandbox.run(&["trust", "--revoke"]).exits(0).says(["taken back"]);
    refused(&sandbox, sandbox.run(&["tools"]));
    let run = sandbox.run(&["trust", "--list"]).exits(0);
    assert_eq!(run.stdout, "");
}

#[test]
fn d103_the_flag_approves_for_scripts() {
    let sandbox = project();
    sandbox.run(&["tools", "--trust"]).exits(0).prints(["repo/write"]);
    assert!(has_run(&sandbox));
}

#[test]
fn d103_the_flag_with_a_hash_approves_that_and_nothing_else() {
    let sandbox = project();
    let shown = sandbox.run(&["trust", "--show"]).exits(0).stdout;
    let hash = shown.lines().last().unwrap();
    write(&sandbox, "started another");
    refused(&sandbox, sandbox.run(&["tools", &format!("--trust={hash}")]));
    write(&sandbox, "started");
    sandbox.run(&["tools", &format!("--trust={hash}")]).exits(0).prints(["repo/write"]);
}

#[test]
fn d103_a_hash_that_is_none_is_wrong_usage() {
    let sandbox = project();
    sandbox.run(&["tools", "--trust=nonsense"]).exits(2).says(["nonsense"]);
    assert!(!has_run(&sandbox));
}

#[test]
fn trust_without_a_project_is_wrong_usage() {
    Sandbox::new().run(&["trust"]).exits(2).says(["no project config"]);
}
