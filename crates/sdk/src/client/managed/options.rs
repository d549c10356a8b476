//! How a managed connection behaves.

use super::connector::EraStore;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How a managed connection behaves.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ManagedOptions {
    /// When it tries again after a failure.
    pub backoff: Backoff,
    /// Closes the connection when no call has been in flight for so long; its
    /// next use opens another one. Default: never.
    pub idle_timeout: Option<Duration>,
    /// What is known of the server's era from other runs. Default: nothing.
    pub eras: Option<Arc<dyn EraStore>>,
}

impl fmt::Debug for ManagedOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagedOptions")
            .field("backoff", &self.backoff)
            .field("idle_timeout", &self.idle_timeout)
            .finish_non_exhaustive()
    }
}

/// When a server that failed is tried again: at once after the first failure,
/// then after waits that double.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Backoff {
    /// The first wait. Default 1 s.
    pub first: Duration,
    /// The longest. Default 60 s.
    pub longest: Duration,
    /// A connection that lasted this long counts as a success: what failed before
    /// it is forgotten, and its own end is no failure. Default 30 s.
    pub healthy: Duration,
    /// The jitter: the part of each wait, from 0 to 1, by which chance may
    /// shorten it, so that not all clients of a restarted server come at once.
    /// Default 0.25.
    pub jitter: f64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            longest: Duration::from_secs(60),
            healthy: Duration::from_secs(30),
            jitter: 0.25,
        }
    }
}

impl Backoff {
    /// The wait after this many failures in a row; none after the first one.
    /// `chance` is any number, from 0 to 255.
    pub(super) fn wait(&self, failures: u32, chance: u8) -> Option<Duration> {
        let doublings = failures.checked_sub(2)?.min(30);
        let wait = self.first.saturating_mul(1 << doublings).min(self.longest);
        // Not a number shortens nothing.
        let jitter = if self.jitter.is_nan() { 0.0 } else { self.jitter.clamp(0.0, 1.0) };
        Some(wait.mul_f64(1.0 - jitter * f64::from(chance) / 255.0))
    }
}
