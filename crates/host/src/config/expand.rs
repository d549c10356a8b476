//! `${NAME}` and `${NAME:-default}`.
//!
//! One pass from left to right over a string that was parsed already; what a
//! variable holds is never looked at again. `NAME` is letters, digits and `_`,
//! not beginning with a digit. As in a shell, the default also stands in for a
//! variable that is set and empty; it ends at the first `}` and is taken as it
//! is. Everything else (`$NAME`, `$$`, `${}`, `${a b}`, an open `${`) stays
//! literal.

use super::error::{Fault, Located};
use super::template::Text;

/// A piece of a string with variables.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Literal(&'a str),
    Variable { name: &'a str, default: Option<&'a str> },
}

/// Fills in the variables of one string.
pub(crate) fn expand(text: &Text, env: &dyn Fn(&str) -> Option<String>) -> Result<String, Located> {
    let mut filled = String::with_capacity(text.raw.len());
    for piece in pieces(&text.raw) {
        match piece {
            Piece::Literal(literal) => filled.push_str(literal),
            Piece::Variable { name, default } => match (env(name), default) {
                (Some(value), None) => filled.push_str(&value),
                (Some(value), Some(_)) if !value.is_empty() => filled.push_str(&value),
                (_, Some(default)) => filled.push_str(default),
                (None, None) => {
                    let (variable, field) = (name.to_owned(), text.field.clone());
                    return Err(Located { at: text.at, fault: Fault::Unset { variable, field } });
                }
            },
        }
    }
    if filled.contains('\0') {
        let reason = "a zero character cannot be passed on".to_owned();
        let fault = Fault::Invalid { field: text.field.clone(), reason };
        return Err(Located { at: text.at, fault });
    }
    Ok(filled)
}

/// The variables that a string asks for.
pub(crate) fn variables(raw: &str) -> impl Iterator<Item = &str> {
    pieces(raw).into_iter().filter_map(|piece| match piece {
        Piece::Variable { name, .. } => Some(name),
        Piece::Literal(_) => None,
    })
}

fn pieces(raw: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut rest, mut literal_end) = (raw, 0);
    while let Some(found) = rest.get(literal_end..).and_then(|tail| tail.find("${")) {
        let start = literal_end + found;
        let (before, tail) = rest.split_at(start);
        let Some((variable, after)) = variable(tail) else {
            literal_end = start + 2;
            continue;
        };
        pieces.push(Piece::Literal(before));
        pieces.push(variable);
        (rest, literal_end) = (after, 0);
    }
    pieces.push(Piece::Literal(rest));
    pieces
}

/// Reads a variable at the start of `text`, which begins with `${`.
fn variable(text: &str) -> Option<(Piece<'_>, &str)> {
    let (inner, after) = text.strip_prefix("${")?.split_once('}')?;
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_name = name.bytes().all(word) && name.starts_with(|c: char| !c.is_ascii_digit());
    is_name.then_some((Piece::Variable { name, default }, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(raw: &str) -> Result<String, String> {
        let env = |name: &str| match name {
            "TOKEN" => Some("t0".to_owned()),
            "A" => Some("${TOKEN}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let text = Text { raw: raw.to_owned(), at: 0, field: "args[0]".to_owned() };
        expand(&text, &env).map_err(|located| located.fault.to_string())
    }

    #[test]
    fn d127_one_syntax_one_pass() {
        for (raw, expected) in [
            ("Bearer ${TOKEN}", "Bearer t0"),
            ("${TOKEN}${TOKEN}", "t0t0"),
            ("${TOKEN:-def}", "t0"),
            ("${MISSING:-def}", "def"),
            ("${MISSING:-}", ""),
            ("${MISSING:-a:-b}", "a:-b"),
            ("${MISSING:-${TOKEN}}", "${TOKEN}"),
            ("${EMPTY:-def}", "def"),
            ("[${EMPTY}]", "[]"),
            ("${A}", "${TOKEN}"),
            ("${A}}", "${TOKEN}}"),
        ] {
            assert_eq!(filled(raw).as_deref(), Ok(expected), "{raw}");
        }
    }

    #[test]
    fn d127_other_forms_stay_literal() {
        for raw in [
            "$TOKEN",
            "$$",
            "$",
            "${}",
            "${",
            "${TOKEN",
            "${1A}",
            "${a b}",
            "${env:TOKEN}",
            "%TOKEN%",
            "~",
        ] {
            assert_eq!(filled(raw).as_deref(), Ok(raw));
        }
        assert_eq!(filled("${x y} ${TOKEN}").as_deref(), Ok("${x y} t0"));
        assert_eq!(filled("${${TOKEN}").as_deref(), Ok("${t0"));
        assert_eq!(filled("$${TOKEN}").as_deref(), Ok("$t0"));
    }

    #[test]
    fn d127_a_missing_variable_is_named_with_its_place() {
        let message = filled("x${MISSING}").unwrap_err();
        assert!(message.contains("${MISSING}") && message.contains("args[0]"), "{message}");
    }

    #[test]
    fn variables_are_listed() {
        assert_eq!(variables("${A}$B${C:-${D}}").collect::<Vec<_>>(), ["A", "C"]);
    }
}
