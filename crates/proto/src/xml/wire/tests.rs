use std::string::ToString;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;

fn call(arguments: &str) -> Request {
    Request::Call {
        server: "docs".to_string(),
        tool: "write".to_string(),
        arguments: raw(arguments).unwrap(),
    }
}

fn read(text: &str) -> Result<Request, WireError> {
    Request::read(text, &Limits::default())
}

/// What a request says, in a form that can be compared.
fn outline(request: &Request) -> String {
    match request {
        Request::Call { server, tool, arguments } => format!("{server}/{tool} {}", arguments.get()),
        Request::Resource { server, uri } => format!("{server} {uri}"),
    }
}

#[test]
fn requests_are_one_escaped_line() {
    let text = call("{\n\"a\": \"</arguments> & \\n\"\n}").write();
    assert_eq!(
        text,
        "<use_mcp_tool><server_name>docs</server_name><tool_name>write</tool_name><arguments>{&#10;&quot;a&quot;: \
         &quot;&lt;/arguments&gt; &amp; \\n&quot;&#10;}</arguments></use_mcp_tool>"
    );
    let resource = Request::Resource { server: "d".to_string(), uri: "a:b?c&d".to_string() };
    assert_eq!(
        resource.write(),
        "<access_mcp_resource><server_name>d</server_name><uri>a:b?c&amp;d</uri></access_mcp_resource>"
    );
    assert_eq!(outline(&read(&resource.write()).unwrap()), "d a:b?c&d");
}

#[test]
fn requests_are_always_unescaped() {
    let text = "\u{feff}<?xml version=\"1.0\"?>\n<!-- <a> -->\n<use_mcp_tool >\n  <arguments>{\"a\":\"&amp;lt;\",\"b\":\
                <![CDATA[\"<>\"]]>}</arguments>\n  <server_name> docs </server_name><!-- -->\n  <tool_name>write</tool_name>\n\
                </use_mcp_tool>\n<!-- end -->\n";
    assert_eq!(outline(&read(text).unwrap()), r#"docs/write {"a":"&lt;","b":"<>"}"#);
    let empty = call("{}").write().replace("{}", "\n");
    assert_eq!(outline(&read(&empty).unwrap()), "docs/write {}");
}

#[test]
fn requests_that_are_not_strict_are_refused() {
    let good = call("{}").write();
    for (text, told) in [
        (good.replace("use_mcp_tool", "tool"), "neither a call nor a read"),
        (good.replace("<tool_name>write</tool_name>", ""), "<tool_name> is missing"),
        (good.replace("write", ""), "<tool_name> is missing"),
        (
            good.replace("<arguments>", "<arguments>{}</arguments><arguments>"),
            "<arguments> is given twice",
        ),
        (good.replace("<arguments>", "<uri>a</uri><arguments>"), "<uri> has no meaning here"),
        (good.replace("<arguments>", "<arguments a=\"b\">"), "without attributes"),
        (good.replace("<arguments>", "x<arguments>"), "expected a tag"),
        (good.replace("{}", "{\"a\":\"<b>\"}"), "expected </arguments>"),
        (good.replace("{}", "{\"a\":\"&nbsp;\"}"), "a known entity"),
        (good.replace("{}", "{\"a\":1,}"), "trailing comma"),
        (good.replace("{}", "[]"), "found an array"),
        (good.replace("{}", "{\"a\":1,\"a\":1}"), "given twice"),
        (good.replace("{}", "<![CDATA[{}"), "CDATA is not closed"),
        (good.replace("</use_mcp_tool>", ""), "expected a tag"),
        (format!("{good}{good}"), "the message goes on"),
        (format!("<!DOCTYPE a [<!ENTITY x \"y\">]>{good}"), "without attributes"),
        (String::new(), "expected a tag"),
        ("<use_mcp_tool><server_name>".to_string(), "<server_name> is not closed"),
    ] {
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains(told), "{text}: {error}");
    }
    let limits = Limits { block: 10, ..Limits::default() };
    assert_eq!(Request::read(&good, &limits).unwrap_err(), WireError::TooLarge { limit: 10 });
}

