//! Messages to and from a child process, and how it ended.

use super::cause::last_lines;
use super::{Activity, Child, Process, Stdin, Stdout};
use crate::server::TransportKind;
use crate::transport::{Event, LineTransport, Outgoing, Transport};
use carrick_proto::peer::Lane;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// How long a server whose stdout has ended may take to exit before the
/// connection's end is reported without its exit status.
const EXIT_WAIT: Duration = Duration::from_millis(500);

/// The stdio transport (`basic/transports/stdio`), client side.
///
/// When the server ends, its exit status and the last lines of its stderr are
/// part of the reason. Closing closes its stdin and then ends it, with all it
/// has started.
pub struct ChildTransport {
    lines: LineTransport<Stdout, Stdin>,
    process: Arc<Process>,
    grace: Duration,
    /// What its processes had done when it was last asked, and when that was.
    seen: (Activity, Instant),
    /// Set once stdout has ended: becomes the reason.
    ending: Option<BoxFuture<'static, String>>,
    /// Set while the last messages are written, for no longer than `grace`.
    flushing: Option<Pin<Box<Sleep>>>,
    closing: Option<BoxFuture<'static, ()>>,
}

impl ChildTransport {
    /// Talks to `child`, which gets `grace` to end by itself when the
    /// connection closes, and the same again after SIGTERM.
    pub fn new(child: Child, grace: Duration) -> Self {
        let Child { stdin, stdout, process } = child;
        let lines = LineTransport::new(stdout, stdin);
        Self {
            lines,
            process: Arc::new(process),
            grace,
            seen: (Activity::default(), Instant::now()),
            ending: None,
            flushing: None,
            closing: None,
        }
    }

    /// Writes what is still queued, unless nobody reads it.
    fn poll_last_messages(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.lines.queued() == 0 || self.process.exit_watch().status().is_some() {
            return Poll::Ready(());
        }
        if self.lines.poll_close(cx).is_ready() {
            return Poll::Ready(());
        }
        let grace = self.grace;
        let patience = self.flushing.get_or_insert_with(|| Box::pin(tokio::time::sleep(grace)));
        patience.as_mut().poll(cx)
    }

    /// The same with another bound on one message, in bytes.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.lines = self.lines.limit(limit);
        self
    }

    /// The server's processes.
    pub fn process(&self) -> Arc<Process> {
        self.process.clone()
    }
}

impl Transport for ChildTransport {
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        if self.ending.is_none() {
            match ready!(self.lines.poll_recv(cx)) {
                Event::Closed(how) => self.ending = Some(reason(self.process.clone(), how).boxed()),
                event => return Poll::Ready(event),
            }
        }
        let Some(ending) = &mut self.ending else { return Poll::Pending };
        let how = ready!(ending.as_mut().poll(cx));
        self.ending = None;
        Poll::Ready(Event::Closed(how))
    }

    fn send(&mut self, message: Outgoing) {
        self.lines.send(message);
    }

    fn abandon(&mut self, lane: Lane) {
        self.lines.abandon(lane);
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match ready!(self.lines.poll_flush(cx)) {
            // A server that died is noticed by the reader, which says how.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Poll::Pending,
            other => Poll::Ready(other),
        }
    }

    fn queued(&self) -> usize {
        self.lines.queued()
    }

    fn spent(&mut self) -> Option<Vec<u8>> {
        self.lines.spent()
    }

    fn is_active(&mut self) -> bool {
        let (activity, now) = (self.process.activity(), Instant::now());
        let (earlier, since) = std::mem::replace(&mut self.seen, (activity, now));
        activity.is_work_since(&earlier, now.duration_since(since))
    }

    fn kind(&self) -> TransportKind {
        self.lines.kind()
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.closing.is_none() {
            ready!(self.poll_last_messages(cx));
            self.lines.drop_writer();
            let (process, grace) = (self.process.clone(), self.grace);
            self.closing = Some(Box::pin(async move {
                if let Err(error) = process.shutdown(grace).await {
                    tracing::error!(%error, pid = process.id(), "ending a server failed");
                }
            }));
        }
        match &mut self.closing {
            Some(closing) => closing.as_mut().poll(cx),
            None => Poll::Ready(()),
        }
    }
}

/// How the server ended, for people.
async fn reason(process: Arc<Process>, how: String) -> String {
    let how = match tokio::time::timeout(EXIT_WAIT, process.wait()).await {
        Ok(status) => format!("the server ended ({status})"),
        Err(_) => how,
    };
    match last_lines(&process.stderr_tail()) {
        Some(tail) => format!("{how}; the end of its stderr:\n{tail}"),
        None => format!("{how} and wrote nothing to stderr"),
    }
}
