//! Numbers, with the units they are counted in.

use std::sync::LazyLock;

use regex::Regex;

use super::super::text::{Text, Token, TokenKind};
use super::units::Units;
use super::{Fact, Half, Quantity, Value, constant, looked_at};

static DIGITS: LazyLock<Regex> =
    LazyLock::new(|| constant(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"));
/// `800x600`, `800 by 600 pixels`.
static SIZE: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)(?-u:\b)(?P<w>\d{1,6})\s*(?:px|pixels?|像素)?\s*(?:x|×|\*|by|乘以|乘)\s*(?P<h>\d{1,6})\s*(?P<unit>px|pixels?|像素)?(?-u:\b|)",
    )
});
/// "the coming week", "下周", "a fortnight", "half an hour".
static WEEK: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)(?-u:\b)(?:(?:coming|next|following|this|a|one|whole|the) (?:whole |entire |full )?(?P<one>week)|(?P<two>fortnight)|(?P<couple>couple of days))(?-u:\b)|(?P<half>half an hour|半个?小时)|(?-u:\b)(?P<hour>an hour|one hour)(?-u:\b)|未来一?周|接下来一?周|这一周|一周|一个?星期|一个?礼拜|下周|下星期|本周|这周|(?P<zh_two>两周|两个?星期)",
    )
});
/// English numerals up to a hundred.
const WORDS: [(&str, f64); 29] = [
    ("zero", 0.0),
    ("one", 1.0),
    ("two", 2.0),
    ("three", 3.0),
    ("four", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("nine", 9.0),
    ("ten", 10.0),
    ("eleven", 11.0),
    ("twelve", 12.0),
    ("thirteen", 13.0),
    ("fourteen", 14.0),
    ("fifteen", 15.0),
    ("sixteen", 16.0),
    ("seventeen", 17.0),
    ("eighteen", 18.0),
    ("nineteen", 19.0),
    ("twenty", 20.0),
    ("thirty", 30.0),
    ("forty", 40.0),
    ("fifty", 50.0),
    ("sixty", 60.0),
    ("seventy", 70.0),
    ("eighty", 80.0),
    ("ninety", 90.0),
    ("hundred", 100.0),
];

/// Finds numbers, the surest reading first: sizes, weeks, digits, numerals.
pub(super) fn find(text: &Text) -> Vec<Fact> {
    let mut facts = sizes(text);
    facts.extend(weeks(text));
    facts.extend(digits(text));
    facts.extend(numerals(text));
    facts
}

/// Finds the units that are named, beside a number or alone. Short words are
/// units only beside a number.
pub(super) fn units(text: &Text) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut at = 0;
    while let Some(token) = text.tokens.get(at) {
        let beside = at.checked_sub(1).and_then(|i| text.tokens.get(i));
        let after_number = beside.is_some_and(|t| t.kind == TokenKind::Number);
        let Some((unit, len)) = Units::shared().named(&text.tokens, at) else {
            at += 1;
            continue;
        };
        let end = text.tokens.get(at + len - 1).map_or(token.span.end, |t| t.span.end);
        if after_number || !(is_short(token) || token.lower.len() == 2) {
            facts.push(Fact::new(text, token.span.start..end, Value::Unit(unit)));
        }
        at += len;
    }
    facts
}

/// The value of digits, of an English numeral, or of a Chinese one.
pub(super) fn spoken(word: &str) -> Option<f64> {
    if word.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        return word.replace(',', "").parse().ok();
    }
    let lower = word.to_ascii_lowercase();
    english(&lower).or_else(|| chinese(word))
}

fn english(word: &str) -> Option<f64> {
    WORDS.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
}

/// A Chinese numeral below a hundred million.
fn chinese(word: &str) -> Option<f64> {
    let (mut total, mut section, mut digit) = (0.0, 0.0, None::<f64>);
    for c in word.chars() {
        match c {
            '零' | '〇' => digit = Some(0.0),
            '一' => digit = Some(digit.map_or(1.0, |d| d * 10.0 + 1.0)),
            '十' | '百' | '千' => {
                let factor = if c == '十' {
                    10.0
                } else if c == '百' {
                    100.0
                } else {
                    1000.0
                };
                section += digit.take().unwrap_or(1.0) * factor;
            }
            '万' => {
                total += (section + digit.take().unwrap_or(0.0)) * 10_000.0;
                section = 0.0;
            }
            _ => {
                let value = "二三四五六七八九".chars().position(|d| d == c);
                let value = if c == '两' { Some(0) } else { value }?;
                let value = f64::from(u32::try_from(value).ok()?) + 2.0;
                digit = Some(digit.map_or(value, |d| d * 10.0 + value));
            }
        }
    }
    (!word.is_empty()).then(|| total + section + digit.unwrap_or(0.0))
}

fn sizes(text: &Text) -> Vec<Fact> {
    let pixel = Units::shared().id("pixel");
    let mut facts = Vec::new();
    for found in SIZE.captures_iter(&text.normal) {
        let halves = [("w", Half::Width), ("h", Half::Height)];
        for (name, half) in halves {
            let Some(digits) = found.name(name) else { continue };
            let Some(value) = spoken(digits.as_str()) else { continue };
            let quantity =
                Quantity { value, unit: found.name("unit").and(pixel), half: Some(half) };
            facts.push(Fact::new(text, digits.range(), Value::Number(quantity)));
        }
    }
    facts
}

