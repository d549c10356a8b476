//! Times of day.

use std::sync::LazyLock;

use jiff::civil;
use regex::{Captures, Regex};

use super::super::text::Text;
use super::number::spoken;
use super::{Fact, Value, constant};

/// `14:30`, `9:05 am`, `14h30`.
static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)(?P<zh>凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|今晚|明晚)?\s*(?-u:\b)(?P<h>[01]?\d|2[0-4])(?::(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d))?|h(?P<hm>[0-5]\d))(?-u:\b)\s*(?P<half>[ap]\.?\s?m(?-u:\b)\.?)?",
    )
});
/// `6pm`, `11 a.m.`.
static HALF_DAY: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"(?i)(?-u:\b)(?P<h>1[0-2]|0?[1-9])\s*(?P<half>[ap]\.?\s?m(?-u:\b)\.?)")
});
/// `9 o'clock in the evening`, `nine in the morning`, `half past six`.
static SPOKEN: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)(?-u:\b)(?:(?P<part>half past|quarter past|quarter to|a quarter past|a quarter to)\s+)?(?P<h>\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?P<clock>\s*o'?\s?clock)?(?:\s+(?P<day>in the (?:early )?(?:morning|afternoon|evening)|at night))?(?-u:\b)",
    )
});
/// `下午3点半`, `十二点`, `15点20分`.
static CHINESE: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?P<zh>凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|今晚|明晚|早|晚)?\s*(?P<h>\d{1,2}|[零一二两三四五六七八九十]{1,3})\s*(?:点钟|点整|点|點|时整)(?:(?P<half>半)|(?P<quarter>一刻|三刻)|(?P<m>\d{1,2}|[零一二三四五六七八九十]{1,3})分?)?",
    )
});
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)(?-u:\b)(?P<noon>noon|midday)(?-u:\b)|(?-u:\b)(?P<midnight>midnight)(?-u:\b)|(?P<zh_noon>正午|中午)|(?P<zh_midnight>午夜|半夜)",
    )
});

/// A pattern, and what reads its matches.
type Reader<'a> = (&'a Regex, fn(&Captures<'_>) -> Option<civil::Time>);

/// Finds the times of day that a question names, the surest reading first.
pub(super) fn find(text: &Text) -> Vec<Fact> {
    let readers: [Reader<'_>; 5] = [
        (&CLOCK, clock),
        (&HALF_DAY, clock),
        (&CHINESE, chinese),
        (&SPOKEN, spoken_time),
        (&NAMED, named),
    ];
    let mut facts: Vec<Fact> = Vec::new();
    for (regex, read) in readers {
        for found in regex.captures_iter(&text.normal) {
            let Some(whole) = found.get(0) else { continue };
            let trimmed = whole.as_str().trim();
            let start = whole.start() + (whole.as_str().len() - whole.as_str().trim_start().len());
            let span = start..start + trimmed.len();
            if let Some(time) = read(&found) {
                facts.push(Fact::new(text, span, Value::Time(time)));
            }
        }
    }
    facts
}

fn clock(found: &Captures<'_>) -> Option<civil::Time> {
    let number = |name: &str| found.name(name).and_then(|m| m.as_str().parse::<i8>().ok());
    let hour = number("h")?;
    let minute = number("m").or_else(|| number("hm")).unwrap_or(0);
    let half = found.name("half").map(|m| m.as_str().to_ascii_lowercase());
    let hour = match half.as_deref() {
        Some(half) if half.starts_with('p') => afternoon(hour),
        Some(_) => hour % 12,
        None => in_part_of_day(hour, found.name("zh").map(|m| m.as_str())),
    };
    civil::Time::new(hour % 24, minute, number("s").unwrap_or(0), 0).ok()
}

fn chinese(found: &Captures<'_>) -> Option<civil::Time> {
    let number = |name: &str| found.name(name).and_then(|m| spoken(m.as_str()));
    // 一点 is "a bit" unless something shows that it is an hour.
    if found.get(0)?.as_str().trim() == "一点" {
        return None;
    }
    let hour = small(number("h")?)?;
    let minute = match (found.name("half"), found.name("quarter").map(|m| m.as_str())) {
        (Some(_), _) => 30,
        (None, Some("一刻")) => 15,
        (None, Some(_)) => 45,
        (None, None) => number("m").and_then(small).unwrap_or(0),
    };
    let hour = in_part_of_day(hour, found.name("zh").map(|m| m.as_str()));
    civil::Time::new(hour % 24, minute, 0, 0).ok()
}

/// A bare number is no time: it needs "o'clock", "half past" or a part of the
/// day.
fn spoken_time(found: &Captures<'_>) -> Option<civil::Time> {
    let hour = spoken(found.name("h")?.as_str()).and_then(small)?;
    let part = found.name("part").map(|m| m.as_str().to_ascii_lowercase());
    let day = found.name("day").map(|m| m.as_str().to_ascii_lowercase());
    if part.is_none() && day.is_none() && found.name("clock").is_none() {
        return None;
    }
    let late = day.is_some_and(|d| !d.contains("morning"));
    let hour = if late { afternoon(hour) } else { hour };
    let (hour, minute) = match part.as_deref() {
        Some(part) if part.contains("half") => (hour, 30),
        Some(part) if part.contains("past") => (hour, 15),
        Some(_) => ((hour + 23) % 24, 45),
        None => (hour, 0),
    };
    civil::Time::new(hour % 24, minute, 0, 0).ok()
}

fn named(found: &Captures<'_>) -> Option<civil::Time> {
    let noon = found.name("noon").or_else(|| found.name("zh_noon")).is_some();
    civil::Time::new(if noon { 12 } else { 0 }, 0, 0, 0).ok()
}

fn afternoon(hour: i8) -> i8 {
    if hour < 12 { hour + 12 } else { hour }
}

fn in_part_of_day(hour: i8, part: Option<&str>) -> i8 {
    match part {
        Some("下午" | "傍晚" | "晚上" | "夜里" | "今晚" | "明晚" | "晚") => match hour
        {
            12 if part != Some("下午") => 0,
            _ => afternoon(hour),
        },
        Some("中午") if hour < 3 => hour + 12,
        Some("凌晨") if hour == 12 => 0,
        _ => hour,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
fn small(value: f64) -> Option<i8> {
    (0.0..60.0).contains(&value).then_some(value as i8)
}
