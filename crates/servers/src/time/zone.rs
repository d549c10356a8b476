//! From a name that somebody wrote to a time zone.

use super::{
    city::{ABBREVIATIONS, CITIES},
    error::{TimeError, quoted},
    parse::number,
};
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use std::collections::BTreeSet;

/// Longer names are not looked up.
const LONGEST: usize = 80;
/// How many near matches an error lists.
const NEAR: usize = 6;

/// The zones of the IANA database that is compiled in.
pub(super) struct Zones {
    database: TimeZoneDatabase,
    names: Vec<Name>,
}

/// One name of the database, and what it is compared by.
struct Name {
    full: String,
    /// The last part in lower case with spaces: `new york`.
    city: String,
}

impl Zones {
    pub(super) fn new() -> Self {
        let database = TimeZoneDatabase::bundled();
        let mut names: Vec<Name> = database
            .available()
            .map(|name| {
                let full = name.as_str().to_owned();
                let city = plain(full.rsplit('/').next().unwrap_or(&full));
                Name { full, city }
            })
            .collect();
        names.sort_by(|a, b| a.full.cmp(&b.full));
        Self { database, names }
    }

    /// Reads an IANA name in any case, `UTC`, an offset, or the name of a city that only one zone
    /// has.
    pub(super) fn resolve(&self, given: &str) -> Result<TimeZone, TimeError> {
        let text = given.trim();
        if text.is_empty() || text.len() > LONGEST {
            return Err(TimeError::UnknownZone { given: quoted(given), near: Vec::new() });
        }
        if matches!(text, "Z" | "z") || text.eq_ignore_ascii_case("utc") {
            return Ok(TimeZone::UTC);
        }
        if let Some(offset) = offset(text) {
            return Ok(offset.to_time_zone());
        }
        for spelling in [text.to_owned(), text.replace(' ', "_")] {
            if let Ok(zone) = self.database.get(&spelling) {
                return Ok(zone);
            }
        }
        self.city(text)
    }

    /// The one zone whose city is `text`.
    fn city(&self, text: &str) -> Result<TimeZone, TimeError> {
        let wanted = plain(text.split(',').next().unwrap_or(text));
        let listed = CITIES.iter().filter(|(city, _)| *city == wanted).map(|(_, zone)| *zone);
        let named = self.names.iter().filter(|name| name.city == wanted).map(|n| n.full.as_str());
        let found: BTreeSet<String> =
            listed.chain(named).filter_map(|name| self.primary(name)).collect();
        let mut found = found.into_iter();
        match (found.next(), found.next()) {
            (Some(only), None) => match self.database.get(&only) {
                Ok(zone) => Ok(zone),
                Err(_) => Err(self.unknown(text, &wanted)),
            },
            (Some(first), Some(second)) => Err(TimeError::AmbiguousZone {
                given: quoted(text),
                candidates: [first, second].into_iter().chain(found).collect(),
            }),
            (None, _) => Err(self.unknown(text, &wanted)),
        }
    }

    /// The name under which a zone and its aliases are one.
    fn primary(&self, name: &str) -> Option<String> {
        let zone = self.database.get(name).ok()?;
        zone.primary_iana_name().or(zone.iana_name()).map(str::to_owned)
    }

    fn unknown(&self, given: &str, wanted: &str) -> TimeError {
        let mut near: Vec<String> = ABBREVIATIONS
            .iter()
            .filter(|(short, _)| *short == wanted)
            .flat_map(|(_, zones)| zones.iter().map(|zone| (*zone).to_owned()))
            .collect();
        if near.is_empty() {
            near = self.near(given, wanted);
        }
        TimeError::UnknownZone { given: quoted(given), near }
    }

    /// Names that look like `wanted`, nearest first.
    fn near(&self, given: &str, wanted: &str) -> Vec<String> {
        let full = plain(given);
        let reach = wanted.chars().count() / 3;
        let mut scored: Vec<(usize, &str)> = self
            .names
            .iter()
            .filter(|name| !name.full.starts_with("Etc/"))
            .filter_map(|name| {
                let by_city = distance(wanted, &name.city);
                let best = by_city.min(distance(&full, &plain(&name.full)));
                let contained = wanted.len() >= 3 && name.city.contains(wanted);
                (best <= reach || contained).then_some((best.min(reach), name.full.as_str()))
            })
            .chain(CITIES.iter().filter_map(|(city, zone)| {
                let away = distance(wanted, city);
                (away <= reach).then_some((away, *zone))
            }))
            .collect();
        scored.sort_unstable();
        let mut near: Vec<String> = Vec::new();
        for (_, name) in scored {
            let name = self.primary(name).unwrap_or_else(|| name.to_owned());
            if !near.contains(&name) {
                near.push(name);
            }
        }
        near.truncate(NEAR);
        near
    }
}

/// The form in which names are compared.
fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace(['_', '-'], " ")
}

/// An offset: `+02:00`, `-0530`, `+2`, each also after `UTC` or `GMT`. `GMT+2` is read as people
/// mean it, two hours ahead; only the names under `Etc/` count the other way round.
fn offset(text: &str) -> Option<Offset> {
    let rest = match text.get(..3) {
        Some(start) if start.eq_ignore_ascii_case("utc") || start.eq_ignore_ascii_case("gmt") => {
            text.get(3..)?.trim_start()
        }
        _ => text,
    };
    let (sign, digits) = match rest.chars().next()? {
        '+' => (1, &rest[1..]),
        '-' => (-1, &rest[1..]),
        '\u{2212}' => (-1, &rest['\u{2212}'.len_utf8()..]),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) if minutes.len() == 2 => (hours, minutes),
        Some(_) => return None,
        None if digits.len() == 4 && digits.is_ascii() => digits.split_at(2),
        None => (digits, "0"),
    };
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    // No clock was ever set further from UTC than this.
    if minutes > 59 || hours * 60 + minutes > 18 * 60 {
        return None;
    }
    Offset::from_seconds(sign * (i32::from(hours) * 3600 + i32::from(minutes) * 60)).ok()
}

/// How many characters have to be added, removed or replaced to get from `a` to `b`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
