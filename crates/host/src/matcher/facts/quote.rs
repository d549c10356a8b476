//! Quoted text and SQL statements.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::super::text::Text;
use super::{Fact, Value, constant, looked_at};

/// The marks that open and close a quotation.
const QUOTES: [(char, char); 4] = [('"', '"'), ('`', '`'), ('\'', '\''), ('《', '》')];

/// Finds what stands between quotation marks. The span takes the marks in,
/// the text leaves them out. An apostrophe is no quotation mark.
pub(super) fn find(text: &Text) -> Vec<Fact> {
    let normal = &text.normal;
    let mut facts = Vec::new();
    let mut from = 0;
    // A kind of mark that was once found not to close never will: it is not
    // looked for again, so that the search stays linear.
    let mut hopeless = [false; QUOTES.len()];
    while let Some((span, inner)) = next_quote(normal, from, &mut hopeless) {
        from = span.end;
        let says = text.original(&inner).trim();
        if !says.is_empty() {
            facts.push(Fact::saying(span, Value::Quoted, says));
        }
    }
    facts
}

fn next_quote(
    text: &str,
    from: usize,
    hopeless: &mut [bool; QUOTES.len()],
) -> Option<(Range<usize>, Range<usize>)> {
    for (offset, c) in text.get(from..)?.char_indices() {
        looked_at(1);
        let start = from + offset;
        let Some(kind) = QUOTES.iter().position(|(open, _)| *open == c) else { continue };
        let glued = text.get(..start)?.chars().next_back().is_some_and(char::is_alphanumeric);
        if hopeless.get(kind).copied().unwrap_or(true) || (c == '\'' && glued) {
            continue;
        }
        let inner = start + c.len_utf8();
        let close = QUOTES.get(kind).map(|(_, close)| *close)?;
        match closing(text, inner, close) {
            Some(end) => return Some((start..end + close.len_utf8(), inner..end)),
            None => hopeless.iter_mut().skip(kind).take(1).for_each(|h| *h = true),
        }
    }
    None
}

/// Where the closing mark stands; a single one must end a word.
fn closing(text: &str, from: usize, close: char) -> Option<usize> {
    let rest = text.get(from..)?;
    let end = rest.char_indices().find(|&(at, c)| {
        looked_at(1);
        let after = rest.get(at + c.len_utf8()..).and_then(|r| r.chars().next());
        c == close && (close != '\'' || !after.is_some_and(char::is_alphanumeric))
    })?;
    Some(from + end.0)
}

static STATEMENT: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?is)(?-u:\b)(?:select\s.+?\sfrom\s|select\s+\S+\s*$|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|create\s+(?:table|index|view)\s|drop\s+table\s|alter\s+table\s|pragma\s+\w|explain\s+(?:query\s+plan\s+)?select\s|with\s+\w+\s+as\s*\().*",
    )
});

/// Finds an SQL statement: one in quotation marks, or one written as code.
/// An English sentence that begins with "select" is not one.
pub(super) fn sql(text: &Text, quoted: &[Fact]) -> Vec<Fact> {
    let statement = &*STATEMENT;
    let in_quotes = quoted
        .iter()
        .find(|fact| statement.find(&fact.text).is_some_and(|found| found.start() == 0));
    if let Some(fact) = in_quotes {
        return vec![Fact { value: Value::Sql, ..fact.clone() }];
    }
    let Some(found) = statement.find(&text.normal) else { return Vec::new() };
    if !looks_like_code(&text.normal, found.range()) {
        return Vec::new();
    }
    let trimmed = found.as_str().trim_end_matches(['.', '?', '!', ' ', '\n']);
    let span = found.start()..found.start() + trimmed.len();
    vec![Fact::new(text, span, Value::Sql)]
}

fn looks_like_code(text: &str, span: Range<usize>) -> bool {
    let statement = text.get(span.clone()).unwrap_or_default();
    let before = text.get(..span.start).unwrap_or_default().trim_end().to_ascii_lowercase();
    let keyword = statement.split_whitespace().next().unwrap_or_default();
    keyword.bytes().all(|b| b.is_ascii_uppercase())
        || statement.contains(['*', '=', ';', '(', '<', '>'])
        || ["sql", "sql:", "query:", "statement", "statement:", "execute", "执行", "运行"]
            .iter()
            .any(|word| before.ends_with(word))
}
