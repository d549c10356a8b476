//! How long a connection waits for the head of a request.
//!
//! hyper sets a deadline for every head, and drops it as soon as the head is
//! there. A timer of the runtime for each of them costs as much as parsing the
//! head does. Here every connection has one, which is set anew only when it has
//! run out.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Sleep, Timer};
use tokio::time::Instant;

/// No deadline is set.
const NONE: u64 = u64::MAX;

/// The deadline of one connection, which has one at a time.
#[derive(Debug)]
struct Deadline {
    epoch: Instant,
    /// In nanoseconds since the epoch, or [`NONE`].
    at: AtomicU64,
    /// It has passed.
    is_over: AtomicBool,
}

/// What hyper takes for its timer. Its sleepers wake nobody: [`Patience`] does.
#[derive(Debug)]
struct Clock(Arc<Deadline>);

impl Timer for Clock {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn now(&self) -> std::time::Instant {
        Instant::now().into_std()
    }

    fn sleep_until(&self, deadline: std::time::Instant) -> Pin<Box<dyn Sleep>> {
        let nanos = Instant::from_std(deadline).saturating_duration_since(self.0.epoch).as_nanos();
        let at = u64::try_from(nanos).unwrap_or(NONE);
        self.0.at.store(at, Ordering::Relaxed);
        self.0.is_over.store(false, Ordering::Relaxed);
        Box::pin(Sleeper { deadline: Arc::clone(&self.0), at })
    }
}

struct Sleeper {
    deadline: Arc<Deadline>,
    at: u64,
}

impl Sleep for Sleeper {}

impl Future for Sleeper {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.deadline.is_over.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        // It may have been replaced by another one already.
        let at = &self.deadline.at;
        let _ = at.compare_exchange(self.at, NONE, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Wakes a connection when its deadline has passed. It is to be polled by the
/// connection's own task, before hyper's part of it.
#[derive(Debug)]
pub(super) struct Patience {
    deadline: Arc<Deadline>,
    /// The shortest time for which a deadline is set.
    limit: Duration,
    timer: Pin<Box<tokio::time::Sleep>>,
}

impl Patience {
    /// For deadlines that are at least `limit` ahead when they are set.
    pub(super) fn new(limit: Duration) -> Self {
        let epoch = Instant::now();
        let deadline =
            Deadline { epoch, at: AtomicU64::new(NONE), is_over: AtomicBool::new(false) };
        let timer = Box::pin(tokio::time::sleep(limit));
        Self { deadline: Arc::new(deadline), limit, timer }
    }

    /// The timer for hyper.
    pub(super) fn timer(&self) -> impl Timer + Send + Sync + 'static {
        Clock(Arc::clone(&self.deadline))
    }

    /// Looks whether the deadline has passed, and sees to it that this is polled
    /// again when it does.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) {
        while self.timer.as_mut().poll(cx).is_ready() {
            // None set until now passes within the limit.
            let now = self.deadline.epoch.elapsed();
            let next = match self.deadline.at.load(Ordering::Relaxed) {
                NONE => self.limit,
                at => Duration::from_nanos(at).saturating_sub(now),
            };
            if next.is_zero() {
                return self.deadline.is_over.store(true, Ordering::Relaxed);
            }
            self.timer.as_mut().reset(Instant::now() + next);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    /// Polls both as a connection does, until the sleeper is ready.
    async fn wait(patience: &mut Patience, sleeper: &mut Pin<Box<dyn Sleep>>) {
        poll_fn(|cx| {
            patience.poll(cx);
            sleeper.as_mut().poll(cx)
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_does_not_come_is_given_up_on_time() {
        let began = Instant::now();
        let mut patience = Patience::new(LIMIT);
        let timer = patience.timer();
        let first = timer.sleep(LIMIT);
        tokio::time::advance(LIMIT / 3).await;
        // That head has come; the next begins later.
        drop(first);
        tokio::time::advance(LIMIT / 3).await;
        let mut second = timer.sleep(LIMIT);
        wait(&mut patience, &mut second).await;
        assert_eq!(began.elapsed().as_secs(), (LIMIT / 3 * 2 + LIMIT).as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_that_takes_the_place_of_another_counts() {
        let began = Instant::now();
        let mut patience = Patience::new(LIMIT);
        let timer = patience.timer();
        let mut sleeper = timer.sleep(LIMIT);
        tokio::time::advance(LIMIT / 2).await;
        timer.reset(&mut sleeper, timer.now() + LIMIT);
        wait(&mut patience, &mut sleeper).await;
        assert_eq!(began.elapsed().as_secs(), (LIMIT / 2 + LIMIT).as_secs());
    }
}
