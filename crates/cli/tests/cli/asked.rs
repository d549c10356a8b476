//! What servers ask in the middle of a call, in both eras: the person, the model, the
//! folders.

use crate::support::{Sandbox, peer, result_text};
use carrick_testkit::model::{Provider, Reply, ScriptedModel, Tool};
use serde_json::{Value, json};

/// A revision with sessions, and one without.
const ERAS: [&str; 2] = ["2025-11-25", "2026-07-28"];

fn asking() -> Sandbox {
    Sandbox::with_servers([("s", peer(&["asking"]))])
}

fn crossing(revision: &str) -> Sandbox {
    Sandbox::with_servers([("s", peer(&["crossing", revision]))])
}

/// The text of the result that `call --json` printed last.
#[track_caller]
fn text(lines: &[Value]) -> &str {
    result_text(lines.last().unwrap())
}

#[test]
fn a_program_answers_a_form_on_stdin() {
    for revision in ERAS {
        let sandbox = crossing(revision);
        let mut running = sandbox.start(&["--json", "call", "--approve", "stdin", "s", "ask_name"]);
        let asked = running.event("elicitation");
        assert_eq!((&asked["server"], &asked["mode"]), (&json!("s"), &json!("form")));
        assert_eq!(asked["message"], "Who are you?");
        assert_eq!(asked["requestedSchema"]["required"], json!(["name"]));
        // Neither what does not fit nor an answer to something else is taken.
        let wrong = json!({ "id": asked["id"], "action": "accept", "content": { "name": 1 } });
        let answer = json!({ "id": asked["id"], "action": "accept", "content": { "name": "Ada" } });
        let other = json!({ "id": "another", "action": "decline" });
        running.write(format!("{wrong}\n{other}\n{answer}\n").as_bytes());
        let run = running.finish().exits(0);
        assert_eq!(text(&run.json_lines()), r#"accepted {"name":"Ada"}"#, "{run}");
        run.says(["expected", "nothing was asked about \"another\""]);
    }
}

#[test]
fn a_program_may_decline_or_go_away() {
    for revision in ERAS {
        let sandbox = crossing(revision);
        let words = ["--json", "call", "--approve", "stdin", "s", "ask_name"];
        let mut running = sandbox.start(&words);
        let asked = running.event("elicitation");
        let answer = json!({ "id": asked["id"], "action": "decline" });
        running.write(format!("{answer}\n").as_bytes());
        assert_eq!(text(&running.finish().exits(0).json_lines()), "declined");
        let run = sandbox.run(&words).exits(0);
        assert_eq!(text(&run.json_lines()), "cancelled");
        run.says(["server \"s\" asks \"Who are you?\"", "cancelled"]);
    }
}

#[test]
fn a_page_is_an_event_too() {
    let sandbox = asking();
    let mut running = sandbox.start(&["--json", "call", "--approve", "stdin", "s", "page"]);
    let asked = running.event("elicitation");
    assert_eq!(asked["mode"], "url");
    assert_eq!(asked["url"], "https://bank.example@shop.example/pay?order=7&back=%2F");
    let answer = json!({ "id": asked["id"], "action": "accept" });
    running.write(format!("{answer}\n").as_bytes());
    assert_eq!(text(&running.finish().exits(0).json_lines()), "Accept: nothing");
}

#[test]
fn where_nobody_is_there_a_question_is_cancelled_and_said_so() {
    for revision in ERAS {
        let sandbox = crossing(revision);
        for words in [&["call", "s", "ask_name"][..], &["call", "--yes", "s", "ask_name"]] {
            let run = sandbox.run(words).exits(0).prints(["cancelled"]);
            run.says(["server \"s\" asks \"Who are you?\"", "nobody can be asked"]);
        }
        let run = sandbox.run(&["call", "--deny", "s", "ask_name"]).exits(0);
        run.prints(["declined"]).says(["declined by --deny"]);
    }
}

#[test]
fn the_project_is_the_root_unless_the_config_says_otherwise() {
    let mut sandbox = asking();
    let project = sandbox.project().canonicalize().unwrap();
    let project = format!("file://{}", project.display());
    sandbox.run(&["call", "s", "folders"]).exits(0).prints([&project]);
    let servers = sandbox.marked([("s", peer(&["asking"]))]);
    sandbox.set_config(&json!({ "mcpServers": servers, "roots": ["notes", "/a b"] }));
    let expected = format!("{project}/notes file:///a%20b\n");
    sandbox.run(&["call", "s", "folders"]).exits(0).prints([&expected]);
    sandbox.set_config(&json!({ "mcpServers": servers, "roots": [] }));
    let run = sandbox.run(&["call", "s", "folders"]);
    assert!(!run.status.success() && !run.stdout.contains("file://"), "{run}");
}

#[test]
fn roots_of_a_project_file_are_its_folder() {
    let sandbox = Sandbox::new();
    let servers = sandbox.marked([("s", peer(&["asking"]))]);
    sandbox.write(".mcp.json", json!({ "mcpServers": servers }).to_string());
    let below = sandbox.project().join("below");
    std::fs::create_dir(&below).unwrap();
    let mut command = sandbox.command(&["--trust", "call", "s", "folders"]);
    let output = command.current_dir(below).output().unwrap();
    let project = sandbox.project().canonicalize().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, format!("file://{}\n", project.display()));
}

