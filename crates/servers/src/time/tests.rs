use super::*;

fn at(instant: &str) -> Time {
    let now: Timestamp = instant.parse().unwrap();
    Time::new(now)
}

fn convert(time: &str, source: &str, target: &str, date: &str) -> Conversion {
    at("2026-01-15T12:00:00Z").convert_time(time, Some(source), Some(target), Some(date)).unwrap()
}

#[test]
fn the_current_time_is_the_clocks() {
    let time = at("2026-07-01T22:30:15Z");
    let tokyo = time.current_time(Some("Asia/Tokyo")).unwrap();
    assert_eq!(tokyo.now.datetime, "2026-07-02T07:30:15+09:00");
    assert_eq!(tokyo.now.day_of_week, "Thursday");
    assert!(!tokyo.now.is_dst);
    assert_eq!(tokyo.unix_time, 1_782_945_015);
    assert_eq!(tokyo.to_string(), "It is 2026-07-02 07:30:15 (Thursday) in Asia/Tokyo, UTC+09:00.");
    let home = time.current_time(None).unwrap();
    assert_eq!(home.now.timezone, "UTC");
    assert_eq!(home.now.datetime, "2026-07-01T22:30:15+00:00");
    assert_eq!(time.current_time(Some("  ")).unwrap(), home);
}

#[test]
fn the_home_zone_answers_where_none_is_named() {
    let time = at("2026-07-01T22:30:15Z").with_home("europe/paris").unwrap();
    assert_eq!(time.current_time(None).unwrap().now.timezone, "Europe/Paris");
    let there = time.convert_time("09:00", None, Some("Tokyo"), None).unwrap();
    // It is the 2nd of July in Paris already.
    assert_eq!(there.source.datetime, "2026-07-02T09:00:00+02:00");
    assert_eq!(there.target.datetime, "2026-07-02T16:00:00+09:00");
    assert!(matches!(
        at("2026-07-01T22:30:15Z").with_home("Nowhere/Land"),
        Err(TimeError::UnknownZone { .. })
    ));
}

#[test]
fn zones_are_found_in_every_spelling() {
    let time = at("2026-01-15T12:00:00Z");
    for (given, name, offset) in [
        ("europe/PARIS", "Europe/Paris", "+01:00"),
        ("America/New York", "America/New_York", "-05:00"),
        ("tokyo", "Asia/Tokyo", "+09:00"),
        ("Tokyo, Japan", "Asia/Tokyo", "+09:00"),
        ("New York", "America/New_York", "-05:00"),
        ("são paulo", "America/Sao_Paulo", "-03:00"),
        ("Kathmandu", "Asia/Kathmandu", "+05:45"),
        ("San Francisco", "America/Los_Angeles", "-08:00"),
        ("Louisville", "America/Kentucky/Louisville", "-05:00"),
        ("utc", "UTC", "+00:00"),
        ("Z", "UTC", "+00:00"),
        ("+02:00", "+02:00", "+02:00"),
        ("-0530", "-05:30", "-05:30"),
        ("\u{2212}3", "-03:00", "-03:00"),
        ("UTC+2", "+02:00", "+02:00"),
        ("gmt -3:30", "-03:30", "-03:30"),
        ("Etc/GMT+5", "Etc/GMT+5", "-05:00"),
    ] {
        let now = time.current_time(Some(given)).unwrap_or_else(|e| panic!("{given}: {e}")).now;
        assert_eq!((now.timezone.as_str(), now.utc_offset.as_str()), (name, offset), "{given}");
    }
}

#[test]
fn every_bundled_zone_resolves_to_itself() {
    let zones = Zones::new();
    let mut seen = 0;
    for name in jiff::tz::TimeZoneDatabase::bundled().available() {
        let found = zones.resolve(&name.as_str().to_uppercase()).unwrap();
        assert!(
            found
                .iana_name()
                .is_some_and(|n| n.eq_ignore_ascii_case(name.as_str()) || (n == "UTC")),
            "{}",
            name.as_str()
        );
        seen += 1;
    }
    assert!(seen > 500, "only {seen} zones are compiled in");
}

