//! Sessions: what a client with the `initialize` handshake talks to.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use carrick_proto::http::check_session_id;
use carrick_proto::peer::{Lane, Sent};
use carrick_proto::rpc::Scanned;

use super::HttpServerOptions;
use super::conversation::{Conversation, Said};
use super::lanes::Lanes;

/// Messages that may wait for a session's engine before their senders wait.
const INBOX: usize = 64;

/// One session.
pub(super) struct Session {
    id: String,
    batching: bool,
    pub(super) lanes: Lanes,
    inbox: mpsc::Sender<(Lane, Scanned)>,
    /// Requests and streams that are open.
    in_use: AtomicUsize,
    /// The client has said that it is ready.
    ready: AtomicBool,
    last_used: Mutex<Instant>,
}

impl Session {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Hands a frame to the engine. False when the session is over.
    pub(super) async fn take(&self, lane: Lane, frame: Scanned) -> bool {
        self.inbox.send((lane, frame)).await.is_ok()
    }

    /// Whether a frame may be a batch.
    pub(super) fn batching(&self) -> bool {
        self.batching
    }

    pub(super) fn client_is_ready(&self) {
        self.ready.store(true, Ordering::Relaxed);
    }

    /// Keeps the session from being idle.
    pub(super) fn in_use(self: &Arc<Self>) -> InUse {
        self.in_use.fetch_add(1, Ordering::Relaxed);
        InUse(Arc::clone(self))
    }

    fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn expired(&self, now: Instant, idle: Duration, half_open: Duration) -> bool {
        let last_used = *self.last_used.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = if self.ready.load(Ordering::Relaxed) { idle } else { half_open };
        self.in_use.load(Ordering::Relaxed) == 0 && now.duration_since(last_used) >= limit
    }

    /// Joins the engine, the inbox and the streams.
    async fn run(
        self: Arc<Self>,
        mut conversation: Conversation,
        mut inbox: mpsc::Receiver<(Lane, Scanned)>,
    ) {
        loop {
            tokio::select! {
                said = conversation.next() => {
                    self.touch();
                    match said {
                        Said::Message(lane, message) => match message.sent {
                            // Nobody may ever open that stream, so it does not wait.
                            Sent::Request(ask) if !self.lanes.may_ask(lane) => {
                                conversation.unreachable(ask, "it has no stream open for it");
                            }
                            _ => self.lanes.deliver(lane, message),
                        },
                        Said::End(lane) => self.lanes.end(lane),
                        Said::Pause(lane, retry) => self.lanes.pause(lane, retry),
                    }
                }
                Some((lane, frame)) = inbox.recv() => {
                    self.touch();
                    conversation.take(lane, frame);
                }
            }
        }
    }
}

/// A request or a stream of a session, for as long as it is open.
pub(super) struct InUse(Arc<Session>);

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.touch();
        self.0.in_use.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Why there is no new session.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoSession {
    /// As many as allowed are open.
    Full,
    /// The system gives no random numbers.
    NoEntropy,
}

/// All sessions.
pub(super) struct Sessions {
    open: Mutex<HashMap<String, Open>>,
    max: usize,
    idle: Duration,
    half_open: Duration,
    replay_bytes: usize,
}

struct Open {
    session: Arc<Session>,
    task: AbortHandle,
}

impl Sessions {
    pub(super) fn new(options: &HttpServerOptions) -> Self {
        Self {
            open: Mutex::default(),
            max: options.max_sessions,
            idle: options.session_idle,
            half_open: options.session_half_open,
            replay_bytes: options.replay_bytes,
        }
    }

    /// Whether another session may be opened.
    pub(super) fn has_room(&self) -> bool {
        if self.lock().len() >= self.max {
            self.sweep();
        }
        self.lock().len() < self.max
    }

    /// Keeps a conversation that has been initialized.
    pub(super) fn open(&self, conversation: Conversation) -> Result<Arc<Session>, NoSession> {
        let id = mint()?;
        let (sender, inbox) = mpsc::channel(INBOX);
        let session = Arc::new(Session {
            id: id.clone(),
            batching: conversation.session().is_some_and(|revision| revision.rules().batching),
            lanes: Lanes::new(self.replay_bytes),
            inbox: sender,
            in_use: AtomicUsize::new(0),
            ready: AtomicBool::new(false),
            last_used: Mutex::new(Instant::now()),
        });
        let mut open = self.lock();
        if open.len() >= self.max {
            return Err(NoSession::Full);
        }
        let task = tokio::spawn(Arc::clone(&session).run(conversation, inbox)).abort_handle();
        open.insert(id, Open { session: Arc::clone(&session), task });
        Ok(session)
    }

