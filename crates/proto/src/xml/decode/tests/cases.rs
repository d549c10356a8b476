//! The handed cases, and their kin.

use super::*;

#[test]
fn d117_tags_inside_argument_text_are_text() {
    let found = decode(&case("D117/out.txt"));
    assert_eq!(text_of(&found), "Sure.\n");
    let Decoded::Call(call) = &found[1] else { panic!("{found:?}") };
    assert_eq!((call.server.as_deref(), call.tool.as_str()), (Some("docs"), "write"));
    assert_eq!(
        call.arguments.get(),
        r#"{"text":"ends with </arguments> and </use_mcp_tool>, a < b && c > d, <tool_name>x</tool_name>"}"#
    );
    assert_eq!(outline(&found).len(), 1);
}

#[test]
fn d117_nested_example_calls_are_text() {
    let example = call(r#"{\"text\":\"</arguments></use_mcp_tool>\"}"#).replace('\n', "\\n");
    for text in [
        format!(r#"{{"text":"{example}"}}"#),
        format!(r#"{{"a":["{example}",{{"b":"{example}"}}],"{example}":1}}"#),
        r#"{"text":"\\</arguments></use_mcp_tool>\""}"#.to_string(),
        r#"{"text":"```\n</arguments>\n`` > <!-- </use_mcp_tool> <![CDATA[ ]]>"}"#.to_string(),
        "{\"文字\":\"</arguments>结束</use_mcp_tool>&lt;&amp;\"}".to_string(),
        "[\"not an object\"]".replace("[\"not an object\"]", "{ \"a\" : [ ] }"),
    ] {
        assert_eq!(one_call(&call(&text)).arguments.get(), text);
    }
}

#[test]
fn d117_nested_examples_in_broken_json_are_not_run() {
    let inner = call(r#"{"text":"inner"}"#);
    for broken in [
        format!("{{\"text\":\"a\n{inner}\"}}"),
        format!("{{\"text\":'{inner}'}}"),
        format!("{{text:{inner}}}"),
        format!("{{\"text\":\"{inner}\",}}"),
        format!("\"{inner}\""),
        format!("[\"{}\"]", inner.replace('"', "\\\"")),
    ] {
        let found = found(&format!("{}\n{}", call(&broken), call(r#"{"text":"next"}"#)));
        assert!(found[0].starts_with("not run: the arguments are not"), "{found:?}");
        assert!(!found.iter().any(|line| line.contains("inner\"}")), "{broken}: {found:?}");
    }
}

#[test]
fn d118_what_was_cut_is_not_run_and_told() {
    for (file, text) in [("cut_tag", "I will call it.\n"), ("cut_json", ""), ("cut_end", "")] {
        let found = decode_pieces([case(&format!("D118/{file}.txt")).trim_end()], Finish::Cut);
        assert_eq!(text_of(&found), text, "{file}");
        let [.., Decoded::NotRun(refused)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(refused.reason, Reason::Cut, "{file}");
        assert!(refused.to_string().contains("cut off"));
        assert_eq!(outline(&found).len(), 1);
        let named = (file != "cut_tag").then_some("write");
        assert_eq!(refused.tool.as_deref(), named);
    }
}

#[test]
fn d118_a_cut_anywhere_runs_nothing() {
    let text = call(r#"{"text":"hi"}"#);
    for at in 1..text.len() {
        let found = decode_pieces([&text[..at]], Finish::Cut);
        let [Decoded::NotRun(refused)] = &found[..] else { panic!("{at}: {found:?}") };
        assert_eq!(refused.reason, Reason::Cut, "{at}");
        assert_eq!(refused.raw, text[..at]);
    }
    let text = format!("Now\n{{\"tool_calls\":[{}]}}", r#"{"name":"a","arguments":{}}"#);
    for at in 7..text.len() {
        assert_eq!(outline(&decode_pieces([&text[..at]], Finish::Cut)).len(), 1, "{at}");
    }
}

#[test]
fn d118_complete_json_runs_when_the_output_ended_by_itself() {
    let text = case("D118/cut_end.txt");
    assert!(found(text.trim_end())[0].contains("before it was complete"), "within a tag");
    let whole = call(r#"{"text":"hi"}"#);
    let last = whole.find("\n</use_mcp_tool>").unwrap();
    for at in 1..whole.len() {
        let found = decode(&whole[..at]);
        let calls = outline(&found);
        if at == last || at == last + 1 {
            assert_eq!(calls, [r#"docs/write {"text":"hi"}"#], "{at}");
        } else {
            assert!(calls.iter().all(|line| line.contains("before it was complete")));
            assert!(!calls.is_empty() || text_of(&found) == whole[..at], "{at}");
        }
    }
    let begun = decode(&case("D118/cut_tag.txt"));
    let [Decoded::Text(_), Decoded::NotRun(refused)] = &begun[..] else { panic!("{begun:?}") };
    assert_eq!((&refused.reason, refused.raw.as_str()), (&Reason::Incomplete, "<use_mcp_t"));
}

#[test]
fn d118_a_missing_last_tag_before_text_or_another_request() {
    let one = call(r#"{"text":"1"}"#).replace("\n</use_mcp_tool>", "");
    let two = call(r#"{"text":"2"}"#);
    let both = [r#"docs/write {"text":"1"}"#, r#"docs/write {"text":"2"}"#];
    assert_eq!(found(&format!("{one}\n{two}")), both);
    assert_eq!(found(&format!("{one}\nand then\n{two}")), both);
    assert_eq!(text_of(&decode(&format!("{one}\nDone.\n"))), "\nDone.\n");
    let unclosed = one.replace("\n</arguments>", "");
    assert_eq!(found(&format!("{unclosed}</use_mcp_tool>")), both[..1]);
    assert_eq!(found(&format!("{unclosed}\n{two}")), both);
}

#[test]
fn d119_a_fenced_example_is_shown_and_not_run() {
    let text = case("D119/fence.txt");
    let found = decode(&text);
    assert_eq!(text_of(&found), text);
    let [Decoded::Text(_), Decoded::NotRun(refused), Decoded::Text(after)] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(refused.reason, Reason::Shown(Shown::Fence));
    assert!(refused.to_string().starts_with("not run: in a fence"));
    assert_eq!(refused.tool.as_deref(), Some("write"));
    assert_eq!(after.trim_end(), "\n```\nThat is all.");
}

#[test]
fn d120_an_empty_body_means_no_arguments() {
    assert_eq!(found(&case("D120/empty.txt")), ["docs/write {}"]);
    for body in ["<arguments></arguments>", "<arguments/>", "<arguments />", "", "<!-- none -->"] {
        let text = call("").replace("<arguments>\n\n</arguments>", body);
        assert_eq!(found(&text), ["docs/write {}"], "{body}");
    }
}

#[test]
fn d120_mistakes_are_told_with_their_place() {
    for (file, place) in [
        ("trailing", "trailing comma at line 1 column 14, just after `{\"text\":\"hi\",`"),
        ("two", "trailing characters at line 1 column 13"),
        (
            "newline",
            "control character (\\u0000-\\u001F) found while parsing a string at line 2 column 1",
        ),
    ] {
        let found = found(&case(&format!("D120/{file}.txt")));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(place), "{file}: {found:?}");
    }
    for (body, place) in [
        ("{'text':'</arguments>'}", "key must be a string at line 1 column 2"),
        ("\"hi\"", "expected an object, found a string at line 1 column 1"),
        ("[1]", "expected an object, found an array"),
        ("3", "expected an object, found a number"),
        ("hi", "expected value at line 1 column 1"),
        ("{\"text\":\"你好\",}", "trailing comma at line 1 column 14"),
        ("{\n \"a\": 1\n \"b\": 2}", "expected `,` or `}` at line 3 column 2"),
        ("{\"a\":\"say \"hi\" now\"}", "expected `,` or `}` at line 1 column 12"),
        ("{\"a\":1", "EOF while parsing an object"),
        ("```json\n{}\n```", "expected value at line 1 column 1"),
        ("{\"a\":01}", "invalid number at line 1 column 7"),
        ("{\"a\":NaN}", "expected value at line 1 column 6"),
        ("<text>hi</text>", "expected value at line 1 column 1"),
    ] {
        let after = call(r#"{"text":"2"}"#);
        let found = found(&format!("{}\nand\n{after}", call(body)));
        assert_eq!(found.len(), 2, "{body}: {found:?}");
        assert!(found[0].contains(place), "{body}: {found:?}");
        assert_eq!(found[1], r#"docs/write {"text":"2"}"#);
    }
}

#[test]
fn d120_a_repeated_member_is_ambiguous() {
    for body in [r#"{"a":1,"a":2}"#, r#"{"b":[{"a":1,"\u0061":1}]}"#] {
        assert_eq!(
            found(&call(body)),
            ["not run: it can be read in more than one way: the member \"a\" is given twice"]
        );
    }
}

#[test]
fn d121_two_calls_come_in_order_with_the_text_between() {
    let decoded = decode(&case("D121/two.txt"));
    assert_eq!(outline(&decoded), [r#"docs/write {"text":"1"}"#, r#"docs/write {"text":"2"}"#]);
    let [Decoded::Text(a), _, Decoded::Text(then), _, Decoded::Text(bye)] = &decoded[..] else {
        panic!("{decoded:?}")
    };
    assert_eq!((a.as_str(), then.as_str(), bye.trim_end()), ("A\n", "\nthen\n", "\nbye"));
}

#[test]
fn d121_the_same_call_twice_is_two_calls() {
    let one = call("{}");
    assert_eq!(found(&format!("{one}{one}\n\n{one}")), ["docs/write {}"; 3]);
}

#[test]
fn d121_names_are_trimmed_and_may_be_anything() {
    let text = "<use_mcp_tool><server_name>\n\t文档 &amp; co </server_name><tool_name> <![CDATA[<write>]]>\n\
                </tool_name></use_mcp_tool>";
    let call = one_call(text);
    assert_eq!((call.server.as_deref(), call.tool.as_str()), (Some("文档 & co"), "<write>"));
}
