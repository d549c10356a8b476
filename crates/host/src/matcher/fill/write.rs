//! Writing a fact the way a parameter wants it.

use jiff::civil;
use regex::RegexBuilder;
use serde_json::{Number, Value as Json};

use super::super::facts::units::Units;
use super::super::facts::{Fact, Style, Value};
use super::super::role::{Role, Side};
use super::super::schema::{Param, Shape};
use super::compat;
use super::{Filled, Task};

/// The most memory a pattern of a schema may take when compiled, in bytes.
const PATTERN_BYTES: usize = 1 << 18;

/// The JSON value of a fact for a parameter; none when the schema's pattern
/// does not take it in any form.
pub(super) fn value(task: Task<'_>, param: &Param, fact: &Fact) -> Option<Json> {
    match (&fact.value, param.role) {
        (Value::Number(quantity), Role::Number(unit)) => {
            number(compat::converted(*quantity, unit), param.shape)
        }
        (Value::Number(quantity), Role::Time) => {
            let hour = number(quantity.value, Shape::Integer)?.as_i64()?;
            time(param, civil::Time::new(i8::try_from(hour).ok()?, 0, 0, 0).ok()?)
        }
        (Value::Time(at), Role::DateTime) => {
            date_time(task, param, task.context.now.date(), Some(*at))
        }
        (Value::Time(at), _) => time(param, *at),
        (Value::Date(day), Role::DateTime) => date_time(task, param, *day, time_beside(task)),
        (Value::Date(day), _) => date(param, *day),
        (Value::Place(Some(zone)), Role::Zone) => accepted(param, [(*zone).to_owned()]),
        (Value::LocalZone, Role::Zone) => {
            let zone = task.context.now.time_zone().iana_name()?;
            accepted(param, [zone.to_owned()])
        }
        (Value::Expression(formula), _) => {
            let stars = task.tool.python && fact.text.contains('^');
            let text = if stars { formula.write(Style::Stars) } else { fact.text.clone() };
            accepted(param, [text])
        }
        (Value::Unit(unit), Role::Currency) => {
            accepted(param, [Units::shared().name(*unit).to_uppercase()])
        }
        _ => accepted(param, [fact.text.clone()]),
    }
}

/// Fills the one side of a pair of time zones that "here" and "my time" name,
/// when the other side was filled from a place.
pub(super) fn local_zone(task: Task<'_>, filled: &mut Filled) {
    let said = task.reading.facts.iter().position(|fact| fact.value == Value::LocalZone);
    let Some(at) = said else { return };
    let open: Vec<&Param> = task
        .tool
        .params
        .iter()
        .filter(|p| p.role == Role::Zone && p.required && !filled.has(p))
        .collect();
    let ([param], Some(fact)) = (open.as_slice(), task.reading.facts.get(at)) else { return };
    if param.side != Some(Side::From) && param.side != Some(Side::To) {
        return;
    }
    if let Some(zone) = value(task, param, fact) {
        filled.put(param, zone);
        filled.take(task.reading, at, 1.0);
    }
}

/// The number in the type of the schema.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
fn number(value: f64, shape: Shape) -> Option<Json> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        return Some(Json::from(value as i64));
    }
    if shape == Shape::Integer {
        return None;
    }
    Number::from_f64(value).map(Json::Number)
}

/// 24 hours and minutes unless the schema shows another form.
fn time(param: &Param, time: civil::Time) -> Option<Json> {
    let short = time.strftime("%H:%M").to_string();
    let long = time.strftime("%H:%M:%S").to_string();
    let half_day = time.strftime("%-I:%M %p").to_string();
    let says = |what: &str| param.description.to_lowercase().contains(what);
    if says("12-hour") || says("am/pm") {
        return accepted(param, [half_day, short, long]);
    }
    if says("hh:mm:ss") || param.format.as_deref() == Some("time") {
        return accepted(param, [long, short, half_day]);
    }
    accepted(param, [short, long, half_day])
}

fn date(param: &Param, day: civil::Date) -> Option<Json> {
    let says = |what: &str| param.description.to_lowercase().contains(what);
    let format = if says("dd/mm/yyyy") {
        "%d/%m/%Y"
    } else if says("mm/dd/yyyy") {
        "%m/%d/%Y"
    } else if says("yyyymmdd") {
        "%Y%m%d"
    } else {
        "%Y-%m-%d"
    };
    accepted(param, [day.strftime(format).to_string(), day.to_string()])
}

/// A time of day that the question names beside a date.
fn time_beside(task: Task<'_>) -> Option<civil::Time> {
    task.reading.facts.iter().find_map(|fact| match fact.value {
        Value::Time(time) => Some(time),
        _ => None,
    })
}

/// A moment in the person's own time zone; with its offset where the schema
/// asks for the `date-time` format.
fn date_time(
    task: Task<'_>,
    param: &Param,
    day: civil::Date,
    time: Option<civil::Time>,
) -> Option<Json> {
    let local = day.to_datetime(time.unwrap_or(civil::Time::midnight()));
    let zoned = local.to_zoned_datetime(task.context.now.time_zone().clone()).ok()?;
    let full = zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    let plain = local.strftime("%Y-%m-%dT%H:%M:%S").to_string();
    if param.format.as_deref() == Some("date-time") {
        accepted(param, [full, plain])
    } else {
        accepted(param, [plain, full])
    }
}

/// The first form that the schema's pattern takes. A pattern that this crate's
/// syntax does not know decides nothing: the server checks anyway.
pub(super) fn accepted(param: &Param, forms: impl IntoIterator<Item = String>) -> Option<Json> {
    let pattern = param
        .pattern
        .as_deref()
        .and_then(|pattern| RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build().ok());
    forms
        .into_iter()
        .find(|form| pattern.as_ref().is_none_or(|p| p.is_match(form)))
        .map(Json::String)
}
