//! Calls that wait for their clients to come back.

use alloc::collections::{BTreeMap, BTreeSet};
use core::fmt;
use core::time::Duration;

/// Names a parked call. Whoever holds it may go on with the call, so it is made
/// of randomness and travels sealed.
pub type Token = [u8; 16];

/// Bounds on the calls that are parked at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParkLimits {
    /// How many. Default 1,024.
    pub count: usize,
    /// The memory that they take, in bytes. Default 64 MiB.
    pub bytes: usize,
    /// How long each may wait for its client. Default 10 min.
    pub lifetime: Duration,
}

impl Default for ParkLimits {
    fn default() -> Self {
        Self { count: 1024, bytes: 64 << 20, lifetime: Duration::from_secs(600) }
    }
}

/// Why a call cannot be parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Full {
    /// This many are parked already.
    Count(usize),
    /// Those that are parked take all but too little of this many bytes.
    Bytes(usize),
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(most) => write!(f, "{most} calls wait for input already"),
            Self::Bytes(most) => {
                write!(f, "the calls that wait for input take all of {most} bytes")
            }
        }
    }
}

impl core::error::Error for Full {}

/// The calls that are parked. None outlives its time, and all together stay
/// within bounds.
#[derive(Debug)]
pub struct Parked<T> {
    limits: ParkLimits,
    calls: BTreeMap<Token, Entry<T>>,
    due: BTreeSet<(Duration, Token)>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry<T> {
    until: Duration,
    bytes: usize,
    call: T,
}

impl<T> Parked<T> {
    /// None yet.
    pub fn new(limits: ParkLimits) -> Self {
        Self { limits, calls: BTreeMap::new(), due: BTreeSet::new(), bytes: 0 }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The memory that they take, as far as they said.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Parks a call that takes `bytes` of memory.
    ///
    /// # Errors
    /// When a bound is reached; the call comes back with it.
    pub fn park(
        &mut self,
        now: Duration,
        token: Token,
        bytes: usize,
        call: T,
    ) -> Result<(), (Full, T)> {
        if self.calls.len() >= self.limits.count {
            return Err((Full::Count(self.limits.count), call));
        }
        if bytes > self.limits.bytes.saturating_sub(self.bytes) {
            return Err((Full::Bytes(self.limits.bytes), call));
        }
        self.take(&token);
        let until = now.saturating_add(self.limits.lifetime);
        self.bytes += bytes;
        self.due.insert((until, token));
        self.calls.insert(token, Entry { until, bytes, call });
        Ok(())
    }

    /// Takes a call out: its client has come back, or it is given up. None when
    /// there is none, be it that its time is over or that it runs again already.
    pub fn take(&mut self, token: &Token) -> Option<T> {
        let entry = self.calls.remove(token)?;
        self.bytes -= entry.bytes;
        self.due.remove(&(entry.until, *token));
        Some(entry.call)
    }

    /// A parked call takes `more` bytes from now on: something came for it. It
    /// is taken out when that is too much.
    ///
    /// # Errors
    /// With the call that was taken out.
    pub fn grow(&mut self, token: &Token, more: usize) -> Result<(), (Full, T)> {
        let fits = more <= self.limits.bytes.saturating_sub(self.bytes);
        match self.calls.get_mut(token) {
            Some(entry) if fits => {
                entry.bytes += more;
                self.bytes += more;
                Ok(())
            }
            Some(_) => {
                let full = Full::Bytes(self.limits.bytes);
                self.take(token).map_or(Ok(()), |call| Err((full, call)))
            }
            None => Ok(()),
        }
    }

    /// The next call whose time is over.
    pub fn expired(&mut self, now: Duration) -> Option<T> {
        let (until, token) = *self.due.first()?;
        (until <= now).then(|| self.take(&token)).flatten()
    }

    /// Takes out the call that has been parked longest of those that this is true
    /// of.
    pub fn take_first(&mut self, which: impl Fn(&T) -> bool) -> Option<T> {
        let is_it = |token: &Token| self.calls.get(token).is_some_and(|entry| which(&entry.call));
        let (_, token) = *self.due.iter().find(|(_, token)| is_it(token))?;
        self.take(&token)
    }

    /// When [`Parked::expired`] is next worth asking.
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.due.first().map(|(until, _)| *until)
    }

    /// Takes all of them out.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.due.clear();
        self.bytes = 0;
        core::mem::take(&mut self.calls).into_values().map(|entry| entry.call)
    }
}
