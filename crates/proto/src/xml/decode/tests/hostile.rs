//! Any text, any pieces: the same result, in linear work and bounded memory.

use proptest::prelude::*;

use super::*;

/// Pieces that requests, examples and mistakes are made of.
fn fragment() -> impl Strategy<Value = String> {
    const FIXED: &[&str] = &[
        "<use_mcp_tool>",
        "</use_mcp_tool>",
        "<use_mcp_tool",
        "<server_name>docs</server_name>",
        "<tool_name> write </tool_name>",
        "<tool_name>",
        "<arguments>",
        "</arguments>",
        "<arguments/>",
        "{\"a\":\"b\"}",
        "{\"a\":\"</arguments>\"}",
        "{\"a\":\"",
        "\"}",
        "{",
        "}",
        "[",
        "]",
        "'",
        "\"",
        "\\",
        "<access_mcp_resource>",
        "</access_mcp_resource>",
        "<uri>doc://a</uri>",
        "<tool_call>",
        "</tool_call>",
        "{\"name\":\"a\",\"arguments\":{}}",
        "{\"tool_calls\":[",
        "]}",
        "<function=a>",
        "</function>",
        "<parameter=b>",
        "</parameter>",
        "<![CDATA[",
        "<tool_result>",
        "</tool_result>",
        "<tool_",
        "result",
        "]]>",
        "&quot;",
        "<!--",
        "-->",
        "```",
        "~~~",
        "`",
        "``",
        "\n",
        "\n\n",
        "\r\n",
        " ",
        "> ",
        "- ",
        "1. ",
        "<think>",
        "</think>",
        "<code>",
        "</code>",
        "“",
        "”",
        "文",
        "text",
        ".",
        ":",
        "<",
        "</",
        "<u",
        "/>",
        ">",
        "=",
    ];
    prop_oneof![
        8 => proptest::sample::select(FIXED).prop_map(str::to_string),
        2 => Just(call(r#"{"text":"</arguments>"}"#)),
        1 => "\\PC{0,3}",
    ]
}

pub(super) fn message() -> impl Strategy<Value = String> {
    proptest::collection::vec(fragment(), 0..40).prop_map(|parts| parts.concat())
}

fn finish() -> impl Strategy<Value = Finish> {
    prop_oneof![Just(Finish::Ended), Just(Finish::Cut)]
}

/// `text` in pieces that end at `cuts`, moved to the next character's beginning.
fn pieces(text: &str, mut cuts: Vec<usize>) -> Vec<&str> {
    cuts.iter_mut().for_each(|cut| *cut %= text.len() + 1);
    cuts.push(text.len());
    cuts.sort_unstable();
    let mut start = 0;
    let mut found = Vec::new();
    for mut cut in cuts {
        while !text.is_char_boundary(cut) {
            cut += 1;
        }
        found.push(&text[start..cut.max(start)]);
        start = cut.max(start);
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_pieces_give_the_same_result(
        text in message(),
        cuts in proptest::collection::vec(any::<usize>(), 0..12),
        finish in finish(),
    ) {
        let whole = decode_pieces([text.as_str()], finish);
        prop_assert_eq!(&decode_pieces(pieces(&text, cuts), finish), &whole);
        let single = text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]);
        prop_assert_eq!(&decode_pieces(single, finish), &whole);
    }

    #[test]
    fn work_is_linear(text in message(), times in 1_usize..40) {
        let text = text.repeat(times);
        prop_assert!(work(&text) <= 8 * text.len() + 64, "{} of {}", work(&text), text.len());
    }

    #[test]
    fn arguments_come_back_byte_for_byte(text in message(), key in message()) {
        let key = serde_json::to_string(&key).unwrap();
        let arguments = format!("{{{key}: [{}]}}", serde_json::to_string(&text).unwrap());
        let found = decode(&format!("So:\n{}\nDone.", call(&arguments)));
        prop_assert_eq!(outline(&found), [format!("docs/write {arguments}")]);
        prop_assert_eq!(text_of(&found), "So:\n\nDone.");
    }

    #[test]
    fn without_requests_all_text_comes_back(parts in proptest::collection::vec("[b-egh-sv-z<>`~\"{}\\[\\]: \n/!-]{0,6}", 0..30)) {
        let text = parts.concat();
        let found = decode(&text);
        prop_assert_eq!(text_of(&found), text);
    }
}

/// Characters looked at, and bytes read a second time at the end of requests.
fn work(text: &str) -> usize {
    let mut decoder = Decoder::new(Limits::default());
    decoder.push(text);
    decoder.finish(Finish::Ended);
    decoder.work
}

#[test]
fn hostile_repetition_costs_no_more_than_its_length() {
    for unit in [
        "<",
        "<use_mcp_tool",
        "<use_mcp_tool>",
        "<use_mcp_tool ",
        "<use_mcp_tool a='",
        "<use_mcp_tool> <",
        "<use_mcp_tool a=\"<use_mcp_tool b='",
        "{\"tool_calls\":",
        "{\"tool_calls\" ",
        "{\n",
        "<tool_call>",
        "<tool_call>{",
        "<tool_call><function=a>",
        "<function=a><parameter=b>",
        "</parameter>",
        "`",
        "``` ",
        "\n```\n",
        "\n> ",
        "<use_mcp_tool><arguments>",
        "<use_mcp_tool><arguments>{}</arguments>",
        "<use_mcp_tool><arguments>{}</arguments> <use_mcp_tool a='",
        "<use_mcp_tool><arguments><",
        "<![CDATA[",
        "<use_mcp_tool><tool_name><![CDATA[",
        "<use_mcp_tool><!--",
        "<!--",
        "<code>",
        "\"<use_mcp_tool>\"",
        "a <tool_call>{}</tool_call> ",
        "<use_mcp_tool><server_name>a</server_name></use_mcp_tool>",
        "&amp;",
    ] {
        for size in [10_000, 40_000] {
            let text = unit.repeat(size / unit.len());
            assert!(
                work(&text) <= 4 * text.len() + 64,
                "{unit}: {} of {}",
                work(&text),
                text.len()
            );
        }
    }
}

fn limited(limits: Limits, text: &str) -> Vec<Decoded> {
    let mut decoder = Decoder::new(limits);
    decoder.push(text);
    decoder.finish(Finish::Ended);
    core::iter::from_fn(|| decoder.next()).collect()
}

#[test]
fn a_request_over_the_limit_is_refused_and_the_next_one_runs() {
    let limits = Limits { block: 10_000, excerpt: 100, ..Limits::default() };
    let large = call(&format!(r#"{{"text":"{} </arguments>"}}"#, "字".repeat(10_000)));
    let found = limited(limits, &format!("{large}\n{}", call("{}")));
    let Decoded::NotRun(refused) = &found[0] else { panic!("{found:?}") };
    assert_eq!(refused.reason, Reason::TooLarge { what: "the request", limit: 10_000 });
    assert_eq!((refused.tool.as_deref(), refused.truncated), (Some("write"), true));
    assert!(refused.raw.len() <= 100 && large.starts_with(&refused.raw));
    assert_eq!(outline(&found[1..]), ["docs/write {}"]);
    let found = limited(limits, &large[..large.len() - 40]);
    assert!(
        matches!(&found[..], [Decoded::NotRun(r)] if matches!(r.reason, Reason::TooLarge { .. }))
    );
}

#[test]
fn nesting_over_the_limit_is_refused() {
    let nested =
        |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    let limits = Limits { depth: 10, ..Limits::default() };
    assert_eq!(
        outline(&limited(limits, &call(&nested(10)))),
        [format!("docs/write {}", nested(10))]
    );
    for (limits, depth, limit) in
        [(limits, 11, 10), (limits, 5_000, 10), (Limits { depth: 1_000, ..limits }, 125, 120)]
    {
        let found = limited(limits, &call(&nested(depth)));
        assert_eq!(outline(&found), [format!("not run: {}", Reason::TooDeep { limit })], "{depth}");
    }
}

#[test]
fn a_long_name_is_refused() {
    let limits = Limits { name: 10, ..Limits::default() };
    let found = limited(limits, &call("{}").replace("write", "write_it_all"));
    assert_eq!(outline(&found), ["not run: tool_name is larger than the limit of 10 bytes"]);
}

#[test]
fn a_decoder_can_be_used_again() {
    let mut decoder = Decoder::new(Limits::default());
    for _ in 0..2 {
        decoder.push("```\n`<!-- “<use_mcp_tool><tool_name>x");
        decoder.finish(Finish::Cut);
        while decoder.next().is_some() {}
        decoder.push(&call("{}"));
        decoder.finish(Finish::Ended);
        assert!(matches!(decoder.next(), Some(Decoded::Call(_))));
        assert_eq!(decoder.next(), None);
    }
}