    pub(super) fn find(&self, id: &[u8]) -> Option<Arc<Session>> {
        let id = check_session_id(id).ok()?;
        let open = self.lock();
        let session = &open.get(id)?.session;
        session.touch();
        Some(Arc::clone(session))
    }

    pub(super) fn end(&self, session: &Session) {
        if let Some(open) = self.lock().remove(session.id()) {
            open.end();
        }
    }

    /// Ends the sessions that nobody has used for too long.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        self.lock().retain(|_, open| {
            let expired = open.session.expired(now, self.idle, self.half_open);
            if expired {
                open.end();
            }
            !expired
        });
    }

    /// How often [`sweep`](Self::sweep) is to be called.
    pub(super) fn sweep_period(&self) -> Duration {
        let shortest = self.idle.min(self.half_open);
        (shortest / 4).clamp(Duration::from_millis(10), Duration::from_secs(15))
    }

    /// Ends the streams that no call will end.
    pub(super) fn end_streams(&self) {
        for open in self.lock().values() {
            open.session.lanes.connection().end();
        }
    }

    pub(super) fn end_all(&self) {
        for (_, open) in self.lock().drain() {
            open.end();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn end(&self) {
        self.task.abort();
        self.session.lanes.end_all();
    }
}

/// 128 random bits.
pub(super) fn mint() -> Result<String, NoSession> {
    use std::fmt::Write;
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).map_err(|_| NoSession::NoEntropy)?;
    let mut id = String::with_capacity(32);
    for byte in bits {
        // Writing to a string cannot fail.
        let _ = write!(id, "{byte:02x}");
    }
    Ok(id)
}

#[cfg(test)]
mod tests {
    use carrick_proto::rpc::Limits;

    use crate::server::Server;

    use super::*;

    fn options(idle: Duration, half_open: Duration) -> HttpServerOptions {
        HttpServerOptions { session_idle: idle, session_half_open: half_open, ..Default::default() }
    }

    fn conversation() -> Conversation {
        Conversation::new(&Server::builder("s", "1").build(), Limits::default(), 1)
    }

    #[tokio::test]
    async fn d040_an_open_stream_keeps_its_session_and_nothing_else_does() {
        let sessions = Sessions::new(&options(Duration::ZERO, Duration::ZERO));
        let idle = sessions.open(conversation()).unwrap();
        let watched = sessions.open(conversation()).unwrap();
        let stream = watched.in_use();
        sessions.sweep();
        assert!(sessions.find(idle.id().as_bytes()).is_none());
        assert!(sessions.find(watched.id().as_bytes()).is_some());
        drop(stream);
        sessions.sweep();
        assert!(sessions.find(watched.id().as_bytes()).is_none());
    }

    #[tokio::test]
    async fn d036_a_session_lives_longer_once_its_client_is_ready() {
        let sessions = Sessions::new(&options(Duration::from_secs(3600), Duration::ZERO));
        let half_open = sessions.open(conversation()).unwrap();
        let ready = sessions.open(conversation()).unwrap();
        ready.client_is_ready();
        sessions.sweep();
        assert!(sessions.find(half_open.id().as_bytes()).is_none());
        assert!(sessions.find(ready.id().as_bytes()).is_some());
    }

    #[tokio::test]
    async fn d038_ids_are_random_and_compared_whole() {
        let sessions = Sessions::new(&HttpServerOptions::default());
        let one = sessions.open(conversation()).unwrap();
        let two = sessions.open(conversation()).unwrap();
        assert_eq!((one.id().len(), two.id().len()), (32, 32), "128 bits");
        assert_ne!(one.id(), two.id());
        assert!(sessions.find(&one.id().as_bytes()[..31]).is_none());
        assert!(sessions.find(format!("{}0", one.id()).as_bytes()).is_none());
        assert!(sessions.find(b"").is_none());
    }

    #[tokio::test]
    async fn an_ended_session_takes_nothing_and_ends_its_streams() {
        let sessions = Sessions::new(&HttpServerOptions::default());
        let session = sessions.open(conversation()).unwrap();
        let mut reader = session.lanes.connection().read(None).unwrap();
        sessions.end(&session);
        assert!(reader.next().await.is_none());
        assert!(sessions.find(session.id().as_bytes()).is_none());
    }
}
