//! Times of day and dates as people and models write them.

use super::error::{TimeError, quoted};
use jiff::civil::{Date, Time};

/// Longer text is no time or date, whatever it says.
const LONGEST: usize = 40;

/// A time of day, with the date before it if there was one (`2026-03-01T09:00`).
pub(super) fn time(given: &str) -> Result<(Option<Date>, Time), TimeError> {
    let wrong = || TimeError::Time { given: quoted(given) };
    let text = given.trim();
    if text.len() > LONGEST {
        return Err(wrong());
    }
    if let Some((before, after)) = text.split_once(['T', ' '])
        && let Ok(date) = date(before)
    {
        return Ok((Some(date), clock(after.trim()).ok_or_else(wrong)?));
    }
    Ok((None, clock(text).ok_or_else(wrong)?))
}

/// A calendar date, `YYYY-MM-DD`.
pub(super) fn date(given: &str) -> Result<Date, TimeError> {
    let wrong = || TimeError::Date { given: quoted(given) };
    let mut parts = given.trim().split('-');
    let (Some(year), Some(month), Some(day), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(wrong());
    };
    if year.len() != 4 {
        return Err(wrong());
    }
    let year = number(year, 4).ok_or_else(wrong)?;
    let month = number(month, 2).and_then(|n| i8::try_from(n).ok()).ok_or_else(wrong)?;
    let day = number(day, 2).and_then(|n| i8::try_from(n).ok()).ok_or_else(wrong)?;
    Date::new(year, month, day).map_err(|_| wrong())
}

/// `HH:MM`, `HH:MM:SS`, `9am`, `9:30 p.m.`, `noon`, `midnight`.
fn clock(text: &str) -> Option<Time> {
    let text = text.to_ascii_lowercase();
    match text.as_str() {
        "noon" => return Time::new(12, 0, 0, 0).ok(),
        "midnight" => return Some(Time::midnight()),
        _ => {}
    }
    let (digits, half) = half_of_day(&text);
    let mut parts = digits.split(':');
    let hour = number(parts.next()?, 2)?;
    let minute = parts.next().map(exactly_two).unwrap_or(half.map(|_| 0))?;
    let second = parts.next().map(exactly_two).unwrap_or(Some(0))?;
    if parts.next().is_some() {
        return None;
    }
    let hour = match half {
        None => hour,
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(Half::Morning) => hour % 12,
        Some(Half::Afternoon) => hour % 12 + 12,
    };
    let part = |n: i16| i8::try_from(n).ok();
    Time::new(part(hour)?, part(minute)?, part(second)?, 0).ok()
}

#[derive(Clone, Copy)]
enum Half {
    Morning,
    Afternoon,
}

/// Splits `am` and `pm` off, with or without dots and a space.
fn half_of_day(text: &str) -> (&str, Option<Half>) {
    for (ending, half) in [
        ("am", Half::Morning),
        ("a.m.", Half::Morning),
        ("pm", Half::Afternoon),
        ("p.m.", Half::Afternoon),
    ] {
        if let Some(rest) = text.strip_suffix(ending) {
            return (rest.trim_end(), Some(half));
        }
    }
    (text, None)
}

fn exactly_two(text: &str) -> Option<i16> {
    if text.len() == 2 { number(text, 2) } else { None }
}

/// A number of one to `most` ASCII digits; signs and spaces are refused.
pub(super) fn number(text: &str, most: usize) -> Option<i16> {
    let plain = (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}
