//! Changes of lists, told at a pace that clients can follow.
//!
//! A server may say that a list has changed whenever it is asked for it, or a
//! thousand times in a row; and a client may ask for it whenever it is told.
//! The first change is told at once, those that follow closely as one.

use carrick::client::Changed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The time between two changes of one list, when the first of them comes.
const FIRST: Duration = Duration::from_secs(1);
/// It doubles up to this while there is no rest.
const LONGEST: Duration = Duration::from_secs(8);

/// When each list was told of.
#[derive(Debug, Default)]
pub(crate) struct Debounce([Mutex<Turn>; 3]);

#[derive(Debug, Default)]
struct Turn {
    /// From when on the next change may be told.
    next: Option<Instant>,
    wait: Duration,
    /// Whether one waits for that.
    waits: bool,
}

impl Debounce {
    /// Tells of a change now, or as soon as it may be told; one that waits
    /// stands for all that come meanwhile. Resources are told of at once.
    pub(crate) fn tell(
        self: &Arc<Self>,
        changed: Changed,
        say: impl FnOnce(Changed) + Send + 'static,
    ) {
        let list = match changed {
            Changed::Tools => 0,
            Changed::Prompts => 1,
            Changed::Resources => 2,
            _ => return say(changed),
        };
        let runtime = tokio::runtime::Handle::try_current();
        let (Some(at), Ok(runtime)) = (self.turn(list).take(Instant::now()), runtime) else {
            return;
        };
        let Some(at) = at else { return say(changed) };
        let debounce = self.clone();
        runtime.spawn(async move {
            tokio::time::sleep_until(at).await;
            debounce.turn(list).told(Instant::now());
            say(changed);
        });
    }

    fn turn(&self, list: usize) -> MutexGuard<'_, Turn> {
        self.0[list].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// A change comes: when to tell it (nothing: now), unless one waits already.
    fn take(&mut self, now: Instant) -> Option<Option<Instant>> {
        if self.waits {
            return None;
        }
        match self.next {
            Some(next) if now < next => {
                self.waits = true;
                Some(Some(next))
            }
            _ => {
                self.told(now);
                Some(None)
            }
        }
    }

    fn told(&mut self, now: Instant) {
        let rested = self.next.is_none_or(|next| now >= next + self.wait);
        self.wait = if rested { FIRST } else { (self.wait * 2).min(LONGEST) };
        self.next = Some(now + self.wait);
        self.waits = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn counting() -> (Arc<Debounce>, Arc<AtomicUsize>, impl Fn(Changed)) {
        let (debounce, told) = (Arc::new(Debounce::default()), Arc::new(AtomicUsize::new(0)));
        let (its, count) = (debounce.clone(), told.clone());
        let change = move |changed| {
            let count = count.clone();
            its.tell(changed, move |_| {
                count.fetch_add(1, Ordering::SeqCst);
            });
        };
        (debounce, told, change)
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_told_at_once_and_once_more() {
        let (_debounce, told, change) = counting();
        (0..1000).for_each(|_| change(Changed::Tools));
        assert_eq!(told.load(Ordering::SeqCst), 1);
        change(Changed::Prompts);
        assert_eq!(told.load(Ordering::SeqCst), 2, "each list by itself");
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(told.load(Ordering::SeqCst), 3, "the last of it is not lost");
        change(Changed::Tools);
        assert_eq!(told.load(Ordering::SeqCst), 4, "after a rest at once again");
    }

    #[tokio::test(start_paused = true)]
    async fn changes_without_a_rest_are_told_ever_less_often() {
        let (_debounce, told, change) = counting();
        for _ in 0..1000 {
            change(Changed::Tools);
            change(Changed::Resource("a:b".into()));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let lists = told.load(Ordering::SeqCst) - 1000;
        assert!((10..20).contains(&lists), "{lists} in 100 s");
    }
}
