//! The tools of the server `time`.

use super::{Conversion, CurrentTime, Time};
use crate::render::Rendered;
use carrick::{Server, State, ToolError, tool, tools};

/// Tells the current date and time, now, in a time zone or city.
///
/// Use it for the time now, here or elsewhere, and for today's date. To work out another time than
/// now, use convert_time.
#[tool(read_only, title = "Current time")]
async fn current_time(
    time: State<Time>,
    /// The time zone or city: an IANA name such as Asia/Tokyo, a large city such as Tokyo, UTC,
    /// or an offset such as +02:00. Left out: the local time zone of the server
    timezone: Option<String>,
) -> Result<Rendered<CurrentTime>, ToolError> {
    Ok(Rendered(time.current_time(timezone.as_deref())?))
}

/// Converts a time of day from one time zone or city to another.
///
/// Use it to learn what time it is in one place when it is a given time in another. Also tells the
/// time difference between the two, and whether daylight saving time is in force.
#[tool(read_only, title = "Convert time between zones")]
async fn convert_time(
    clock: State<Time>,
    /// The time to convert, as HH:MM or HH:MM:SS in 24 hours, or like 9am or 3:30 pm
    time: String,
    /// The time zone or city that the time is in, from which to convert: an IANA name such as
    /// Europe/Paris, a large city such as Paris, UTC, or an offset such as +02:00
    source_timezone: String,
    /// The time zone or city to convert to, in the same forms
    target_timezone: String,
    /// The date on which it is that time in the source, as YYYY-MM-DD. Left out: today
    date: Option<String>,
) -> Result<Rendered<Conversion>, ToolError> {
    let (source, target) = (Some(source_timezone.as_str()), Some(target_timezone.as_str()));
    Ok(Rendered(clock.convert_time(&time, source, target, date.as_deref())?))
}

/// The server `time` on this core.
pub fn server(time: Time) -> Server {
    Server::builder("time", env!("CARGO_PKG_VERSION"))
        .instructions(
            "Tells the current time in any time zone and converts times between zones, with \
             daylight saving time. Zones are IANA names, large cities, UTC or offsets.",
        )
        .state(time)
        .tools(tools![current_time, convert_time])
        .build()
}
