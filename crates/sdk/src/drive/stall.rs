//! Clients that do not read.

use std::pin::Pin;
use std::task::Context;
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// How long nothing was read while too much waits.
#[derive(Default)]
pub(super) struct Stall(Option<Pin<Box<Sleep>>>);

impl Stall {
    /// Looks at how a write went: whether more waits than may, and whether some of it went out.
    /// True when none did for `limit`; otherwise the task is woken when that is so.
    pub(super) fn is_over(
        &mut self,
        too_much: bool,
        progress: bool,
        limit: Duration,
        cx: &mut Context<'_>,
    ) -> bool {
        if !too_much {
            if self.0.is_some() {
                self.0 = None;
            }
            return false;
        }
        if progress {
            self.0 = None;
        }
        self.0.get_or_insert_with(|| Box::pin(sleep(limit))).as_mut().poll(cx).is_ready()
    }
}
