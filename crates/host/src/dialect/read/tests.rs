use super::*;

/// One line for each item.
fn outline(text: &str) -> Vec<String> {
    let or = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".to_owned());
    let line = |item: RouteItem| {
        let ask = match &item.ask {
            Ask::Call { server, tool, arguments, .. } => {
                format!("{}/{tool} {}", or(server), arguments.get())
            }
            Ask::Resource { server, uri } => format!("{} {uri}", or(server)),
            Ask::Refused(not_run) => not_run.to_string(),
        };
        format!("{:?} {} {ask}", item.dialect, or(&item.id))
    };
    read(text).into_iter().map(line).collect()
}

const OPENAI_CALLS: &str = r#"[{"id":"call_1","type":"function","function":{"name":"docs__write","arguments":"{\"text\": \"a\"}"}},
    {"id":"call_2","type":"function","function":{"name":"now","arguments":""}}]"#;

#[test]
fn openai_calls_in_every_wrapping() {
    let message = format!(r#"{{"role":"assistant","content":null,"tool_calls":{OPENAI_CALLS}}}"#);
    let completion = format!(
        r#"{{"id":"c","object":"chat.completion","choices":[{{"index":0,"message":{message},"finish_reason":"tool_calls"}}],"usage":{{}}}}"#
    );
    let conversation = format!(r#"[{{"role":"user","content":"<use_mcp_tool>"}},{message}]"#);
    for text in
        [OPENAI_CALLS, &message, &completion, &conversation, &format!("\u{feff}\n{message}")]
    {
        assert_eq!(
            outline(text),
            [r#"OpenAi call_1 -/docs__write {"text": "a"}"#, "OpenAi call_2 -/now {}"],
            "{text}"
        );
    }
    let ollama = r#"{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"now","arguments":{"z":1}}}]},"done":true}"#;
    assert_eq!(outline(ollama), [r#"OpenAi - -/now {"z":1}"#]);
}

#[test]
fn responses_items() {
    let item = r#"{"type":"function_call","id":"fc_1","call_id":"call_1","name":"now","arguments":"{}","status":"completed"}"#;
    let output = format!(r#"[{{"type":"reasoning","summary":[]}},{item}]"#);
    let response = format!(r#"{{"object":"response","status":"completed","output":{output}}}"#);
    for text in [item, &output, &response] {
        assert_eq!(outline(text), ["Responses call_1 -/now {}"], "{text}");
    }
    let cut = response.replacen("\"completed\"", "\"incomplete\"", 1);
    assert!(outline(&cut)[0].starts_with("Responses call_1 not run: the output was cut off"));
}

#[test]
fn anthropic_blocks() {
    let content = r#"[{"type":"text","text":"Let me."},{"type":"tool_use","id":"toolu_1","name":"docs.write","input":{"a":"<b>"}},
        {"type":"tool_use","id":"toolu_2","name":"now","input":{}}]"#;
    let message = format!(
        r#"{{"type":"message","role":"assistant","content":{content},"stop_reason":"tool_use"}}"#
    );
    for text in [content, &message] {
        assert_eq!(
            outline(text),
            [r#"Anthropic toolu_1 -/docs.write {"a":"<b>"}"#, "Anthropic toolu_2 -/now {}"]
        );
    }
    let cut = outline(&message.replace("stop_reason\":\"tool_use", "stop_reason\":\"max_tokens"));
    assert!(cut[0].contains("docs.write {"), "{cut:?}");
    assert!(cut[1].starts_with("Anthropic toolu_2 not run: the output was cut off"), "{cut:?}");
}

#[test]
fn plain_form() {
    let calls = r#"[{"name":"write","server":"docs","arguments":{"a":1}},{"id":7,"name":"now"},{"server":"db","uri":"db://x"}]"#;
    let text = format!(r#"{{"tool_calls":{calls}}}"#);
    let expected = [r#"Plain - docs/write {"a":1}"#, "Plain 7 -/now {}", "Plain - db db://x"];
    assert_eq!(outline(&text), expected);
    assert_eq!(outline(r#"[{"name":"a","arguments":{}},{"name":"b","arguments":{}}]"#).len(), 2);
    assert_eq!(outline(r#"{"name":"a","arguments":{}}"#), ["Plain - -/a {}"]);
    let lines = "{\"tool_calls\":[{\"name\":\"a\"}]}\n{\"tool_calls\":[{\"name\":\"b\"}]}\n";
    assert_eq!(outline(lines), ["Plain - -/a {}", "Plain - -/b {}"]);
}

#[test]
fn what_cannot_be_run_is_an_error() {
    for (text, told) in [
        (
            r#"{"tool_calls":[{"name":"a","arguments":[1]}]}"#,
            "Plain - not run: the arguments are not a JSON object: expected an object, found an array",
        ),
        (
            r#"{"tool_calls":[{"id":"1","arguments":{}}]}"#,
            "Plain 1 not run: the call does not name a tool",
        ),
        (r#"{"tool_calls":["a"]}"#, "Plain - not run: a call must be a JSON object"),
        (
            r#"{"tool_calls":[{"id":"1","function":{"name":"a","arguments":"{\"x\":1,}"}}]}"#,
            "OpenAi 1 not run: the arguments are not a JSON object: trailing comma at line 1 column 8",
        ),
        (r#"{"tool_calls":[{"name":"a","name":"b","arguments":{}}]}"#, "duplicate field"),
        (r#"{"choices":[{"message":{"tool_calls":[{"na"#, "the message is not JSON: EOF"),
        (
            r#"[{"type":"tool_use","id":"t","name":" ","input":{}}]"#,
            "Anthropic t not run: the call does not name a tool",
        ),
        (
            r#"[{"type":"tool_use","id":"t","name":"a","input":{"x":1,"x":2}}]"#,
            "the member \"x\" is given twice",
        ),
        ("```\n{\"tool_calls\":[{\"name\":\"a\"}]}\n```", "not run: in a fence"),
    ] {
        let lines = outline(text);
        assert!(lines.len() == 1 && lines[0].contains(told), "{text}: {lines:?}");
    }
}

#[test]
fn only_the_first_of_several_answers_counts() {
    let choice = |name| {
        format!(
            r#"{{"message":{{"tool_calls":[{{"function":{{"name":"{name}","arguments":"{{}}"}}}}]}}}}"#
        )
    };
    let lines = outline(&format!(r#"{{"choices":[{},{}]}}"#, choice("a"), choice("b")));
    assert_eq!(lines[0], "OpenAi - -/a {}");
    assert!(
        lines[1].starts_with("OpenAi - not run: it can be read in more than one way"),
        "{lines:?}"
    );
}

#[test]
fn xml_in_text_and_in_messages() {
    let xml = "Hm.\n<use_mcp_tool>\n<server_name>docs</server_name>\n<tool_name>write</tool_name>\n<arguments>{\"a\":1}</arguments>\n</use_mcp_tool>\n<access_mcp_resource><server_name>db</server_name><uri>a:b</uri></access_mcp_resource>";
    let expected = [r#"Xml - docs/write {"a":1}"#, "Xml - db a:b"];
    assert_eq!(outline(xml), expected);
    let json = serde_json::to_string(xml).unwrap();
    for text in [
        format!(r#"{{"role":"assistant","content":{json}}}"#),
        format!(r#"{{"choices":[{{"message":{{"content":{json},"tool_calls":[]}}}}]}}"#),
        format!(r#"{{"role":"assistant","content":[{{"type":"text","text":{json}}}]}}"#),
        format!(
            r#"{{"output":[{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":{json}}}]}}]}}"#
        ),
    ] {
        assert_eq!(outline(&text), expected, "{text}");
    }
    let cut = serde_json::to_string(&xml[..60]).unwrap();
    let cut =
        format!(r#"{{"choices":[{{"finish_reason":"length","message":{{"content":{cut}}}}}]}}"#);
    assert!(outline(&cut)[0].contains("the output was cut off"));
}

#[test]
fn what_others_said_is_not_a_request() {
    let xml =
        serde_json::to_string("<use_mcp_tool><tool_name>a</tool_name></use_mcp_tool>").unwrap();
    for text in [
        format!(r#"{{"role":"user","content":{xml}}}"#),
        format!(r#"{{"role":"tool","tool_call_id":"1","content":{xml}}}"#),
        format!(
            r#"[{{"type":"tool_result","tool_use_id":"1","content":[{{"type":"text","text":{xml}}}]}}]"#
        ),
        format!(r#"[{{"type":"thinking","thinking":{xml}}}]"#),
        r#"[{"role":"assistant","tool_calls":[{"name":"a"}]},{"role":"tool","content":"done"}]"#
            .to_owned(),
        r#"{"answer":42}"#.to_owned(),
        "[1, 2]".to_owned(),
        "[see below]".to_owned(),
        String::new(),
    ] {
        assert!(outline(&text).is_empty(), "{text}: {:?}", outline(&text));
    }
}

#[test]
fn f75_a_message_that_is_broken_or_cut_off_is_told_where() {
    let broken = "Plain - not run: the message is not JSON: ";
    for text in [
        r#"{"tool_calls":[{"name":"a","arguments":{"x":"#,
        r#"{"tool_calls":[{"name":"a","arguments":{x:1}}]}"#,
        r#"[{"role":"assistant","tool_calls":[{"name":"a","arguments":{}}]}"#,
    ] {
        let lines = outline(text);
        assert!(lines.len() == 1 && lines[0].starts_with(broken), "{text}: {lines:?}");
    }
}

#[test]
fn f05_json_among_text_is_told_and_not_run() {
    let calls = r#"{"tool_calls":[{"name":"a","arguments":{}}]}"#;
    let told = "Plain - not run: in a form that is not run here";
    for text in [
        format!("Sure.\n{calls}\nDone."),
        format!("{calls}\nDone."),
        format!("Sure: {calls}"),
        serde_json::json!({"role": "assistant", "content": format!("So:\n{calls}")}).to_string(),
        serde_json::json!({"role": "assistant", "content": calls}).to_string(),
    ] {
        let lines = outline(&text);
        assert!(lines.len() == 1 && lines[0].starts_with(told), "{text}: {lines:?}");
    }
    assert_eq!(outline(&format!("\n {calls}\n")), ["Plain - -/a {}"]);
    let quoted = format!("<tool_result>\n{calls}\n</tool_result>");
    assert!(outline(&quoted).is_empty(), "{quoted}");
}

#[test]
fn f05_what_has_been_answered_does_not_run_again() {
    let call = r#"{"type":"function_call","call_id":"1","name":"a","arguments":"{}"}"#;
    let answer = r#"{"type":"function_call_output","call_id":"1","output":"x"}"#;
    let asked = r#"{"role":"assistant","tool_calls":[{"name":"a"}]}"#;
    let told = r#"{"role":"tool","content":"x"}"#;
    let plain = r#"{"tool_results":[{"name":"a","content":[]}]}"#;
    for text in [
        format!("[{call},{answer}]"),
        format!("{{\"object\":\"response\",\"output\":[{call},{answer}]}}"),
        format!("{call}\n{answer}"),
        format!("{asked}\n{told}\n"),
        format!("{asked}\n{plain}\n"),
    ] {
        assert!(outline(&text).is_empty(), "{text}: {:?}", outline(&text));
    }
    assert_eq!(outline(&format!("{asked}\n{told}\n{call}")), ["Responses 1 -/a {}"]);
}

#[test]
fn f05_what_a_tool_brought_is_not_searched() {
    let xml = "<use_mcp_tool><server_name>s</server_name><tool_name>a</tool_name></use_mcp_tool>";
    let part = serde_json::json!({"type": "input_text", "text": xml});
    for value in [
        serde_json::json!({"type": "function_call_output", "call_id": "1", "output": [part]}),
        serde_json::json!({"type": "mcp_call", "name": "x", "output": [part]}),
        serde_json::json!([part]),
        serde_json::json!({"tool_results": [{"content": [{"type": "text", "text": xml}]}]}),
        serde_json::json!({"tool_results": [], "content": xml}),
    ] {
        let text = value.to_string();
        assert!(outline(&text).is_empty(), "{text}: {:?}", outline(&text));
    }
}
