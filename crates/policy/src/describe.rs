//! Showing a call to the person who is asked about it.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::json;
use crate::visible::{quoted, visible};

/// Values longer than this many characters are shown by head and tail.
const LONG: usize = 1000;
const HEAD: usize = 600;
const TAIL: usize = 200;

/// What would run, line by line: the server, the tool, and each argument.
///
/// Nothing in it can hide or forge a line: hidden characters are written out,
/// and line ends too. A value above 1,000 characters shows its first 600 and
/// its last 200, and a line of its own between them says how many of how many
/// characters are not shown. Arguments that are no JSON object are shown as the
/// text that they are, with a line saying so.
pub fn describe_call(server: &str, tool: &str, arguments_json: &str) -> String {
    let mut shown = format!("server {}\ntool {}\n", quoted(server), quoted(tool));
    let arguments = arguments_json.trim_ascii();
    if arguments.is_empty() {
        shown.push_str("no arguments\n");
        return shown;
    }
    match json::members(arguments) {
        Ok(members) if members.is_empty() => shown.push_str("no arguments\n"),
        Ok(members) => {
            let mut seen = BTreeSet::new();
            for (name, value) in &members {
                let again = if seen.insert(name) { "" } else { " (given again)" };
                let name = shortened(name, quoted);
                let _ = writeln!(shown, "argument {name}{again} = {}", value_text(value.get()));
            }
        }
        Err(error) => {
            let text = shortened(arguments, quoted);
            let _ = writeln!(shown, "arguments that are no JSON object ({error}): {text}");
        }
    }
    shown
}

/// A value: a string in quotes, all else as compact JSON.
fn value_text(json: &str) -> String {
    match serde_json::from_str::<String>(json) {
        Ok(text) => shortened(&text, quoted),
        Err(_) => shortened(&compact(json), visible),
    }
}

fn shortened(text: &str, show: fn(&str) -> String) -> String {
    let length = text.chars().count();
    if length <= LONG {
        return show(text);
    }
    let cut = |nth| text.char_indices().nth(nth).map_or(text.len(), |(at, _)| at);
    let head = text.get(..cut(HEAD)).unwrap_or_default();
    let tail = text.get(cut(length - TAIL)..).unwrap_or_default();
    let hidden = length - HEAD - TAIL;
    format!("{}\n  … {hidden} of {length} characters not shown …\n  {}", show(head), show(tail))
}

/// JSON without the blanks between its parts.
fn compact(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let keep = |character: &char| {
        let kept = in_string || !character.is_ascii_whitespace();
        match character {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        kept
    };
    json.chars().filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_argument_is_shown_as_it_is() {
        let shown =
            describe_call("files", "write_file", r#"{"path":"a\"b","n": [1, "x y"], "ok":true}"#);
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(
            lines,
            [
                "server \"files\"",
                "tool \"write_file\"",
                r#"argument "path" = "a\"b""#,
                r#"argument "n" = [1,"x y"]"#,
                "argument \"ok\" = true",
            ]
        );
    }

    #[test]
    fn hidden_characters_and_forged_lines_are_written_out() {
        let json = "{\"path\":\"a\\u202eb\\ntool \\\"x\\\"\",\"l\":[\"\u{200b}\"]}";
        let shown = describe_call("s\u{1b}[1A", "t", json);
        assert!(shown.starts_with("server \"s\\u{1b}[1A\"\n"));
        assert!(shown.contains(r#"= "a\u{202e}b\ntool \"x\"""#), "{shown}");
        assert!(shown.contains(r#"= ["\u{200b}"]"#), "{shown}");
        assert_eq!(shown.lines().count(), 4);
    }

    #[test]
    fn long_values_say_what_is_not_shown() {
        let text = format!("{}{}{}", "a".repeat(600), "b".repeat(500), "c".repeat(200));
        let shown = describe_call("s", "t", &format!("{{\"x\":\"{text}\"}}"));
        assert!(!shown.contains('b'), "{shown}");
        assert!(shown.contains("\n  … 500 of 1300 characters not shown …\n"), "{shown}");
        let whole = "d".repeat(1000);
        assert!(describe_call("s", "t", &format!("{{\"x\":\"{whole}\"}}")).contains(&whole));
    }

    #[test]
    fn arguments_given_twice_or_broken_are_told() {
        let shown = describe_call("s", "t", r#"{"a":1,"a":2}"#);
        assert!(shown.contains("argument \"a\" (given again) = 2"), "{shown}");
        let shown = describe_call("s", "t", "{'a':1}");
        assert!(shown.contains("no JSON object") && shown.contains("\"{'a':1}\""), "{shown}");
        assert!(describe_call("s", "t", " ").ends_with("no arguments\n"));
    }
}