#[test]
fn the_tables_name_zones_that_exist() {
    let zones = Zones::new();
    for (city, zone) in city::CITIES {
        let found = zones.resolve(city).unwrap_or_else(|e| panic!("{city}: {e}"));
        let meant = zones.resolve(zone).unwrap();
        assert_eq!(found.primary_iana_name(), meant.primary_iana_name(), "{city}");
    }
    for (_, near) in city::ABBREVIATIONS {
        for zone in *near {
            zones.resolve(zone).unwrap();
        }
    }
}

#[test]
fn what_is_unclear_is_asked_about() {
    let time = at("2026-01-15T12:00:00Z");
    let unknown = |given: &str| match time.current_time(Some(given)) {
        Err(TimeError::UnknownZone { near, .. }) => near,
        other => panic!("{given}: {other:?}"),
    };
    assert_eq!(unknown("Europe/Pariss")[0], "Europe/Paris");
    assert_eq!(unknown("tokio")[0], "Asia/Tokyo");
    assert_eq!(unknown("IST"), ["Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem"]);
    assert!(unknown("zzzzzzzz").is_empty());
    for odd in ["+25:00", "+2:5", "+", "++2", "UTC+", "-", "a\u{0}b", "../../etc/passwd"] {
        unknown(odd);
    }
    let long = time.current_time(Some(&"x".repeat(100_000))).unwrap_err();
    assert!(long.to_string().len() < 400, "{long}");
    match time.current_time(Some("Eastern")) {
        Err(TimeError::AmbiguousZone { candidates, .. }) => {
            assert_eq!(candidates, ["America/New_York", "America/Toronto"]);
        }
        other => panic!("{other:?}"),
    }
    let text = time.current_time(Some("Edinburg")).unwrap_err().to_string();
    assert!(text.contains("did you mean Europe/London?"), "{text}");
}

#[test]
fn times_are_read_as_people_write_them() {
    for (given, shown) in [
        ("09:00", "09:00:00"),
        ("9:05", "09:05:00"),
        ("23:59:58", "23:59:58"),
        ("9am", "09:00:00"),
        ("12am", "00:00:00"),
        ("12 PM", "12:00:00"),
        ("9:30 p.m.", "21:30:00"),
        ("noon", "12:00:00"),
        ("Midnight", "00:00:00"),
    ] {
        let got = convert(given, "UTC", "UTC", "2026-01-15");
        assert_eq!(got.source.datetime, format!("2026-01-15T{shown}+00:00"), "{given}");
    }
    let time = at("2026-01-15T12:00:00Z");
    for wrong in ["24:00", "9", "13pm", "0am", "9:5", "-1:00", "１２:00", "", "9:00:00:00", "+9:00"]
    {
        let error = time.convert_time(wrong, None, None, None).unwrap_err();
        assert!(matches!(error, TimeError::Time { .. }), "{wrong}: {error}");
    }
    for wrong in ["2026-02-30", "26-01-01", "2026-1", "tomorrow", "2026-01-01-01", "20260101"] {
        let error = time.convert_time("09:00", None, None, Some(wrong)).unwrap_err();
        assert!(matches!(error, TimeError::Date { .. }), "{wrong}: {error}");
    }
}

#[test]
fn a_date_may_stand_before_the_time() {
    let time = at("2026-01-15T12:00:00Z");
    let got = time.convert_time("2026-07-01T09:00", Some("Paris"), Some("Tokyo"), None).unwrap();
    assert_eq!(got.target.datetime, "2026-07-01T16:00:00+09:00");
    let both = time
        .convert_time("2026-07-01 09:00", Some("Paris"), Some("Tokyo"), Some("2026-01-02"))
        .unwrap();
    assert_eq!(both.source.datetime, "2026-01-02T09:00:00+01:00");
}

