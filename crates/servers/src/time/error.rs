//! What can be wrong with a request about time. All of it is the caller's to mend.

/// A request about time that could not be answered.
///
/// The text is written for a model: it says what was not understood and what to write instead.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// No zone has this name.
    #[error(
        "unknown time zone \"{given}\"{}; use an IANA name such as Europe/Paris, UTC, or an offset such as +02:00",
        did_you_mean(near)
    )]
    UnknownZone {
        /// The name as given, shortened and with control characters escaped.
        given: String,
        /// Names that were probably meant, best first; at most six.
        near: Vec<String>,
    },
    /// Several zones could be meant.
    #[error("\"{given}\" could be any of these time zones: {}; name one of them", candidates.join(", "))]
    AmbiguousZone {
        /// The name as given, shortened and with control characters escaped.
        given: String,
        /// The zones that it could stand for.
        candidates: Vec<String>,
    },
    /// The text is not a time of day.
    #[error(
        "\"{given}\" is not a time of day; write it as HH:MM or HH:MM:SS (24 hours), or like 9am, 9:30 pm, noon, midnight"
    )]
    Time {
        /// The text as given, shortened and with control characters escaped.
        given: String,
    },
    /// The text is not a date.
    #[error("\"{given}\" is not a date; write it as YYYY-MM-DD")]
    Date {
        /// The text as given, shortened and with control characters escaped.
        given: String,
    },
    /// The instant lies beyond the calendar.
    #[error("{given} lies beyond the years that can be converted (-9999 to 9999)")]
    OutOfRange {
        /// The date and time that was to be converted.
        given: String,
    },
}

/// `text` as it is repeated in messages about time.
pub(super) fn quoted(text: &str) -> String {
    crate::text::quoted(text, 60)
}

fn did_you_mean(near: &[String]) -> String {
    match near {
        [] => String::new(),
        [one] => format!(" (did you mean {one}?)"),
        many => format!(" (did you mean one of {}?)", many.join(", ")),
    }
}
