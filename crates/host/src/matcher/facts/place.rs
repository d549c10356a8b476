//! Place names and time zones.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use jiff::tz::TimeZoneDatabase;
use regex::Regex;

use super::super::phrases::{Phrases, data_lines, items};
use super::super::text::{Text, tokenize};
use super::{Fact, Value, constant};

/// `UTC+2`, `GMT-05:30`.
static OFFSET: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"(?-u:\b)(?:UTC|GMT)\s?(?P<sign>[+-])\s?(?P<h>\d{1,2})(?::?(?P<m>[0-5]\d))?(?-u:\b)")
});
/// `America/Argentina/Buenos_Aires`.
static IANA: LazyLock<Regex> =
    LazyLock::new(|| constant(r"(?-u:\b)[A-Z][A-Za-z]+(?:/[A-Z][A-Za-z_+-]*[A-Za-z0-9]*)+"));
/// "when it is nine here", "in my time".
static LOCAL: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)(?-u:\b)(?:my (?:local )?time(?: ?zone)?|our time|local time|here|for me|for us|where i am)(?-u:\b)|我这里|我这边|这边|我们这里|本地时间|当地时间",
    )
});

/// The regions whose names begin the IANA names of cities.
const REGIONS: [&str; 10] = [
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Europe",
    "Indian",
    "Pacific",
];

/// The place names that are known.
#[derive(Debug)]
struct Places {
    entries: Vec<Entry>,
    phrases: Phrases<usize>,
    /// Every IANA name by its lower-case form.
    zones: HashMap<String, String>,
}

#[derive(Debug)]
struct Entry {
    zone: Option<String>,
    form: Form,
}

/// How a name must be written to count as a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Any,
    /// With a capital letter: it is a common word as well.
    Capital,
    /// All capitals: it is an abbreviation.
    Upper,
}

static PLACES: LazyLock<Places> =
    LazyLock::new(|| Places::parse(include_str!("../data/places.txt")));

impl Places {
    fn parse(data: &'static str) -> Self {
        let mut places =
            Self { entries: Vec::new(), phrases: Phrases::new(), zones: HashMap::new() };
        let (mut never, mut capital) = (Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        for line in data_lines(data) {
            let Some((zone, names)) = line.split_once(':') else { continue };
            match zone {
                "never" => never.extend(items(names)),
                "capital" => capital.extend(items(names)),
                _ => {
                    for name in items(names) {
                        places.insert(name, zone, &capital, &mut seen);
                    }
                }
            }
        }
        for zone in TimeZoneDatabase::bundled().available() {
            let zone = zone.as_str();
            places.zones.insert(zone.to_ascii_lowercase(), zone.to_owned());
            let Some((region, rest)) = zone.split_once('/') else { continue };
            let city = rest.rsplit('/').next().unwrap_or(rest).replace('_', " ");
            let known = REGIONS.contains(&region) && !never.contains(&city.to_lowercase().as_str());
            if known {
                places.insert(&city, zone, &capital, &mut seen);
            }
        }
        places
    }

    /// The first line that has a name decides its zone.
    fn insert(&mut self, name: &str, zone: &str, capital: &[&str], seen: &mut HashSet<String>) {
        let key: Vec<String> = tokenize(name).into_iter().map(|t| t.lower).collect();
        let key = key.join(" ");
        if !seen.insert(key.clone()) {
            return;
        }
        let letters = || name.chars().filter(|c| c.is_alphabetic());
        let abbreviation = letters().count() <= 4 && letters().all(|c| c.is_ascii_uppercase());
        let form = if abbreviation {
            Form::Upper
        } else if capital.contains(&key.as_str()) {
            Form::Capital
        } else {
            Form::Any
        };
        let zone = (zone != "-").then(|| zone.to_owned());
        self.phrases.insert(&format!("={name}"), self.entries.len());
        self.entries.push(Entry { zone, form });
    }
}

/// Finds what names a time zone outright.
pub(super) fn zones(text: &Text) -> Vec<Fact> {
    let mut facts = Vec::new();
    for found in OFFSET.captures_iter(&text.normal) {
        let (Some(whole), Some(zone)) = (found.get(0), offset_zone(&found)) else { continue };
        facts.push(Fact::saying(whole.range(), Value::Zone, zone));
    }
    for found in IANA.find_iter(&text.normal) {
        if let Some(zone) = PLACES.zones.get(&found.as_str().to_ascii_lowercase()) {
            facts.push(Fact::saying(found.range(), Value::Zone, zone));
        }
    }
    facts
}

/// The `Etc` names count the other way round: `Etc/GMT-2` is two hours ahead.
fn offset_zone(found: &regex::Captures<'_>) -> Option<String> {
    let sign = found.name("sign")?.as_str();
    let hours: u8 = found.name("h")?.as_str().parse().ok()?;
    let minutes = found.name("m").map_or("00", |m| m.as_str());
    if minutes != "00" {
        return Some(format!("{sign}{hours:02}:{minutes}"));
    }
    match (hours, sign) {
        (0, _) => Some("UTC".to_owned()),
        (1..=14, "+") => Some(format!("Etc/GMT-{hours}")),
        (1..=12, "-") => Some(format!("Etc/GMT+{hours}")),
        _ => None,
    }
}

/// Finds places by name.
pub(super) fn find(text: &Text) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut at = 0;
    while at < text.tokens.len() {
        let Some((span, len, entry)) = place_at(text, at) else {
            at += 1;
            continue;
        };
        let value = Value::Place(entry.zone.as_deref());
        facts.push(Fact::new(text, span, value));
        at += len;
    }
    facts
}

/// Finds words for the place one is in. "Here" may also be a folder.
pub(super) fn local(text: &Text) -> Vec<Fact> {
    LOCAL.find_iter(&text.normal).map(|m| Fact::new(text, m.range(), Value::LocalZone)).collect()
}

fn place_at(text: &Text, at: usize) -> Option<(Range<usize>, usize, &'static Entry)> {
    let found = PLACES.phrases.at(&text.tokens, at)?;
    let entry = PLACES.entries.get(*found.means.first()?)?;
    let first = text.tokens.get(at)?;
    let last = text.tokens.get(at + found.len - 1)?;
    let mut span = first.span.start..last.span.end;
    let written = text.normal.get(span.clone())?;
    let fits = match entry.form {
        Form::Any => true,
        Form::Capital => first.capital,
        Form::Upper => !written.chars().any(char::is_lowercase),
    };
    // "北京市" is the whole name of the city of 北京.
    let mut len = found.len;
    if let Some(next) = text.tokens.get(at + len).filter(|t| t.lower == "市") {
        span.end = next.span.end;
        len += 1;
    }
    fits.then_some((span, len, entry))
}
