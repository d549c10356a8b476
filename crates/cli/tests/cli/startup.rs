//! Servers that are slow to start or to list their tools, beside one that is not.

use crate::support::{Sandbox, peer, shell};
use serde_json::{Value, json};

/// Connects, and never lists its tools.
const MUTE: &str = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *server/discover*)
      echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}}}}" ;;
  esac
done"#;

fn sandbox<const N: usize>(servers: [(&str, Value); N], limits: &Value) -> Sandbox {
    let mut sandbox = Sandbox::new();
    let servers = sandbox.marked(servers);
    sandbox.set_config(&json!({
        "mcpServers": servers,
        "permissions": { "allow": ["*/*"] },
        "limits": limits,
    }));
    sandbox
}

#[test]
fn f11_the_others_are_used_while_one_is_still_starting_and_whoever_names_it_waits() {
    let slow = shell("sleep 3; exec \"$PEER\" weather");
    let servers = [("slow", slow), ("weather", peer(&["weather"]))];
    let sandbox = sandbox(servers, &json!({ "startupWait": 300 }));

    let run = sandbox.run(&["tools"]).exits(4);
    let run = run.prints(["weather/get_weather"]).says(["still starting: slow", "startupWait"]);
    assert!(!run.stdout.contains("slow/"), "{run}");
    let ask = ["ask", "--json", "--model", "builtin:match", "北京今天天气怎么样?"];
    let run = sandbox.run(&ask).exits(0);
    let run = run.says(["still starting: slow"]);
    assert_eq!(run.events().only("call")["server"], "weather");
    run.events().with("server", "state", "starting");
    let request = r#"{"tool_calls":[{"name":"slow__get_weather","arguments":{"city":"北京"}},
        {"name":"weather__get_weather","arguments":{"city":"北京"}}]}"#;
    sandbox.run_with(request, &["route"]).exits(1).says(["still starting: slow"]);

    sandbox.run(&["call", "slow", "get_weather", "city=北京"]).exits(0);
    sandbox.run(&["tools", "slow"]).exits(0).prints(["slow/get_weather"]);
}

#[test]
fn f13_one_that_never_lists_its_tools_keeps_no_question_waiting() {
    let servers = [("mute", shell(MUTE)), ("weather", peer(&["weather"]))];
    let sandbox = sandbox(servers, &json!({ "startupWait": 300, "connectTimeout": 3000 }));
    let run = sandbox.run(&["ask", "--model", "builtin:match", "北京今天天气怎么样?"]).exits(0);
    run.says(["still starting: mute"]);
    // Whoever names it learns what is wrong with it.
    let run = sandbox.run(&["tools", "mute"]).exits(4);
    run.says(["mute", "has not listed its tools", "connectTimeout"]);
}

#[test]
fn f11_an_installer_that_takes_too_long_may_still_be_downloading() {
    let mut sandbox = Sandbox::new();
    let npx = sandbox.write("npx", "#!/bin/sh\nwhile read -r line; do :; done\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&npx, mode).unwrap();
    let servers = sandbox.marked([("new", json!({ "command": npx, "args": ["-y", "some"] }))]);
    let limits = json!({ "connectTimeout": 300 });
    sandbox.set_config(&json!({ "mcpServers": servers, "limits": limits }));
    let run = sandbox.run(&["call", "new", "tool"]).exits(4);
    run.says(["npx may still be downloading it", "connectTimeout"]);
}

/// Offers a tool more to a client that declares all three.
const BY_ABILITIES: &str = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  one='{"name":"plain","inputSchema":{"type":"object"}}'
  case $line in
    *server/discover*) result='{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}' ;;
    *tools/list*)
      case $line in
        *elicitation*) one=$one',{"name":"asks","inputSchema":{"type":"object"}}' ;;
      esac
      case $line in
        *sampling*) one=$one',{"name":"thinks","inputSchema":{"type":"object"}}' ;;
      esac
      case $line in
        *\"roots\"*) one=$one',{"name":"looks","inputSchema":{"type":"object"}}' ;;
      esac
      result='{"tools":['$one']}' ;;
    *) result='{"content":[{"type":"text","text":"done"}]}' ;;
  esac
  echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$result}"
