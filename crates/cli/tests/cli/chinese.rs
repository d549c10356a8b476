//! A conversation in Chinese throughout: question, server, tool, argument, result, answer.

use crate::support::{Sandbox, peer, result_text};
use carrick_testkit::model::{Provider, Reply, ScriptedModel, Tool};
use serde_json::json;

const QUESTION: &str = "北京今天天气怎么样?";
const ANSWER: &str = "北京今天天气晴朗,气温 27 摄氏度。";

fn sandbox() -> Sandbox {
    Sandbox::with_servers([("天气", peer(&["weather"]))])
}

#[track_caller]
fn asks(provider: Provider, dialect: &str, call: Reply) {
    let mut sandbox = sandbox();
    let model = ScriptedModel::start(provider, [call, Reply::text(ANSWER)]).unwrap();
    sandbox.use_model(provider, &model);

    let run = sandbox.run(&["ask", "--json", "--dialect", dialect, QUESTION]).exits(0);

    let events = run.events();
    let call = events.only("call");
    assert_eq!(call["server"], "天气");
    assert_eq!(call["tool"], "get_weather");
    assert_eq!(call["arguments"], json!({ "city": "北京" }));
    assert_eq!(result_text(events.only("result")), "北京今天晴,27 摄氏度,微风。");
    assert_eq!(events.only("answer")["text"], ANSWER);
    assert!(events.text().ends_with(ANSWER), "{}", events.text());
    let [first, second] = &model.requests()[..] else { panic!("{run}") };
    assert_eq!(first.last(), QUESTION);
    assert!(second.last().contains("北京今天晴,27 摄氏度,微风。"), "{}", second.last());
    assert!(first.system().contains("本服务器提供中国城市的天气。"), "{}", first.system());
    for name in first.tools() {
        assert!(name.is_ascii() && name.len() <= 64, "{name:?}");
    }
}

#[test]
fn natively() {
    for provider in [Provider::OpenAi, Provider::Anthropic] {
        let call = Reply::call(
            "c1",
            Tool::Described("查询一个城市今天的天气"),
            &json!({ "city": "北京" }),
        );
        asks(provider, "native", call);
    }
}

#[test]
fn by_xml() {
    for provider in [Provider::OpenAi, Provider::Anthropic] {
        let call = Reply::text(
            "我来查一下。\n<use_mcp_tool>\n<server_name>天气</server_name>\n\
             <tool_name>get_weather</tool_name>\n<arguments>\n{\"city\": \"北京\"}\n</arguments>\n\
             </use_mcp_tool>",
        );
        asks(provider, "xml", call);
    }
}

#[test]
fn by_the_matcher() {
    let sandbox = sandbox();
    let run = sandbox.run(&["ask", "--json", "--model", "builtin:match", QUESTION]).exits(0);
    let events = run.events();
    assert_eq!(events.only("call")["arguments"], json!({ "city": "北京" }));
    assert_eq!(events.only("answer")["text"], "北京今天晴,27 摄氏度,微风。");
    assert_eq!(events.only("answer")["model"], "builtin:match");
}

#[test]
fn by_route_and_by_hand() {
    let sandbox = sandbox();
    let text = "好的。<use_mcp_tool><server_name>天气</server_name><tool_name>get_weather\
                </tool_name><arguments>{\"city\":\"上海\"}</arguments></use_mcp_tool>";
    sandbox.run_with(text, &["route"]).exits(0).prints(["上海今天小雨", "天气"]);
    let run = sandbox.run(&["call", "天气", "get_weather", "city=东京"]).exits(0);
    assert_eq!(run.stdout, "东京今天多云,24 摄氏度。\n");
    let run = sandbox.run(&["call", "天气", "get_weather", "city=巴黎"]).exits(5);
    assert_eq!(run.stdout, "没有“巴黎”的天气数据\n");
}
