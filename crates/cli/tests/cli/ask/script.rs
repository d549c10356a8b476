//! Models that do what models do: call what is not there, stop early, fail.

use crate::support::{Sandbox, peer, result_text};
use carrick_testkit::model::{Provider, Reply, ScriptedModel, Tool};
use serde_json::json;

fn fixture(
    provider: Provider,
    script: impl IntoIterator<Item = Reply>,
) -> (Sandbox, ScriptedModel) {
    let mut sandbox = Sandbox::with_servers([("fixture", peer(&["fixture"]))]);
    let model = ScriptedModel::start(provider, script).unwrap();
    sandbox.use_model(provider, &model);
    (sandbox, model)
}

#[test]
fn calls_of_one_answer_all_run_and_are_answered_in_order() {
    for provider in [Provider::OpenAi, Provider::Anthropic] {
        let (sandbox, model) = fixture(
            provider,
            [
                Reply::call("slow", Tool::Named("fixture__sleep_ms"), &json!({ "ms": 80 }))
                    .and_call("fast", Tool::Named("fixture__echo"), &json!({ "t": "甲\"\\\n乙" }))
                    .and_call("bad", Tool::Named("fixture__fail"), &json!({})),
                Reply::text("ok"),
            ],
        );
        let run = sandbox.run(&["ask", "--json", "go"]).exits(0);
        let events = run.events();
        assert_eq!(result_text(events.with("result", "id", "slow")), "slept 80");
        assert_eq!(result_text(events.with("result", "id", "fast")), "甲\"\\\n乙");
        assert_eq!(events.with("result", "id", "bad")["isError"], true);
        let body = model.requests()[1].body["messages"].to_string();
        let place = |text: &str| body.rfind(text).unwrap_or_else(|| panic!("{text} in {body}"));
        assert!(place("slept 80") < place("甲"), "{body}");
        assert!(place("甲") < place("it always fails"), "{body}");
    }
}

#[test]
fn progress_is_told_while_a_call_runs() {
    let (sandbox, _model) = fixture(
        Provider::OpenAi,
        [Reply::call("c1", Tool::Named("fixture__slow"), &json!({})), Reply::text("ok")],
    );
    let run = sandbox.run(&["ask", "--json", "go"]).exits(0);
    let events = run.events();
    let progress = events.of("progress");
    assert!(!progress.is_empty(), "{run}");
    for report in &progress {
        assert_eq!(report["id"], "c1");
        assert_eq!(report["total"].as_f64(), Some(10.0));
        assert_eq!(report["message"], "working");
    }
    assert!(events.place("progress", "id", "c1") < events.place("result", "id", "c1"));
}

#[test]
fn an_unknown_tool_is_answered_with_what_is_near() {
    let (sandbox, model) = fixture(
        Provider::OpenAi,
        [
            Reply::call("c1", Tool::Named("fixture__ecko"), &json!({ "t": "x" })),
            Reply::text("sorry"),
        ],
    );
    let run = sandbox.run(&["ask", "--json", "go"]).exits(0);
    let told = model.requests()[1].last();
    assert!(told.contains("not run") && told.contains("fixture__echo"), "{told}");
    assert_eq!(run.events().only("result")["isError"], true);
}

#[test]
fn arguments_that_are_no_json_are_not_run() {
    for provider in [Provider::OpenAi, Provider::Anthropic] {
        let (sandbox, model) = fixture(
            provider,
            [
                Reply::default().and_raw_call("c1", Tool::Named("fixture__count"), "{\"a\": tru"),
                Reply::call("c2", Tool::Named("fixture__count"), &json!({})),
                Reply::text("ok"),
            ],
        );
        let run = sandbox.run(&["ask", "--json", "go"]).exits(0);
        let events = run.events();
        assert_eq!(events.with("result", "id", "c1")["isError"], true, "{run}");
        // The count says that the broken call did not run.
        assert_eq!(result_text(events.with("result", "id", "c2")), "1");
        assert!(model.requests()[1].last().contains("not run"), "{run}");
    }
}

#[test]
fn an_answer_cut_at_the_token_limit_is_no_success() {
    let (sandbox, _model) = fixture(Provider::Anthropic, [Reply::text("It is").cut()]);
    sandbox.run(&["ask", "go"]).exits(1).says(["cut at its token limit"]).prints(["It is"]);
}

#[test]
fn a_call_cut_at_the_token_limit_is_not_run() {
    let cut = "<use_mcp_tool>\n<server_name>fixture</server_name>\n<tool_name>count</tool_name>\n\
               <arguments>\n{\"a\":";
    let (sandbox, model) = fixture(
        Provider::OpenAi,
        [Reply::text(cut).cut(), Reply::call("c2", Tool::Named("unused"), &json!({}))],
    );
    let run = sandbox.run(&["ask", "--json", "--dialect", "xml", "go"]);
    let told = model.requests()[1].last();
    assert!(told.contains("cut") && told.contains("<status>not run</status>"), "{told}\n{run}");
}

#[test]
fn a_provider_that_refuses_is_named() {
    let body = r#"{"error":{"message":"invalid x-api-key","type":"authentication_error"}}"#;
    for (provider, name) in
        [(Provider::OpenAi, "OPENAI_API_KEY"), (Provider::Anthropic, "ANTHROPIC_API_KEY")]
    {
        let (sandbox, _model) = fixture(provider, [Reply::refusal(401, body)]);
        let run = sandbox.run(&["ask", "go"]).exits(1).says([name, "invalid x-api-key"]);
        assert!(!run.stderr.contains("sk-scripted"), "{run}");
    }
}

#[test]
fn a_provider_that_is_busy_is_asked_again() {
    let busy = r#"{"error":{"message":"overloaded","type":"overloaded_error"}}"#;
    let (sandbox, model) =
        fixture(Provider::Anthropic, [Reply::refusal(529, busy), Reply::text("here I am")]);
    sandbox.run(&["ask", "go"]).exits(0).prints(["here I am"]);
    assert_eq!(model.left(), 0);
}

#[test]
fn a_model_without_tools_is_taught_xml() {
    let refusal = r#"{"error":{"message":"registry.example/tiny does not support tools"}}"#;
    let (sandbox, model) = fixture(
        Provider::OpenAi,
        [
            Reply::refusal(400, refusal),
            Reply::text(
                "<use_mcp_tool><server_name>fixture</server_name><tool_name>echo</tool_name>\
             <arguments>{\"t\":\"by xml\"}</arguments></use_mcp_tool>",
            ),
            Reply::text("ok"),
        ],
    );
    let run = sandbox.run(&["ask", "--json", "go"]).exits(0);
    assert_eq!(result_text(run.events().only("result")), "by xml");
    assert!(model.requests()[1].system().contains("<use_mcp_tool>"));
}
