//! Arithmetic: formulas as written, and ones told in words.

mod reader;

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::super::text::Text;
use super::{Fact, Found, Value, constant, looked_at};
use reader::Reader;

/// A formula found in a question.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Expression {
    parts: Vec<Part>,
    /// The operations it uses.
    pub(in super::super) operators: Vec<Operator>,
    /// It may be something else: a range, a part of a name.
    pub(in super::super) doubtful: bool,
}

/// An operation of arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Root,
    Remainder,
}

/// How a tool writes a power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Style {
    /// `2^3`
    Caret,
    /// `2**3`
    Stars,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Number(String),
    Operator(Operator),
    Open,
    Close,
    /// The start of a call: `sqrt(`.
    Call(&'static str),
}

impl Expression {
    /// The formula as one line of text.
    pub(in super::super) fn write(&self, style: Style) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Number(digits) => out.push_str(digits),
                Part::Open => out.push('('),
                Part::Close => out.push(')'),
                Part::Call(name) => {
                    out.push_str(name);
                    out.push('(');
                }
                Part::Operator(operator) => out.push_str(sign(*operator, style)),
            }
        }
        out
    }
}

fn sign(operator: Operator, style: Style) -> &'static str {
    match (operator, style) {
        (Operator::Add, _) => " + ",
        (Operator::Subtract, _) => " - ",
        (Operator::Multiply, _) => " * ",
        (Operator::Divide, _) => " / ",
        (Operator::Remainder, _) => " % ",
        (Operator::Power, Style::Caret) => "^",
        (Operator::Power, Style::Stars) => "**",
        (Operator::Root, _) => "",
    }
}

/// "add 3 and 5", "the product of 3 and 5", "subtract 3 from 10", "3和5的和".
static PHRASE: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?ix)(?-u:\b)(?:
        (?P<add>add|(?:the\ )?sum\ (?:of|up)?)
        |(?P<multiply>multiply|(?:the\ )?product\ of)
        |(?P<divide>divide|(?:the\ )?quotient\ of)
        |(?P<difference>(?:the\ )?difference\ (?:between|of))
        |(?P<subtract>subtract)
        )\s*(?P<a>-?\d+(?:,\d{3})*(?:\.\d+)?)(?P<rest>(?:\s*(?:,\s*and|,|and|to|by|with|from)\s*-?\d+(?:,\d{3})*(?:\.\d+)?)+)
        |(?P<za>\d+(?:\.\d+)?)\s*(?:和|与|跟)\s*(?P<zb>\d+(?:\.\d+)?)\s*(?:的|之|相)(?P<zop>和|差|积|商|加|减|乘|除)",
    )
});

static NUMBER: LazyLock<Regex> = LazyLock::new(|| constant(r"-?\d+(?:,\d{3})*(?:\.\d+)?"));

/// How often each byte of a question may be read on average in search of formulas. Most questions
/// need two or three; what comes after a question's share is used up is in no formula.
const READINGS: usize = 16;

/// Finds the formulas of a question.
pub(super) fn find(text: &Text) -> Vec<Fact> {
    let normal = &text.normal;
    let mut facts = Found::new(text);
    facts.claim(
        PHRASE
            .captures_iter(normal)
            .filter_map(|found| Some(fact(text, found.get(0)?.range(), from_phrase(&found)?))),
    );
    let mut at = 0;
    // Brackets that nothing closes, and what looks like a formula up to its end, are read again
    // from each of their starts.
    let mut fuel = normal.len().saturating_mul(READINGS).saturating_add(1_000);
    while at < normal.len() {
        if !may_start(normal, at) {
            at += next_char(normal, at);
            continue;
        }
        match read(normal, at, &mut fuel) {
            Ok((end, expression)) => {
                facts.claim([fact(text, at..end, expression)]);
                at = end;
            }
            Err(next) => at = next,
        }
    }
    facts.facts
}

/// A formula of plain signs is handed on as it was written.
fn fact(text: &Text, span: Range<usize>, expression: Expression) -> Fact {
    let written = text.normal.get(span.clone()).unwrap_or_default().trim();
    let plain = written.chars().all(|c| c.is_ascii_digit() || " +-*/().^%".contains(c));
    let says = if plain { written.to_owned() } else { expression.write(Style::Caret) };
    Fact::saying(span, Value::Expression(expression), says)
}

