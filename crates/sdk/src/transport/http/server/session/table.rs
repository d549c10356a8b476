//! All sessions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use carrick_proto::peer::KnownClient;
use ring::digest::{SHA256, digest};

use crate::server::Principal;

use super::super::HttpServerOptions;
use super::super::budget::COUNTED;
use super::super::conversation::Conversation;
use super::super::engine::{self, Engine};
use super::super::lanes::Lanes;
use super::super::release::{WORTH, release};
use super::super::store::{EventLimits, MemoryEventStore};
use crate::tally::Tally;

use super::{Common, InUse, Session, SessionId};

/// Why there is no new session.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum NoSession {
    /// As many as allowed are open.
    Full,
    /// The system gives no random numbers.
    NoEntropy,
}

/// Those that are open, by their ids.
#[derive(Default)]
pub(in super::super) struct Table(Mutex<HashMap<SessionId, Arc<Session>>>);

impl Table {
    /// Takes one out. It is not ended yet, and holds nobody up.
    pub(super) fn remove(&self, id: SessionId) -> Option<Arc<Session>> {
        self.lock().remove(&id)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All sessions.
pub(in super::super) struct Sessions {
    open: Arc<Table>,
    /// Who opened the last one: most have few different clients.
    client: Mutex<KnownClient>,
    common: Arc<Common>,
    max: usize,
    /// Which are to end first when there are too many.
    idle_ones: Mutex<IdleOnes>,
    /// Not before then is the memory of sessions looked at again.
    relieve_again: AtomicU64,
    /// How many have ended for others.
    ended_early: Tally,
    idle: Duration,
    half_open: Duration,
    /// Whether every answer can be resumed.
    resumable: bool,
}

impl Sessions {
    pub(in super::super) fn new(options: &HttpServerOptions) -> Self {
        let resumable = options.event_store.is_some();
        let store = options.event_store.clone().unwrap_or_else(|| {
            let stream_bytes = options.replay_bytes;
            let session_bytes = stream_bytes.saturating_mul(4);
            Arc::new(MemoryEventStore::new(EventLimits { stream_bytes, session_bytes }))
        });
        let open = Arc::<Table>::default();
        let common = Common::new(store, options.replay_bytes, Arc::downgrade(&open));
        Self {
            open,
            client: Mutex::default(),
            common,
            max: options.max_sessions,
            idle_ones: Mutex::default(),
            relieve_again: AtomicU64::new(0),
            ended_early: Tally::default(),
            idle: options.session_idle,
            half_open: options.session_half_open,
            resumable,
        }
    }

    /// Whether answers are sent as streams at once, so that none can be lost.
    pub(in super::super) fn resumable(&self) -> bool {
        self.resumable
    }

    /// Whether another session may be opened. When as many are open as may, the one that
    /// has been idle for longest ends; there is no room when all of them are in use.
    pub(in super::super) fn make_room(&self) -> bool {
        loop {
            {
                let open = self.lock();
                if open.len() < self.max {
                    return true;
                }
            }
            let Some(session) = self.next_idle() else { return false };
            self.end(&session);
            self.tell_of_room();
        }
    }

    /// The session that has been idle for longest, or nearly so.
    fn next_idle(&self) -> Option<Arc<Session>> {
        let mut idle = self.idle_ones.lock().unwrap_or_else(PoisonError::into_inner);
        for refreshed in [false, true] {
            while let Some((used, id)) = idle.ids.pop() {
                let session = self.lock().get(&id).cloned();
                // One that was used since is none of the oldest any more.
                if let Some(session) = session.filter(|session| session.is_idle_since(used)) {
                    return Some(session);
                }
            }
            if !refreshed {
                idle.refresh(&self.open, self.common.now());
            }
        }
        None
    }

    /// Ends the sessions that nobody uses and that keep large answers nobody has read, once
    /// a second at most.
    pub(in super::super) fn relieve(&self) {
        let now = self.common.now();
        let again = self.relieve_again.load(Ordering::Relaxed);
        let next = now + FRUITLESS;
        let turn =
            self.relieve_again.compare_exchange(again, next, Ordering::Relaxed, Ordering::Relaxed);
        if now < again || turn.is_err() {
            return;
        }
        let ended: Vec<_> = {
            let open = self.lock();
            let idle = open.values().filter(|session| session.idle_since().is_some());
            idle.filter(|session| session.lanes.unread() >= COUNTED).cloned().collect()
        };
        for session in ended {
            self.end(&session);
            self.tell_of_room();
        }
    }

    /// Says how many sessions had to end for others, at 1, 10, 100 and so on.
    fn tell_of_room(&self) {
        if let Some(count) = self.ended_early.add() {
            let max = self.max;
            let text = "idle sessions end early: as many are open as may be (max_sessions)";
            tracing::warn!(count, max, "{text}");
        }
    }

    /// Keeps a conversation that has been initialized.
    pub(in super::super) fn open(
        &self,
        mut conversation: Box<Conversation>,
    ) -> Result<Arc<Session>, NoSession> {
        conversation.share_client(&mut self.client.lock().unwrap_or_else(PoisonError::into_inner));
        let id = SessionId(mint()?);
        let key = store_key(mint()?, conversation.principal());
        let lanes = Lanes::new(key, Arc::clone(&self.common));
        let revision = conversation.session();
        let signals = Arc::clone(conversation.signals());
        let session = Arc::new_cyclic(|me| Session {
            id,
            common: Arc::clone(&self.common),
            principal: conversation.principal().cloned(),
            purse: conversation.purse().clone(),
            revision,
            ready: AtomicBool::new(false),
            is_warm: AtomicBool::new(false),
            signals,
            last_used: AtomicU64::new(0),
            lanes,
            engine: Engine::new(conversation),
            waker: engine::waker(me.clone()),
        });
        session.touch();
        loop {
            if !self.make_room() {
                return Err(NoSession::Full);
            }
            let mut open = self.lock();
            // Somebody else may have been given the place.
            if open.len() < self.max {
                open.insert(id, Arc::clone(&session));
                break;
            }
        }
        // Changes wake it from now on.
        engine::run(&*session, &session.waker);
        Ok(session)
    }

    /// The session with this id, unless its time has run out or it is somebody
    /// else's.
    pub(in super::super) fn find(&self, id: &[u8], principal: Option<&Principal>) -> Option<InUse> {
        let id = SessionId::parse(id)?;
        let open = self.lock();
        let session = open.get(&id).filter(|open| open.principal.as_ref() == principal)?;
        if !session.expired(self.idle, self.half_open) {
            return Some(session.in_use());
        }
        let session = Arc::clone(session);
        drop(open);
        self.end(&session);
        None
    }

    pub(in super::super) fn end(&self, session: &Session) {
        let ended = self.open.remove(session.id);
        ended.iter().for_each(|session| session.end());
    }

    /// Ends the sessions that nobody has used for too long.
    pub(in super::super) fn sweep(&self) {
        let (mut ended, mut resting) = (Vec::new(), Vec::new());
        let period = self.sweep_period();
        {
            let mut open = self.lock();
            open.retain(|_, session| {
                let expired = session.expired(self.idle, self.half_open);
                if expired {
                    ended.push(Arc::clone(session));
                } else if session.may_shrink(period) {
                    resting.push(Arc::clone(session));
                }
                !expired
            });
            if open.len() < open.capacity() / 4 {
                let len = open.len();
                open.shrink_to(2 * len);
            }
        }
        // Handlers may do something when they are dropped or run, so without the lock.
        resting.iter().for_each(|session| session.shrink());
        ended.iter().for_each(|session| session.end());
        if ended.len() >= WORTH {
            drop(ended);
            self.common.runtime.spawn_blocking(release);
        }
    }

    /// How often [`sweep`](Self::sweep) is to be called.
    pub(in super::super) fn sweep_period(&self) -> Duration {
        let shortest = self.idle.min(self.half_open);
        (shortest / 4).clamp(Duration::from_millis(10), Duration::from_secs(15))
    }

    /// Ends the streams that no call will end.
    pub(in super::super) fn end_streams(&self) {
        for session in self.lock().values() {
            session.lanes.end_connection();
        }
    }

    pub(in super::super) fn end_all(&self) {
        let ended = std::mem::take(&mut *self.lock());
        ended.values().for_each(|session| session.end());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        self.open.lock()
    }
}

/// Sessions that were idle for longest when somebody last looked. To look at all of them for each
/// new one would cost more than the session does.
#[derive(Default)]
struct IdleOnes {
    /// When they were used last, and their ids; the oldest is the last.
    ids: Vec<(u64, SessionId)>,
    /// Not before then is there another look, when the last one has found nothing.
    again: u64,
}

/// How many are taken down in one look, at most and as a part of all.
const IDLE_ONES: usize = 256;
/// The least time between two looks of which the first has found nothing, in milliseconds.
const FRUITLESS: u64 = 1000;

impl IdleOnes {
    fn refresh(&mut self, table: &Table, now: u64) {
        if now < self.again {
            return;
        }
        let open = table.lock();
        let idle = open.values().filter_map(|session| Some((session.idle_since()?, session.id)));
        self.ids = idle.collect();
        let kept = IDLE_ONES.min(open.len().div_ceil(16));
        drop(open);
        let by_age = |one: &(u64, SessionId), other: &(u64, SessionId)| one.0.cmp(&other.0);
        if self.ids.len() > kept {
            self.ids.select_nth_unstable_by(kept, by_age);
            self.ids.truncate(kept);
            self.ids.shrink_to_fit();
        }
        self.ids.sort_unstable_by(|one, other| by_age(other, one));
        if self.ids.is_empty() {
            self.again = now + FRUITLESS;
        }
    }
}

/// Handlers that still run hold what they run in.
impl Drop for Sessions {
    fn drop(&mut self) {
        self.end_all();
    }
}

/// What a session goes by in the event store: random bits, and whose it is.
pub(super) fn store_key(random: u128, principal: Option<&Principal>) -> u128 {
    let Some(principal) = principal else { return random };
    let mut bytes = random.to_be_bytes().to_vec();
    principal.write_to(&mut bytes);
    let digest = digest(&SHA256, &bytes);
    digest.as_ref().iter().take(16).fold(0, |key, byte| key << 8 | u128::from(*byte))
}

/// 128 random bits.
pub(in super::super) fn mint() -> Result<u128, NoSession> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).map_err(|_| NoSession::NoEntropy)?;
    Ok(u128::from_be_bytes(bits))
}
