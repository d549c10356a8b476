//! Lists of what an argument may be.

use super::super::ToolError;
use carrick_proto::text::excerpt;
use carrick_proto::types::{RawJson, RpcError};
use serde_json::Value;

/// What an argument may be; a list of these is for [`Tool::allow`](super::super::Tool::allow).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allow(Pattern);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    Exact(String),
    Glob(String),
    Under(String),
}

impl Allow {
    /// Exactly this text; or this number or truth value, as JSON writes it.
    pub fn exact(text: impl Into<String>) -> Self {
        Self(Pattern::Exact(text.into()))
    }

    /// Texts of this form: `*` stands for any characters but `/`, `**` for any
    /// at all, `?` for one that is not `/`. Everything else stands for itself,
    /// and the whole text has to fit.
    pub fn glob(pattern: impl Into<String>) -> Self {
        Self(Pattern::Glob(pattern.into()))
    }

    /// This path, and all below it. Paths are compared by their names, as they
    /// are written: one with `..` in it is never allowed, and what links point
    /// to is not looked at.
    pub fn under(folder: impl Into<String>) -> Self {
        Self(Pattern::Under(folder.into()))
    }

    fn allows(&self, value: &Value) -> bool {
        match (&self.0, value) {
            (Pattern::Exact(exact), Value::String(text)) => exact == text,
            (Pattern::Exact(exact), Value::Number(number)) => number.to_string() == *exact,
            (Pattern::Exact(exact), Value::Bool(is)) => exact == if *is { "true" } else { "false" },
            (Pattern::Glob(pattern), Value::String(text)) => matches(pattern, text),
            (Pattern::Under(folder), Value::String(path)) => is_under(folder, path),
            _ => false,
        }
    }
}

impl std::fmt::Display for Allow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Pattern::Exact(text) => write!(f, "{text:?}"),
            Pattern::Glob(pattern) => write!(f, "texts like {pattern:?}"),
            Pattern::Under(folder) => write!(f, "paths under {folder:?}"),
        }
    }
}

/// What one argument of a tool may be.
#[derive(Clone, Debug)]
pub(super) struct AllowList {
    argument: String,
    patterns: Vec<Allow>,
}

impl AllowList {
    pub(super) fn new(argument: String, patterns: Vec<Allow>) -> Self {
        Self { argument, patterns }
    }

    /// Checks the argument, where it is given; of a list, each element. Without
    /// such an argument in the schema, nothing passes: a list that never applied
    /// would go unnoticed.
    pub(super) fn check(&self, arguments: &Value, schema: &RawJson) -> Result<(), ToolError> {
        let schema: Value = serde_json::from_str(schema.get()).unwrap_or_default();
        if schema.get("properties").and_then(|all| all.get(&self.argument)).is_none() {
            let text = format!("this tool has no argument {:?} to allow values of", self.argument);
            return Err(ToolError::rpc(RpcError::internal(text)));
        }
        let given = match arguments.get(&self.argument) {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::Array(elements)) => elements.as_slice(),
            Some(one) => std::slice::from_ref(one),
        };
        let refused =
            given.iter().find(|value| !self.patterns.iter().any(|allow| allow.allows(value)));
        let Some(value) = refused else { return Ok(()) };
        let shown = value.to_string();
        let shown = excerpt(&shown, 80);
        let allowed: Vec<String> = self.patterns.iter().take(20).map(Allow::to_string).collect();
        let allowed = if allowed.is_empty() { "nothing".into() } else { allowed.join(", ") };
        let text = format!("{} must not be {shown} here; allowed is: {allowed}", self.argument);
        Err(ToolError::new(text))
    }
}

/// Whether a text has the form of a glob: all places in the pattern that the
/// text so far may lead to are followed side by side.
fn matches(pattern: &str, text: &str) -> bool {
    let tokens = tokens(pattern);
    let mut places = vec![false; tokens.len() + 1];
    places[0] = true;
    skip_stars(&tokens, &mut places);
    for character in text.chars() {
        let mut next = vec![false; tokens.len() + 1];
        for (at, token) in tokens.iter().enumerate().filter(|(at, _)| places[*at]) {
            match token {
                Token::AnyWhole => next[at] = true,
                Token::Any => next[at] |= character != '/',
                Token::One => next[at + 1] |= character != '/',
                Token::This(this) => next[at + 1] |= character == *this,
            }
        }
        places = next;
        skip_stars(&tokens, &mut places);
    }
    places[tokens.len()]
}