done"#;

#[test]
fn f12_every_command_is_offered_the_same_tools() {
    let sandbox = sandbox([("s", shell(BY_ABILITIES))], &json!({}));
    let all = ["s/plain", "s/asks", "s/thinks", "s/looks"];
    sandbox.run(&["tools"]).exits(0).prints(all);
    sandbox.run(&["doctor"]).prints(["4 tools"]);
    for tool in ["plain", "asks", "thinks", "looks"] {
        sandbox.run(&["call", "s", tool]).exits(0).prints(["done"]);
    }
    let request = r#"{"tool_calls":[{"name":"asks","arguments":{}}]}"#;
    sandbox.run_with(request, &["route"]).exits(0);
    sandbox.run(&["trust", "--tools", "s"]).exits(0).says(["none is held back"]);
    sandbox.run(&["tools"]).exits(0).prints(all);
}

#[test]
fn f12_pins_say_what_was_declared_when_they_were_taken() {
    let sandbox = sandbox([("s", shell(BY_ABILITIES))], &json!({}));
    sandbox.run(&["tools"]).exits(0);
    let state = sandbox.root().join("home/.local/state/carrick");
    let pins = std::fs::read_to_string(state.join("pins.json")).unwrap();
    let pins: Value = serde_json::from_str(&pins).unwrap();
    let [server] = &pins["servers"].as_object().unwrap().values().collect::<Vec<_>>()[..] else {
        panic!("{pins}")
    };
    let declared = server["declared"].as_str().unwrap();
    for ability in ["elicitation", "sampling", "roots"] {
        assert!(declared.contains(ability), "{declared}");
    }
    // As if they had been taken by a host that declares less, when there were fewer.
    let mut fewer = pins.clone();
    for server in fewer["servers"].as_object_mut().unwrap().values_mut() {
        server["declared"] = json!("{\"roots\":{}}");
        server["tools"].as_object_mut().unwrap().remove("thinks").unwrap();
    }
    std::fs::write(state.join("pins.json"), fewer.to_string()).unwrap();
    sandbox.run(&["tools"]).exits(3).says(["thinks (new)", "carrick trust --tools s"]);
    let shown = sandbox.run(&["trust", "--show", "--tools", "s"]).exits(0);
    shown.prints(["thinks (new)", "was declared to it"]);
    sandbox.run(&["trust", "--yes", "--tools", "s"]).exits(0);
    sandbox.run(&["call", "s", "thinks"]).exits(0);
}

#[test]
fn f75_the_status_says_what_each_server_is_doing() {
    let mute = json!({ "command": "bash", "args": ["-c", MUTE] });
    let servers = [
        ("dead", json!({ "command": "no-such-program" })),
        ("mute", mute),
        ("off", json!({ "command": "no-such-program", "disabled": true })),
        ("slow", shell("sleep 30")),
        ("weather", peer(&["weather"])),
    ];
    let sandbox = sandbox(servers, &json!({ "startupWait": 2000 }));
    let state = |run: &crate::support::Run| {
        let lines = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.map(|line: Value| line["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let run = sandbox.run(&["servers", "--json"]).exits(0);
    assert_eq!(state(&run), ["not tried", "not tried", "disabled", "not tried", "not tried"]);
    let run = sandbox.run(&["servers", "--json", "--status"]).exits(0);
    assert_eq!(state(&run), ["failed", "listing", "disabled", "starting", "connected"], "{run}");
    sandbox.run(&["servers", "--status"]).exits(0).prints(["no-such-program", "1 tool"]);
}

#[test]
fn f11_a_program_that_only_makes_noise_is_not_taken_for_one_that_works() {
    let servers = [("noisy", json!({ "command": "yes" }))];
    let sandbox = sandbox(servers, &json!({ "connectTimeout": 1000 }));
    sandbox.run(&["tools", "noisy"]).exits(4).says(["noisy"]);
}
