//! Sessions: what a client with the `initialize` handshake talks to.

mod table;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

use carrick_proto::peer::{AskKey, Lane, Sent};
use carrick_proto::rpc::Scanned;

use super::conversation::Said;
use super::engine::{self, Engine, Listener};
use super::lanes::Lanes;
use super::store::EventStore;

pub(super) use table::{NoSession, Sessions, mint};

/// What all sessions share.
pub(super) struct Common {
    /// When time began for them.
    epoch: Instant,
    runtime: Handle,
    pub(super) store: Arc<dyn EventStore>,
    /// Bytes that may wait on each stream of a session, and on all ended ones.
    pub(super) replay_bytes: usize,
}

impl Common {
    /// What sessions of this runtime share.
    pub(super) fn new(store: Arc<dyn EventStore>, replay_bytes: usize) -> Arc<Self> {
        Arc::new(Self { epoch: Instant::now(), runtime: Handle::current(), store, replay_bytes })
    }
}

/// One session. While it is idle, it is nothing but memory, and not much of that.
pub(super) struct Session {
    id: SessionId,
    common: Arc<Common>,
    batching: bool,
    /// The client has said that it is ready.
    ready: AtomicBool,
    /// Requests and streams that are open.
    in_use: AtomicU32,
    /// Milliseconds since the epoch.
    last_used: AtomicU64,
    pub(super) lanes: Lanes,
    engine: Engine,
    /// Runs the engine.
    waker: Waker,
}

/// 128 random bits, written in 32 digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SessionId(u128);

impl SessionId {
    /// Reads what [`Display`](fmt::Display) writes, and nothing else.
    fn parse(text: &[u8]) -> Option<Self> {
        let digits = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 32 || !text.iter().all(digits) {
            return None;
        }
        u128::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok().map(Self)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Session {
    pub(super) fn id(&self) -> SessionId {
        self.id
    }

    /// Hands a frame to the engine. False when the session is over.
    pub(super) async fn take(&self, lane: Lane, frame: Scanned) -> bool {
        self.touch();
        let taken = self.engine.take(lane, frame).await;
        if taken {
            engine::run(self, &self.waker);
        }
        taken
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
        self.last_used.store(self.now(), Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.common.epoch.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// How long nobody has used it; none while somebody does.
    fn idle(&self) -> Option<Duration> {
        let idle = self.now().saturating_sub(self.last_used.load(Ordering::Relaxed));
        (self.in_use.load(Ordering::Relaxed) == 0).then_some(Duration::from_millis(idle))
    }

    fn expired(&self, idle: Duration, half_open: Duration) -> bool {
        let limit = if self.ready.load(Ordering::Relaxed) { idle } else { half_open };
        self.idle().is_some_and(|idle| idle >= limit)
    }

    fn end(&self) {
        self.engine.end();
        self.lanes.end_all();
    }
}

impl Listener for Session {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn runtime(&self) -> &Handle {
        &self.common.runtime
    }

    fn said(&self, said: Said) -> Option<AskKey> {
        self.touch();
        match said {
            Said::Message(lane, message) => match message.sent {
                // Nobody may ever open that stream, so it does not wait.
                Sent::Request(ask) if !self.lanes.may_ask(lane) => return Some(ask),
                _ => self.lanes.deliver(lane, message),
            },
            Said::End(lane) => self.lanes.end(lane),
            Said::Pause(lane, retry) => self.lanes.pause(lane, retry),
        }
        None
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

#[cfg(test)]
mod tests;
