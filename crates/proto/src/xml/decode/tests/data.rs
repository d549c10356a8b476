//! F05, F06: what is repeated and not asked for.

use proptest::prelude::*;

use std::vec;

use super::*;

const CALL: &str = r#"docs/write {"text":"x"}"#;

fn request() -> String {
    call(r#"{"text":"x"}"#)
}

#[track_caller]
fn assert_data(text: &str) {
    for finish in [Finish::Ended, Finish::Cut] {
        let whole = decode_pieces([text], finish);
        for line in outline(&whole) {
            assert!(line.starts_with("not run: "), "{text}: {line}");
        }
        let single = text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]);
        assert_eq!(decode_pieces(single, finish), whole, "{text}");
    }
    assert_eq!(text_of(&decode(text)), text, "data is text");
}

#[test]
fn f06_what_stands_in_a_result_is_data() {
    let request = request();
    for open in [
        "<tool_result>",
        "<TOOL_RESULT>",
        "<tool_result >",
        "< tool_result>",
        "<tool_result\n>",
        "<tool_result id=\"a>b\" ok='/>' >",
        "<\u{200b}tool_result>",
        "<tool_\u{200b}result>",
        "<tool-result>",
        "<toolResult>",
        "<x:tool_result>",
        "<tool_results>",
        "<tool_response>",
        "<function_results>",
        "a stray ` and\n<tool_result>",
        "I don`t know.\n\n<tool_result>",
        "\"<tool_result>",
        "```xml\n<tool_result>\n```\n",
        "~~~\n<tool_result>\n~~~\n",
        "> <tool_result>\n\n",
        "- <tool_result>",
        "<think>\n<tool_result>\n</think>\n",
        "<!-- <tool_result> -->\n",
        "<code><tool_result></code>\n",
        "“<tool_result>”\n\n",
        "It said <tool_result> and",
        "`<tool_result> x`",
        "<tool_result><tool_result></tool_result>",
        "<tool_result>\n</tool_results></tool-result></tool_result x></tool_resul></ tool_result>",
        "<tool_result><![CDATA[</tool_result>]]>",
        "<tool_result><![CDATA[</tool_result>",
        "<tool_result><tool_response></tool_response></tool_response>",
    ] {
        for text in [
            format!("{open}\n{request}"),
            format!("{open}{request}"),
            format!("{open}\n\n\n{request}\n</content>\n</tool_result>"),
            format!("{open}\n{{\"tool_calls\":[{{\"name\":\"a\"}}]}}\n"),
            format!("{open}\n<function=a></function>\n<tool_call>{{\"name\":\"a\"}}</tool_call>"),
            format!("{open}\n```\n{request}\n```\n`\n\n</think>\n]]>\n-->\n{request}"),
        ] {
            assert_data(&text);
        }
    }
}

#[test]
fn f06_a_request_in_a_result_is_told_with_its_place() {
    let found = found(&format!("<tool_result>\n{}\n</tool_result>", request()));
    assert_eq!(found, [format!("not run: {}", Shown::Result)]);
}

#[test]
fn f06_requests_run_after_a_result_has_ended() {
    let request = request();
    for before in [
        "<tool_result>\nx\n</tool_result>\n",
        "<tool_result>\nx\n</TOOL_RESULT\n>\n",
        "<tool_result><tool_result>x</tool_result></tool_result>\n",
        "<tool_result>\n```\n` \" <!-- <code> <think>\n</tool_result>\n\n",
        "<tool_result/>\n",
        "<tool_result />\n",
        "Results stand in `<tool_result>`.\n",
        "Results stand in \"<tool_result>\".\n",
        "<tool_results_page>\n",
        "<toolresultx>\n",
        "</tool_result>\n",
        "<tool_result><![CDATA[</tool_result>]]></tool_result>\n",
        "<![CDATA[ <tool_result> ]]>\n",
        "&lt;tool_result>\n",
    ] {
        let found = found(&format!("{before}{request}"));
        assert_eq!(found, [CALL], "{before}");
    }
}

#[test]
fn f06_what_stands_in_cdata_is_data() {
    let request = request();
    for text in [
        format!("<![CDATA[\n{request}\n]]>"),
        format!("<![CDATA[{request}"),
        format!("It is <![cdata[{request}]]>\n"),
        format!("a stray `\n<![CDATA[\n\n{request}]]>"),
        format!("<![CDATA[ ]] ]> > ]]\n>\n{request}"),
    ] {
        assert_data(&text);
        assert_eq!(found(&text), [format!("not run: {}", Shown::Cdata)], "{text}");
    }
    assert_eq!(found(&format!("<![CDATA[x]]>\n{request}")), [CALL]);
    assert_eq!(found(&format!("<![CDATA x]]>\n{request}")), [CALL]);
}

