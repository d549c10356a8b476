//! D119: requests that are shown instead of made.

use super::*;

/// Every shown request is refused for `place`, nothing is run, all text is kept.
#[track_caller]
fn assert_shown(text: &str, place: Shown) {
    let decoded = decode(text);
    let [refused] = &outline(&decoded)[..] else { panic!("{text}: {decoded:?}") };
    assert_eq!(*refused, format!("not run: {place}"), "{text}");
    if place != Shown::Prose {
        assert_eq!(text_of(&decoded), text);
    }
}

#[track_caller]
fn assert_run(text: &str) {
    assert_eq!(found(text), [r#"docs/write {"text":"example"}"#], "{text}");
}

fn example() -> String {
    call(r#"{"text":"example"}"#)
}

fn line() -> String {
    example().replace('\n', "")
}

#[test]
fn d119_fences() {
    let example = example();
    for text in [
        format!("```\n{example}\n```"),
        format!("~~~ xml\n{example}\n~~~\nafter"),
        format!("````\n```\n{example}\n```\n````"),
        format!("```xml\n{example}"),
        format!("```{}```", line()),
        format!("- like this:\n\n  ```xml\n{example}\n  ```\n"),
        format!("1. ```xml\n{example}\n```\n"),
        format!("```\n``` x\n~~~\n{example}\n```   \n"),
        format!("a stray ` here\n```xml\n\n{example}\n```\n"),
        format!("\r\n```xml\r\n{}\r\n```\r\n", example.replace('\n', "\r\n")),
        format!("Here: ```\n{example}\n```"),
    ] {
        let place = if text.starts_with("Here") { Shown::Code } else { Shown::Fence };
        assert_shown(&text, place);
    }
    let json = "```json\n{\"tool_calls\":[{\"name\":\"a\",\"arguments\":{}}]}\n```\n";
    assert_shown(json, Shown::Fence);
    let resource = "~~~\n<access_mcp_resource>\n<uri>a:b</uri>\n</access_mcp_resource>\n~~~";
    assert_shown(resource, Shown::Fence);
}

#[test]
fn d119_after_a_fence_requests_run_again() {
    let example = example();
    for before in [
        "```\ncode\n```\n",
        "```xml\n<use_mcp_tool>\n<server_name>x\n```\n",
        "~~~\n```\n~~~\n",
        "```inline```\n",
        "~~~~ a`b\n~~~~~\n",
        "> ```\n> quoted\n\n",
    ] {
        let found = found(&format!("{before}{example}"));
        assert_eq!(found.last().unwrap(), r#"docs/write {"text":"example"}"#, "{before}");
    }
}

#[test]
fn d119_inline_code() {
    let (example, line) = (example(), line());
    for text in [
        format!("Write `{line}` to call it."),
        format!("`{line}`"),
        format!("Write ``{line}`` to call it."),
        format!("`{example}`"),
        format!("<code>{line}</code>"),
        format!("<pre>\n{example}\n</pre>"),
        format!("<PRE class=\"x\">{example}</PRE>"),
    ] {
        assert_shown(&text, Shown::Code);
    }
    for before in
        ["a `b` c\n", "a \\` c\n", "a `` ` `` c\n", "a stray `\n\n", "`a\\`\n", "- a `\n- b\n"]
    {
        assert_run(&format!("{before}{example}"));
    }
}

#[test]
fn d119_quotations() {
    let (example, line) = (example(), line());
    let block: String = example.lines().map(|line| format!("> {line}\n")).collect();
    for text in [
        block.clone(),
        format!("You wrote:\n{block}\nand so on"),
        block.replace("> ", ">"),
        format!("> > {}", block.replace('\n', "\n> ")),
        format!("She wrote \"{line}\" to me."),
        format!("She wrote: \"please {example}\"."),
        format!("'{line}'"),
        format!("“{line}”"),
        format!("他写道：「{example}」"),
        format!("« {line} »"),
        format!("<img alt=\"{line}\">"),
        format!("<blockquote>{example}</blockquote>"),
    ] {
        assert_shown(&text, Shown::Quotation);
    }
    for before in [
        "He said \"yes\".\n",
        "A 5\" pipe.\n",
        "It's done.\n",
        "\"open\n",
        "> quoted\n\n",
        "> quoted\nno more\n",
        "“so”\n",
        "“open\n\n",
    ] {
        assert_run(&format!("{before}{example}"));
    }
}

#[test]
fn d119_thinking_and_comments() {
    let example = example();
    assert_shown(&format!("<think>\nI could write\n{example}\n</think>\nNo."), Shown::Thinking);
    assert_shown(&format!("<thinking>{example}</thinking>"), Shown::Thinking);
    assert_shown(&format!("<!-- a -> b -- {example} -->"), Shown::Comment);
    assert_run(&format!("<think>maybe `x\n</think>\n\n{example}"));
    assert_run(&format!("<think>\n```\n“\n> x\n</think>{example}"));
    assert_run(&format!("<!-- x -->{example}"));
    assert_run(&format!("The <code> element.\n\n{example}"));
}

#[test]
fn d119_sentences() {
    let line = line();
    assert_shown(&format!("To call it, write {line} and wait."), Shown::Prose);
    assert_shown(&format!("The form is: {line} (all of it)"), Shown::Prose);
    assert_shown(&format!("请写 {line} 来调用"), Shown::Prose);
    for text in [
        format!("I call it now: {line}"),
        format!("I call it now {line}\nand wait"),
        format!("Sure. {line} Done."),
        format!("好的。{line}完成"),
        format!("{line} is running"),
        format!("- {line} is running"),
        format!("I call it {} and wait", example()),
    ] {
        assert_run(&text);
    }
    let decoded = decode(&format!("Write {line} there."));
    let Decoded::NotRun(refused) = &decoded[1] else { panic!("{decoded:?}") };
    assert_eq!((refused.tool.as_deref(), &refused.raw), (Some("write"), &line));
    let both = found(&format!("First {line} then {line} bye"));
    assert_eq!(both, [format!("not run: {}", Shown::Prose), format!("not run: {}", Shown::Prose)]);
    assert_eq!(found(&format!("First {line} {line}\nbye")).len(), 2);
    assert!(found(&format!("First {line} {line}\nbye"))[1].starts_with("docs/write"));
}

#[test]
fn a_region_that_ends_ends_the_example_in_it() {
    let example = example();
    let text = format!("```\n<use_mcp_tool>\n<server_name>a</server_name>\n```\n{example}");
    let found = found(&text);
    assert_eq!(found[0], format!("not run: {}", Shown::Fence));
    assert_eq!(found[1], r#"docs/write {"text":"example"}"#);
}
