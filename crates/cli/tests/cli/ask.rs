//! `carrick ask` with scripted models, over HTTP, in both dialects.

mod limits;
mod permission;
mod script;

use crate::support::{Sandbox, result_text};
use carrick_testkit::model::{Provider, Reply, Request, ScriptedModel, Tool};
use serde_json::json;

const TOKYO: &str = "What time is it in Tokyo when it is 09:00 in Paris?";
const MENTION: &str = "Which files here mention MCP?";

fn native_tokyo() -> [Reply; 2] {
    let arguments = json!({ "time": "09:00", "source_timezone": "Europe/Paris",
        "target_timezone": "Asia/Tokyo", "date": "2026-01-15" });
    [
        Reply::text("I will look. ")
            .and_call("call-1", Tool::Described("Converts a time of day"), &arguments)
            .usage(100, 20),
        Reply::text("It is 17:00 in Tokyo — 17時です.").usage(150, 30),
    ]
}

fn xml_tokyo() -> [Reply; 2] {
    [
        Reply::text(
            "I will look.\n<use_mcp_tool>\n<server_name>time</server_name>\n\
             <tool_name>convert_time</tool_name>\n<arguments>\n{\"time\":\"09:00\",\
             \"source_timezone\":\"Europe/Paris\",\"target_timezone\":\"Asia/Tokyo\",\
             \"date\":\"2026-01-15\"}\n</arguments>\n</use_mcp_tool>\n",
        )
        .usage(100, 20),
        Reply::text("It is 17:00 in Tokyo — 17時です.").usage(150, 30),
    ]
}

/// Every provider takes such names, and only such.
#[track_caller]
fn assert_safe(request: &Request) {
    assert!(!request.tools().is_empty());
    for name in request.tools() {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(name.len() <= 64 && name.chars().all(fits), "{name:?}");
    }
}

#[track_caller]
fn asks_for_tokyo(provider: Provider, dialect: &str, script: [Reply; 2]) {
    let mut sandbox = Sandbox::new();
    let model = ScriptedModel::start(provider, script).unwrap();
    sandbox.use_model(provider, &model);

    let run = sandbox.run(&["ask", "--json", "--dialect", dialect, TOKYO]).exits(0);

    let events = run.events();
    let call = events.only("call");
    assert_eq!((&call["server"], &call["tool"]), (&json!("time"), &json!("convert_time")));
    assert_eq!(call["arguments"]["target_timezone"], "Asia/Tokyo");
    let result = events.only("result");
    assert_eq!((&result["id"], &result["isError"]), (&call["id"], &json!(false)));
    assert!(result_text(result).contains("17:00"), "{result}");
    assert!(result["structuredContent"].is_object(), "{result}");
    let answer = events.only("answer");
    assert_eq!(answer["text"], "It is 17:00 in Tokyo — 17時です.");
    assert_eq!(answer["usage"], json!({ "inputTokens": 250, "outputTokens": 50 }));
    assert!(events.text().starts_with("I will look."), "{}", events.text());
    assert!(events.text().ends_with("It is 17:00 in Tokyo — 17時です."), "{}", events.text());
    assert!(!events.text().contains("use_mcp_tool"), "{}", events.text());
    let id = call["id"].as_str().unwrap();
    assert!(events.place("call", "id", id) < events.place("result", "id", id));
    events.with("server", "state", "connected");

    let [first, second] = &model.requests()[..] else { panic!("{:#?}", model.requests()) };
    assert_eq!(first.last(), TOKYO);
    assert!(second.last().contains("17:00"), "{}", second.last());
    assert_eq!(first.body["model"], "scripted");
    if dialect == "xml" {
        let system = first.system();
        for taught in ["<use_mcp_tool>", "<server_name>", "convert_time", "Converts a time of day"]
        {
            assert!(system.contains(taught), "no {taught:?} in {system}");
        }
        assert!(first.tools().is_empty(), "{:?}", first.tools());
        assert!(second.last().contains("<tool_result>"), "{}", second.last());
    } else {
        assert_safe(first);
        assert!(!first.system().contains("<use_mcp_tool>"), "{}", first.system());
    }
}