fn with_model(sandbox: &mut Sandbox, script: impl IntoIterator<Item = Reply>) -> ScriptedModel {
    let model = ScriptedModel::start(Provider::OpenAi, script).unwrap();
    sandbox.use_model(Provider::OpenAi, &model);
    model
}

#[test]
fn a_server_has_the_model_once_that_is_permitted() {
    for revision in ERAS {
        let mut sandbox = crossing(revision);
        let model = with_model(&mut sandbox, [Reply::text("Paris.")]);
        let run = sandbox.run(&["call", "--yes", "s", "ask_model"]).exits(0);
        run.prints(["Paris.", "openai:scripted", "endTurn"]);
        let [request] = &model.requests()[..] else { panic!("{:?}", model.requests()) };
        assert_eq!(request.last(), "What is the capital?");
        assert!(request.tools().is_empty());
    }
}

#[test]
fn a_program_permits_a_server_to_have_the_model() {
    for (allow, said) in [(true, "openai:scripted says Paris."), (false, "did not permit")] {
        let mut sandbox = asking();
        let model = with_model(&mut sandbox, [Reply::text("Paris.")]);
        let mut running = sandbox.start(&["--json", "call", "--approve", "stdin", "s", "think"]);
        let asked = running.event("sampling");
        assert_eq!((&asked["server"], &asked["model"]), (&json!("s"), &json!("openai:scripted")));
        assert_eq!(asked["ask"]["messages"][0]["content"]["text"], "What is the capital?");
        running.write(format!("{}\n", json!({ "id": asked["id"], "allow": allow })).as_bytes());
        let run = running.finish();
        assert!(run.to_string().contains(said), "{run}");
        assert_eq!(model.left(), usize::from(!allow));
    }
}

#[test]
fn without_a_person_or_a_model_a_server_has_none() {
    let mut sandbox = asking();
    let run = sandbox.run(&["call", "--yes", "s", "think"]);
    assert!(!run.status.success(), "{run}");
    let model = with_model(&mut sandbox, [Reply::text("Paris.")]);
    let run = sandbox.run(&["call", "s", "think"]);
    assert!(!run.status.success(), "{run}");
    run.says(["server \"s\" wants the model to answer", "nobody can be asked"]);
    assert_eq!(model.left(), 1, "it was not asked");
}

#[test]
fn in_a_turn_the_same_model_answers_the_server() {
    for revision in ERAS {
        let mut sandbox = crossing(revision);
        let model = with_model(
            &mut sandbox,
            [
                Reply::call("c1", Tool::Named("s__ask_model"), &json!({})),
                Reply::text("Paris."),
                Reply::text("It is Paris."),
            ],
        );
        let run = sandbox.run(&["ask", "--json", "--yes", "which?"]).exits(0);
        let events = run.events();
        assert!(result_text(events.only("result")).contains("Paris."), "{run}");
        assert_eq!(events.only("answer")["text"], "It is Paris.");
        let requests = model.requests();
        assert_eq!(requests[1].last(), "What is the capital?");
        assert!(requests[2].last().contains("openai:scripted"), "{:?}", requests[2]);
    }
}

#[test]
fn route_asks_on_stdin_too() {
    let sandbox = asking();
    let call = "<use_mcp_tool><server_name>s</server_name><tool_name>order</tool_name>\
                <arguments>{}</arguments></use_mcp_tool>";
    sandbox.write("said.txt", call);
    let mut running = sandbox.start(&["route", "--json", "--approve", "stdin", "said.txt"]);
    let asked = running.event("elicitation");
    let content = json!({ "name": "Ada", "count": 1 });
    let answer = json!({ "id": asked["id"], "action": "accept", "content": content });
    running.write(format!("{answer}\n").as_bytes());
    let run = running.finish().exits(0);
    let result = run.events().only("result").clone();
    assert_eq!(result_text(&result), r#"Accept: {"count":1,"name":"Ada"}"#);
}
