//! The cursors that the server has given out on the gateway's own connection.
//!
//! Any other may be made up, or belong to a session in which the server heard more.

use serde::Deserialize;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The newest are remembered up to this many.
const MOST: usize = 1024;
/// A longer one is not remembered, in bytes.
const LONGEST: usize = 4096;

/// Those cursors.
#[derive(Default)]
pub(crate) struct Cursors(Mutex<VecDeque<String>>);

impl Cursors {
    /// Remembers where a page of a list says that it goes on.
    pub(crate) fn learn(&self, page: &[u8]) {
        #[derive(Deserialize)]
        struct Page {
            #[serde(rename = "nextCursor")]
            next: Option<String>,
        }
        let next = serde_json::from_slice(page).ok().and_then(|page: Page| page.next);
        let Some(next) = next.filter(|next| next.len() <= LONGEST) else { return };
        let mut known = self.known();
        if known.contains(&next) {
            return;
        }
        if known.len() >= MOST {
            known.pop_front();
        }
        known.push_back(next);
    }

    /// Whether this is one of them.
    pub(crate) fn has(&self, cursor: &str) -> bool {
        self.known().iter().any(|known| known == cursor)
    }

    fn known(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_known_and_no_others() {
        let cursors = Cursors::default();
        for n in 0..=MOST {
            cursors.learn(format!("{{\"tools\":[],\"nextCursor\":\"c{n}\"}}").as_bytes());
            cursors.learn(b"{\"tools\":[]}");
        }
        assert!(!cursors.has("c0") && cursors.has("c1") && cursors.has(&format!("c{MOST}")));
        let long = "x".repeat(LONGEST + 1);
        cursors.learn(format!("{{\"nextCursor\":\"{long}\"}}").as_bytes());
        assert!(!cursors.has(&long));
    }
}