fn next_char(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
}

/// The characters of Chinese numerals, and of 百分之.
const NUMERALS: &str = "零一二两三四五六七八九十百千万";

/// A formula starts at the start of a word, with something that can begin one.
fn may_start(text: &str, at: usize) -> bool {
    let (Some(before), Some(rest)) = (text.get(..at), text.get(at..)) else { return false };
    let glued = before.chars().next_back().is_some_and(|c| {
        c.is_ascii_alphanumeric() || "._/:*-$".contains(c) || NUMERALS.contains(c)
    });
    let begins = rest
        .chars()
        .next()
        .is_some_and(|c| c.is_ascii_alphanumeric() || "(-√根".contains(c) || NUMERALS.contains(c));
    begins && !glued
}

/// Reads the longest formula that starts here. It needs an operator and a number, and every
/// operator needs both its sides. If there is none, gives where one may start next.
fn read(text: &str, start: usize, fuel: &mut usize) -> Result<(usize, Expression), usize> {
    let mut next = start + next_char(text, start);
    let mut whole = None;
    let mut reader = Reader::default();
    items(text, start, fuel, &mut reader, |at, found, reader| {
        // `1,234,567` is one number, and not read again from its middle.
        if reader.parts.len() == 1
            && let Some(number) = found.name("number")
            && number.start() == 0
        {
            next = at;
        }
        if reader.is_whole() {
            whole = Some(at);
        }
        true
    });
    let end = whole.ok_or(next)?;
    let after = text.get(end..).and_then(|rest| rest.chars().next());
    let cut = after.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
        || (after == Some('/') || after == Some(':'));
    let Some(written) = text.get(start..end).filter(|_| !cut) else { return Err(next) };
    // What came after the end is not to be in it.
    let mut reader = Reader::default();
    items(text, start, &mut (end - start), &mut reader, |at, _, _| at < end);
    let doubtful = !written.contains([' ', '(', '*', '+', '^', '×', '÷', '/'])
        && written.contains(['-', 'x', 'X']);
    Ok((end, Expression { parts: reader.finished(), operators: reader.operators, doubtful }))
}

/// Takes one item after another from `start`, until one cannot stand there, `more` (which is told
/// where each ends) has enough, or there is no fuel.
fn items(
    text: &str,
    start: usize,
    fuel: &mut usize,
    reader: &mut Reader,
    mut more: impl FnMut(usize, &Captures<'_>, &Reader) -> bool,
) {
    let mut at = start;
    while let Some(found) = text.get(at..).and_then(|rest| reader::ITEM.captures(rest)) {
        let len = found.get(0).map_or(0, |item| item.end());
        looked_at(len);
        let Some(left) = fuel.checked_sub(len) else { return };
        *fuel = left;
        if !reader.take(&found) || reader.parts.len() > Reader::LIMIT {
            return;
        }
        at += len;
        if !more(at, &found, reader) {
            return;
        }
    }
}

fn from_phrase(found: &Captures<'_>) -> Option<Expression> {
    let has = |name: &str| found.name(name).is_some();
    let operator = match found.name("zop").map(|m| m.as_str()) {
        Some("和" | "加") => Operator::Add,
        Some("差" | "减") => Operator::Subtract,
        Some("积" | "乘") => Operator::Multiply,
        Some(_) => Operator::Divide,
        None if has("add") => Operator::Add,
        None if has("multiply") => Operator::Multiply,
        None if has("divide") => Operator::Divide,
        None => Operator::Subtract,
    };
    let mut numbers: Vec<String> = ["a", "rest", "za", "zb"]
        .iter()
        .filter_map(|name| found.name(name))
        .flat_map(|part| NUMBER.find_iter(part.as_str()))
        .map(|number| number.as_str().replace(',', ""))
        .collect();
    if has("subtract") {
        numbers.reverse();
    }
    let mut parts = Vec::new();
    for number in numbers {
        if !parts.is_empty() {
            parts.push(Part::Operator(operator));
        }
        parts.push(Part::Number(number));
    }
    Some(Expression { parts, operators: vec![operator], doubtful: false })
}
