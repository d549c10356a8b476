//! A socket whose client must take what is written to it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::budget::{Budget, Stalling};

/// Ends by an error when nothing can be written for some time, or when others need the memory
/// of what waits here.
pub(super) struct Watched<S> {
    stream: S,
    limit: Duration,
    budget: Arc<Budget>,
    /// Nothing could be written since then.
    waiting: Option<(Pin<Box<Sleep>>, Stalling)>,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, limit: Duration, budget: Arc<Budget>) -> Self {
        Self { stream, limit, budget, waiting: None }
    }

    /// Looks at how a write went.
    fn after(
        &mut self,
        written: Poll<io::Result<usize>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            if self.waiting.is_some() {
                self.waiting = None;
            }
            return written;
        }
        let (limit, budget) = (self.limit, &self.budget);
        let waiting = self.waiting.get_or_insert_with(|| (Box::pin(sleep(limit)), budget.stall()));
        let (timer, stalling) = waiting;
        let why = if stalling.is_cut(cx) {
            "it was the slowest to read while too much was to be written"
        } else if timer.as_mut().poll(cx).is_ready() {
            "it has read nothing for too long"
        } else {
            return Poll::Pending;
        };
        if let Some(count) = self.budget.cut.add() {
            tracing::warn!(count, "a client that does not read is cut: {why}");
        }
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.after(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.after(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::Instant;

    use super::super::budget::COUNTED;
    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn f23_a_write_without_progress_is_cut_and_a_slow_one_is_not() {
        let (here, mut there) = duplex(10);
        let mut stream = Watched::new(here, LIMIT, Budget::new(1));
        let reading = tokio::spawn(async move {
            for _ in 0..10 {
                tokio::time::sleep(LIMIT * 2 / 3).await;
                there.read_exact(&mut [0; 5]).await.unwrap();
            }
            there
        });
        stream.write_all(&[0; 60]).await.unwrap();
        let _there = reading.await.unwrap();
        let begun = Instant::now();
        let error = stream.write_all(&[0; 60]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed(), LIMIT);
    }

    #[tokio::test(start_paused = true)]
    async fn f23_the_slowest_is_cut_at_once_when_others_need_the_memory() {
        let budget = Budget::new(COUNTED);
        let (here, _there) = duplex(10);
        let mut stream = Watched::new(here, LIMIT, Arc::clone(&budget));
        let begun = Instant::now();
        let writing = tokio::spawn(async move { stream.write_all(&[0; 60]).await });
        tokio::time::sleep(LIMIT / 2).await;
        let _answer = budget.keep(vec![0; COUNTED]);
        let error = writing.await.unwrap().unwrap_err();
        assert!(error.to_string().contains("slowest"), "{error}");
        assert_eq!(begun.elapsed(), LIMIT / 2);
    }
}
