//! One message a line over any pair of byte streams (`basic/transports/stdio`).

use super::{Event, Outgoing, Transport};
use bytes::{Bytes, BytesMut};
use carrick_proto::peer::Lane;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

/// The largest message taken by default: 64 MiB.
pub const DEFAULT_LIMIT: usize = 64 << 20;

const READ: usize = 64 << 10;

/// Newline-delimited messages over a reader and a writer.
pub struct LineTransport<R, W> {
    reader: R,
    /// None once the writing side is closed.
    writer: Option<W>,
    input: BytesMut,
    /// How much of `input` is known to hold no line end.
    searched: usize,
    limit: usize,
    /// Inside a line that was too long, up to its end.
    skipping: bool,
    ended: Option<String>,
    output: Vec<u8>,
    written: usize,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    /// Messages of up to 64 MiB.
    pub fn new(reader: R, writer: W) -> Self {
        Self {
            reader,
            writer: Some(writer),
            input: BytesMut::new(),
            searched: 0,
            limit: DEFAULT_LIMIT,
            skipping: false,
            ended: None,
            output: Vec::new(),
            written: 0,
        }
    }

    /// The same with another bound on one message, in bytes.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Closes the writing side at once; what is queued is dropped.
    pub(super) fn drop_writer(&mut self) {
        self.writer = None;
        self.output.clear();
        self.written = 0;
    }

    /// The next whole line that is there already, without its end.
    fn line(&mut self) -> Option<Result<Bytes, usize>> {
        loop {
            let Some(at) = memchr::memchr(b'\n', &self.input[self.searched..]) else {
                self.searched = self.input.len();
                if self.searched <= self.limit {
                    return None;
                }
                self.input.clear();
                self.searched = 0;
                let first = !std::mem::replace(&mut self.skipping, true);
                return first.then_some(Err(self.limit));
            };
            let mut line = self.input.split_to(self.searched + at + 1);
            self.searched = 0;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            line.truncate(line.len() - 1);
            if line.last() == Some(&b'\r') {
                line.truncate(line.len() - 1);
            }
            if line.len() > self.limit {
                return Some(Err(self.limit));
            }
            if !line.trim_ascii().is_empty() {
                return Some(Ok(line.freeze()));
            }
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.input.capacity() - self.input.len() < READ / 2 {
            self.input.reserve(READ);
        }
        let read = {
            // Dropping the future after one poll is fine: `read_buf` keeps no
            // bytes of its own.
            let future = pin!(self.reader.read_buf(&mut self.input));
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
        loop {
            match self.line() {
                Some(Ok(bytes)) => {
                    return Poll::Ready(Event::Message { lane: Lane::Connection, bytes });
                }
                Some(Err(limit)) => return Poll::Ready(Event::Oversize { limit }),
                None => {}
            }
            if let Some(how) = &self.ended {
                let how = how.clone();
                // A last message without a line end counts when it is whole.
                let rest = std::mem::take(&mut self.input).freeze();
                self.searched = 0;
                if !self.skipping && !rest.trim_ascii().is_empty() {
                    return Poll::Ready(Event::Message { lane: Lane::Connection, bytes: rest });
                }
                return Poll::Ready(Event::Closed(how));
            }
            ready!(self.poll_read(cx));
        }
    }

    fn send(&mut self, message: Outgoing) {
        if self.writer.is_some() {
            self.output.extend_from_slice(&message.bytes);
            self.output.push(b'\n');
        }
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(writer) = &mut self.writer else { return Poll::Ready(Ok(())) };
        while self.written < self.output.len() {
            let chunk = &self.output[self.written..];
            let n = ready!(Pin::new(&mut *writer).poll_write(cx, chunk))?;
            if n == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += n;
        }
        self.output.clear();
        self.written = 0;
        // One very large message must not hold its memory for good.
        self.output.shrink_to(1 << 20);
        Pin::new(writer).poll_flush(cx)
    }

    fn queued(&self) -> usize {
        self.output.len() - self.written
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
