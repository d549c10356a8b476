//! What each key means, and what is wrong with others.

use std::time::Duration;

use super::*;

fn server_problem(entry: &str) -> String {
    let text = format!("{{\"mcpServers\": {{\"s\": {entry}, \"ok\": {{\"command\": \"c\"}}}}}}");
    let config = config(&text);
    assert_eq!(child(&config, "ok").command, "c", "the others are not touched");
    problem(&config, "s")
}

#[test]
fn every_key_of_a_server_is_read() {
    let config = config(
        r#"{"$schema": "x", "mcpServers": {
            "a": {"type": "stdio", "command": "c", "args": [], "timeout": 5000},
            "b": {"type": "streamable-http", "url": "https://x.example/mcp"},
            "c": {"type": "http", "url": "http://localhost:1/", "headers": {}},
            "t": {"type": "builtin", "name": "time"},
            "off": {"command": "${NOT_SET}", "disabled": true},
            "d": {"type": "sse", "url": "http://localhost:1/sse", "headers": {"A": "b"}},
            "off2": {"type": "ws", "disabled": true, "url": "http://x/"}
        }}"#,
    );
    assert_eq!(config.servers["a"].timeout, Some(Duration::from_secs(5)));
    assert_eq!(child(&config, "a").cwd, None);
    for (name, sse) in [("b", false), ("c", false), ("d", true)] {
        assert!(
            matches!(config.servers[name].launch(), Some(Launch::Http(http)) if http.sse == sse),
            "{name}"
        );
    }
    assert!(
        matches!(config.servers["t"].launch(), Some(Launch::Builtin { name, args }) if name == "time" && args.is_empty())
    );
    for name in ["off", "off2"] {
        assert!(matches!(config.servers[name].state, ServerState::Disabled), "{name}");
    }
}

