//! The neighbouring forms, and structure that is not as it must be.

use super::*;

#[test]
fn resources_are_read() {
    let text = "<access_mcp_resource>\n<server_name>db</server_name>\n<uri> db://a?x=1&y=2 </uri>\n</access_mcp_resource>";
    assert_eq!(found(text), ["db db://a?x=1&y=2"]);
    assert_eq!(found(&text.replace("&y", "&amp;y")), ["db db://a?x=1&y=2"]);
    assert_eq!(found("<access_mcp_resource><uri>a:b</uri></access_mcp_resource>"), ["- a:b"]);
    assert_eq!(
        found("<access_mcp_resource><uri> </uri></access_mcp_resource>"),
        ["not run: <uri> is empty"]
    );
}

#[test]
fn tags_may_be_upper_case_and_have_attributes() {
    let text = call(r#"{"a":"</ARGUMENTS>"}"#)
        .replace("use_mcp_tool>\n<s", "USE_MCP_TOOL note='</use_mcp_tool>' >\n<S")
        .replace("<arguments>", "<Arguments type=\"json\">")
        .replace("\n</arguments>", "\n</ARGUMENTS\n>");
    assert_eq!(found(&text), [r#"docs/write {"a":"</ARGUMENTS>"}"#]);
}

#[test]
fn elements_may_come_in_any_order() {
    let text = "<use_mcp_tool><arguments>{\"a\":1}</arguments><!-- <x> --><tool_name>t</tool_name>\
                <server_name>s</server_name></use_mcp_tool>";
    assert_eq!(found(text), [r#"s/t {"a":1}"#]);
}

#[test]
fn escaped_arguments_are_unescaped_once() {
    for body in [
        "{&quot;a&quot;: &quot;x &lt; y &amp;lt; z&quot;}",
        "<![CDATA[{\"a\": \"x < y &lt; z\"}]]>",
        "\n<![CDATA[\n{\"a\": \"x < y &lt; z\"}\n]]>\n",
        "{&#34;a&#34;: <![CDATA[\"x < y &lt; z\"]]>}",
    ] {
        assert_eq!(found(&call(body)), [r#"docs/write {"a": "x < y &lt; z"}"#], "{body}");
    }
    let tags = "<![CDATA[{\"a\":\"</arguments></use_mcp_tool>\"}]]>";
    assert_eq!(found(&call(tags)), [r#"docs/write {"a":"</arguments></use_mcp_tool>"}"#]);
    assert_eq!(found(&call("<![CDATA[]]>")), ["docs/write {}"]);
}

#[test]
fn json_arguments_are_not_unescaped() {
    let body = r#"{"html":"&lt;p&gt;&nbsp;&amp;<![CDATA[x]]>"}"#;
    assert_eq!(one_call(&call(body)).arguments.get(), body);
}

#[test]
fn json_in_tags() {
    for text in [
        r#"<tool_call>{"name":"write","arguments":{"a":"</tool_call>"}}</tool_call>"#,
        "<tool_call>\n{\"name\": \" write \", \"arguments\": {\"a\":\"</tool_call>\"}}\n</tool_call>",
        r#"<TOOL_CALL>{"arguments":"{\"a\":\"</tool_call>\"}","name":"write"}"#,
        r#"<tool_call>[{"name":"write","parameters":{"a":"</tool_call>"}}]</tool_call>"#,
        r#"<tool_call>{"type":"function","function":{"name":"write","arguments":{"a":"</tool_call>"}}}</tool_call>"#,
    ] {
        assert_eq!(found(text), [r#"-/write {"a":"</tool_call>"}"#], "{text}");
    }
    let text =
        r#"<use_mcp_tool>{"server_name":"docs","tool_name":"write","arguments":{}}</use_mcp_tool>"#;
    assert_eq!(found(text), ["docs/write {}"]);
    let text = r#"<access_mcp_resource>{"server":"db","uri":"db://a"}</access_mcp_resource>"#;
    assert_eq!(found(text), ["db db://a"]);
}

#[test]
fn json_without_tags() {
    let text = "Sure.\n {\"tool_calls\" : [{\"name\":\"a\",\"arguments\":{}},\n{\"id\":\"7\",\"name\":\"b\"}]}\nThat is it.";
    let decoded = decode(text);
    assert_eq!(outline(&decoded), ["-/a {}", "-/b {}"]);
    assert_eq!(text_of(&decoded), "Sure.\n \nThat is it.");
    let Decoded::Call(second) = &decoded[2] else { panic!("{decoded:?}") };
    assert_eq!((second.id.as_deref(), second.form), (Some("7"), Form::Json));
    for other in
        ["{\"tool_call\":1}", "x = {\"tool_calls\":[]}", "{ \"a\":{\"tool_calls\":[]}}", "{"]
    {
        assert_eq!(decode(other), [Decoded::Text(other.to_string())]);
    }
}

#[test]
fn each_json_call_is_judged_by_itself() {
    let text = r#"{"tool_calls":[{"name":"a","arguments":[1]},{"name":"b","arguments":{}},{"arguments":{}},3]}"#;
    let decoded = decode(text);
    let lines = outline(&decoded);
    assert!(lines[0].contains("found an array"), "{lines:?}");
    assert_eq!(lines[1], "-/b {}");
    assert!(lines[2].contains("does not name a tool"), "{lines:?}");
    assert!(lines[3].contains("form of a call"), "{lines:?}");
    let Decoded::NotRun(first) = &decoded[0] else { panic!("{decoded:?}") };
    assert_eq!(first.tool.as_deref(), Some("a"));
}

#[test]
fn broken_json_calls_are_told_with_their_place() {
    for (text, told) in [
        (
            r#"<tool_call>{"name":"a","arguments":{},}</tool_call>"#,
            "trailing comma at line 1 column 28",
        ),
        (r#"{"tool_calls":[{"name":"a"},]}"#, "trailing comma"),
        (r#"{"tool_calls":[]}"#, "the list of calls is empty"),
        (r#"<tool_call></tool_call>"#, "the call is empty"),
        (r#"<tool_call>{"name":"a"}{"name":"b"}</tool_call>"#, "trailing characters"),
        (r#"<tool_call>{"name":"a","uri":"b:c"}</tool_call>"#, "both a tool and a resource"),
        (r#"<tool_call>{"name":"a","tool":"b"}</tool_call>"#, "duplicate field"),
    ] {
        let found = found(text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("not run: ") && found[0].contains(told), "{found:?}");
    }
}

#[test]
fn function_form() {
    let text = "<function=write>\n<parameter=text>\nif a <b && c == \"x\" {\n  </p>\n}\n</parameter>\n\
                <parameter=count>3</parameter>\n<parameter=list>[\"a\", 1]</parameter>\n\
                <parameter=name>03</parameter><parameter=quoted>\"q\"</parameter>\n</function>";
    let arguments = r#"{"text":"if a <b && c == \"x\" {\n  </p>\n}","count":3,"list":["a", 1],"name":"03","quoted":"\"q\""}"#;
    let read = one_call(text);
    assert_eq!(
        (read.tool.as_str(), read.arguments.get(), read.form),
        ("write", arguments, Form::Function)
    );
    let wrapped = format!("<tool_call>\n{text}\n</tool_call>");
    assert_eq!(one_call(&wrapped), read);
    assert_eq!(found("<function=now></function>"), ["-/now {}"]);
    assert_eq!(
        found("<function=now>{\"a\":\"</function>\"}</function>"),
        [r#"-/now {"a":"</function>"}"#]
    );
}

#[test]
fn function_values_may_hold_examples_of_the_form() {
    let inner = "<function=x><parameter=y>z</parameter></function> and </parameter> alone";
    let text = format!("<function=write><parameter=text>{inner}</parameter></function>");
    assert_eq!(found(&text), [format!(r#"-/write {{"text":"{inner}"}}"#)]);
}

#[test]
fn function_form_that_is_unclear_is_not_run() {
    for (text, told) in [
        (
            "<function=a><parameter=b>1</parameter><parameter=b>2</parameter></function>",
            "given twice",
        ),
        ("<function=a><parameter=b>see <parameter=c> here</parameter></function>", "complete"),
        ("<function=a><parameter=b>1</parameter>", "complete"),
        ("<function=a><arg>1</arg></function>", "<arg> has no meaning in <function>"),
    ] {
        let found = found(text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("not run: ") && found[0].contains(told), "{found:?}");
    }
}

#[test]
fn structure_that_is_unclear_is_not_run() {
    let good = call("{}");
    for (text, told) in [
        (good.replace("<tool_name>write</tool_name>\n", ""), "<tool_name> is missing"),
        (good.replace("write", " "), "<tool_name> is empty"),
        (good.replace("write", "<b>write</b>"), "<tool_name> is not closed"),
        (good.replace("</tool_name>", ""), "<tool_name> is not closed"),
        (good.replace("tool_name", "name"), "<name> has no meaning in <use_mcp_tool>"),
        (
            good.replace("<tool_name>", "<tool_name>a</tool_name><tool_name>"),
            "<tool_name> is given twice",
        ),
        (
            good.replace("<arguments>", "<arguments>{}</arguments><arguments>"),
            "<arguments> is given twice",
        ),
        (good.replace("<arguments>", "now <arguments>"), "there is text between the elements"),
        (good.replace("<arguments>", "<arguments><use_mcp_tool>"), "expected value"),
        (format!("<use_mcp_tool>{good}</use_mcp_tool>"), "another request starts inside"),
        ("<use_mcp_tool/>".to_string(), "the request is empty"),
        ("<use_mcp_tool></use_mcp_tool>".to_string(), "<tool_name> is missing"),
    ] {
        let found = found(&text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].starts_with("not run: ") && found[0].contains(told), "{found:?}");
    }
}

#[test]
fn talk_about_tags_is_text() {
    for text in [
        "Use <use_mcp_tool> with <server_name>, <tool_name> and <arguments> (JSON).",
        "a < b, <use_mcp_tools>, <function>, <tool_call_id>, <<use_mcp_tool> x",
        "<use_mcp_tool>\n\n  is the tag.",
        "It is called <use_mcp_tool",
        "<us",
        "<tool_call> is what it is called.\n<function=name> too.",
        "\\<use_mcp_tool><server_name>a</server_name></use_mcp_tool>",
        "&lt;use_mcp_tool&gt;",
        "</use_mcp_tool></arguments>",
    ] {
        assert_eq!(decode(text), [Decoded::Text(text.to_string())]);
    }
}

#[test]
fn text_comes_as_early_as_it_can() {
    let mut decoder = Decoder::new(Limits::default());
    for (piece, text) in [
        ("a < b, <us", "a < b, "),
        ("ual>", "<usual>"),
        ("\n {\"tool", "\n "),
        ("s\"", "{\"tools\""),
        (" <use_mcp_tool>\n", " "),
        ("is a tag", "<use_mcp_tool>\nis a tag"),
        ("\n```\n<use_mcp_tool><tool", "\n```\n<use_mcp_tool><tool"),
    ] {
        decoder.push(piece);
        assert_eq!(decoder.next(), Some(Decoded::Text(text.to_string())), "{piece}");
        assert_eq!(decoder.next(), None);
    }
}
