//! Exchanges under way, all driven by the task of their connection.
//!
//! A task for each would cost two more ways between tasks for a call, and a general set of
//! futures wakes its task once more for each that has to wait. Here only those that were woken
//! are polled, and a place that was used once makes no new waker.

use std::collections::BTreeMap;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::future::BoxFuture;
use futures_util::task::AtomicWaker;
use tokio::task::coop;

/// Futures by a number that each has.
pub(super) struct Exchanges<T> {
    places: Vec<Place<T>>,
    /// Places without a future.
    free: Vec<usize>,
    /// Where the future with a number is.
    by_number: BTreeMap<u64, usize>,
    woken: Arc<Woken>,
    /// Those of the woken that have still to be polled.
    turn: Vec<usize>,
}

struct Place<T> {
    running: Option<(u64, BoxFuture<'static, T>)>,
    bell: Arc<Bell>,
    waker: Waker,
}

/// Who is to be polled.
#[derive(Default)]
struct Woken {
    places: Mutex<Vec<usize>>,
    /// The task that polls all of them.
    task: AtomicWaker,
}

impl Woken {
    fn places(&self) -> MutexGuard<'_, Vec<usize>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes one place, whoever is there.
struct Bell {
    place: usize,
    /// Whether it is among the woken already.
    rung: AtomicBool,
    woken: Arc<Woken>,
}

impl Bell {
    fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            self.woken.places().push(self.place);
            self.woken.task.wake();
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

impl<T> Exchanges<T> {
    pub(super) fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            by_number: BTreeMap::new(),
            woken: Arc::default(),
            turn: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    /// Adds a future, which runs from the next [`poll_next`](Self::poll_next) on; whoever adds it
    /// sees to that. One that has the number already is dropped.
    pub(super) fn add(&mut self, number: u64, future: BoxFuture<'static, T>) {
        self.remove(number);
        let place = self.free.pop().unwrap_or_else(|| {
            let place = self.places.len();
            let (rung, woken) = (AtomicBool::new(false), Arc::clone(&self.woken));
            let bell = Arc::new(Bell { place, rung, woken });
            let waker = Waker::from(Arc::clone(&bell));
            self.places.push(Place { running: None, bell, waker });
            place
        });
        if let Some(at) = self.places.get_mut(place) {
            at.running = Some((number, future));
            self.by_number.insert(number, place);
            if !at.bell.rung.swap(true, Ordering::AcqRel) {
                self.woken.places().push(place);
            }
        }
    }

    /// Drops the future with this number, if it still runs.
    pub(super) fn remove(&mut self, number: u64) {
        if let Some(place) = self.by_number.remove(&number)
            && let Some(at) = self.places.get_mut(place)
        {
            at.running = None;
            self.free.push(place);
        }
    }

    /// Drops all of them.
    pub(super) fn clear(&mut self) {
        while let Some((number, _)) = self.by_number.first_key_value() {
            self.remove(*number);
        }
    }