#[test]
fn later_types_disable_only_their_server() {
    for kind in ["xml-stdio", "xml-sse", "ws", "nats"] {
        let entry = format!(r#"{{"type": "{kind}", "url": "http://x/", "framing": "newline"}}"#);
        let message = server_problem(&entry);
        assert!(message.contains(kind) && message.contains("later version"), "{message}");
    }
}

#[test]
fn wrong_entries_say_what_was_expected_and_where() {
    for (entry, parts) in [
        (r#"{"comand": "c"}"#, &["1:23", "\"comand\"", "did you mean \"command\"?"][..]),
        (r#"{"command": "c", "autoApprove": []}"#, &["autoApprove", "permissions"]),
        (r#"{"command": "c", "zzz": 1}"#, &["unknown key \"zzz\" in a server", "known are type"]),
        (r#"{"type": "stdoi", "command": "c"}"#, &["did you mean \"stdio\"?"]),
        (r#"{"type": "grpc", "url": "x"}"#, &["known are stdio"]),
        ("{}", &["needs \"command\"", "\"url\""]),
        (r#"{"command": "c", "url": "http://x"}"#, &["exclude each other"]),
        (r#"{"type": "http", "command": "c"}"#, &["are for type \"stdio\""]),
        (r#"{"type": "http"}"#, &["need \"url\""]),
        (r#"{"type": "sse"}"#, &["need \"url\""]),
        (r#"{"command": "c", "headers": {}}"#, &["are for type \"http\""]),
        (r#"{"command": ""}"#, &["a program is needed"]),
        (r#"{"command": ["c"]}"#, &["\"command\" must be a string, not a list"]),
        (r#"{"command": "c", "args": "x"}"#, &["\"args\" must be a list of strings, not a string"]),
        (r#"{"command": "c", "args": [1]}"#, &["\"args[0]\" must be a string, not a number"]),
        (r#"{"command": "c", "env": {"A": 1}}"#, &["\"env.A\" must be a string, not a number"]),
        (r#"{"command": "c", "env": {"A=B": ""}}"#, &["not a name for an environment variable"]),
        (r#"{"command": "c", "disabled": "yes"}"#, &["true or false, not a string"]),
        (r#"{"command": "c", "timeout": 1.5}"#, &["1.5 is not a whole number from 1"]),
        (r#"{"command": "c", "timeout": 0}"#, &["from 1 to 86400000"]),
        (r#"{"url": "ftp://x/"}"#, &["http:// or https://"]),
        (r#"{"url": "/x"}"#, &["http:// or https://"]),
        (r#"{"url": "http://a b/"}"#, &["not a valid address"]),
        (r#"{"url": "http://x/", "headers": {"A B": ""}}"#, &["not a name for a header"]),
        (r#"{"url": "http://x/", "headers": {"A": "", "a": ""}}"#, &["another spelling"]),
        (r#"{"type": "builtin"}"#, &["needs \"name\""]),
        (r#"{"type": "builtin", "name": "shell"}"#, &["no such built-in server"]),
        (r#"{"type": "builtin", "name": "time", "args": ["x"]}"#, &["takes no arguments"]),
        (
            r#"{"type": "builtin", "name": "files", "args": ["x", "y"]}"#,
            &["args[1]", "one argument"],
        ),
        ("7", &["\"server\" must be an object, not a number"]),
    ] {
        let message = server_problem(entry);
        for part in parts {
            assert!(message.contains(part), "{entry}: {message}");
        }
    }
}

#[test]
fn names_that_cannot_be_shown_are_refused() {
    for name in ["", " a", "a\\u202eb", "a\\nb"] {
        let text = format!("{{\"mcpServers\": {{\"{name}\": {{\"command\": \"c\"}}}}}}");
        let config = config(&text);
        let (_, server) = config.servers.first_key_value().unwrap();
        let ServerState::Broken(error) = &server.state else { panic!("{name}") };
        assert!(!error.to_string().contains(['\u{202e}', '\n']), "{error}");
    }
    assert!(
        config(r#"{"mcpServers": {"io.github.a/b": {"command": "c"}}}"#).servers["io.github.a/b"]
            .launch()
            .is_some()
    );
}

#[test]
fn unknown_keys_of_the_file_are_errors_with_a_suggestion() {
    for (text, parts) in [
        ("{\n  \"mcpserver\": {}}", &[":2:3: ", "did you mean \"mcpServers\"?"][..]),
        (r#"{"servers": {}}"#, &["VS Code", "\"mcpServers\""]),
        (r#"{"mcpServers": {}, "inputs": []}"#, &["${NAME}", "environment"]),
        (r#"{"context_servers": {}}"#, &["Zed"]),
        (r#"{"colour": 1}"#, &["known are mcpServers"]),
        (r#"{"mcpServers": []}"#, &["must be an object"]),
        (r#"{"model": "gpt"}"#, &["provider:model"]),
        (r#"{"models": {"openia": {}}}"#, &["did you mean \"openai\"?"]),
        (r#"{"models": {"mine": {"baseUrl": "http://x"}}}"#, &["\"provider\" must be one of"]),
        (r#"{"models": {"openai": {"base_url": ""}}}"#, &["did you mean \"baseUrl\"?"]),
        (r#"{"permissions": {"alow": []}}"#, &["did you mean \"allow\"?"]),
        (r#"{"permissions": {"allow": "x"}}"#, &["a list of strings"]),
        (r#"{"permissions": {"allow": ["files/"]}}"#, &["allow[0]", "the tool is missing"]),
        (r#"{"limits": {"round": 3}}"#, &["did you mean \"rounds\"?"]),
        (r#"{"limits": {"rounds": -1}}"#, &["-1 is not a whole number"]),
    ] {
        let message = failure(text);
        for part in parts {
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}

#[test]
fn settings_are_read() {
    let text = r#"{
        "model": "ollama:qwen3",
        "models": {
            "openai": {"apiKey": "${KEY}"},
            "local": {"provider": "openai", "baseUrl": "http://localhost:8080/v1"},
            "gemini": {"apiKey": "${NOT_SET}"}
        },
        "permissions": {"allow": ["a/*"], "ask": ["*"], "deny": ["*/rm"]},
        "limits": {"rounds": 3, "tokens": 100, "turnTimeout": 60000, "messageBytes": 4096}
    }"#;
    let settings = resolve(&[parse(text.as_bytes()).unwrap()], &[("KEY", "k")]).settings;
    assert_eq!(settings.model.as_deref(), Some("ollama:qwen3"));
    let openai = settings.models["openai"].as_ref().unwrap();
    assert_eq!((openai.provider.as_str(), &openai.api_key), ("openai", &Some(Secret::new("k"))));
    let local = settings.models["local"].as_ref().unwrap();
    assert_eq!(local.base_url.as_deref(), Some("http://localhost:8080/v1"));
    let error = settings.models["gemini"].as_ref().unwrap_err().to_string();
    assert!(error.contains("NOT_SET"), "{error}");
    let rules: Vec<_> = settings.rules.iter().map(|rule| rule.effect()).collect();
    use carrick_policy::Effect::{Allow, Ask, Deny};
    assert_eq!(rules, [Deny, Ask, Allow]);
    let limits = &settings.limits;
    assert_eq!((limits.rounds, limits.tokens, limits.calls), (Some(3), Some(100), None));
    assert_eq!(limits.turn_timeout, Some(Duration::from_secs(60)));
    assert_eq!(limits.message_bytes, Some(4096));
}

#[test]
fn what_is_probably_a_mistake_is_warned_about() {
    let text =
        r#"{"mcpServers": {"a": {"command": "c", "args": ["${input:key}"], "timeout": 60}}}"#;
    let config = config(text);
    assert_eq!(child(&config, "a").args, ["${input:key}"]);
    let kinds: Vec<_> = config.warnings.iter().map(|warning| &warning.kind).collect();
    assert!(
        matches!(
            kinds[..],
            [WarningKind::ShortTime { millis: 60, .. }, WarningKind::LiteralForm { .. }]
        ),
        "{kinds:?}"
    );
}
