//! The two ends of the conversation with a server.

use std::{
    fmt, io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::status::ExitWatch;

#[cfg(unix)]
use tokio::net::unix::pipe::{Receiver as ReadEnd, Sender as WriteEnd};
#[cfg(windows)]
use tokio::process::{ChildStdin as WriteEnd, ChildStdout as ReadEnd};

#[cfg(unix)]
pub(super) use tokio::net::unix::pipe::Receiver as ErrorEnd;
#[cfg(windows)]
pub(super) use tokio::process::ChildStderr as ErrorEnd;

/// How long after the server's exit its stdout is still waited for, since a process it left behind
/// may hold it open for ever.
pub(super) const DRAIN: Duration = Duration::from_millis(250);

/// How much is read of stdout after that: what the pipe can hold.
const PIPE_CAPACITY: usize = 64 * 1024;

/// This process's ends of the pipes to a server.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) stdin: WriteEnd,
    pub(super) stdout: ReadEnd,
    pub(super) stderr: ErrorEnd,
}

impl Ends {
    /// Makes the pipes: our ends, and the server's stdin, stdout and stderr. None of them survives
    /// an exec by itself, and only ours never block.
    #[cfg(unix)]
    pub(super) fn create() -> io::Result<(Self, [std::os::fd::OwnedFd; 3])> {
        let (stdin, ours_in) = io::pipe()?;
        let (ours_out, stdout) = io::pipe()?;
        let (ours_err, stderr) = io::pipe()?;
        let ours = Self {
            stdin: WriteEnd::from_owned_fd(ours_in.into())?,
            stdout: ReadEnd::from_owned_fd(ours_out.into())?,
            stderr: ErrorEnd::from_owned_fd(ours_err.into())?,
        };
        Ok((ours, [stdin.into(), stdout.into(), stderr.into()]))
    }
}

/// Writes to the server's stdin. Closing (dropping) it asks the server to end.
#[derive(Debug)]
pub struct Stdin {
    pipe: WriteEnd,
}

impl Stdin {
    pub(super) fn new(pipe: WriteEnd) -> Self {
        Self { pipe }
    }
}

impl AsyncWrite for Stdin {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipe).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipe).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.pipe.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_shutdown(context)
    }
}

/// Reads the server's stdout. It ends when the server closes it, and also a quarter of a second
/// after the server's exit, even if a process that the server left behind holds it open: what was
/// written by then is still read.
pub struct Stdout {
    pipe: ReadEnd,
    /// Ready once nothing more is waited for; none after that.
    over: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
    /// What may still be read after that.
    left: usize,
}

impl Stdout {
    pub(super) fn new(pipe: ReadEnd, exit: ExitWatch) -> Self {
        let over = async move {
            exit.wait().await;
            tokio::time::sleep(DRAIN).await;
        };
        Self { pipe, over: Some(Box::pin(over)), left: PIPE_CAPACITY }
    }

    /// Whether the server is gone for long enough.
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        let Some(over) = &mut self.over else { return true };
        if over.as_mut().poll(context).is_pending() {
            return false;
        }
        self.over = None;
        true
    }
}

impl AsyncRead for Stdout {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == 0 {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        match Pin::new(&mut self.pipe).poll_read(context, buffer) {
            Poll::Pending => {
                ready!(self.is_over(context).then_some(()).map_or(Poll::Pending, Poll::Ready));
                self.left = 0;
            }
            Poll::Ready(result) => {
                result?;
                // A process left behind that never stops writing does not prolong the session.
                if self.is_over(context) {
                    self.left = self.left.saturating_sub(buffer.filled().len() - before);
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl fmt::Debug for Stdout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdout").field("pipe", &self.pipe).finish_non_exhaustive()
    }
}
