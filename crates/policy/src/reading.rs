//! What an argument's value may be taken for by whoever reads it.
//!
//! A rule looks at text; a server makes something of it: it decodes percents, resolves
//! paths, drops what shows nothing, normalises letters, coerces types. Which of these it
//! does is not known, so a value has *readings*, and a rule that denies holds if any of
//! them matches, one that allows only if all do.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization;

use crate::json::{self, Node, Value};
use crate::number::Number;
use crate::pattern::Wanted;
use crate::visible::is_hidden;

/// Of a longer text only itself is looked at, and what it may mean stays unclear.
const LONGEST: usize = 1 << 20;
/// How often a text is percent-decoded; one that could be decoded further is unclear.
const DECODINGS: usize = 3;

/// How a value looks to a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Whether it matches in any reading.
    pub(crate) any: bool,
    /// Whether it matches in all readings.
    pub(crate) all: bool,
    /// Whether it would match if letters' case, or the difference between a number and
    /// its text, did not count.
    pub(crate) nearly: bool,
    /// Whether the readings are all that it may be taken for.
    pub(crate) clear: bool,
}

impl Seen {
    /// How the value whose JSON this is looks to a condition.
    pub(crate) fn of(value: &str, wanted: &Wanted) -> Self {
        match value.as_bytes().first() {
            Some(b'"') => match serde_json::from_str::<String>(value) {
                Ok(text) => of_text(&text, wanted),
                Err(_) => UNREADABLE,
            },
            Some(b'{' | b'[') => of_tree(value, wanted),
            Some(b't' | b'f' | b'n') => exactly(wanted.matches(value)),
            _ => of_number(value, wanted),
        }
    }
}

const UNREADABLE: Seen = Seen { any: false, all: false, nearly: false, clear: false };

fn exactly(matches: bool) -> Seen {
    Seen { any: matches, all: matches, nearly: matches, clear: true }
}

fn of_number(text: &str, wanted: &Wanted) -> Seen {
    let Some(number) = Number::parse(text) else { return UNREADABLE };
    match wanted.number() {
        Some(other) => exactly(number == *other),
        None => {
            let plain = number.plain();
            let (raw, same) =
                (wanted.matches(text), wanted.matches(plain.as_deref().unwrap_or(text)));
            Seen { any: raw || same, all: raw && same, nearly: raw || same, clear: plain.is_some() }
        }
    }
}

/// A list or an object: whatever stands in it may be what counts.
fn of_tree(json: &str, wanted: &Wanted) -> Seen {
    let Ok((root, _)) = json::parse(json) else { return UNREADABLE };
    let any = any_leaf(&root, wanted);
    Seen { any, all: false, nearly: any, clear: false }
}

fn any_leaf(node: &Node, wanted: &Wanted) -> bool {
    match &node.value {
        Value::Null => wanted.matches("null"),
        Value::Bool(flag) => wanted.matches(if *flag { "true" } else { "false" }),
        Value::Number(text) => of_number(text, wanted).any,
        Value::Text(text) => of_text(text, wanted).any,
        Value::List(items) => items.iter().any(|item| any_leaf(item, wanted)),
        Value::Map(members) => members
            .iter()
            .any(|member| of_text(&member.key, wanted).any || any_leaf(&member.node, wanted)),
    }
}

fn of_text(text: &str, wanted: &Wanted) -> Seen {
    let readings = Readings::of(text);
    let mut all = readings.sure.iter();
    let mut others = readings.sure.iter().chain(&readings.possible);
    let folds = |text: &String| wanted.matches_folded(text);
    let same_number = || match (wanted.number(), Number::parse(text.trim())) {
        (Some(wanted), Some(number)) => *wanted == number,
        _ => false,
    };
    Seen {
        any: others.any(|text| wanted.matches(text)),
        // Who allows a text to the letter means that text.
        all: wanted.is(text) || all.all(|text| wanted.matches(text)),
        nearly: readings.sure.iter().chain(&readings.possible).any(folds) || same_number(),
        clear: readings.clear,
    }
}

/// What a text may be taken for.
struct Readings {
    /// Common ways to read it, itself among them.
    sure: BTreeSet<String>,
    /// Other spellings of the same.
    possible: BTreeSet<String>,
    clear: bool,
}