fn weeks(text: &Text) -> Vec<Fact> {
    let units = Units::shared();
    WEEK.captures_iter(&text.normal)
        .filter_map(|found| {
            let whole = found.get(0)?;
            let (value, unit) = if found.name("couple").is_some() {
                (2.0, "day")
            } else if found.name("half").is_some() {
                (30.0, "minute")
            } else if found.name("hour").is_some() {
                (1.0, "hour")
            } else if found.name("two").or_else(|| found.name("zh_two")).is_some() {
                (2.0, "week")
            } else {
                (1.0, "week")
            };
            let quantity = Quantity { value, unit: units.id(unit), half: None };
            Some(Fact::new(text, whole.range(), Value::Number(quantity)))
        })
        .collect()
}

fn digits(text: &Text) -> Vec<Fact> {
    DIGITS
        .find_iter(&text.normal)
        .filter_map(|found| {
            let before = text.normal.get(..found.start())?;
            let last = before.chars().next_back();
            if last.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.') {
                return None;
            }
            let negative = last == Some('-')
                && !before
                    .trim_end_matches('-')
                    .ends_with(|c: char| !c.is_whitespace() && c != '(');
            let start = if negative { found.start() - 1 } else { found.start() };
            looked_at(found.len());
            let value = spoken(found.as_str())? * if negative { -1.0 } else { 1.0 };
            Some(with_unit(text, start..found.end(), value))
        })
        .collect()
}

/// A number and the unit after it. A unit of one letter, and `in`, must touch
/// the number; a sign of money may stand before it.
fn with_unit(text: &Text, span: std::ops::Range<usize>, value: f64) -> Fact {
    let units = Units::shared();
    let next = text.tokens.partition_point(|t| t.span.start < span.end);
    let hyphen = text.tokens.get(next).filter(|t| t.lower == "-" && t.span.start == span.end);
    let at = if hyphen.is_some() { next + 1 } else { next };
    let after = text.tokens.get(at).filter(|t| t.span.start == span.end || !is_short(t));
    let named = after.and_then(|_| units.named(&text.tokens, at));
    let (unit, end) = match named {
        Some((unit, len)) => {
            let last = text.tokens.get(at + len - 1).map_or(span.end, |t| t.span.end);
            (Some(unit), last)
        }
        None => (sign_before(text, next), span.end),
    };
    let quantity = Quantity { value, unit, half: None };
    Fact::new(text, span.start..end, Value::Number(quantity))
}

fn is_short(token: &Token) -> bool {
    token.kind == TokenKind::Word && (token.lower.len() == 1 || token.lower == "in")
}

fn sign_before(text: &Text, next: usize) -> Option<super::UnitId> {
    let number = next.checked_sub(1)?;
    let sign = text.tokens.get(number.checked_sub(1)?)?;
    let money = ["$", "€", "£", "¥"].contains(&sign.lower.as_str());
    money.then(|| Units::shared().named(std::slice::from_ref(sign), 0)).flatten().map(|(u, _)| u)
}

/// Numerals in words. A short Chinese numeral counts only before a unit or a
/// measure word, for 一 is part of many plain words.
fn numerals(text: &Text) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut at = 0;
    while let Some(token) = text.tokens.get(at) {
        let is_numeral = |t: &Token| t.kind == TokenKind::Cjk && chinese(&t.lower).is_some();
        if is_numeral(token) {
            let run = text.tokens.iter().skip(at).take_while(|t| is_numeral(t)).count();
            facts.extend(chinese_run(text, at, run));
            at += run;
            continue;
        }
        if let Some(value) = english(&token.lower) {
            let (value, len) = compound(text, at, value);
            let last = text.tokens.get(at + len - 1).map_or(token.span.end, |t| t.span.end);
            facts.push(with_unit(text, token.span.start..last, value));
            at += len;
            continue;
        }
        at += 1;
    }
    facts
}

/// "twenty five", "twenty-five", "two hundred".
fn compound(text: &Text, at: usize, first: f64) -> (f64, usize) {
    let dash = text.tokens.get(at + 1).is_some_and(|t| t.lower == "-");
    let second_at = if dash { at + 2 } else { at + 1 };
    let second = text.tokens.get(second_at).and_then(|t| english(&t.lower));
    match second {
        Some(ones) if (20.0..100.0).contains(&first) && (1.0..10.0).contains(&ones) => {
            (first + ones, second_at - at + 1)
        }
        Some(hundred) if hundred >= 100.0 && first < 10.0 => (first * hundred, second_at - at + 1),
        _ => (first, 1),
    }
}

fn chinese_run(text: &Text, at: usize, run: usize) -> Option<Fact> {
    const MEASURES: &str = "个张条行份次篇本只位名封项";
    let first = text.tokens.get(at)?;
    let last = text.tokens.get(at + run - 1)?;
    let span = first.span.start..last.span.end;
    looked_at(span.len());
    let value = chinese(text.normal.get(span.clone())?)?;
    let fact = with_unit(text, span, value);
    let has_unit = matches!(fact.value, Value::Number(q) if q.unit.is_some());
    let measured = value > 1.0
        && text.tokens.get(at + run).is_some_and(|t| MEASURES.contains(t.lower.as_str()));
    (has_unit || measured || run > 1).then_some(fact)
}
