//! With `--json`, each value is one line, whatever it was before.

use crate::support::{Sandbox, peer};
use carrick_testkit::model::{Provider, Reply, ScriptedModel};

/// A request whose arguments stand on several lines, with numbers that no double holds.
const REQUEST: &str = "<use_mcp_tool>\n<server_name>fixture</server_name>\n\
    <tool_name>echo</tool_name>\n<arguments>\n{\n  \"t\": \"a  b\",\r\n  \"n\": [\n 1.50,\n \
    123456789012345678901234567890\n ]\n}\n</arguments>\n</use_mcp_tool>";

const LINE: &str = r#""arguments":{"t":"a  b","n":[1.50,123456789012345678901234567890]}"#;

#[test]
fn f70_arguments_on_several_lines_are_one_line_of_events() {
    let mut sandbox = Sandbox::with_servers([("fixture", peer(&["fixture"]))]);
    let model = ScriptedModel::start(Provider::OpenAi, [Reply::text(REQUEST), Reply::text("done")]);
    let model = model.unwrap();
    sandbox.use_model(Provider::OpenAi, &model);
    let run = sandbox.run(&["ask", "--json", "--dialect", "xml", "go"]).exits(0);
    assert!(run.events().only("call")["arguments"].is_object(), "{run}");
    assert!(run.stdout.contains(LINE), "{run}");
}

#[test]
fn f70_the_same_in_route() {
    let sandbox = Sandbox::with_servers([("fixture", peer(&["fixture"]))]);
    let run = sandbox.run_with(REQUEST, &["--json", "route"]);
    run.events().only("call");
    assert!(run.stdout.contains(LINE), "{run}");
}