impl Readings {
    fn of(text: &str) -> Self {
        let mut sure = BTreeSet::from([text.to_owned()]);
        if text.len() > LONGEST {
            return Self { sure, possible: BTreeSet::new(), clear: false };
        }
        let (decoded, mut clear) = decodings(text);
        sure.extend(decoded);
        clear &= !sure.iter().any(|text| text.chars().any(is_hidden));
        extend(&mut sure, |text| vec![without_hidden(text), before_null(text).to_owned()]);
        extend(&mut sure, |text| {
            let composed = text.nfc().collect::<String>();
            vec![composed, text.nfd().collect(), text.nfkc().collect()]
        });
        clear &= !sure.iter().any(|text| steps_up(text));
        extend(&mut sure, |text| vec![text.trim().to_owned(), resolved(text)]);
        let mut possible = BTreeSet::new();
        for text in &sure {
            let local = text.strip_prefix("file:").map(|path| path.trim_start_matches('/'));
            if let Some(path) = local {
                possible.extend([resolved(path), format!("/{}", resolved(path))]);
            }
            if !text.starts_with(['/', '.']) {
                possible.insert(format!("./{text}"));
            }
        }
        Self { sure, possible, clear }
    }
}

fn extend(texts: &mut BTreeSet<String>, more: impl Fn(&str) -> Vec<String>) {
    let found: Vec<String> = texts.iter().flat_map(|text| more(text)).collect();
    texts.extend(found);
}

/// The text with percents decoded once, twice, …, and whether that is all there is.
fn decodings(text: &str) -> (Vec<String>, bool) {
    let mut found: Vec<String> = Vec::new();
    for _ in 0..DECODINGS {
        let last = found.last().map_or(text, String::as_str);
        let Some(bytes) = decoded(last) else { return (found, true) };
        match String::from_utf8(bytes) {
            Ok(text) => found.push(text),
            Err(_) => return (found, false),
        }
    }
    let last = found.last().map_or(text, String::as_str);
    let is_over = decoded(last).is_none();
    (found, is_over)
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let (mut out, mut at, mut changed) = (Vec::with_capacity(bytes.len()), 0, false);
    while let Some(byte) = bytes.get(at) {
        let pair = if *byte == b'%' { digit(at + 1).zip(digit(at + 2)) } else { None };
        match pair.and_then(|(high, low)| u8::try_from(high * 16 + low).ok()) {
            Some(code) => {
                out.push(code);
                changed = true;
                at += 3;
            }
            None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    changed.then_some(out)
}

fn without_hidden(text: &str) -> String {
    text.chars().filter(|c| !is_hidden(*c)).collect()
}

fn before_null(text: &str) -> &str {
    text.split('\0').next().unwrap_or_default()
}

/// Whether a path has a `..` step: where that leads, links decide.
fn steps_up(text: &str) -> bool {
    text.split(['/', '\\']).any(|step| step.trim() == "..")
}

/// The text as a path: `\` taken for `/`, without empty and `.` steps, `..` resolved. The
/// beginning of a URL stays.
fn resolved(text: &str) -> String {
    let text = text.trim().replace('\\', "/");
    let (start, path) = match text.split_once("://") {
        Some((scheme, rest)) if !scheme.is_empty() && scheme.bytes().all(is_of_scheme) => {
            let host = rest.find('/').unwrap_or(rest.len());
            text.split_at(scheme.len() + 3 + host)
        }
        _ => ("", text.as_str()),
    };
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/').map(str::trim) {
        match step {
            "" | "." => {}
            ".." if steps.last().is_some_and(|last| *last != "..") => {
                steps.pop();
            }
            ".." if path.starts_with('/') => {}
            step => steps.push(step),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{start}{root}{}", steps.join("/"))
}

fn is_of_scheme(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// The name of an argument as a reader may take it who is not particular.
pub(crate) fn folded(name: &str) -> String {
    without_hidden(name).trim().nfkc().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_and_urls_keep_their_host() {
        for (text, expected) in [
            ("a/../secret/x", "secret/x"),
            (".//secret/./x/", "secret/x"),
            ("/../../etc//passwd", "/etc/passwd"),
            ("..\\..\\x", "../../x"),
            ("a\\b", "a/b"),
            ("https://h.example//a/../b", "https://h.example/b"),
            ("https://h.example", "https://h.example"),
            ("a://b://c/./d", "a://b:/c/d"),
            ("", ""),
        ] {
            assert_eq!(resolved(text), expected, "{text}");
        }
    }

    #[test]
    fn percents_are_decoded_as_often_as_one_might() {
        assert_eq!(decodings("a%2Fb"), (vec!["a/b".to_owned()], true));
        assert_eq!(decodings("%252f"), (vec!["%2f".to_owned(), "/".to_owned()], true));
        assert_eq!(decodings("100% %zz %4"), (Vec::new(), true));
        assert!(!decodings("%ff").1);
        assert!(!decodings("%25252525").1);
    }
}
