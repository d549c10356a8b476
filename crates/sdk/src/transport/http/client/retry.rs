//! When to try a broken stream again.

use std::time::{Duration, SystemTime};

use http::header::RETRY_AFTER;
use http::{Response, StatusCode};

use carrick_proto::sse;

/// How broken event streams are resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// How often in a row without progress: 0 is never, `None` without end.
    /// Default: 5.
    pub max_retries: Option<u32>,
    /// The delay before the first try where the server asks for none. It
    /// doubles with each further one. Default: 1 s.
    pub base: Duration,
    /// No delay is longer, whatever the server asks for. Default: 30 s.
    pub ceiling: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            max_retries: Some(5),
            base: Duration::from_secs(1),
            ceiling: Duration::from_secs(30),
        }
    }
}

/// No delay that a server asks for is taken as shorter.
const FLOOR: Duration = Duration::from_millis(50);

/// A stream that lived this long had made progress when it broke.
pub(super) const MIN_UPTIME: Duration = Duration::from_secs(10);

impl Retry {
    pub(super) fn limits(&self, max_event_bytes: usize) -> sse::Limits {
        let mut limits = sse::Limits::default();
        limits.max_event_bytes = max_event_bytes;
        limits.retry_floor = FLOOR;
        limits.retry_ceiling = self.ceiling.max(FLOOR);
        limits
    }
}

/// The tries so far of one stream.
#[derive(Debug)]
pub(super) struct Attempts {
    retry: Retry,
    used: u32,
    /// What the server asked for last.
    asked: Option<Duration>,
    /// What it asked for this once, with a status that says "not now".
    not_before: Option<Duration>,
}

impl Attempts {
    pub(super) fn new(retry: Retry) -> Self {
        Self { retry, used: 0, asked: None, not_before: None }
    }

    /// Something new came: the count starts again.
    pub(super) fn progress(&mut self) {
        self.used = 0;
    }

    pub(super) fn server_asks(&mut self, delay: Duration) {
        self.asked = Some(delay);
    }

    /// The server takes nothing before so much time has passed.
    pub(super) fn not_before(&mut self, delay: Duration) {
        self.not_before = Some(delay);
    }

    /// The delay that the server asked for last.
    pub(super) fn asked(&self) -> Option<Duration> {
        self.asked
    }

    /// The delay before the next try, or `None` when there is to be none.
    /// `spread` (0 to 255) is chance: it adds up to a quarter, so that clients
    /// of a restarted server do not all come at once.
    pub(super) fn next(&mut self, spread: u8) -> Option<Duration> {
        if self.retry.max_retries.is_some_and(|max| self.used >= max) {
            return None;
        }
        let doubled =
            self.retry.base.saturating_mul(1u32.checked_shl(self.used).unwrap_or(u32::MAX));
        self.used = self.used.saturating_add(1);
        let grown = doubled.max(self.asked.unwrap_or_default()).min(self.retry.ceiling);
        let not_before = self.not_before.take().unwrap_or_default();
        let delay = match self.asked {
            // A server that asks for a delay is polled at that pace.
            Some(asked) if self.used == 1 => asked,
            _ => grown.saturating_add(grown / 1024 * u32::from(spread)).min(self.retry.ceiling),
        };
        Some(delay.max(not_before))
    }
}

/// A server that says `Retry-After` is not left alone for longer.
const MOST_LATER: Duration = Duration::from_secs(300);

/// Whether the status of an answer to GET says that there may be a stream later.
pub(super) fn is_passing(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
        || (status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED)
}

/// When to come back, if the server says so (`Retry-After`, RFC 9110, 10.2.3): seconds or a date.
pub(super) fn asked_for<B>(response: &Response<B>) -> Option<Duration> {
    let said = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
    later(said, SystemTime::now())
}

fn later(said: &str, now: SystemTime) -> Option<Duration> {
    let delay = if !said.is_empty() && said.bytes().all(|byte| byte.is_ascii_digit()) {
        Duration::from_secs(said.parse().unwrap_or(u64::MAX))
    } else {
        httpdate::parse_http_date(said).ok()?.duration_since(now).unwrap_or_default()
    };
    Some(delay.min(MOST_LATER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d033_the_delay_saturates() {
        let mut attempts = Attempts::new(Retry { max_retries: None, ..Retry::default() });
        let delays: Vec<_> = (0..70).map_while(|_| attempts.next(0)).collect();
        assert_eq!(delays.len(), 70);
        assert_eq!(delays[..3], [1, 2, 4].map(Duration::from_secs));
        assert_eq!(delays[69], Retry::default().ceiling);
        attempts.used = u32::MAX;
        assert_eq!(attempts.next(255), Some(Retry::default().ceiling));
    }

    #[test]
    fn d034_zero_is_never_and_n_is_n() {
        for (max, count) in [(Some(0), 0), (Some(1), 1), (Some(3), 3)] {
            let mut attempts = Attempts::new(Retry { max_retries: max, ..Retry::default() });
            assert_eq!((0..10).map_while(|_| attempts.next(0)).count(), count);
        }
    }

    #[test]
    fn d032_only_progress_resets_the_count() {
        let mut attempts = Attempts::new(Retry { max_retries: Some(2), ..Retry::default() });
        assert!(attempts.next(0).is_some());
        assert!(attempts.next(0).is_some());
        attempts.server_asks(Duration::ZERO);
        assert!(attempts.next(0).is_none());
        attempts.progress();
        assert!(attempts.next(0).is_some());
    }

    #[test]
    fn the_delay_asked_for_is_kept_and_chance_adds_at_most_a_quarter() {
        let mut attempts = Attempts::new(Retry::default());
        attempts.server_asks(Duration::from_millis(500));
        assert_eq!(attempts.next(255), Some(Duration::from_millis(500)));
        let second = attempts.next(255).unwrap();
        assert!(second >= Duration::from_secs(2) && second <= Duration::from_millis(2500));
    }
    #[test]
    fn f29_a_time_to_come_back_is_seconds_or_a_date_and_bounded() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let seconds = |said| later(said, now).map(|delay| delay.as_secs());
        assert_eq!(seconds("20"), Some(20));
        assert_eq!(seconds("0"), Some(0));
        assert_eq!(seconds("99999999999999999999999"), Some(300));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:57 GMT"), Some(20));
        assert_eq!(seconds("Sunday, 06-Nov-94 08:49:57 GMT"), Some(20));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0), "it has passed");
        assert_eq!(seconds("Fri, 31 Dec 9999 23:59:59 GMT"), Some(300));
        for bad in ["", "-1", "1.5", "soon", "20 s"] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }

    #[test]
    fn f29_the_time_to_come_back_holds_once_and_above_the_ceiling() {
        let retry = Retry { ceiling: Duration::from_secs(5), ..Retry::default() };
        let mut attempts = Attempts::new(retry);
        attempts.not_before(Duration::from_secs(20));
        assert_eq!(attempts.next(0), Some(Duration::from_secs(20)));
        assert_eq!(attempts.next(0), Some(Duration::from_secs(2)));
    }

    #[test]
    fn f29_some_statuses_pass_and_some_do_not() {
        for (status, passes) in
            [(429, true), (500, true), (502, true), (503, true), (501, false), (405, false)]
        {
            assert_eq!(is_passing(StatusCode::from_u16(status).unwrap()), passes, "{status}");
        }
    }
}
