//! Bodies of answers.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use carrick_proto::sse::{KEEP_ALIVE, encode_event};

use super::budget::Budget;
use super::conversation::{Conversation, Said};
use super::mailbox::Outgoing;
use super::old::Stream;
use super::reader::Reader;
use super::session::InUse;

/// Messages that wait are put into one frame up to this size.
const FRAME: usize = 32 * 1024;

/// The body of an answer.
pub(super) enum Answer {
    /// All of it (which may be nothing).
    Whole(Bytes),
    /// An event stream.
    Events(Events),
    /// The event stream of a session of HTTP+SSE.
    Old(Box<Stream>),
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => None,
            Self::Whole(bytes) => Some(std::mem::take(bytes)),
            Self::Events(events) => std::task::ready!(events.poll_data(cx)),
            Self::Old(stream) => std::task::ready!(stream.poll_data(cx)),
        };
        Poll::Ready(data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Events(_) | Self::Old(_) => SizeHint::default(),
        }
    }
}

/// The event ids of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    pub(super) number: u64,
}

impl EventId {
    /// Reads what [`Display`](std::fmt::Display) writes, and nothing else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (stream, number) = text.split_once('-')?;
        let id = Self { stream: stream.parse().ok()?, number: number.parse().ok()? };
        (id.to_string() == text).then_some(id)
    }
}

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.stream, self.number)
    }
}

/// Where the messages of a stream come from.
pub(super) enum Source {
    /// A lane of a session. Its events have ids, which name the lane.
    Lane {
        /// Its messages.
        reader: Reader,
        /// The session is in use while the stream is open.
        #[expect(dead_code, reason = "held until the stream is dropped")]
        session: InUse,
    },
    /// A request of its own. Dropping it ends the handler.
    Request(Box<Conversation>),
}

impl Source {
    /// The last event of a stream whose client is to come back for the rest: the
    /// number to go on from, and the time to wait.
    fn farewell(&self) -> Option<(u64, Duration)> {
        match self {
            Self::Lane { reader, .. } => Some((reader.position(), reader.paused()??)),
            Self::Request(_) => None,
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(u64, Outgoing)>> {
        match self {
            Self::Lane { reader, .. } => reader.poll_next(cx),
            Self::Request(conversation) => conversation.poll_next(cx).map(|said| match said {
                Said::Message(_, message) => Some((0, message)),
                Said::End(_) | Said::Pause(..) | Said::Over => None,
            }),
        }
    }
}

/// Writes messages as events, and comments while nothing comes.
pub(super) struct Events {
    source: Source,
    /// Written before anything else.
    start: Vec<u8>,
    keep_alive: Duration,
    /// Runs while nothing comes: most streams end before they have to wait.
    idle: Option<Pin<Box<Sleep>>>,
    /// The store of events is behind.
    store: Option<BoxFuture<'static, ()>>,
    /// The response has been written.
    answered: bool,
    ended: bool,
    budget: Arc<Budget>,
}

impl Events {
    pub(super) fn new(source: Source, keep_alive: Duration, budget: &Arc<Budget>) -> Self {
        Self {
            source,
            start: Vec::new(),
            keep_alive,
            idle: None,
            store: None,
            answered: false,
            ended: false,
            budget: Arc::clone(budget),
        }
    }

    /// Starts with an event that has only an id, so that a client whose
    /// connection breaks before the first message can resume.
    pub(super) fn prime(&mut self, number: u64) {
        self.write_at_start(number, b"");
    }

    /// Starts with a message that was read already.
    pub(super) fn begin_with(&mut self, number: u64, message: &Outgoing) {
        self.keep(number, message);
        self.write_at_start(number, &message.bytes);
        self.answered = message.is_last();
        self.ended = self.answered;
    }

    /// The body of the answer: one piece, with a length, where the response is there
    /// already.
    pub(super) fn into_answer(mut self) -> Answer {
        // Whoever sends the body polls what is left with a waker of their own.
        let mut out = std::mem::take(&mut self.start);
        self.gather(&mut out, &mut Context::from_waker(Waker::noop()));
        if self.answered {
            return Answer::Whole(self.budget.keep(out));
        }
        self.start = out;
        Answer::Events(self)
    }

    fn write_at_start(&mut self, number: u64, data: &[u8]) {
        let mut out = std::mem::take(&mut self.start);
        self.encode(&mut out, number, None, data);
        self.start = out;
    }

    fn encode(&self, out: &mut Vec<u8>, number: u64, retry: Option<Duration>, data: &[u8]) {
        let id = match self.source {
            Source::Lane { ref reader, .. } => {
                Some(EventId { stream: reader.stream(), number }.to_string())
            }
            Source::Request(_) => None,
        };
        let name = (!data.is_empty()).then_some("message");
        // Neither the name nor a formatted id can be refused.
        let written = encode_event(out, name, id.as_deref(), retry, data);
        debug_assert!(written.is_ok());
    }

    /// Makes a message one that can be sent again.
    fn keep(&mut self, number: u64, message: &Outgoing) {
        if let Source::Lane { reader, .. } = &mut self.source {
            self.store = reader.keep(number, message);
        }
    }

    /// Whether the store of events takes more.
    fn may_go_on(&mut self, cx: &mut Context<'_>) -> bool {
        if self.store.as_mut().is_some_and(|store| store.poll_unpin(cx).is_pending()) {
            return false;
        }
        self.store = None;
        true
    }

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut out = std::mem::take(&mut self.start);
        self.gather(&mut out, cx);
        if !out.is_empty() {
            self.idle = None;
            return Poll::Ready(Some(self.budget.keep(out)));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        let keep_alive = self.keep_alive;
        let idle = self.idle.get_or_insert_with(|| Box::pin(tokio::time::sleep(keep_alive)));
        std::task::ready!(idle.as_mut().poll(cx));
        // The next one begins when this comment has been taken.
        self.idle = None;
        Poll::Ready(Some(Bytes::from_static(KEEP_ALIVE)))
    }

    /// Adds what is there, up to the size of a frame.
    fn gather(&mut self, out: &mut Vec<u8>, cx: &mut Context<'_>) {
        while !self.ended && out.len() < FRAME && self.may_go_on(cx) {
            match self.source.poll_next(cx) {
                Poll::Ready(Some((number, message))) => {
                    self.keep(number, &message);
                    self.encode(out, number, None, &message.bytes);
                    self.answered = message.is_last();
                    self.ended = self.answered;
                }
                Poll::Ready(None) => {
                    if let Some((number, retry)) = self.source.farewell() {
                        self.encode(out, number, Some(retry), b"");
                    }
                    self.ended = true;
                }
                Poll::Pending => break,
            }
        }
    }
}
