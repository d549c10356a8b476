//! Which config counts, and what is said of one that is broken.

use crate::support::{Sandbox, case, peer};
use serde_json::json;
use std::fs;

#[test]
fn the_flag_counts_over_the_variable_and_both_over_the_project() {
    let mut sandbox = Sandbox::new();
    let write = |name: &str, server: &str| {
        let servers = json!({ "mcpServers": { server: { "command": "true" } } });
        sandbox.write(name, servers.to_string()).to_str().unwrap().to_owned()
    };
    let (flag, variable) = (write("flag.json", "by-flag"), write("variable.json", "by-variable"));
    write(".mcp.json", "by-project");
    sandbox.set("CARRICK_CONFIG", variable);
    let run = sandbox.run(&["servers"]).exits(0).prints(["by-variable"]);
    assert!(!run.stdout.contains("by-project"), "{run}");
    let run = sandbox.run(&["servers", "--config", &flag]).exits(0).prints(["by-flag"]);
    assert!(!run.stdout.contains("by-variable"), "{run}");
}

#[test]
fn the_users_own_config_needs_no_approval() {
    let sandbox = Sandbox::new();
    let folder = sandbox.root().join("home/.config/carrick");
    fs::create_dir_all(&folder).unwrap();
    let servers = sandbox.marked([("mine", peer(&["docs"]))]);
    fs::write(folder.join("config.json"), json!({ "mcpServers": servers }).to_string()).unwrap();
    sandbox.run(&["call", "mine", "write", "text=x"]).exits(0).prints(["wrote: x"]);
}

#[test]
fn settings_without_servers_leave_the_built_in_ones() {
    let mut sandbox = Sandbox::new();
    sandbox.set_config(&json!({ "limits": { "rounds": 3 } }));
    sandbox.run(&["tools"]).exits(0).prints(["time/convert_time", "files/read_file"]);
    sandbox.set_config(&json!({ "mcpServers": { "off": { "command": "x", "disabled": true } } }));
    let run = sandbox.run(&["tools"]).exits(0).says(["no server offers a tool"]);
    assert_eq!(run.stdout, "");
}

