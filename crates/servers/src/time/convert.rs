//! From a time on the wall in one zone to the time on the wall in another.

use super::{
    answer::{Conversion, Moment, utc_offset, zone_name},
    error::TimeError,
};
use jiff::{
    ZonedDateTime,
    civil::DateTime,
    tz::{AmbiguousOffset, TimeZone},
};

pub(super) fn convert(
    wall: DateTime,
    source: TimeZone,
    target: TimeZone,
) -> Result<Conversion, TimeError> {
    let beyond = |_| TimeError::OutOfRange { given: wall.to_string() };
    let reading = source.to_ambiguous_zoned_datetime(wall);
    let kind = reading.offset();
    // In a gap this moves the time forward by what was skipped; in a fold it is the first of both.
    let from = reading.clone().compatible().map_err(beyond)?;
    let to = from.with_time_zone(target.clone());

    let mut notes = Vec::new();
    match kind {
        AmbiguousOffset::Unambiguous { .. } => {}
        AmbiguousOffset::Gap { .. } => notes.push(skipped(wall, &from)),
        AmbiguousOffset::Fold { .. } => {
            let second = reading.later().map_err(beyond)?;
            notes.push(repeated(wall, &from, &second, &second.with_time_zone(target)));
        }
    }
    let ahead = to.offset().seconds() - from.offset().seconds();
    Ok(Conversion {
        time_difference: difference(ahead),
        day_change: days_between(&from, &to),
        source: Moment::new(&from),
        target: Moment::new(&to),
        notes,
    })
}

fn skipped(wall: DateTime, used: &ZonedDateTime) -> String {
    format!(
        "{} does not exist on {} in {}: the clocks are moved forward past it; {} ({}) is used \
         instead.",
        wall.strftime("%H:%M"),
        wall.date(),
        zone_name(used),
        used.strftime("%H:%M"),
        utc_offset(used.offset()),
    )
}

fn repeated(
    wall: DateTime,
    first: &ZonedDateTime,
    second: &ZonedDateTime,
    second_target: &ZonedDateTime,
) -> String {
    format!(
        "{} comes twice on {} in {}, because the clocks are moved back: the first ({}) is used; \
         the second ({}) would be {} in {}.",
        wall.strftime("%H:%M"),
        wall.date(),
        zone_name(first),
        utc_offset(first.offset()),
        utc_offset(second.offset()),
        second_target.strftime("%Y-%m-%d %H:%M"),
        zone_name(second_target),
    )
}

/// `+7.0h` for whole hours, `+5:45` for others.
fn difference(seconds: i32) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let (hours, rest) = (seconds.abs() / 3600, seconds.abs() % 3600);
    match (rest / 60, rest % 60) {
        (0, 0) => format!("{sign}{hours}.0h"),
        (minutes, 0) => format!("{sign}{hours}:{minutes:02}"),
        (minutes, odd) => format!("{sign}{hours}:{minutes:02}:{odd:02}"),
    }
}

fn days_between(from: &ZonedDateTime, to: &ZonedDateTime) -> i32 {
    let hours = to.date().duration_since(from.date()).as_hours();
    i32::try_from(hours / 24).unwrap_or(0)
}
