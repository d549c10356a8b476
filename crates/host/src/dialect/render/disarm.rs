//! Makes what comes from elsewhere harmless: text that a model repeats must not be a
//! request.

use std::borrow::Cow;

use carrick_policy::is_hidden;
use serde_json::value::RawValue;

use super::super::Ask;
use super::super::read::read;

/// Tags that mean something to a model of the XML form. Text that comes from elsewhere
/// must not hold them.
const RESERVED: [&str; 21] = [
    "access_mcp_resource",
    "arguments",
    "content",
    "description",
    "function",
    "input_schema",
    "instructions",
    "parameter",
    "resource",
    "server",
    "server_name",
    "status",
    "tool",
    "tool_call",
    "tool_name",
    "tool_response",
    "tool_result",
    "use_mcp_tool",
    "![cdata[",
    "think",
    "thinking",
];

/// Tags of requests, which are looked for in the text of models with native calls too.
const REQUESTS: [&str; 4] = ["access_mcp_resource", "function=", "tool_call", "use_mcp_tool"];

/// Words in quotes by which JSON asks for tools.
const KEYS: [&str; 3] = ["function_call", "tool_calls", "tool_use"];

/// Characters looked at after a `<` or a quote; only as many blanks are skipped as
/// somebody would still read as part of a tag.
const AHEAD: usize = 48;
const LONGEST: usize = 24;

/// `<` in JSON, after its backslash.
const ESCAPED: &str = "u003c";

/// For models of the XML form. Replaces the `<` of every tag in [`RESERVED`], opening or
/// closing, in any case and with blanks in it, by `&lt;`, and the first quote of a word
/// in [`KEYS`] by `&quot;`. A line that would be a request if it stood alone loses its
/// first bracket, and so does the whole. All else stays.
pub(in super::super) fn disarm(text: &str) -> String {
    let out = replaced(text, &['<', '"'], |sign, rest| match sign {
        '<' => (0, begins(rest, &RESERVED).then_some("&lt;")),
        _ => (0, is_key(rest).then_some("&quot;")),
    });
    if !out.contains(['{', '[']) {
        return out.into_owned();
    }
    if asks(&out) {
        return without_bracket(&out);
    }
    let lines = out.split_inclusive('\n');
    lines.map(|line| if asks(line) { without_bracket(line) } else { line.to_owned() }).collect()
}

/// For models with native calls, whose results otherwise stay as they are: replaces the
/// `<` of the tags of requests.
pub(super) fn disarm_requests(text: &str) -> Cow<'_, str> {
    replaced(text, &['<'], |_, rest| (0, begins(rest, &REQUESTS).then_some("&lt;")))
}

/// The same in JSON, where `<` may be written `\u003c`.
pub(super) fn disarm_json(json: &RawValue) -> Cow<'_, RawValue> {
    let out = replaced(json.get(), &['<', '\\'], |sign, rest| match sign {
        '<' => (0, begins(rest, &REQUESTS).then_some("&lt;")),
        _ => match rest.get(..ESCAPED.len()) {
            Some(code) if code.eq_ignore_ascii_case(ESCAPED) => {
                let name = rest.get(ESCAPED.len()..).unwrap_or_default();
                (ESCAPED.len(), begins(name, &REQUESTS).then_some("&lt;"))
            }
            // What follows a backslash belongs to it, another backslash too.
            _ => (rest.chars().next().map_or(0, char::len_utf8), None),
        },
    });
    match out {
        Cow::Borrowed(_) => Cow::Borrowed(json),
        // Only what stands in strings holds a `<`, and nothing there needs an escape.
        Cow::Owned(out) => RawValue::from_string(out).map_or(Cow::Borrowed(json), Cow::Owned),
    }
}

/// `text` with each of `signs` replaced by what `by` gives for it and the text after it:
/// how many bytes more it stands for, and the replacement, if there is one.
fn replaced<'a>(
    text: &'a str,
    signs: &[char],
    by: impl Fn(char, &str) -> (usize, Option<&'static str>),
) -> Cow<'a, str> {
    let mut out = String::new();
    let (mut kept, mut from) = (0, 0);
    while let Some((at, sign)) = find(text, from, signs) {
        let after = at + sign.len_utf8();
        let (more, other) = by(sign, text.get(after..).unwrap_or_default());
        from = after + more;
        if let Some(other) = other {
            out.push_str(text.get(kept..at).unwrap_or_default());
            out.push_str(other);
            kept = from;
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(out)
}

fn find(text: &str, from: usize, signs: &[char]) -> Option<(usize, char)> {
    let rest = text.get(from..)?;
    let at = rest.find(signs)?;
    Some((from + at, rest.get(at..)?.chars().next()?))
}

/// Whether a tag's text after its `<` begins with one of these names.
fn begins(text: &str, names: &[&str]) -> bool {
    let mut name = text.chars().take(AHEAD).filter(|c| !c.is_whitespace() && !is_hidden(*c));
    let name: String = name.by_ref().skip_while(|c| *c == '/').take(LONGEST).collect();
    let name = name.to_ascii_lowercase();
    names.iter().any(|known| name.starts_with(known))
}

/// Whether what follows a quote is one of [`KEYS`], also with JSON's escapes.
fn is_key(text: &str) -> bool {
    let mut word = String::new();
    let mut characters = text.chars().take(6 * AHEAD);
    while let Some(c) = characters.next() {
        let c = match c {
            '"' => break,
            '\\' => match characters.next() {
                Some('u') => {
                    let code: String = characters.by_ref().take(4).collect();
                    u32::from_str_radix(&code, 16).ok().and_then(char::from_u32).unwrap_or(' ')
                }
                _ => ' ',
            },
            c => c,
        };
        if !c.is_whitespace() && !is_hidden(c) {
            word.push(c.to_ascii_lowercase());
        }
        if word.len() >= LONGEST {
            break;
        }
    }
    KEYS.iter().any(|key| word.starts_with(key))
}

/// Whether `text` is JSON that asks for something, were it all that a model wrote.
fn asks(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
        && read(text).iter().any(|item| !matches!(item.ask, Ask::Refused(_)))
}

fn without_bracket(text: &str) -> String {
    match text.trim_start().starts_with('[') {
        true => text.replacen('[', "&#91;", 1),
        false => text.replacen('{', "&#123;", 1),
    }
}
