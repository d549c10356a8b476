//! Sessions: what a client with the `initialize` handshake talks to.

mod table;

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

use carrick_proto::peer::{AskKey, Lane, Sent};
use carrick_proto::revision::Revision;

use crate::server::Principal;

use super::budget::Purse;
use super::conversation::{Frame, Said};
use super::engine::{self, Catch, Engine, Listener};
use super::lanes::Lanes;
use super::mailbox::Outgoing;
use super::reader::Reader;
use super::signals::Signals;
use super::store::EventStore;

pub(super) use table::{NoSession, Sessions, Table, mint};

/// What all sessions share.
pub(super) struct Common {
    /// When time began for them.
    epoch: Instant,
    runtime: Handle,
    /// Where those that are open stand.
    table: Weak<Table>,
    pub(super) store: Arc<dyn EventStore>,
    /// Bytes that may wait on each stream of a session, and on all ended ones.
    pub(super) replay_bytes: usize,
}

impl Common {
    /// What the sessions of a table share, in this runtime.
    pub(super) fn new(
        store: Arc<dyn EventStore>,
        replay_bytes: usize,
        table: Weak<Table>,
    ) -> Arc<Self> {
        let (epoch, runtime) = (Instant::now(), Handle::current());
        Arc::new(Self { epoch, runtime, table, store, replay_bytes })
    }

    /// Milliseconds since the epoch.
    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// One session. While it is idle, it is nothing but memory, and not much of that.
pub(super) struct Session {
    id: SessionId,
    common: Arc<Common>,
    /// Who it is of.
    principal: Option<Principal>,
    /// What its messages are counted by.
    pub(super) purse: Purse,
    /// What it speaks; none only where there is no handshake (in tests).
    revision: Option<Revision>,
    /// The client has said that it is ready.
    ready: AtomicBool,
    /// Something was asked since memory was given back.
    is_warm: AtomicBool,
    /// Counts the requests and streams that are open.
    signals: Arc<Signals>,
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
        let text: &[u8; 32] = text.try_into().ok()?;
        let mut id = 0;
        for byte in text {
            let digit = match byte {
                b'0'..=b'9' => byte - b'0',
                b'a'..=b'f' => byte - b'a' + 10,
                _ => return None,
            };
            id = id << 4 | u128::from(digit);
        }
        Some(Self(id))
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

    /// Hands in a frame that asks for something. None when the session is over.
    ///
    /// Where the answer is there at once it needs no stream; with `stream` it gets
    /// one all the same.
    pub(super) async fn ask(&self, frame: Frame, stream: bool) -> Option<First> {
        self.is_warm.store(true, Ordering::Relaxed);
        let number = self.lanes.reserve();
        let mut asking = Asking { lanes: &self.lanes, number, first: None };
        if stream {
            asking.open();
        }
        let lane = Lane::Exchange(number);
        if let Some(frame) = engine::run_with(self, &self.waker, (lane, frame), &mut asking) {
            // Others are at it: they will put the answer on the stream.
            asking.open();
            if !self.take(lane, frame).await {
                return None;
            }
        }
        asking.first
    }

    /// Hands a frame to the engine. False when the session is over.
    pub(super) async fn take(&self, lane: Lane, frame: Frame) -> bool {
        let taken = self.engine.take(lane, frame).await;
        if taken {
            engine::run(self, &self.waker);
        }
        taken
    }

    /// What it speaks.
    pub(super) fn revision(&self) -> Option<Revision> {
        self.revision
    }

    /// Whether a frame may be a batch.
    pub(super) fn batching(&self) -> bool {
        self.revision.is_some_and(|revision| revision.rules().batching)
    }

    pub(super) fn client_is_ready(&self) {
        self.ready.store(true, Ordering::Relaxed);
    }

    /// Keeps the session from being idle.
    fn in_use(self: &Arc<Self>) -> InUse {
        self.signals.in_use.fetch_add(1, Ordering::Relaxed);
        InUse(Arc::clone(self))
    }

    fn touch(&self) {
        self.last_used.store(self.now(), Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        self.common.now()
    }

    /// When it was used last; none while somebody uses it.
    fn idle_since(&self) -> Option<u64> {
        let in_use = self.signals.in_use.load(Ordering::Relaxed) > 0;
        (!in_use).then(|| self.last_used.load(Ordering::Relaxed))
    }

    /// Whether it is idle and was not used after that.
    fn is_idle_since(&self, used: u64) -> bool {
        self.idle_since() == Some(used)
    }

    /// How long nobody has used it; none while somebody does.
    fn idle(&self) -> Option<Duration> {
        let idle = self.now().saturating_sub(self.idle_since()?);
        Some(Duration::from_millis(idle))
    }

    /// Whether it holds memory for work, and was used last at least `idle` ago. Says
    /// so once.
    fn may_shrink(&self, idle: Duration) -> bool {
        self.is_warm.load(Ordering::Relaxed)
            && self.idle().is_some_and(|for_long| for_long >= idle)
            && self.is_warm.swap(false, Ordering::Relaxed)
    }

    /// Gives back the memory that only work needs.
    fn shrink(&self) {
        engine::shrink(self, &self.waker);
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
        // While it is in use, it is not idle, and what ends that looks at the clock.
        if self.signals.in_use.load(Ordering::Relaxed) == 0 {
            self.touch();
        }
        match said {
            Said::Message(lane, message) => match message.sent {
                // Nobody may ever open that stream, so it does not wait.
                Sent::Request(ask) if !self.lanes.may_ask(lane) => return Some(ask),
                _ => self.lanes.deliver(lane, message),
            },
            Said::End(lane) => self.lanes.end(lane),
            Said::Pause(lane, retry) => self.lanes.pause(lane, retry),
            Said::Over => {
                // First, so that whoever sees its streams end does not find it again.
                let removed = self.common.table.upgrade().and_then(|table| table.remove(self.id));
                self.end();
                drop(removed);
            }
        }
        None
    }
}

/// What is there for a frame that asks for something.
pub(super) enum First {
    /// The answer.
    Answer(Outgoing),
    /// Where it will come.
    Stream(Reader),
}

/// Waits for the answer to a frame while the frame is taken.
struct Asking<'a> {
    lanes: &'a Lanes,
    number: u64,
    first: Option<First>,
}

impl Asking<'_> {
    fn open(&mut self) {
        if self.first.is_none() {
            self.first = Some(First::Stream(self.lanes.open(self.number)));
        }
    }
}

impl Catch for Asking<'_> {
    fn said(&mut self, said: Said) -> Option<Said> {
        let (Said::Message(lane, _) | Said::End(lane) | Said::Pause(lane, _)) = &said else {
            return Some(said);
        };
        if self.first.is_some() || *lane != Lane::Exchange(self.number) {
            return Some(said);
        }
        match said {
            Said::Message(_, message) if message.is_last() => {
                self.first = Some(First::Answer(message));
                None
            }
            other => {
                self.open();
                Some(other)
            }
        }
    }

    fn rest(&mut self) {
        self.open();
    }
}

/// A session that is not idle, for as long as a request or a stream of it is open.
pub(super) struct InUse(Arc<Session>);

impl Clone for InUse {
    fn clone(&self) -> Self {
        self.0.in_use()
    }
}

impl Deref for InUse {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.0
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.touch();
        self.0.signals.in_use.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
