//! Reading a formula, item by item.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::super::constant;
use super::super::number::spoken;
use super::{Operator, Part};

/// One lexical item of a formula at the start of the text.
pub(super) static ITEM: LazyLock<Regex> = LazyLock::new(|| {
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
/// Collects the parts of a formula and keeps count of what is open.
#[derive(Debug, Clone, Default)]
pub(super) struct Reader {
    pub(super) parts: Vec<Part>,
    pub(super) operators: Vec<Operator>,
    open: usize,
    /// Brackets that the words opened and nothing closes: `sqrt(`.
    implied: usize,
    /// The last part was an operand, so that an operator may follow.
    operand: bool,
}

impl Reader {
    /// The most parts a formula may have; a longer one is cut there.
    pub(super) const LIMIT: usize = 400;

    /// Takes one item; false when it cannot stand here.
    pub(super) fn take(&mut self, found: &Captures<'_>) -> bool {
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

    pub(super) fn is_whole(&self) -> bool {
        self.operand && self.open == 0 && !self.operators.is_empty() && self.parts.len() > 1
    }

    pub(super) fn finished(&self) -> Vec<Part> {
        let mut parts = self.parts.clone();
        parts.extend(std::iter::repeat_n(Part::Close, self.implied));
        parts
    }
}
