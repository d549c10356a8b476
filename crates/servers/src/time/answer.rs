//! What the tools answer: typed for programs, readable as text for everybody else.

use jiff::{ZonedDateTime, civil::Weekday, tz::Offset};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One instant as the clocks of one zone show it.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Moment {
    /// The IANA name of the zone, or its offset where it has no name
    pub timezone: String,
    /// Date, time and offset in RFC 3339 form, to the second
    pub datetime: String,
    /// The English name of the day, such as Monday
    pub day_of_week: String,
    /// Whether daylight saving time is in force
    pub is_dst: bool,
    /// The distance from UTC, such as +02:00
    pub utc_offset: String,
}

impl Moment {
    pub(super) fn new(at: &ZonedDateTime) -> Self {
        let offset = utc_offset(at.offset());
        Self {
            timezone: zone_name(at),
            datetime: format!("{}{offset}", at.strftime("%Y-%m-%dT%H:%M:%S")),
            day_of_week: day_name(at.weekday()).to_owned(),
            is_dst: at.time_zone().to_offset_info(at.timestamp()).dst().is_dst(),
            utc_offset: offset,
        }
    }
}

/// `2026-03-01 09:00:00 (Sunday) in Asia/Tokyo, UTC+09:00`
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The date, `T`, the time and the offset; a year beyond four digits has a sign.
        let (date, rest) = self.datetime.split_once('T').unwrap_or((&self.datetime, ""));
        let time = rest.strip_suffix(self.utc_offset.as_str()).unwrap_or(rest);
        write!(f, "{date} {time} ({}) in {}", self.day_of_week, self.timezone)?;
        if self.timezone != "UTC" && self.timezone != self.utc_offset {
            write!(f, ", UTC{}", self.utc_offset)?;
        }
        if self.is_dst {
            f.write_str(", daylight saving time")?;
        }
        Ok(())
    }
}

/// The answer of `current_time`.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CurrentTime {
    /// The present moment
    #[serde(flatten)]
    pub now: Moment,
    /// Seconds since 1970-01-01T00:00:00Z
    pub unix_time: i64,
}

impl CurrentTime {
    pub(super) fn new(now: ZonedDateTime) -> Self {
        Self { unix_time: now.timestamp().as_second(), now: Moment::new(&now) }
    }
}

impl fmt::Display for CurrentTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "It is {}.", self.now)
    }
}

/// The answer of `convert_time`.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Conversion {
    /// The time that was asked about
    pub source: Moment,
    /// The same instant in the other zone
    pub target: Moment,
    /// How far the target is ahead of the source: +7.0h, or hours and minutes as in +5:45
    pub time_difference: String,
    /// By how many calendar days the target's date is later than the source's
    pub day_change: i32,
    /// What to know about the conversion, such as a time that daylight saving skips or repeats
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl fmt::Display for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, target, time_difference, .. } = self;
        let day = match self.day_change {
            0 => String::new(),
            1 => ", the next day".to_owned(),
            -1 => ", the day before".to_owned(),
            days => format!(", {days:+} days"),
        };
        write!(f, "{source} is {target} ({time_difference}{day}).")?;
        for note in &self.notes {
            write!(f, "\n{note}")?;
        }
        Ok(())
    }
}

/// The name of the zone of `at`; its offset when it has none.
pub(super) fn zone_name(at: &ZonedDateTime) -> String {
    match at.time_zone().iana_name() {
        Some(name) => name.to_owned(),
        None => utc_offset(at.offset()),
    }
}

/// `+09:00`; with seconds only where an offset of the distant past has them.
pub(super) fn utc_offset(offset: Offset) -> String {
    let seconds = offset.seconds();
    let sign = if seconds < 0 { '-' } else { '+' };
    let (minutes, rest) = (seconds.abs() / 60, seconds.abs() % 60);
    let mut text = format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60);
    if rest != 0 {
        text.push_str(&format!(":{rest:02}"));
    }
    text
}

fn day_name(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    }
}
