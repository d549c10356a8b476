//! Patterns that a rule is made of: `server/tool(argument=value)`.

use std::fmt;
use std::str::FromStr;

use unicode_normalization::UnicodeNormalization;

use crate::number::Number;
use crate::visible::quoted;

/// Which calls a rule is about.
///
/// `server/tool`, or `server` alone for all its tools. `*` stands for any
/// characters (also none, also `/`), `?` for one; `\` takes the next character
/// as it is. The first `/` divides server from tool. Capital and small letters
/// differ. Conditions on arguments may follow in parentheses, all of which
/// must hold: `files/write_file(path=docs/*, mode=append)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    server: Glob,
    tool: Glob,
    conditions: Vec<Condition>,
}

/// What one argument must look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) argument: String,
    pub(super) value: Wanted,
}

/// What a value must look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    glob: Glob,
    /// The same in compatibility form.
    composed: Glob,
    /// The same in small letters.
    folded: Glob,
    /// What it is without wildcards.
    literal: Option<String>,
    number: Option<Number>,
}

/// A text that is no [`Pattern`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is no permission pattern: {reason}; write server/tool, such as \"files/read_*\"", quoted(.pattern))]
pub struct PatternError {
    pattern: String,
    reason: &'static str,
}

impl Pattern {
    /// Whether the pattern is about the server of this name.
    pub fn matches_server(&self, server: &str) -> bool {
        self.server.matches(server)
    }

    /// The part that names servers, as text: wildcards as they are written, characters
    /// taken as they are without their `\`.
    pub fn server(&self) -> String {
        self.server.0.iter().map(|token| token.written()).collect()
    }

    /// Whether the pattern is about this tool, its arguments aside.
    pub fn matches_tool(&self, server: &str, tool: &str) -> bool {
        self.server.matches(server) && self.tool.matches(tool)
    }

    pub(super) fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
}

impl Wanted {
    fn new(tokens: &[Token]) -> Self {
        let glob = Glob(tokens.to_vec());
        let literal: Option<String> = tokens.iter().map(|token| token.letter()).collect();
        Self {
            composed: glob.rewritten(|text| text.nfkc().collect()),
            folded: glob.rewritten(|text| text.nfkc().flat_map(char::to_lowercase).collect()),
            number: literal.as_deref().and_then(Number::parse),
            glob,
            literal,
        }
    }

    /// Whether the whole of `text` fits.
    pub(super) fn matches(&self, text: &str) -> bool {
        self.glob.matches(text) || self.composed.matches(text)
    }

    /// Whether it would fit if the case of letters did not count.
    pub(super) fn matches_folded(&self, text: &str) -> bool {
        let text: String = text.nfkc().flat_map(char::to_lowercase).collect();
        self.folded.matches(&text)
    }

    /// Whether it is this very text, without any wildcard.
    pub(super) fn is(&self, text: &str) -> bool {
        self.literal.as_deref() == Some(text)
    }

    /// The number that it is, if it is one.
    pub(super) fn number(&self) -> Option<&Number> {
        self.number.as_ref()
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let fail = |reason| PatternError { pattern: text.to_owned(), reason };
        let tokens = tokens(text).ok_or_else(|| fail("it ends with a backslash"))?;
        let open = position(&tokens, '(').unwrap_or(tokens.len());
        let (names, conditions) = tokens.split_at(open);
        let (server, tool) = match position(names, '/') {
            Some(at) => {
                (names.get(..at).unwrap_or_default(), names.get(at + 1..).unwrap_or_default())
            }
            None => (names, [Token::Any].as_slice()),
        };
        if server.is_empty() {
            return Err(fail("the server is missing"));
        }
        if tool.is_empty() {
            return Err(fail("the tool is missing"));
        }
        let conditions = match conditions {
            [] => Vec::new(),
            [_, inner @ .., Token::Mark(')')] => inner
                .split(|token| *token == Token::Mark(','))
                .map(condition)
                .collect::<Option<_>>()
                .ok_or_else(|| fail("conditions are written (argument=value)"))?,
            _ => return Err(fail("the parenthesis must close at the end")),
        };
        let (server, tool) = (Glob(server.to_vec()), Glob(tool.to_vec()));
        Ok(Self { text: text.to_owned(), server, tool, conditions })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A character of a pattern. A `Mark` divides the pattern's parts if it stands
/// where they are divided, and is an ordinary character elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Literal(char),
    Mark(char),
    Any,
    One,
}

impl Token {
    fn written(self) -> char {
        match self {
            Self::Literal(character) | Self::Mark(character) => character,
            Self::Any => '*',
            Self::One => '?',
        }
    }

    /// The character, unless it is a wildcard.
    fn letter(self) -> Option<char> {
        match self {
            Self::Literal(character) | Self::Mark(character) => Some(character),
            Self::Any | Self::One => None,
        }
    }
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        tokens.push(match character {
            '\\' => Token::Literal(characters.next()?),
            '*' => Token::Any,
            '?' => Token::One,
            '/' | '(' | ')' | ',' | '=' => Token::Mark(character),
            _ => Token::Literal(character),
        });
    }
    Some(tokens)
}