/// Stars may stand for nothing.
fn skip_stars(tokens: &[Token], places: &mut [bool]) {
    for (at, token) in tokens.iter().enumerate() {
        if places[at] && matches!(token, Token::Any | Token::AnyWhole) {
            places[at + 1] = true;
        }
    }
}

enum Token {
    This(char),
    One,
    Any,
    AnyWhole,
}

fn tokens(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        tokens.push(match character {
            '*' if characters.next_if_eq(&'*').is_some() => Token::AnyWhole,
            '*' => Token::Any,
            '?' => Token::One,
            other => Token::This(other),
        });
    }
    tokens
}

/// Whether a path is a folder's, or below it, by names alone.
fn is_under(folder: &str, path: &str) -> bool {
    let (Some(folder), Some(path)) = (names(folder), names(path)) else { return false };
    path.0 == folder.0 && path.1.starts_with(&folder.1)
}

/// Whether a path begins at the root, and its names; none of one with `..` in
/// it. Backslashes separate too, since somewhere they do.
fn names(path: &str) -> Option<(bool, Vec<&str>)> {
    let separates = |character| matches!(character, '/' | '\\');
    let names: Vec<&str> =
        path.split(separates).filter(|name| !matches!(*name, "" | ".")).collect();
    let is_plain = !names.contains(&"..") && !path.contains('\0');
    is_plain.then(|| (path.starts_with(separates), names))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn globs_fit_whole_texts() {
        for (pattern, text, fits) in [
            ("*.md", "a.md", true),
            ("*.md", "a/b.md", false),
            ("**.md", "a/b.md", true),
            ("a?c", "abc", true),
            ("a?c", "a/c", false),
            ("a?c", "ac", false),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
            ("a**b*c", "a/x/b-c", true),
            ("a**b*c", "a/x/b/c", false),
            ("[a]", "[a]", true),
            ("[a]", "a", false),
            ("é*", "éé", true),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
        // Linear in both, where backtracking would not end.
        assert!(!matches(&format!("{}c", "a*".repeat(60)), &format!("{}b", "a".repeat(5_000))));
    }

    #[test]
    fn paths_are_compared_by_names() {
        for (folder, path, under) in [
            ("/srv/docs", "/srv/docs", true),
            ("/srv/docs/", "/srv//docs/./a", true),
            ("/srv/docs", "/srv/docs-secret/a", false),
            ("/srv/docs", "/srv/docs/../x", false),
            ("/srv/docs", "/srv/docs/..\\..\\x", false),
            ("/srv/docs", "srv/docs/a", false),
            ("docs", "docs/a", true),
            ("docs", "/docs/a", false),
            ("docs", "docs\0/a", false),
            ("C:\\data", "C:/data/x", true),
            ("/", "/anything", true),
            ("/a/../b", "/b", false),
        ] {
            assert_eq!(is_under(folder, path), under, "{folder} {path}");
        }
    }

    #[test]
    fn lists_hold_for_every_kind_of_value() {
        let schema: RawJson = serde_json::from_str(r#"{"properties":{"a":{}}}"#).unwrap();
        let list = AllowList::new("a".into(), vec![Allow::exact("x"), Allow::exact("1")]);
        for (value, allowed) in [
            (json!("x"), true),
            (json!(1), true),
            (json!("1"), true),
            (json!(true), false),
            (json!(["x", 1]), true),
            (json!(["x", "y"]), false),
            (json!([]), true),
            (json!(null), true),
            (json!({ "x": "x" }), false),
            (json!([["x"]]), false),
        ] {
            assert_eq!(list.check(&json!({ "a": value }), &schema).is_ok(), allowed, "{value}");
        }
        assert!(list.check(&json!({ "b": "y" }), &schema).is_ok());
        let Err(error) = list.check(&json!({ "a": "é".repeat(100) }), &schema) else {
            panic!("let through")
        };
        assert!(error.text().ends_with("… here; allowed is: \"x\", \"1\""), "{}", error.text());
        let nothing = AllowList::new("a".into(), Vec::new());
        assert!(nothing.check(&json!({ "a": "x" }), &schema).is_err());
        let unknown = AllowList::new("b".into(), vec![Allow::exact("x")]);
        assert!(unknown.check(&json!({}), &schema).unwrap_err().into_result().is_err());
    }
}
