//! One message a line over any pair of byte streams (`basic/transports/stdio`).

use super::stdio::Lines;
use super::{Event, Outgoing, Transport};
use crate::server::TransportKind;
use carrick_proto::peer::Lane;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite};

mod queue;
#[cfg(test)]
mod tests;

use queue::Queue;

/// Newline-delimited messages over a reader and a writer.
pub struct LineTransport<R, W> {
    reader: R,
    /// None once the writing side is closed.
    writer: Option<W>,
    input: Lines,
    ended: Option<String>,
    output: Queue,
    kind: TransportKind,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    /// Messages of up to [`super::stdio::DEFAULT_LINE_LIMIT`].
    pub fn new(reader: R, writer: W) -> Self {
        Self {
            reader,
            writer: Some(writer),
            input: Lines::default(),
            ended: None,
            output: Queue::default(),
            kind: TransportKind::Stdio,
        }
    }

    /// The same as another [kind](Transport::kind) of transport than
    /// [`TransportKind::Stdio`].
    #[must_use]
    pub fn of_kind(mut self, kind: TransportKind) -> Self {
        self.kind = kind;
        self
    }

    /// The same with another bound on one message, in bytes.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.input = Lines::new(limit);
        self
    }

    /// Closes the writing side at once; what is queued is dropped.
    pub(super) fn drop_writer(&mut self) {
        self.writer = None;
        self.output = Queue::default();
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let read = {
            // Nothing is lost when the future is dropped after one poll.
            let future = pin!(self.input.fill(&mut self.reader));
            ready!(future.poll(cx))
        };
        match read {
            Ok(0) => self.ended = Some("the other side closed the stream".into()),
            Ok(_) => {}
            Err(error) => self.ended = Some(format!("reading failed: {error}")),
        }
        Poll::Ready(())
    }
}

impl<R, W> Transport for LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        let message = |bytes| Poll::Ready(Event::Message { lane: Lane::Connection, bytes });
        loop {
            match self.input.next_line() {
                Ok(Some(bytes)) if bytes.trim_ascii().is_empty() => continue,
                Ok(Some(bytes)) => return message(bytes),
                Ok(None) => {}
                Err(error) => return Poll::Ready(Event::Oversize { limit: error.limit }),
            }
            if let Some(how) = &self.ended {
                let how = how.clone();
                // A last message without a line end counts when it is whole.
                return match self.input.unfinished() {
                    Some(rest) if !rest.trim_ascii().is_empty() => message(rest),
                    _ => Poll::Ready(Event::Closed(how)),
                };
            }
            ready!(self.poll_read(cx));
        }
    }

    fn send(&mut self, message: Outgoing) {
        if self.writer.is_none() {
            return;
        }
        self.output.push_line(message.lane, message.bytes);
    }

    fn abandon(&mut self, lane: Lane) {
        self.output.remove(lane);
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(writer) = &mut self.writer else { return Poll::Ready(Ok(())) };
        while !self.output.is_empty() {
            let mut slices = [IoSlice::new(&[]); queue::AT_ONCE];
            let slices = self.output.slices(&mut slices);
            let n = ready!(Pin::new(&mut *writer).poll_write_vectored(cx, slices))?;
            if n == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.output.written(n);
        }
        Pin::new(writer).poll_flush(cx)
    }

    fn queued(&self) -> usize {
        self.output.len()
    }

    fn spent(&mut self) -> Option<Vec<u8>> {
        self.output.spent()
    }

    fn kind(&self) -> TransportKind {
        self.kind
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // What cannot be written any more is lost with the reader's end.
        let _ = ready!(self.poll_flush(cx));
        if let Some(writer) = &mut self.writer {
            let _ = ready!(Pin::new(writer).poll_shutdown(cx));
            self.writer = None;
        }
        Poll::Ready(())
    }
}
