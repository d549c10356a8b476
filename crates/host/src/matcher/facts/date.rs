//! Calendar dates: written ones, and ones told from today.

use std::sync::LazyLock;

use jiff::civil::{Date, Weekday};
use jiff::{ToSpan, ZonedDateTime};
use regex::{Captures, Regex};

use super::super::text::Text;
use super::number::spoken;
use super::{Fact, Value, constant};

static ISO: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"(?-u:\b)(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?-u:\b)")
});
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
/// `May 4`, `4th of May 2027`.
static ENGLISH: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)(?-u:\b)(?:(?P<d1>\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?)?(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?(?-u:\b)(?:\s+(?P<d2>\d{1,2})(?:st|nd|rd|th)?(?-u:\b))?(?:,?\s+(?P<y>(?:19|20)\d{2})(?-u:\b))?",
    )
});
static CHINESE: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?:(?P<y>\d{4})年)?(?P<m>\d{1,2}|[一二三四五六七八九十]{1,2})月(?P<d>\d{1,2}|[一二三四五六七八九十]{1,3})[日号]",
    )
});
static RELATIVE: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)(?-u:\b)(?P<en>the day after tomorrow|day after tomorrow|the day before yesterday|day before yesterday|today|tonight|tomorrow|yesterday)(?-u:\b)|(?P<zh>大后天|后天|明天|明日|今天|今日|今晚|明晚|昨天|昨日|前天)",
    )
});
static WEEKDAY: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)(?-u:\b)(?:(?P<which>next|last|this|past|coming)\s+)?(?P<en>monday|tuesday|wednesday|thursday|friday|saturday|sunday)(?-u:\b)|(?P<zh_which>下|上|这|本)?个?(?:(?:星期|礼拜)(?P<zh>[一二三四五六日天])|周(?P<zh_short>[一二三四五六日]))",
    )
});

/// A pattern, and what reads its matches.
type Reader<'a> = (&'a Regex, fn(&Captures<'_>, Date) -> Option<Date>);

/// Finds the dates that a question names, the surest reading first.
pub(super) fn find(text: &Text, now: &ZonedDateTime) -> Vec<Fact> {
    let readers: [Reader<'_>; 5] = [
        (&ISO, iso),
        (&ENGLISH, english),
        (&CHINESE, chinese),
        (&RELATIVE, relative),
        (&WEEKDAY, weekday),
    ];
    let mut facts: Vec<Fact> = Vec::new();
    for (regex, read) in readers {
        for found in regex.captures_iter(&text.normal) {
            let Some(whole) = found.get(0) else { continue };
            if let Some(date) = read(&found, now.date()) {
                facts.push(Fact::new(text, whole.range(), Value::Date(date)));
            }
        }
    }
    facts
}

fn part(found: &Captures<'_>, name: &str) -> Option<f64> {
    spoken(found.name(name)?.as_str())
}

fn iso(found: &Captures<'_>, _: Date) -> Option<Date> {
    date(part(found, "y")?, part(found, "m")?, part(found, "d")?)
}

/// A month needs a day beside it: "may" alone is a verb.
fn english(found: &Captures<'_>, today: Date) -> Option<Date> {
    let month = found.name("month")?.as_str().get(..3)?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|m| *m == month)? + 1;
    let day = part(found, "d1").or_else(|| part(found, "d2"))?;
    let month = f64::from(u32::try_from(month).ok()?);
    with_or_without_year(part(found, "y"), month, day, today)
}

fn chinese(found: &Captures<'_>, today: Date) -> Option<Date> {
    with_or_without_year(part(found, "y"), part(found, "m")?, part(found, "d")?, today)
}

fn relative(found: &Captures<'_>, today: Date) -> Option<Date> {
    let word = found.get(0)?.as_str().to_ascii_lowercase();
    let days = match word.trim_start_matches("the ") {
        "today" | "tonight" | "今天" | "今日" | "今晚" => 0,
        "tomorrow" | "明天" | "明日" | "明晚" => 1,
        "day after tomorrow" | "后天" => 2,
        "大后天" => 3,
        "yesterday" | "昨天" | "昨日" => -1,
        _ => -2,
    };
    today.checked_add(days.days()).ok()
}

/// The day of that name: the nearest to come, today included; "last" is the
/// nearest past one, and 下周 the one of next week.
fn weekday(found: &Captures<'_>, today: Date) -> Option<Date> {
    let day = match (found.name("en"), found.name("zh")) {
        (Some(en), _) => weekday_named(&en.as_str().to_ascii_lowercase())?,
        (None, Some(zh)) => weekday_named(zh.as_str())?,
        (None, None) => weekday_named(found.name("zh_short")?.as_str())?,
    };
    let ahead = i64::from(today.weekday().until(day));
    let which = found.name("which").or_else(|| found.name("zh_which")).map(|m| m.as_str());
    let days = match which.map(str::to_ascii_lowercase).as_deref() {
        Some("last" | "past") => -i64::from(today.weekday().since(day)).max(1),
        Some("next") if ahead == 0 => 7,
        Some("下") => 7 + from_monday(day) - from_monday(today.weekday()),
        Some("上") => from_monday(day) - from_monday(today.weekday()) - 7,
        _ => ahead,
    };
    today.checked_add(days.days()).ok()
}

fn from_monday(day: Weekday) -> i64 {
    i64::from(day.to_monday_zero_offset())
}

fn weekday_named(name: &str) -> Option<Weekday> {
    Some(match name {
        "monday" | "一" => Weekday::Monday,
        "tuesday" | "二" => Weekday::Tuesday,
        "wednesday" | "三" => Weekday::Wednesday,
        "thursday" | "四" => Weekday::Thursday,
        "friday" | "五" => Weekday::Friday,
        "saturday" | "六" => Weekday::Saturday,
        "sunday" | "日" | "天" => Weekday::Sunday,
        _ => return None,
    })
}

/// Without a year: this year's, or the next one's when it has passed.
fn with_or_without_year(year: Option<f64>, month: f64, day: f64, today: Date) -> Option<Date> {
    if let Some(year) = year {
        return date(year, month, day);
    }
    let this_year = f64::from(today.year());
    let candidate = date(this_year, month, day);
    match candidate {
        Some(found) if found >= today => Some(found),
        _ => date(this_year + 1.0, month, day).or(candidate),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the ranges are checked first")]
fn date(year: f64, month: f64, day: f64) -> Option<Date> {
    let fits = (1.0..10_000.0).contains(&year)
        && (1.0..13.0).contains(&month)
        && (1.0..32.0).contains(&day);
    fits.then(|| Date::new(year as i16, month as i8, day as i8).ok()).flatten()
}