#[test]
fn openai_calls_natively() {
    asks_for_tokyo(Provider::OpenAi, "native", native_tokyo());
}

#[test]
fn anthropic_calls_natively() {
    asks_for_tokyo(Provider::Anthropic, "native", native_tokyo());
}

#[test]
fn openai_calls_by_xml() {
    asks_for_tokyo(Provider::OpenAi, "xml", xml_tokyo());
}

#[test]
fn anthropic_calls_by_xml() {
    asks_for_tokyo(Provider::Anthropic, "xml", xml_tokyo());
}

#[track_caller]
fn asks_who_mentions_mcp(provider: Provider, dialect: &str, first: Reply) {
    let mut sandbox = Sandbox::new();
    sandbox.write("notes.md", "About MCP, the protocol.\n");
    sandbox.write("other.txt", "About boats.\n");
    let model = ScriptedModel::start(provider, [first, Reply::text("Only notes.md.")]).unwrap();
    sandbox.use_model(provider, &model);

    let run = sandbox.run(&["ask", "--json", "--dialect", dialect, MENTION]).exits(0);

    let events = run.events();
    assert_eq!(events.only("call")["server"], "files");
    let result = events.only("result");
    assert!(result_text(result).contains("notes.md"), "{result}");
    assert!(!result.to_string().contains("other.txt"), "{result}");
    assert_eq!(events.only("answer")["text"], "Only notes.md.");
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[1].last().contains("notes.md"), "{}", requests[1].last());
}

#[test]
fn files_are_searched_natively() {
    let call = || {
        let arguments = json!({ "query": "MCP" });
        Reply::call("call-1", Tool::Described("Finds files that contain"), &arguments)
    };
    asks_who_mentions_mcp(Provider::OpenAi, "native", call());
    asks_who_mentions_mcp(Provider::Anthropic, "native", call());
}

#[test]
fn files_are_searched_by_xml() {
    let call = || {
        Reply::text(
            "<use_mcp_tool><server_name>files</server_name><tool_name>search_files</tool_name>\
             <arguments>{\"query\":\"MCP\"}</arguments></use_mcp_tool>",
        )
    };
    asks_who_mentions_mcp(Provider::OpenAi, "xml", call());
    asks_who_mentions_mcp(Provider::Anthropic, "xml", call());
}

#[test]
fn on_a_terminal_less_run_the_answer_alone_is_on_stdout() {
    let mut sandbox = Sandbox::new();
    let model = ScriptedModel::start(Provider::OpenAi, native_tokyo()).unwrap();
    sandbox.use_model(Provider::OpenAi, &model);
    let run = sandbox.run(&["ask", TOKYO]).exits(0);
    assert!(run.stdout.ends_with("It is 17:00 in Tokyo — 17時です.\n"), "{run}");
    run.says(["-> time/convert_time", "<- ", "17:00"]);
}

#[test]
fn a_resource_is_read_in_both_dialects() {
    let xml = Reply::text(
        "<access_mcp_resource><server_name>files</server_name><uri>file:///note.md</uri>\
         </access_mcp_resource>",
    );
    let native = |uri: &str| {
        let arguments = json!({ "server": "files", "uri": uri });
        Reply::call("r1", Tool::Named("read_resource"), &arguments)
    };
    for dialect in ["xml", "native"] {
        let mut sandbox = Sandbox::new();
        let file = sandbox.write("note.md", "a note of the project\n");
        let uri = format!("file://{}", file.canonicalize().unwrap().display());
        let first = match dialect {
            "xml" => xml.clone().with_text(|text| text.replace("file:///note.md", &uri)),
            _ => native(&uri),
        };
        let model = ScriptedModel::start(Provider::OpenAi, [first, Reply::text("Read.")]).unwrap();
        sandbox.use_model(Provider::OpenAi, &model);
        let run = sandbox.run(&["ask", "--json", "--dialect", dialect, "read it"]).exits(0);
        let events = run.events();
        assert_eq!(events.only("result")["isError"], false, "{run}");
        assert!(model.requests()[1].last().contains("a note of the project"), "{run}");
    }
}
