//! The built-in server `time`: the current time anywhere, and conversion between zones.
//!
//! The core is pure: [`Clock`] and the default zone are arguments, and the zone data is the IANA
//! database compiled into the program, so that results do not depend on what a machine has
//! installed. [`Time`] holds both and answers the two tools.

mod answer;
mod city;
mod convert;
mod error;
mod parse;
mod server;
mod zone;

#[cfg(test)]
mod tests;

pub use answer::{Conversion, CurrentTime, Moment};
pub use error::TimeError;
pub use server::server;

use jiff::{Timestamp, tz::TimeZone};
use zone::Zones;

/// Tells what time it is.
///
/// [`SystemClock`] is the one for production; a [`Timestamp`] is a clock that stands still.
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> Timestamp;
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

impl Clock for Timestamp {
    fn now(&self) -> Timestamp {
        *self
    }
}

/// What the server `time` knows: a clock, the zones, and the zone meant when none is named.
pub struct Time {
    clock: Box<dyn Clock>,
    zones: Zones,
    home: TimeZone,
}

impl Time {
    /// A server core that reads `clock` and answers in UTC unless a zone is named.
    pub fn new(clock: impl Clock + 'static) -> Self {
        Self { clock: Box::new(clock), zones: Zones::new(), home: TimeZone::UTC }
    }

    /// Answers in `zone` when a request names none. The zone may be spelled in every way that the
    /// tools accept.
    ///
    /// # Errors
    ///
    /// The same as [`Time::current_time`] has for a zone.
    pub fn with_home(mut self, zone: &str) -> Result<Self, TimeError> {
        self.home = self.zones.resolve(zone)?;
        Ok(self)
    }

    /// Answers in the zone of the machine when a request names none.
    ///
    /// This reads the machine's settings (`TZ`, `/etc/localtime`); where they name no zone the
    /// answer stays in UTC.
    #[must_use]
    pub fn with_system_home(mut self) -> Self {
        if let Ok(zone) = TimeZone::try_system()
            && !zone.is_unknown()
        {
            self.home = zone;
        }
        self
    }

    /// The current time in `timezone`, or in the home zone.
    ///
    /// # Errors
    ///
    /// [`TimeError::UnknownZone`] or [`TimeError::AmbiguousZone`], with the names that were
    /// probably meant.
    pub fn current_time(&self, timezone: Option<&str>) -> Result<CurrentTime, TimeError> {
        let zone = self.zone(timezone)?;
        Ok(CurrentTime::new(self.clock.now().to_zoned_datetime(zone)))
    }

    /// What clocks in `target` show when those in `source` show `time`, on `date` or else on
    /// today's date in `source`. A zone that is absent or empty is the home zone.
    ///
    /// A time that daylight saving skips is read as if the clocks had not been moved; of a time
    /// that comes twice the first is taken. [`Conversion::notes`] says so.
    ///
    /// # Errors
    ///
    /// As [`Time::current_time`]; [`TimeError::Time`] and [`TimeError::Date`] for text that is
    /// no time or date; [`TimeError::OutOfRange`] beyond the years that the calendar covers.
    pub fn convert_time(
        &self,
        time: &str,
        source: Option<&str>,
        target: Option<&str>,
        date: Option<&str>,
    ) -> Result<Conversion, TimeError> {
        let (source, target) = (self.zone(source)?, self.zone(target)?);
        let (inner_date, time) = parse::time(time)?;
        let date = match date.map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) => parse::date(text)?,
            None => inner_date
                .unwrap_or_else(|| self.clock.now().to_zoned_datetime(source.clone()).date()),
        };
        convert::convert(date.to_datetime(time), source, target)
    }

    /// The zone that `name` stands for; the home zone for none.
    fn zone(&self, name: Option<&str>) -> Result<TimeZone, TimeError> {
        match name.map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) => self.zones.resolve(text),
            None => Ok(self.home.clone()),
        }
    }
}

impl std::fmt::Debug for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Time").field("home", &self.home).finish_non_exhaustive()
    }
}
