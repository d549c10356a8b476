//! Streams that say nothing, at length.

use std::time::Duration;

use tokio::time::Instant;

/// The time over which is counted.
const WINDOW: Duration = Duration::from_secs(10);

/// So many bytes may come in that time that are no message: a comment that keeps a stream alive
/// has few, and what some servers send first, to fill the buffers of proxies, some thousand.
const MOST: usize = 1 << 20;

/// What a stream has sent of late that is no message: comments, unknown fields, events of other
/// kinds.
#[derive(Debug)]
pub(super) struct Chatter {
    since: Instant,
    bytes: usize,
}

impl Chatter {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), bytes: 0 }
    }

    /// Counts some more.
    ///
    /// # Errors
    ///
    /// When it is too much; the text says so.
    pub(super) fn add(&mut self, bytes: usize) -> Result<(), String> {
        if bytes == 0 {
            return Ok(());
        }
        if self.since.elapsed() >= WINDOW {
            *self = Self::new();
        }
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= MOST {
            return Ok(());
        }
        Err(format!(
            "more than {MOST} bytes within {} s that are no message, such as comments",
            WINDOW.as_secs()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn f32_little_may_be_said_for_ever_and_much_not() {
        let mut chatter = Chatter::new();
        for _ in 0..1000 {
            assert!(chatter.add(MOST / 2).is_ok());
            tokio::time::advance(WINDOW / 2).await;
        }
        tokio::time::advance(WINDOW).await;
        assert!(chatter.add(MOST).is_ok() && chatter.add(0).is_ok());
        assert!(chatter.add(1).unwrap_err().contains("10 s"));
    }
}