fn position(tokens: &[Token], mark: char) -> Option<usize> {
    tokens.iter().position(|token| *token == Token::Mark(mark))
}

fn condition(tokens: &[Token]) -> Option<Condition> {
    let equals = position(tokens, '=')?;
    let (name, value) = (tokens.get(..equals)?, tokens.get(equals + 1..)?);
    let argument: String = name.iter().map(|token| token.letter()).collect::<Option<_>>()?;
    let argument = argument.trim_start().to_owned();
    (!argument.is_empty()).then(|| Condition { argument, value: Wanted::new(value) })
}

/// A sequence of characters and wildcards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glob(Vec<Token>);

impl Glob {
    /// The same with each stretch between wildcards rewritten.
    fn rewritten(&self, rewrite: impl Fn(&str) -> String) -> Self {
        let mut tokens = Vec::with_capacity(self.0.len());
        let mut stretch = String::new();
        let end = |stretch: &mut String, tokens: &mut Vec<Token>| {
            tokens.extend(rewrite(&std::mem::take(stretch)).chars().map(Token::Literal));
        };
        for token in &self.0 {
            match token.letter() {
                Some(character) => stretch.push(character),
                None => {
                    end(&mut stretch, &mut tokens);
                    tokens.push(*token);
                }
            }
        }
        end(&mut stretch, &mut tokens);
        Self(tokens)
    }

    /// Whether the whole of `text` fits. Time is bounded by the product of the
    /// lengths: on a mismatch only the last `*` is tried further on.
    pub(super) fn matches(&self, text: &str) -> bool {
        let mut rest = text.chars();
        let mut at = 0;
        let mut star = None;
        loop {
            let mut ahead = rest.clone();
            let next = ahead.next();
            match (self.0.get(at), next) {
                (Some(Token::Any), _) => {
                    star = Some((at, rest.clone()));
                    at += 1;
                    continue;
                }
                (Some(Token::One), Some(_)) => {}
                (Some(Token::Literal(wanted) | Token::Mark(wanted)), Some(found))
                    if *wanted == found => {}
                (None, None) => return true,
                _ => {
                    let Some((star_at, mut after)) = star.take() else { return false };
                    if after.next().is_none() {
                        return false;
                    }
                    star = Some((star_at, after.clone()));
                    (at, rest) = (star_at + 1, after);
                    continue;
                }
            }
            (at, rest) = (at + 1, ahead);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        text.parse().unwrap()
    }

    #[test]
    fn globs_match_the_whole_name() {
        for (glob, yes, no) in [
            ("files/read_*", "files/read_file", "files/write_file"),
            ("files/*", "files/a/b", "filesx/a"),
            ("*", "any/thing", ""),
            ("files", "files/x", "file/x"),
            ("*/get_?", "s/get_a", "s/get_ab"),
            ("a*b*c/x", "aXbYbZc/x", "aXbYcZ/x"),
            (r"io.github\/x/run", "io.github/x\u{0}run", "io.github/x/run"),
            (r"s/\*", "s/*", "s/a"),
        ] {
            let split = |name: &str| {
                let cut = if name.contains('\0') { '\0' } else { '/' };
                let (server, tool) = name.split_once(cut).unwrap_or((name, ""));
                (server.to_owned(), tool.to_owned())
            };
            let matches = |name: &str| {
                let (server, tool) = split(name);
                pattern(glob).matches_tool(&server, &tool)
            };
            assert!(matches(yes), "{glob} {yes}");
            assert!(no.is_empty() || !matches(no), "{glob} {no}");
        }
    }

    #[test]
    fn a_slash_in_a_server_name_is_not_reached_by_another_servers_rule() {
        assert!(!pattern("a/*").matches_tool("a/b", "c"));
        assert!(pattern("a/*").matches_tool("a", "b/c"));
    }

    #[test]
    fn many_stars_do_not_blow_up() {
        let glob = pattern(&format!("{}x/t", "a*".repeat(40)));
        assert!(!glob.matches_tool(&"a".repeat(2000), "t"));
    }

    #[test]
    fn conditions_are_read() {
        let parsed = pattern("files/write(path=docs/*, note=a\\,b=(c)");
        let names: Vec<_> = parsed.conditions().iter().map(|c| c.argument.as_str()).collect();
        assert_eq!(names, ["path", "note"]);
        assert!(parsed.conditions()[0].value.matches("docs/a/b"));
        assert!(parsed.conditions()[1].value.matches("a,b=(c"));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in [
            "",
            "/x",
            "a/",
            "a/b(",
            "a/b(x=1",
            "a/b()",
            "a/b(x)",
            "a/b(=1)",
            "a/b(*=1)",
            "a/b(x=1)y",
            "a\\",
        ] {
            assert!(text.parse::<Pattern>().is_err(), "{text}");
        }
    }
}