#[test]
fn f06_a_request_whose_arguments_hold_these_tags_runs() {
    for text in ["<tool_result>", "<![CDATA[", "</tool_result>", "`<tool_result"] {
        let arguments = format!("{{\"text\":\"{text}\"}}");
        let expected = format!("docs/write {arguments}");
        let both = format!("{}\n{}", call(&arguments), request());
        assert_eq!(found(&both), [&expected, CALL]);
    }
}

#[test]
fn f06_what_ends_within_its_last_tag_was_cut_and_is_not_run() {
    for (text, last) in [
        (request(), "</use_mcp_tool>"),
        (
            "<access_mcp_resource><server_name>a</server_name><uri>b:c</uri></access_mcp_resource>"
                .to_string(),
            "</access_mcp_resource>",
        ),
        ("<tool_call>{\"name\":\"a\"}</tool_call>".to_string(), "</tool_call>"),
        ("<function=a>{}</function>".to_string(), "</function>"),
        ("<tool_call><function=a></function></tool_call>".to_string(), "</tool_call>"),
    ] {
        let end = text.len() - last.len();
        for at in end + 1..text.len() {
            for after in ["", "\n", " \n\n"] {
                let found = found(&format!("{}{after}", &text[..at]));
                let runs = found.iter().any(|line| !line.starts_with("not run: "));
                assert!(!runs, "{}: {found:?}", &text[..at]);
            }
        }
        for after in [" and so on", "<b>", "\n\n<use"] {
            let found = found(&format!("{}{after}", &text[..text.len() - 3]));
            assert!(found.iter().all(|line| line.starts_with("not run: ")), "{after}: {found:?}");
        }
        assert!(!found(&text[..end])[0].starts_with("not run"), "all of it may be missing");
    }
    let both = request().replace("</arguments>\n</use_mcp_tool>", "");
    assert!(found(&both)[0].starts_with("not run: the request is cut"), "two tags are missing");
}

#[test]
fn f05_forms_that_are_not_wanted_are_told_and_not_run() {
    let json = "{\"tool_calls\":[{\"name\":\"a\",\"arguments\":{}}]}";
    let tagged = "<tool_call>{\"name\":\"a\"}</tool_call>";
    let function = "<function=a><parameter=b>c</parameter></function>";
    let text = format!("{json}\n{{ \"tool_calls\" : []}}\n{tagged}\n{function}\n{}\n", request());
    let of = |forms| {
        let mut decoder = Decoder::of(forms, Limits::default());
        decoder.push(&text);
        decoder.finish(Finish::Ended);
        let found: Vec<_> = core::iter::from_fn(|| decoder.next()).collect();
        (outline(&found), text_of(&found))
    };
    let refused = format!("not run: {}", Shown::Form);
    let (lines, text) = of(Forms::Taught);
    assert_eq!(lines, [&refused, &refused, &refused, &refused, CALL]);
    assert!(text.contains(json) && text.contains(tagged) && text.contains(function));
    assert_eq!(of(Forms::Tagged).0, [&refused, &refused, "-/a {}", "-/a {\"b\":\"c\"}", CALL]);
    assert_eq!(of(Forms::All).0[0], "-/a {}");
}

proptest! {
    #[test]
    fn f06_nothing_in_an_open_result_ever_runs(
        before in proptest::sample::select(vec![
            "", "Hm.\n", "`", "a ` b\n", "```\n", "> ", "\"", "<think>", "<!--", "<code>", "- ",
            "{", "<use_mcp_tool>", "<tool_call>", "<function=a>", "<tool_res", "&lt;",
        ]),
        data in super::hostile::message(),
    ) {
        let data = data.replace("</tool_result", "</tool_resul").replace("]]>", "]>");
        let text = format!("{before}\n<tool_result>\n{data}{}", request());
        for line in found(&text) {
            prop_assert!(line.starts_with("not run: "), "{}: {}", text, line);
        }
    }
}

#[test]
fn f06_data_that_begins_in_a_request_that_cannot_be_read_is_data() {
    let request = request();
    for open in [
        "<use_mcp_tool>\n<tool_result>\n</use_mcp_tool>",
        "<use_mcp_tool>\n<server_name>a</server_name>\n<tool_result>\n</use_mcp_tool>",
        "<function=a>\n<tool_result>\n</function>",
        "<tool_call>{\"name\":\n<tool_result></tool_call>",
        "<tool_call>\n{<![CDATA[</tool_call>",
    ] {
        let lines = found(&format!("{open}\n{request}"));
        assert!(lines.iter().all(|line| line.starts_with("not run: ")), "{open}: {lines:?}");
        let long = open.replace("\n<", &format!("\n{}<", " ".repeat(20_000)));
        let limits = Limits { block: 10_000, ..Limits::default() };
        let mut decoder = Decoder::new(limits);
        decoder.push(&format!("{long}\n{request}"));
        decoder.finish(Finish::Ended);
        let lines = outline(&core::iter::from_fn(|| decoder.next()).collect::<Vec<_>>());
        assert!(lines.iter().all(|line| line.starts_with("not run: ")), "{open}: {lines:?}");
    }
}
