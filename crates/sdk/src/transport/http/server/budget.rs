//! The memory that large messages may take, of all clients together.
//!
//! A client may have many connections, and each of them a large request on its way in, one that
//! runs, and an answer that it does not read. Bounds on each of those say little about the whole.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::task::AtomicWaker;

use tokio::runtime::Handle;

use crate::tally::Tally;

use super::release::release;

/// Messages below this are not counted: of those there are no more than connections and calls.
pub(super) const COUNTED: usize = 64 << 10;

/// So many bytes leave enough behind for the system to have them back.
const WORTH: usize = 64 << 20;

/// How many bytes there are, and who does not take those that are meant for it.
#[derive(Debug)]
pub(super) struct Budget {
    max: usize,
    held: AtomicUsize,
    /// The most that there were since there were none.
    peak: AtomicUsize,
    stalled: Mutex<Stalled>,
    /// Connections that were cut.
    pub(super) cut: Tally,
}

/// Connections that take nothing, the one that has done so for longest first.
#[derive(Debug, Default)]
struct Stalled {
    next: u64,
    waiting: BTreeMap<u64, Arc<Stall>>,
}

impl Budget {
    pub(super) fn new(max: usize) -> Arc<Self> {
        let (held, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (stalled, cut) = (Mutex::default(), Tally::default());
        Arc::new(Self { max, held, peak, stalled, cut })
    }

    /// All of it, for who has no session.
    pub(super) fn whole(self: &Arc<Self>) -> Purse {
        Purse { budget: Arc::clone(self), session: None }
    }

    /// What one session may take of it: at most `max` bytes.
    pub(super) fn part(self: &Arc<Self>, max: usize) -> Purse {
        let session = Arc::new(Part { max, held: AtomicUsize::new(0) });
        Purse { budget: Arc::clone(self), session: Some(session) }
    }

    /// Whether nothing more should be begun.
    fn is_full(&self) -> bool {
        self.held.load(Ordering::Relaxed) >= self.max
    }

    /// Counts an answer for as long as anybody has it. When there are too many, the connection
    /// is cut that has taken nothing for longest.
    pub(super) fn keep(self: &Arc<Self>, answer: Vec<u8>) -> Bytes {
        self.whole().keep(answer)
    }

    fn add(&self, bytes: usize) {
        let held = self.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if bytes > 0 {
            self.peak.fetch_max(held, Ordering::Relaxed);
        }
    }

    /// Takes bytes back; true when they were the last of very many.
    fn subtract(&self, bytes: usize) -> bool {
        let before = self.held.fetch_sub(bytes, Ordering::Relaxed);
        bytes > 0 && before == bytes && self.peak.swap(0, Ordering::Relaxed) >= WORTH
    }

    fn cut_slowest(&self) {
        if let Some((_, slowest)) = self.stalled().waiting.pop_first() {
            slowest.cut.store(true, Ordering::Release);
            slowest.waker.wake();
        }
    }

    /// Notes that a connection takes nothing.
    pub(super) fn stall(self: &Arc<Self>) -> Stalling {
        let stall = Arc::new(Stall::default());
        let mut stalled = self.stalled();
        let place = stalled.next;
        stalled.next += 1;
        stalled.waiting.insert(place, Arc::clone(&stall));
        Stalling { budget: Arc::clone(self), place, stall }
    }

    fn stalled(&self) -> MutexGuard<'_, Stalled> {
        // Nothing that holds the lock can leave the list half changed.
        self.stalled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a conversation takes its bytes from: the budget of all, and if it is a session's, also the
/// part of it that one session may have.
#[derive(Clone, Debug)]
pub(super) struct Purse {
    budget: Arc<Budget>,
    session: Option<Arc<Part>>,
}

#[derive(Debug)]
struct Part {
    max: usize,
    held: AtomicUsize,
}

/// Which bound leaves no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// So many bytes of one session.
    Session(usize),
    /// So many bytes of all clients.
    All(usize),
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(max) => write!(
                f,
                "{max} bytes of requests and answers of this session wait already, as many as one \
                 session may have (max_session_bytes)"
            ),
            Self::All(max) => write!(
                f,
                "{max} bytes of requests and answers wait already, as many as may (max_held_bytes)"
            ),
        }
    }
}

impl Purse {
    /// Why nothing more should be begun, if so.
    pub(super) fn full(&self) -> Option<Full> {
        self.beyond(1)
    }

    /// Why even what is there already should not be kept, if so.
    pub(super) fn far_exceeded(&self) -> Option<Full> {
        self.beyond(2)
    }

    /// The bound of which there is so many times as much, the session's own first.
    fn beyond(&self, times: usize) -> Option<Full> {
        let is = |held: &AtomicUsize, max| held.load(Ordering::Relaxed) / times >= max;
        if let Some(part) = self.session.as_deref().filter(|part| is(&part.held, part.max)) {
            return Some(Full::Session(part.max));
        }
        is(&self.budget.held, self.budget.max).then_some(Full::All(self.budget.max))
    }

    /// As [`Budget::keep`].
    pub(super) fn keep(&self, answer: Vec<u8>) -> Bytes {
        if answer.len() < COUNTED {
            return Bytes::from(answer);
        }
        let mut share = self.share();
        share.add(answer.len());
        if self.budget.is_full() {
            self.budget.cut_slowest();
        }
        Bytes::from_owner(Counted { bytes: answer, _share: share })
    }

