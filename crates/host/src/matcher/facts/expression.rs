//! Arithmetic: formulas as written, and ones told in words.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::super::text::Text;
use super::number::spoken;
use super::{Fact, Found, Value, constant};

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
        out.replace("(-", "(\u{0}").replace(" - \u{0}", " - ").replace('\u{0}', "-")
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

/// One lexical item of a formula at the start of the text.
static ITEM: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?ix)^\s*(?:
        (?P<percent_of>(?P<pct>\d+(?:\.\d+)?)\s*(?:%|percent|per\ cent)\s*(?:of|的))
        |(?P<zh_percent_lead>百分之(?P<zpct>\d+(?:\.\d+)?|[零一二三四五六七八九十百]+))
        |(?P<percent>(?P<pct2>\d+(?:\.\d+)?)\s*(?:%|percent(?-u:\b)))
        |(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)
        |(?P<zh_root>的(?:算术)?平方根)
        |(?P<squared>squared(?-u:\b)|的平方(?:是|等于|$|\?|多少)?)
        |(?P<cubed>cubed(?-u:\b)|的立方)
        |(?P<zh_power>的\s*(?P<zexp>\d+|[一二两三四五六七八九十]+)\s*次(?:方|幂))
        |(?P<power>\*\*|\^|to\ the\ power\ of(?-u:\b)|raised\ to\ the\ power\ of(?-u:\b)|raised\ to(?-u:\b)|to\ the(?-u:\b))
        |(?P<divide>÷|/|divided\ by(?-u:\b)|over(?-u:\b)|除以)
        |(?P<multiply>\*|×|·|x(?-u:\b)|times(?-u:\b)|multiplied\ by(?-u:\b)|乘以|乘上|乘)
        |(?P<subtract>-|−|–|minus(?-u:\b)|减去|减)
        |(?P<add>\+|plus(?-u:\b)|加上|加)
        |(?P<remainder>mod(?:ulo)?(?-u:\b))
        |(?P<root>(?:the\ )?square\ root\ of(?-u:\b)|sqrt(?-u:\b)(?:\ of(?-u:\b))?|√|根号)
        |(?P<cube_root>(?:the\ )?cube\ root\ of(?-u:\b)|cbrt(?-u:\b))
        |(?P<then>再|,?\s*(?:and\ )?then(?-u:\b))
        |(?P<open>\()
        |(?P<close>\))
        |(?P<ordinal>th(?-u:\b)(?:\ power(?-u:\b))?|power(?-u:\b))
        |(?P<word>zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred)(?-u:\b)
        |(?P<zh_word>[零一二两三四五六七八九十百千万]+)
        )",
    )
});
/// "add 3 and 5", "the product of 3 and 5", "subtract 3 from 10", "3和5的和".
static PHRASE: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?ix)(?-u:\b)(?:
        (?P<add>add|(?:the\ )?sum\ (?:of|up)?)
        |(?P<multiply>multiply|(?:the\ )?product\ of)
        |(?P<divide>divide|(?:the\ )?quotient\ of)
        |(?P<difference>(?:the\ )?difference\ (?:between|of))
        |(?P<subtract>subtract)
        )\s*(?P<a>-?\d[\d,]*(?:\.\d+)?)\s*(?:,|and|to|by|with|from)\s*(?P<b>-?\d[\d,]*(?:\.\d+)?)
        |(?P<za>\d+(?:\.\d+)?)\s*(?:和|与|跟)\s*(?P<zb>\d+(?:\.\d+)?)\s*(?:的|之|相)(?P<zop>和|差|积|商|加|减|乘|除)",
    )
});

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
    while at < normal.len() {
        if !may_start(normal, at) {
            at += next_char(normal, at);
            continue;
        }
        let Some((end, expression)) = read(normal, at) else {
            at += next_char(normal, at);
            continue;
        };
        facts.claim([fact(text, at..end, expression)]);
        at = end;
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

/// Reads the longest formula that starts here. It needs an operator and a
/// number, and every operator needs both its sides.
fn read(text: &str, start: usize) -> Option<(usize, Expression)> {
    let mut reader = Reader::default();
    let mut at = start;
    let mut best = None;
    while let Some(found) = text.get(at..).and_then(|rest| ITEM.captures(rest)) {
        let item = found.get(0)?;
        if !reader.take(&found) || reader.parts.len() > Reader::LIMIT {
            break;
        }
        at += item.end();
        if reader.is_whole() {
            best = Some((at, reader.clone()));
        }
    }
    let (end, reader) = best?;
    let after = text.get(end..)?.chars().next();
    let written = text.get(start..end)?;
    let cut = after.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
        || (after == Some('/') || after == Some(':'));
    if cut {
        return None;
    }
    let doubtful = !written.contains([' ', '(', '*', '+', '^', '×', '÷', '/'])
        && written.contains(['-', 'x', 'X']);
    Some((end, Expression { parts: reader.finished(), operators: reader.operators, doubtful }))
}

/// Collects the parts of a formula and keeps count of what is open.
#[derive(Debug, Clone, Default)]
struct Reader {
    parts: Vec<Part>,
    operators: Vec<Operator>,
    open: usize,
    /// Brackets that the words opened and nothing closes: `sqrt(`.
    implied: usize,
    /// The last part was an operand, so that an operator may follow.
    operand: bool,
}

impl Reader {
    /// The most parts a formula may have; a longer one is cut there.
    const LIMIT: usize = 400;

    /// Takes one item; false when it cannot stand here.
    fn take(&mut self, found: &Captures<'_>) -> bool {
        let has = |name: &str| found.name(name).is_some();
        let said = |name: &str| found.name(name).and_then(|m| spoken(m.as_str()));
        if let Some(number) = found.name("number") {
            return self.number(number.as_str().replace(',', ""));
        }
        if has("word") || has("zh_word") {
            let value = said("word").or_else(|| said("zh_word"));
            return value.is_some_and(|v| self.number(v.to_string()));
        }
        if has("percent_of") || has("zh_percent_lead") || has("percent") {
            let percent = said("pct").or_else(|| said("zpct")).or_else(|| said("pct2"));
            let of = has("percent_of") || has("zh_percent_lead");
            return percent.is_some_and(|p| self.percent(p, of));
        }
        if let Some((operator, exponent)) = self.postfix(found) {
            return self.power(operator, exponent);
        }
        self.sign(found)
    }

    fn number(&mut self, digits: String) -> bool {
        if self.operand {
            return false;
        }
        self.parts.push(Part::Number(digits));
        self.operand = true;
        self.close_implied();
        true
    }

    /// A percentage is written as the fraction it is.
    fn percent(&mut self, percent: f64, of: bool) -> bool {
        if self.operand {
            return false;
        }
        // Rounded to hide what binary fractions add: 0.07, not 0.07000000000000001.
        let fraction = (percent * 1e10).round() / 1e12;
        self.parts.push(Part::Number(fraction.to_string()));
        self.operators.push(Operator::Multiply);
        self.operand = true;
        if of {
            self.parts.push(Part::Operator(Operator::Multiply));
            self.operand = false;
        }
        true
    }

    fn postfix(&self, found: &Captures<'_>) -> Option<(Operator, f64)> {
        let has = |name: &str| found.name(name).is_some();
        if has("squared") {
            Some((Operator::Power, 2.0))
        } else if has("cubed") {
            Some((Operator::Power, 3.0))
        } else if has("zh_root") {
            Some((Operator::Root, 2.0))
        } else {
            let exponent = found.name("zexp").and_then(|m| spoken(m.as_str()))?;
            Some((Operator::Power, exponent))
        }
    }

    fn power(&mut self, operator: Operator, exponent: f64) -> bool {
        if !self.operand {
            return false;
        }
        self.operators.push(operator);
        if operator == Operator::Root {
            let Some(Part::Number(_)) = self.parts.last() else { return false };
            let at = self.parts.len() - 1;
            self.parts.insert(at, Part::Call("sqrt"));
            self.parts.push(Part::Close);
        } else {
            self.parts.push(Part::Operator(Operator::Power));
            self.parts.push(Part::Number(exponent.to_string()));
        }
        true
    }

    fn sign(&mut self, found: &Captures<'_>) -> bool {
        let has = |name: &str| found.name(name).is_some();
        if has("then") {
            return self.bracket_all();
        }
        if has("open") && !self.operand {
            self.parts.push(Part::Open);
            self.open += 1;
            return true;
        }
        if has("close") && self.operand && self.open > 0 {
            self.parts.push(Part::Close);
            self.open -= 1;
            return true;
        }
        if has("ordinal") {
            // "to the 5th power": the words after the exponent add nothing.
            return self.operand && self.operators.last() == Some(&Operator::Power);
        }
        if has("root") || has("cube_root") {
            return self.call(if has("root") { "sqrt" } else { "cbrt" });
        }
        let names = [
            ("add", Operator::Add),
            ("subtract", Operator::Subtract),
            ("multiply", Operator::Multiply),
            ("divide", Operator::Divide),
            ("power", Operator::Power),
            ("remainder", Operator::Remainder),
        ];
        let Some((_, operator)) = names.iter().find(|(name, _)| has(name)) else { return false };
        self.operator(*operator)
    }

    /// "5 plus 3, then times 2": what was said so far comes first.
    fn bracket_all(&mut self) -> bool {
        if !self.is_whole() {
            return false;
        }
        self.parts.insert(0, Part::Open);
        self.parts.push(Part::Close);
        true
    }

    fn call(&mut self, name: &'static str) -> bool {
        if self.operand {
            return false;
        }
        self.parts.push(Part::Call(name));
        self.operators.push(Operator::Root);
        self.implied += 1;
        true
    }

    /// An operator after an operand; a minus before one makes it negative.
    fn operator(&mut self, operator: Operator) -> bool {
        if !self.operand {
            let negative = operator == Operator::Subtract
                && matches!(self.parts.last(), None | Some(Part::Open | Part::Operator(_)));
            if negative {
                self.parts.push(Part::Number("-".to_owned()));
            }
            return negative;
        }
        self.parts.push(Part::Operator(operator));
        self.operators.push(operator);
        self.operand = false;
        true
    }

    /// Words such as "the square root of" take in the one number after them.
    fn close_implied(&mut self) {
        if self.open > 0 {
            return;
        }
        for _ in 0..std::mem::take(&mut self.implied) {
            self.parts.push(Part::Close);
        }
    }

    fn is_whole(&self) -> bool {
        self.operand && self.open == 0 && !self.operators.is_empty() && self.parts.len() > 1
    }

    fn finished(&self) -> Vec<Part> {
        let mut parts = self.parts.clone();
        parts.extend(std::iter::repeat_n(Part::Close, self.implied));
        parts
    }
}

fn from_phrase(found: &Captures<'_>) -> Option<Expression> {
    let text = |name: &str| found.name(name).map(|m| m.as_str().replace(',', ""));
    let has = |name: &str| found.name(name).is_some();
    let (a, b) = match (text("a"), text("b")) {
        (Some(a), Some(b)) => (a, b),
        _ => (text("za")?, text("zb")?),
    };
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
    let (a, b) = if has("subtract") { (b, a) } else { (a, b) };
    let parts = vec![Part::Number(a), Part::Operator(operator), Part::Number(b)];
    Some(Expression { parts, operators: vec![operator], doubtful: false })
}