#[test]
fn answers_in_both_forms() {
    let success = Answer::Success(raw("{\"a\":\n\"<b>\"}").unwrap());
    let error = Answer::Error("no \"x\"\n".to_string());
    assert_eq!(success.write(AnswerForm::Json), r#"{"status":"success","data":{"a": "<b>"}}"#);
    assert_eq!(error.write(AnswerForm::Json), r#"{"status":"error","message":"no \"x\"\n"}"#);
    assert_eq!(
        error.write(AnswerForm::Element),
        "<error>{&quot;status&quot;:&quot;error&quot;,&quot;message&quot;:&quot;no \\&quot;x\\&quot;\\n&quot;}</error>"
    );
    for form in [AnswerForm::Json, AnswerForm::Element] {
        match Answer::read(&success.write(form), &Limits::default()) {
            Ok(Answer::Success(data)) => assert_eq!(data.get(), r#"{"a": "<b>"}"#),
            other => panic!("{other:?}"),
        }
        match Answer::read(&error.write(form), &Limits::default()) {
            Ok(Answer::Error(message)) => assert_eq!(message, "no \"x\"\n"),
            other => panic!("{other:?}"),
        }
    }
    let empty = Answer::read(r#" {"status":"success"} "#, &Limits::default());
    assert!(matches!(empty, Ok(Answer::Success(data)) if data.get() == "null"));
}

#[test]
fn answers_that_are_not_strict_are_refused() {
    for text in [
        "",
        "done",
        "{}",
        r#"{"status":"error"}"#,
        r#"{"status":"success","data":1}{}"#,
        r#"{"status":"success","status":"error"}"#,
        r#"{"status":"maybe"}"#,
        r#"<result>{"status":"error","message":"x"}</result>"#,
        r#"<error>{"status":"success"}</error>"#,
        r#"<answer>{"status":"success"}</answer>"#,
        "<result>1</result>",
        "<result>",
    ] {
        assert!(Answer::read(text, &Limits::default()).is_err(), "{text}");
    }
}

/// Everything in `stream`, fed one byte at a time.
fn split_all(framing: Framing, stream: &[u8]) -> Result<Vec<Vec<u8>>, FramingError> {
    let mut buffer = Vec::new();
    let mut seen = 0;
    let mut found = Vec::new();
    for byte in stream {
        buffer.push(*byte);
        while let Some((place, done)) = framing.split(&buffer, seen, 100)? {
            if !place.is_empty() {
                found.push(buffer[place].to_vec());
            }
            buffer.drain(..done);
            seen = 0;
        }
        seen = buffer.len();
    }
    Ok(found)
}

#[test]
fn framing_finds_messages_in_a_stream() {
    assert_eq!(split_all(Framing::Newline, b"a\r\n\n  b c\nd").unwrap(), [&b"a"[..], b"b c"]);
    assert_eq!(
        split_all(Framing::Length, b"3\na\nb\n\r\n 1\r\nc2\nd").unwrap(),
        [&b"a\nb"[..], b"c"]
    );
}

#[test]
fn framing_refuses_what_it_cannot_split() {
    let long = [b'x'; 101];
    let too_large = Err(FramingError::TooLarge { limit: 100 });
    assert_eq!(split_all(Framing::Newline, &long), too_large);
    assert_eq!(split_all(Framing::Length, b"101\n"), too_large);
    for bad in [&b"x"[..], b"-1\n", b"1 2\n", b"1x", b"12345678901", b"\0"] {
        assert_eq!(split_all(Framing::Length, bad), Err(FramingError::Length), "{bad:?}");
    }
}

proptest! {
    #[test]
    fn requests_read_back(server in "[^ \0]\\PC{0,8}[^ \0]", tool in "[a-z<&>\"']{1,8}", text in "(?s).{0,40}") {
        prop_assume!(!server.trim().is_empty());
        let arguments = raw(&serde_json::json!({ "text": text }).to_string()).unwrap();
        let request = Request::Call { server: server.trim().to_string(), tool, arguments };
        let line = request.write();
        prop_assert!(!line.contains(['\n', '\r']));
        prop_assert_eq!(outline(&read(&line).unwrap()), outline(&request));
    }

    #[test]
    fn any_bytes_are_split_or_refused(stream in proptest::collection::vec(any::<u8>(), 0..60)) {
        for framing in [Framing::Newline, Framing::Length] {
            let _ = split_all(framing, &stream);
        }
    }

    #[test]
    fn frames_come_back(messages in proptest::collection::vec("[^\r\n \u{b}\u{c}\t]{1,9}", 0..6)) {
        for framing in [Framing::Newline, Framing::Length] {
            let mut stream = Vec::new();
            for message in &messages {
                framing.write(message, &mut stream);
            }
            let found = split_all(framing, &stream).unwrap();
            prop_assert_eq!(found, messages.iter().map(|m| m.as_bytes().to_vec()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(?s)<(use_mcp_tool|result)>([<>/!\\[\\]CDAT&;-]|.){0,40}") {
        let _ = read(&text);
        let _ = Answer::read(&text, &Limits::default());
    }
}
