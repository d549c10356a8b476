//! The bounds of a turn.

use crate::support::{Sandbox, peer};
use carrick_testkit::model::{Provider, Reply, ScriptedModel, Tool};
use serde_json::{Value, json};

fn endless(limits: &Value, calls: usize) -> (Sandbox, ScriptedModel) {
    let mut sandbox = Sandbox::new();
    let servers = sandbox.marked([("fixture", peer(&["fixture"]))]);
    sandbox.set_config(&json!({
        "mcpServers": servers, "permissions": { "allow": ["*/*"] }, "limits": limits,
    }));
    let script = (0..calls).map(|n| {
        let arguments = json!({ "t": n.to_string() });
        Reply::call(&format!("c{n}"), Tool::Named("fixture__echo"), &arguments).usage(1000, 100)
    });
    let model = ScriptedModel::start(Provider::OpenAi, script).unwrap();
    sandbox.use_model(Provider::OpenAi, &model);
    (sandbox, model)
}

#[test]
fn a_turn_ends_at_each_of_its_limits() {
    for (limits, named, left) in [
        (json!({ "rounds": 2 }), "2 rounds", 3),
        (json!({ "calls": 2 }), "2 calls", 2),
        (json!({ "tokens": 2500 }), "2500 tokens", 2),
    ] {
        let (sandbox, model) = endless(&limits, 5);
        sandbox.run(&["ask", "go"]).exits(1).says([named, "\"limits\""]);
        assert_eq!(model.left(), left, "{limits}");
    }
}

#[test]
fn the_very_same_call_is_not_run_for_ever() {
    let mut sandbox = Sandbox::with_servers([("fixture", peer(&["fixture"]))]);
    let mut script: Vec<Reply> = (0..5)
        .map(|n| Reply::call(&format!("c{n}"), Tool::Named("fixture__count"), &json!({})))
        .collect();
    script.push(Reply::text("enough"));
    let model = ScriptedModel::start(Provider::OpenAi, script).unwrap();
    sandbox.use_model(Provider::OpenAi, &model);
    let run = sandbox.run(&["ask", "--json", "go"]).exits(0);
    let events = run.events();
    let errors: Vec<bool> =
        events.of("result").iter().filter_map(|result| result["isError"].as_bool()).collect();
    assert_eq!(errors, [false, false, false, true, true], "{run}");
}