    /// Waits for the next one that ends. Polls each at most once for each time it was woken.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<T> {
        self.woken.task.register(cx.waker());
        // Whoever is woken after this wakes the task as well.
        let mut taken = false;
        loop {
            if !coop::has_budget_remaining() {
                // None of the others could read: they are the first next time.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let Some(place) = self.turn.pop() else {
                if mem::replace(&mut taken, true) {
                    return Poll::Pending;
                }
                mem::swap(&mut self.turn, &mut *self.woken.places());
                // The first to be woken is the first to run.
                self.turn.reverse();
                continue;
            };
            let Some(Place { running, bell, waker }) = self.places.get_mut(place) else { continue };
            // First, so that being woken while it is polled counts. Not just a store, which may
            // come to be seen only after what is read below: whoever found it rung would be lost.
            bell.rung.swap(false, Ordering::AcqRel);
            // Another one that was here before may have been meant, or none is here now.
            let Some((number, future)) = running else { continue };
            if let Poll::Ready(end) = future.as_mut().poll(&mut Context::from_waker(waker)) {
                let number = *number;
                self.remove(number);
                return Poll::Ready(end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted::Counted;
    use futures_util::FutureExt as _;
    use std::future::{pending, poll_fn};
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;
    use tokio::sync::oneshot;

    #[test]
    fn only_what_was_woken_is_polled_and_the_task_only_then() {
        let (task, waker) = Counted::new();
        let mut cx = Context::from_waker(&waker);
        let mut exchanges = Exchanges::new();
        let polls = Arc::new(AtomicUsize::new(0));
        let (mut senders, counted) = (Vec::new(), Arc::clone(&polls));
        for number in 0..3 {
            let (sender, mut receiver) = oneshot::channel::<u64>();
            senders.push(Some(sender));
            let polls = Arc::clone(&counted);
            let waiting = poll_fn(move |cx| {
                polls.fetch_add(1, Ordering::Relaxed);
                receiver.poll_unpin(cx).map(Result::unwrap)
            });
            exchanges.add(number, waiting.boxed());
        }
        assert!(exchanges.poll_next(&mut cx).is_pending());
        assert_eq!((task.woken(), polls.swap(0, Ordering::Relaxed)), (0, 3));
        senders[1].take().unwrap().send(11).unwrap();
        assert_eq!(task.woken(), 1);
        assert_eq!(exchanges.poll_next(&mut cx), Poll::Ready(11));
        assert!(exchanges.poll_next(&mut cx).is_pending());
        assert_eq!((task.woken(), polls.load(Ordering::Relaxed), exchanges.len()), (0, 1, 2));
        // Two at a time come in the order in which they were woken.
        senders[2].take().unwrap().send(22).unwrap();
        senders[0].take().unwrap().send(33).unwrap();
        assert_eq!(exchanges.poll_next(&mut cx), Poll::Ready(22));
        assert_eq!(exchanges.poll_next(&mut cx), Poll::Ready(33));
        assert!(exchanges.poll_next(&mut cx).is_pending());
        assert_eq!(exchanges.len(), 0);
    }

    /// What was left over of one look must not hide what was woken since.
    #[test]
    fn nobody_is_left_behind_who_is_woken_between_two_looks() {
        let mut cx = Context::from_waker(Waker::noop());
        let mut exchanges = Exchanges::new();
        exchanges.add(0, async { 0 }.boxed());
        exchanges.add(1, pending().boxed());
        assert_eq!(exchanges.poll_next(&mut cx), Poll::Ready(0));
        exchanges.add(2, async { 2 }.boxed());
        assert_eq!(exchanges.poll_next(&mut cx), Poll::Ready(2));
        assert!(exchanges.poll_next(&mut cx).is_pending());
    }

    /// A future that wakes itself gives the others, and other tasks, their turn.
    #[test]
    fn one_that_wakes_itself_does_not_hold_the_task() {
        let (task, waker) = Counted::new();
        let mut cx = Context::from_waker(&waker);
        let mut exchanges: Exchanges<()> = Exchanges::new();
        let restless = poll_fn(|cx| {
            cx.waker().wake_by_ref();
            Poll::Pending
        });
        exchanges.add(0, restless.boxed());
        assert!(exchanges.poll_next(&mut cx).is_pending());
        assert_eq!(task.woken(), 1);
    }

    /// All that are driven by one task share what tokio lets a task read at a time.
    #[tokio::test]
    async fn those_for_which_nothing_is_left_to_read_keep_their_turn() {
        let mut exchanges = Exchanges::new();
        let greedy = async {
            loop {
                coop::consume_budget().await;
            }
        };
        exchanges.add(0, greedy.boxed());
        let mut polls = 0;
        let other = poll_fn(move |cx| {
            polls += 1;
            pin!(coop::consume_budget()).poll(cx).map(|()| polls)
        });
        exchanges.add(1, other.boxed());
        assert_eq!(poll_fn(|cx| exchanges.poll_next(cx)).await, 1);
    }

    /// A place is used again; a waker of its last future does no harm to the next.
    #[test]
    fn what_is_removed_is_dropped_at_once() {
        let mut cx = Context::from_waker(Waker::noop());
        let mut exchanges: Exchanges<u64> = Exchanges::new();
        let (dropped, mut gone) = oneshot::channel::<()>();
        let (old, receiver) = oneshot::channel::<u64>();
        let first = async move {
            let _dropped = dropped;
            receiver.await.unwrap_or(1)
        };
        exchanges.add(0, first.boxed());
        assert!(exchanges.poll_next(&mut cx).is_pending());
        exchanges.remove(0);
        assert!(gone.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Closed));
        exchanges.add(1, pending().boxed());
        assert!(exchanges.poll_next(&mut cx).is_pending());
        // Nobody listens.
        assert!(old.send(5).is_err());
        assert!(exchanges.poll_next(&mut cx).is_pending());
        assert_eq!((exchanges.places.len(), exchanges.len()), (1, 1));
        exchanges.clear();
        assert_eq!(exchanges.len(), 0);
    }
}