    /// A share of nothing, which can grow.
    pub(super) fn share(&self) -> Share {
        Share { purse: self.clone(), bytes: 0 }
    }
}

/// Some of the bytes, given back when this is dropped.
#[derive(Debug)]
pub(super) struct Share {
    purse: Purse,
    bytes: usize,
}

impl Share {
    /// Makes it one of so many bytes, if there is room for them.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        let more = bytes.saturating_sub(self.bytes);
        match self.purse.full().filter(|_| more > 0) {
            Some(full) => Err(full),
            None => {
                self.add(more);
                Ok(())
            }
        }
    }

    fn add(&mut self, more: usize) {
        self.purse.budget.add(more);
        if let Some(part) = &self.purse.session {
            part.held.fetch_add(more, Ordering::Relaxed);
        }
        self.bytes += more;
    }

    /// Counts these bytes for as long as anybody has them.
    pub(super) fn of(self, bytes: Bytes) -> Bytes {
        if self.bytes == 0 { bytes } else { Bytes::from_owner(Counted { bytes, _share: self }) }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some(part) = &self.purse.session {
            part.held.fetch_sub(self.bytes, Ordering::Relaxed);
        }
        // Nobody can give back memory where no runtime is left, and nobody needs it.
        if self.purse.budget.subtract(self.bytes)
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn_blocking(release);
        }
    }
}

struct Counted<T> {
    bytes: T,
    _share: Share,
}

impl<T: AsRef<[u8]>> AsRef<[u8]> for Counted<T> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

#[derive(Debug, Default)]
struct Stall {
    cut: AtomicBool,
    waker: AtomicWaker,
}

/// A connection that takes nothing, until this is dropped.
#[derive(Debug)]
pub(super) struct Stalling {
    budget: Arc<Budget>,
    place: u64,
    stall: Arc<Stall>,
}

impl Stalling {
    /// Whether it is to be cut; otherwise this task is woken when it is.
    pub(super) fn is_cut(&self, cx: &std::task::Context<'_>) -> bool {
        self.stall.waker.register(cx.waker());
        self.stall.cut.load(Ordering::Acquire)
    }
}

impl Drop for Stalling {
    fn drop(&mut self) {
        self.budget.stalled().waiting.remove(&self.place);
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    const LARGE: usize = COUNTED * 2;

    #[test]
    fn f23_large_messages_count_for_as_long_as_somebody_has_them() {
        let budget = Budget::new(LARGE * 2);
        let small = budget.keep(vec![0; COUNTED - 1]);
        let one = budget.keep(vec![0; LARGE]);
        assert!(!budget.is_full() && small.len() + one.len() > LARGE);
        let part = one.slice(5..6);
        let two = budget.keep(vec![0; LARGE]);
        assert!(budget.is_full());
        drop(one);
        assert!(budget.is_full(), "a part of it is there");
        drop(part);
        assert!(!budget.is_full());
        let mut share = budget.whole().share();
        assert_eq!(share.grow(LARGE), Ok(()));
        assert_eq!(share.grow(LARGE + 1), Err(Full::All(LARGE * 2)));
        assert_eq!(share.grow(10), Ok(()));
        let request = share.of(Bytes::from(vec![0; LARGE]));
        assert!(budget.is_full());
        drop((two, request));
        assert_eq!(budget.held.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn f21_a_session_has_a_part_of_what_there_is() {
        let budget = Budget::new(LARGE * 4);
        let (one, other) = (budget.part(LARGE), budget.part(LARGE));
        let answer = one.keep(vec![0; LARGE]);
        assert_eq!((one.full(), one.far_exceeded()), (Some(Full::Session(LARGE)), None));
        assert_eq!(one.share().grow(1), Err(Full::Session(LARGE)));
        assert_eq!((other.full(), budget.whole().full()), (None, None));
        let second = one.keep(vec![0; LARGE]);
        assert_eq!(one.far_exceeded(), Some(Full::Session(LARGE)));
        let mut share = other.share();
        assert_eq!(share.grow(LARGE * 2), Ok(()));
        let third = budget.part(LARGE);
        assert_eq!(third.full(), Some(Full::All(LARGE * 4)), "all together have too much");
        drop((answer, second, share));
        assert_eq!((one.full(), other.full(), third.full()), (None, None, None));
        assert_eq!(budget.held.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn f21_memory_goes_back_when_the_last_of_very_much_has_gone() {
        let budget = Budget::new(1);
        budget.add(WORTH);
        assert!(!budget.subtract(WORTH / 2) && budget.subtract(WORTH / 2));
        budget.add(WORTH / 2);
        assert!(!budget.subtract(WORTH / 2), "that was little");
        assert!(!budget.subtract(0));
    }

    #[test]
    fn f23_who_has_taken_nothing_for_longest_is_cut() {
        let budget = Budget::new(LARGE);
        let cx = Context::from_waker(Waker::noop());
        let gone = budget.stall();
        let [first, second] = [budget.stall(), budget.stall()];
        drop(gone);
        let _one = budget.keep(vec![0; LARGE]);
        assert!(first.is_cut(&cx) && !second.is_cut(&cx));
        let _two = budget.keep(vec![0; COUNTED]);
        assert!(second.is_cut(&cx));
        let _three = budget.keep(vec![0; COUNTED]);
        drop((first, second));
        assert!(budget.stalled().waiting.is_empty());
    }
}