#[test]
fn a_broken_config_is_wrong_usage_and_says_where() {
    let sandbox = Sandbox::new();
    for (text, says) in
        [("{\"mcpServers\": ", ".json"), (r#"{"mcpServer": {}}"#, "did you mean \"mcpServers\"?")]
    {
        let path = sandbox.write("broken.json", text);
        let run = sandbox.run(&["servers", "--config", path.to_str().unwrap()]).exits(2);
        assert_eq!(run.stdout, "");
        run.says([says, "broken.json"]);
        // Neither does a command that needs no server run on a guess.
        sandbox.run(&["ask", "--config", path.to_str().unwrap(), "x"]).exits(2);
    }
    sandbox.run(&["servers", "--config", "nowhere.json"]).exits(2).says(["nowhere.json"]);
}

#[test]
fn a_broken_entry_disables_that_server_only() {
    let mut sandbox = Sandbox::new();
    let mut servers = sandbox.marked([("docs", peer(&["docs"]))]);
    servers.insert("typo".into(), json!({ "comand": "x" }));
    servers.insert("number".into(), json!({ "command": 7 }));
    sandbox.set_config(&json!({ "mcpServers": servers }));
    let run = sandbox.run(&["tools"]).exits(4).prints(["docs/write"]);
    let run = run.says(["\"typo\"", "did you mean \"command\"?", "servers.json:1:"]);
    run.says(["\"number\"", "a string"]);
}

#[test]
fn d126_bom_comments_and_trailing_commas_are_read() {
    let sandbox = Sandbox::new();
    let path = case("D126/mcp.json");
    let run = sandbox.run(&["servers", "--json", "--config", path.to_str().unwrap()]).exits(0);
    let [line] = &run.json_lines()[..] else { panic!("{run}") };
    assert_eq!((&line["server"], &line["state"]), (&json!("文档"), &json!("not tried")));
    let launch = line["launch"].as_str().unwrap();
    assert!(launch.contains("http://x//y") && launch.contains("数据"), "{launch}");
}

#[test]
fn d126_utf_16_is_named() {
    let sandbox = Sandbox::new();
    let text: Vec<u8> =
        "\u{feff}{\"mcpServers\":{}}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let path = sandbox.write("wide.json", text);
    sandbox.run(&["servers", "--config", path.to_str().unwrap()]).exits(2).says(["UTF-16"]);
}

#[test]
fn d127_an_unset_variable_disables_that_server_only() {
    let mut sandbox = Sandbox::new();
    sandbox.set("TOKEN", "t0");
    sandbox.set("A", "${TOKEN}");
    let path = case("D127/mcp.json");
    let run = sandbox.run(&["servers", "--json", "--config", path.to_str().unwrap()]).exits(0);
    let lines = run.json_lines();
    let of = |name: &str| lines.iter().find(|line| line["server"] == name).unwrap();
    assert_eq!(of("a")["launch"], "https://x.example/mcp");
    assert_eq!(of("b")["state"], "broken");
    assert!(of("b")["launch"].as_str().unwrap().contains("MISSING"), "{run}");
    // One pass: what a value holds is not expanded again.
    let launch = of("d")["launch"].as_str().unwrap();
    assert!(launch.contains("$TOKEN") && launch.contains("${TOKEN}"), "{launch}");
    assert!(!run.stdout.contains("t0"), "{run}");
    let run = sandbox.run(&["call", "b", "x", "--config", path.to_str().unwrap()]).exits(4);
    run.says(["\"b\"", "MISSING"]);
}

#[test]
fn a_childs_environment_is_clean_but_for_what_the_config_gives() {
    let mut sandbox = Sandbox::new();
    sandbox.set("CARRICK_TEST_SECRET", "hidden");
    sandbox.set("TOKEN", "given");
    let out = sandbox.root().join("environment");
    let mut dump = crate::support::shell("env > \"$OUT\"");
    dump["env"]["OUT"] = json!(out);
    dump["env"]["GIVEN"] = json!("${TOKEN}");
    let servers = sandbox.marked([("dump", dump)]);
    sandbox.set_config(&json!({ "mcpServers": servers }));
    sandbox.run(&["tools"]).exits(4);
    let environment = fs::read_to_string(out).unwrap();
    assert!(environment.contains("GIVEN=given\n"), "{environment}");
    assert!(environment.contains("PATH="), "{environment}");
    assert!(!environment.contains("hidden"), "{environment}");
}

#[test]
fn the_model_of_the_config_counts_below_the_flag() {
    let mut sandbox = Sandbox::new();
    sandbox.set_config(&json!({ "mcpServers": {}, "model": "nonsense:x" }));
    sandbox.run(&["ask", "x"]).exits(2).says(["nonsense", "the configuration"]);
    sandbox.run(&["ask", "--model", "builtin:match", "x"]).exits(1).says(["no tool fits"]);
    sandbox.run(&["ask", "--model", "openai:x", "x"]).exits(2).says(["OPENAI_API_KEY"]);
}

#[test]
fn a_key_in_the_config_reaches_the_provider() {
    use carrick_testkit::model::{Provider, Reply, ScriptedModel};
    let model = ScriptedModel::start(Provider::Anthropic, [Reply::text("hello")]).unwrap();
    let mut sandbox = Sandbox::new();
    sandbox.set("MY_KEY", "sk-from-config");
    sandbox.set_config(&json!({
        "mcpServers": {}, "model": "anthropic:small",
        "models": { "anthropic": { "baseUrl": model.url(), "apiKey": "${MY_KEY}" } },
    }));
    sandbox.run(&["ask", "hi"]).exits(0).prints(["hello"]);
    let requests = model.requests();
    assert_eq!(requests[0].body["model"], "small");
    assert!(requests[0].headers.contains("x-api-key: sk-from-config"), "{}", requests[0].headers);
}
