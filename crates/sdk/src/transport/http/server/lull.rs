//! Waiting for an answer that may be long in coming.
//!
//! Most are there long before their time is over. A timer of the runtime for each of them is set
//! and taken back for nothing; here every connection has one, which is set anew only when it has
//! run out.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// The timer of one connection, which waits for one thing at a time.
#[derive(Debug, Default)]
pub(super) struct Lull(Mutex<Option<Pin<Box<Sleep>>>>);

impl Lull {
    /// What comes within `limit`, if it does; what is there already needs no timer.
    pub(super) async fn within<T>(
        &self,
        limit: Duration,
        wait: impl Future<Output = T>,
    ) -> Option<T> {
        let mut wait = pin!(wait);
        let mut waiting = None;
        let found = poll_fn(|cx| {
            if let Poll::Ready(found) = wait.as_mut().poll(cx) {
                return Poll::Ready(Some(found));
            }
            let (end, timer) = waiting.get_or_insert_with(|| {
                let end = Instant::now() + limit;
                // One that runs out before the end is set anew then.
                let spare = self.spare().take().filter(|timer| timer.deadline() <= end);
                (end, spare.unwrap_or_else(|| Box::pin(sleep_until(end))))
            });
            while timer.as_mut().poll(cx).is_ready() {
                if Instant::now() >= *end {
                    return Poll::Ready(None);
                }
                timer.as_mut().reset(*end);
            }
            Poll::Pending
        })
        .await;
        if let Some((_, timer)) = waiting {
            *self.spare() = Some(timer);
        }
        found
    }

    fn spare(&self) -> impl std::ops::DerefMut<Target = Option<Pin<Box<Sleep>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};
    use tokio::time::sleep;

    const LIMIT: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn every_wait_has_its_whole_time_and_no_more() {
        let lull = Lull::default();
        assert_eq!(lull.within(LIMIT, ready(1)).await, Some(1));
        assert!(lull.spare().is_none());
        for late in [9, 2, 7, 10, 1] {
            let begun = Instant::now();
            let slow = async {
                sleep(Duration::from_secs(late)).await;
                late
            };
            assert_eq!(lull.within(LIMIT, slow).await, Some(late));
            assert_eq!(begun.elapsed().as_secs(), late);
            // The timer of the wait before runs out first.
            let begun = Instant::now();
            assert_eq!(lull.within(LIMIT, pending::<()>()).await, None);
            assert_eq!(begun.elapsed(), LIMIT);
        }
        // A shorter time than before is kept as well.
        let begun = Instant::now();
        assert_eq!(lull.within(LIMIT, sleep(LIMIT / 10)).await, Some(()));
        assert_eq!(lull.within(LIMIT / 5, pending::<()>()).await, None);
        assert_eq!(begun.elapsed(), LIMIT / 10 + LIMIT / 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_is_given_up_leaves_nothing() {
        let lull = Lull::default();
        let given_up = tokio::time::timeout(LIMIT / 2, lull.within(LIMIT, pending::<()>()));
        assert!(given_up.await.is_err());
        assert!(lull.spare().is_none());
        let begun = Instant::now();
        assert_eq!(lull.within(LIMIT, pending::<()>()).await, None);
        assert_eq!(begun.elapsed(), LIMIT);
    }
}
