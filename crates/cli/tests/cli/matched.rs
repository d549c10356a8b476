//! `carrick ask` with no model: the built-in matcher.

use crate::support::{Sandbox, peer};
use serde_json::json;
use std::net::TcpStream;

/// The arguments that bring the matcher in: none on a machine with nothing set up. Where a
/// llama.cpp server listens at its usual port, it would be found, and the matcher is named.
fn unset() -> &'static [&'static str] {
    match TcpStream::connect("127.0.0.1:8080") {
        Ok(_) => &["ask", "--json", "--model", "builtin:match"],
        Err(_) => &["ask", "--json"],
    }
}

#[test]
fn with_nothing_set_up_the_time_is_told() {
    let sandbox = Sandbox::new();
    let question = "What time is it in Tokyo when it is 09:00 in Paris?";
    let run = sandbox.run(&[unset(), &[question]].concat()).exits(0);
    let events = run.events();
    let proposals = events.of("proposal");
    assert!((1..=3).contains(&proposals.len()), "{run}");
    assert_eq!(proposals[0]["tool"], "convert_time");
    assert_eq!(proposals[0]["confident"], true);
    let call = events.only("call");
    assert_eq!(call["server"], "time");
    assert!(call["arguments"]["time"].as_str().unwrap().starts_with("09:00"), "{call}");
    assert_eq!(call["arguments"]["source_timezone"], "Europe/Paris");
    assert_eq!(call["arguments"]["target_timezone"], "Asia/Tokyo");
    let answer = events.only("answer");
    // Paris keeps summer time, Tokyo does not.
    let text = answer["text"].as_str().unwrap();
    assert!(text.contains("16:00") || text.contains("17:00"), "{text}");
    assert_eq!(answer["model"], "builtin:match");
    run.says(["no language model is in use", "ANTHROPIC_API_KEY"]);
}

#[test]
fn with_nothing_set_up_files_are_found() {
    let sandbox = Sandbox::new();
    sandbox.write("notes.md", "About MCP, the protocol.\n");
    sandbox.write("other.txt", "About boats.\n");
    let run = sandbox.run(&[unset(), &["Which files here mention MCP?"]].concat()).exits(0);
    let events = run.events();
    assert_eq!(events.only("call")["tool"], "search_files");
    assert_eq!(events.only("call")["arguments"]["query"], "MCP");
    let text = events.only("answer")["text"].as_str().unwrap();
    assert!(text.contains("notes.md") && !text.contains("other.txt"), "{text}");
}

#[test]
fn the_raw_result_is_on_stdout_and_the_rest_on_stderr() {
    let sandbox = Sandbox::new();
    let question = "What time is it in Tokyo when it is 09:00 in Paris?";
    let run = sandbox.run(&["ask", "--model", "builtin:match", question]).exits(0);
    assert!(!run.stdout.contains("convert_time"), "{run}");
    run.prints(["Tokyo"]).says([
        "* time/convert_time",
        "-> time/convert_time",
        "no language model",
    ]);
}

#[test]
fn no_tool_fits() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["ask", "--model", "builtin:match", "Lorem dolor amet?"]).exits(1);
    assert_eq!(run.stdout, "");
    run.says(["no tool fits", "carrick tools"]);
}

#[test]
fn what_is_missing_is_named() {
    let sandbox = Sandbox::with_servers([("weather", peer(&["weather"]))]);
    let run =
        sandbox.run(&["ask", "--model", "builtin:match", "--yes", "今天天气怎么样?"]).exits(3);
    assert_eq!(run.stdout, "");
    run.says(["missing", "city", "城市的名字"]);
}

#[test]
fn a_proposal_of_a_foreign_server_needs_a_permission() {
    let mut sandbox = Sandbox::new();
    let servers = sandbox.marked([("weather", peer(&["weather"]))]);
    sandbox.set_config(&json!({ "mcpServers": servers }));
    let ask = |flags: &[&str]| {
        sandbox
            .run(&[&["ask", "--model", "builtin:match"], flags, &["北京今天天气怎么样?"]].concat())
    };
    let run = ask(&[]).exits(3).says(["permission", "get_weather", "北京"]);
    assert_eq!(run.stdout, "");
    let run = ask(&["--deny"]).exits(3);
    assert_eq!(run.stdout, "");
    ask(&["--yes"]).exits(0).prints(["27 摄氏度"]);
}
