//! The HTTP+SSE transport of 2024-11-05, the server's side: each stream opened by
//! GET is a session, and its first event says where the client's messages go.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use hyper::body::Incoming;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

use carrick_proto::peer::Lane;
use carrick_proto::rpc;
use carrick_proto::sse::{KEEP_ALIVE, encode_event};

use crate::server::{Principal, TransportKind};

use super::body::Answer;
use super::budget::Purse;
use super::conversation::{Conversation, Frame, Said};
use super::endpoint::{Endpoint, event_stream};
use super::headers::Headers;
use super::origin::Origin;
use super::post::check_content;
use super::refusal::{Refusal, empty};
use super::session::mint;

/// Messages that may wait for a stream's engine before their senders wait.
const INBOX: usize = 64;

/// Messages that wait are put into one frame up to this size.
const FRAME: usize = 32 * 1024;

/// The name of the session in the address that messages go to.
const SESSION: &str = "sessionId=";

/// Where the messages of a session go.
#[derive(Debug)]
struct Entry {
    inbox: mpsc::Sender<Frame>,
    purse: Purse,
    /// Whom the session is of.
    principal: Option<Principal>,
}

type Open = Arc<Mutex<HashMap<String, Entry>>>;

/// The streams that are open, by the names of their sessions.
#[derive(Debug, Default)]
pub(super) struct Streams {
    open: Open,
}

impl Streams {
    /// Takes no more messages, so that each stream ends once it has said all that
    /// it had to.
    pub(super) fn end(&self) {
        lock(&self.open).clear();
    }
}

fn lock(open: &Open) -> MutexGuard<'_, HashMap<String, Entry>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A session: what its client says comes in by the inbox, what it is told goes
/// out as the body of the answer to its GET. It ends when that is dropped.
pub(super) struct Stream {
    id: String,
    open: Open,
    conversation: Conversation,
    inbox: Option<mpsc::Receiver<Frame>>,
    /// The service has ended the session.
    over: bool,
    /// Written before anything else.
    start: Vec<u8>,
    keep_alive: Duration,
    idle: Pin<Box<Sleep>>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        lock(&self.open).remove(&self.id);
    }
}

impl Endpoint {
    /// Opens a stream, and with it a session.
    pub(super) fn open_old(
        &self,
        origin: &Origin<'_>,
        headers: &Headers<'_>,
    ) -> Result<Response<Answer>, Refusal> {
        if !headers.accept().event_stream {
            let text = "a stream needs Accept: text/event-stream";
            return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, text));
        }
        let busy = |text| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text);
        let id = mint().map_err(|_| busy("no session can be named"))?;
        let id = format!("{id:032x}");
        let (sender, inbox) = mpsc::channel(INBOX);
        let open = Arc::clone(&self.old.open);
        let purse = self.budget.part(self.options.max_session_bytes);
        {
            let mut open = lock(&open);
            if open.len() >= self.options.max_sessions {
                return Err(busy("too many sessions are open (max_sessions)"));
            }
            let principal = origin.principal().cloned();
            let purse = purse.clone();
            open.insert(id.clone(), Entry { inbox: sender, purse, principal });
        }
        let options = &self.options;
        let mut start = Vec::new();
        let endpoint = format!("{}?{SESSION}{id}", origin.head.uri.path());
        event(&mut start, "endpoint", endpoint.as_bytes());
        let (service, info) = (&*self.service, origin.session(TransportKind::HttpSse));
        let stream = Stream {
            id,
            open,
            conversation: Conversation::new(
                service,
                info,
                options.limits,
                options.max_calls,
                purse,
            ),
            inbox: Some(inbox),
            over: false,
            start,
            keep_alive: options.keep_alive,
            idle: Box::pin(tokio::time::sleep(options.keep_alive)),
        };
        Ok(event_stream(Answer::Old(Box::new(stream))))
    }

    /// Takes a message of a session. What answers it comes on the stream.
    pub(super) async fn post_old(
        &self,
        origin: &Origin<'_>,
        headers: &Headers<'_>,
        body: Incoming,
    ) -> Result<Response<Answer>, Refusal> {
        check_content(headers)?;
        let query = origin.head.uri.query().unwrap_or_default();
        let id = query.split('&').find_map(|pair| pair.strip_prefix(SESSION));
        let id = id.ok_or_else(|| Refusal::bad("the address names no session"))?;
        let gone = || Refusal::new(StatusCode::NOT_FOUND, "there is no such session (any more)");
        let (inbox, purse) = {
            let open = lock(&self.old.open);
            let entry = open.get(id).filter(|entry| entry.principal.as_ref() == origin.principal());
            let sender = |entry: &Entry| (entry.inbox.clone(), entry.purse.clone());
            entry.map(sender).ok_or_else(gone)?
        };
        let frame = rpc::scan(self.read(body, &purse).await?, self.options.limits)?;
        inbox.send(origin.frame(frame)).await.map_err(|_| gone())?;
        Ok(empty(StatusCode::ACCEPTED))
    }
}

impl Stream {
    /// The next piece of the body; none when the session is over.
    pub(super) fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut out = std::mem::take(&mut self.start);
        while out.len() < FRAME {
            match self.conversation.poll_next(cx) {
                Poll::Ready(Said::Message(_, message)) => {
                    event(&mut out, "message", &message.bytes);
                }
                Poll::Ready(Said::Over) => self.over = true,
                // The one stream of a session ends with it and not before.
                Poll::Ready(_) => {}
                Poll::Pending => match self.poll_inbox(cx) {
                    Poll::Ready(()) => {}
                    Poll::Pending => break,
                },
            }
        }
        if !out.is_empty() {
            self.idle.as_mut().reset(Instant::now() + self.keep_alive);
            return Poll::Ready(Some(out.into()));
        }
        if self.over || (self.inbox.is_none() && self.conversation.is_idle()) {
            return Poll::Ready(None);
        }
        ready!(self.idle.as_mut().poll(cx));
        self.idle.as_mut().reset(Instant::now() + self.keep_alive);
        // Registers the new deadline with this task.
        if self.idle.as_mut().poll(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
        Poll::Ready(Some(Bytes::from_static(KEEP_ALIVE)))
    }

    /// Takes a message of the client's.
    fn poll_inbox(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(inbox) = &mut self.inbox else { return Poll::Pending };
        match ready!(inbox.poll_recv(cx)) {
            Some(frame) => self.conversation.take(Lane::Connection, frame),
            None => self.inbox = None,
        }
        Poll::Ready(())
    }
}

fn event(out: &mut Vec<u8>, name: &str, data: &[u8]) {
    // These names are never refused.
    let written = encode_event(out, Some(name), None, None, data);
    debug_assert!(written.is_ok());
}