#[test]
fn conversions_tell_difference_and_day() {
    let tokyo = convert("09:00", "Europe/Paris", "Tokyo", "2026-07-01");
    assert_eq!(tokyo.time_difference, "+7.0h");
    assert_eq!(tokyo.day_change, 0);
    assert!(tokyo.source.is_dst && !tokyo.target.is_dst);
    assert!(tokyo.notes.is_empty());
    assert_eq!(
        tokyo.to_string(),
        "2026-07-01 09:00:00 (Wednesday) in Europe/Paris, UTC+02:00, daylight saving time is \
         2026-07-01 16:00:00 (Wednesday) in Asia/Tokyo, UTC+09:00 (+7.0h)."
    );
    let nepal = convert("20:00", "UTC", "Asia/Kathmandu", "2026-07-01");
    assert_eq!((nepal.time_difference.as_str(), nepal.day_change), ("+5:45", 1));
    assert!(nepal.to_string().contains("the next day"), "{nepal}");
    let back = convert("01:00", "Asia/Kathmandu", "UTC", "2026-07-01");
    assert_eq!((back.time_difference.as_str(), back.day_change), ("-5:45", -1));
    let line = convert("12:00", "Pacific/Kiritimati", "Pacific/Pago_Pago", "2026-07-01");
    assert_eq!((line.time_difference.as_str(), line.day_change), ("-25.0h", -1));
    let far = convert("00:30", "Pacific/Kiritimati", "Pacific/Pago_Pago", "2026-07-01");
    assert_eq!(far.day_change, -2);
    assert!(far.to_string().contains("-2 days"), "{far}");
}

#[test]
fn skipped_and_repeated_times_are_explained() {
    let gap = convert("02:30", "Europe/Paris", "UTC", "2026-03-29");
    assert_eq!(gap.source.datetime, "2026-03-29T03:30:00+02:00");
    assert_eq!(gap.target.datetime, "2026-03-29T01:30:00+00:00");
    assert!(gap.notes[0].contains("02:30 does not exist on 2026-03-29"), "{:?}", gap.notes);

    let fold = convert("01:30", "America/New_York", "UTC", "2026-11-01");
    assert_eq!(fold.source.datetime, "2026-11-01T01:30:00-04:00");
    assert_eq!(fold.target.datetime, "2026-11-01T05:30:00+00:00");
    assert!(fold.notes[0].contains("comes twice"), "{:?}", fold.notes);
    assert!(fold.notes[0].contains("2026-11-01 06:30 in UTC"), "{:?}", fold.notes);

    // Half an hour, and a whole day that one side of the date line never had.
    let half = convert("02:15", "Australia/Lord_Howe", "UTC", "2026-10-04");
    assert_eq!(half.source.datetime, "2026-10-04T02:45:00+11:00");
    let day = convert("12:00", "Pacific/Apia", "UTC", "2011-12-30");
    assert_eq!(day.source.datetime, "2011-12-31T12:00:00+14:00");
}

#[test]
fn the_ends_of_the_calendar_are_errors() {
    let time = at("2026-01-15T12:00:00Z");
    let end = time.convert_time("23:59", Some("-12:00"), Some("UTC"), Some("9999-12-31"));
    assert!(matches!(end, Err(TimeError::OutOfRange { .. })), "{end:?}");
    let start = convert("00:00", "Europe/Paris", "UTC", "0001-01-01");
    assert_eq!(start.source.utc_offset, "+00:09:21");
}

#[test]
fn answers_are_the_documented_json() {
    let got = convert("09:00", "Europe/Paris", "Tokyo", "2026-07-01");
    let json = serde_json::to_value(&got).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "source": {"timezone": "Europe/Paris", "datetime": "2026-07-01T09:00:00+02:00",
                "day_of_week": "Wednesday", "is_dst": true, "utc_offset": "+02:00"},
            "target": {"timezone": "Asia/Tokyo", "datetime": "2026-07-01T16:00:00+09:00",
                "day_of_week": "Wednesday", "is_dst": false, "utc_offset": "+09:00"},
            "time_difference": "+7.0h",
            "day_change": 0,
        })
    );
}
