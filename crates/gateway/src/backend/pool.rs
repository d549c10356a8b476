//! All connections to one server: whose each is, how many there may be, and
//! which goes when another is needed.

mod member;

pub(crate) use member::Kind;

use super::conn::{Conn, ConnEvents};
use super::owner::Owner;
use super::session::Session;
use super::target::Target;
use carrick::client::{ClientConfig, Era};
use carrick::types::RpcError;
use member::Member;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long a connection that was opened ahead waits for somebody.
const AHEAD: Duration = Duration::from_secs(60);

/// A client that was there a moment ago is not taken for one that has gone.
const PRESENT: Duration = Duration::from_secs(2);

/// Those connections.
pub(crate) struct Pool {
    me: Weak<Self>,
    target: Arc<Target>,
    events: Weak<dyn ConnEvents>,
    state: Mutex<State>,
    /// Wakes those who wait for one.
    freed: Notify,
}

struct State {
    members: Vec<Member>,
    waiting: usize,
    closed: bool,
}

/// A connection for the time of a call, or of a subscription.
pub(crate) struct Lease {
    pool: Arc<Pool>,
    conn: Arc<Conn>,
}

impl Lease {
    pub(crate) fn conn(&self) -> &Arc<Conn> {
        &self.conn
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.pool.release(&self.conn);
    }
}

impl Pool {
    /// A pool of `first` alone, which stays.
    pub(crate) fn new(
        target: Arc<Target>,
        events: Weak<dyn ConnEvents>,
        first: Arc<Conn>,
    ) -> Arc<Self> {
        let owner = first.owner();
        let mut first = Member::new(Kind::Conn(first), owner, "{}".into());
        first.stays = true;
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            target,
            events,
            state: Mutex::new(State { members: vec![first], waiting: 0, closed: false }),
            freed: Notify::new(),
        })
    }

    /// A connection of this owner's to a server of sessions, for a client that
    /// can do this (canonical JSON). None when there are too many.
    pub(crate) fn try_lease(&self, owner: &Owner, capabilities: &Arc<str>) -> Option<Lease> {
        let mut state = self.state();
        if state.closed {
            return None;
        }
        let now = Instant::now();
        let fits = |m: &Member| m.conn().is_some() && m.capabilities == *capabilities;
        let own = |m: &Member| fits(m) && m.owner.as_ref() == Some(owner) && m.may_be_shared();
        let ahead = |m: &Member| fits(m) && m.owner.is_none();
        let at = state.members.iter().position(own);
        let at = at.or_else(|| state.members.iter().position(ahead));
        let at = match at {
            Some(at) => at,
            None => {
                self.make_room(&mut state, now)?;
                let conn = self.conn(Some(owner.clone()), capabilities);
                state.members.push(Member::new(Kind::Conn(conn), None, capabilities.clone()));
                state.members.len() - 1
            }
        };
        let member = &mut state.members[at];
        member.users += 1;
        let is_new = member.owner.is_none();
        member.owner.get_or_insert_with(|| owner.clone());
        let conn = member.conn().cloned()?;
        conn.give_to(owner);
        if is_new && matches!(owner, Owner::Call(_)) {
            self.open_ahead(&mut state, capabilities);
        }
        drop(state);
        Some(Lease { pool: self.me.upgrade()?, conn })
    }

    /// Waits for a connection. `make_room` gives up something that holds one, if
    /// there is such a thing now.
    ///
    /// # Errors
    /// When too many wait already, or none comes free in time.
    pub(crate) async fn lease(
        &self,
        owner: &Owner,
        capabilities: &Arc<str>,
        make_room: impl Fn() -> bool,
    ) -> Result<Lease, RpcError> {
        let _turn = self.wait_turn()?;
        let waited = tokio::time::timeout(self.target.options.wait, async {
            loop {
                // Listening begins before looking, so that nothing is missed.
                let mut freed = std::pin::pin!(self.freed.notified());
                freed.as_mut().enable();
                if let Some(lease) = self.try_lease(owner, capabilities) {
                    return lease;
                }
                if !make_room() {
                    freed.await;
                }
            }
        });
        waited.await.map_err(|_| self.busy("and none came free in time"))
    }

    /// A call that holds a connection now waits for its client: those who wait for
    /// a connection look again whether that call is to be given up.
    pub(crate) fn parked(&self) {
        self.freed.notify_waiters();
    }

    /// Keeps a place for the session of a client's.
    ///
    /// # Errors
    /// When there are too many connections, of which none can go.
    pub(crate) fn admit(&self, session: &Arc<Session>) -> Result<(), RpcError> {
        let mut state = self.state();
        let room = self.make_room(&mut state, Instant::now());
        if state.closed || room.is_none() {
            return Err(self.busy("with other clients"));
        }
        let kind = Kind::Session(session.clone());
        state.members.push(Member::new(kind, None, "{}".into()));
        Ok(())
    }

    /// The client of a session has gone: closes its connection.
    pub(crate) fn end_session(&self, session: &Arc<Session>) {
        self.remove(|member| member.is_session(session));
    }

    /// A downstream connection has gone, and with it what was its own. What a
    /// parked call still needs is closed when that ends.
    pub(crate) fn end_owner(&self, owner: &Owner) {
        let mut state = self.state();
        for member in state.members.iter_mut().filter(|m| m.owner.as_ref() == Some(owner)) {
            member.is_orphan = true;
        }
        drop(state);
        self.remove(|member| member.is_orphan && member.users == 0);
    }

    /// Closes what nobody has used for too long; sessions of clients end with
    /// that, so that they learn that the server's memory of them is gone.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        let idle = self.target.costs_processes().then_some(self.target.options.session_idle);
        let kept = self.target.options.owner_idle;
        self.remove(|member| {
            let over = |limit: Duration| member.idle(now).is_some_and(|time| time >= limit);
            match &member.kind {
                Kind::Session(_) => idle.is_some_and(over),
                Kind::Conn(_) if member.stays => false,
                Kind::Conn(_) => match member.owner {
                    None => over(AHEAD),
                    Some(Owner::Downstream(_) | Owner::Everyone) => false,
                    Some(_) => over(kept),
                },
            }
        });
    }

    /// Every connection there is; for sessions as well.
    pub(crate) fn all(&self) -> Vec<Kind> {
        self.state().members.iter().map(|member| member.kind.clone()).collect()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.state().members.len()
    }

    /// Takes no more, and gives all there are, to be closed.
    pub(crate) fn close(&self) -> Vec<Kind> {
        let mut state = self.state();
        state.closed = true;
        state.members.drain(..).map(|member| member.kind).collect()
    }

    /// Makes room for one more: something that was opened ahead goes, or what has
    /// been idle longest of those that may go.
    fn make_room(&self, state: &mut State, now: Instant) -> Option<()> {
        if state.members.len() < self.target.max_connections() {
            return Some(());
        }
        let idle = |m: &Member| m.idle(now).filter(|idle| m.may_go(*idle, PRESENT));
        // Nobody loses anything by one that was only opened ahead.
        let is_ahead = |m: &Member| m.owner.is_none() && m.conn().is_some();
        let longest = state
            .members
            .iter()
            .enumerate()
            .filter_map(|(at, member)| Some((is_ahead(member), idle(member)?, at)))
            .max();
        let (.., at) = longest?;
        close(state.members.swap_remove(at));
        Some(())
    }

    /// Opens a connection for the next call of its kind, which need not wait for
    /// the server to start then.
    fn open_ahead(&self, state: &mut State, capabilities: &Arc<str>) {
        let there = |m: &Member| m.owner.is_none() && m.conn().is_some();
        let ahead = state.members.iter().filter(|m| there(m)).count();
        let has_one = state.members.iter().any(|m| there(m) && m.capabilities == *capabilities);
        let room = state.members.len() < self.target.max_connections();
        if has_one || !room || ahead >= self.target.options.opened_ahead {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let conn = self.conn(None, capabilities);
        let kind = Kind::Conn(conn.clone());
        state.members.push(Member::new(kind, None, capabilities.clone()));
        runtime.spawn(async move {
            if let Err(error) = conn.line.client(super::line::Level::Any).await {
                tracing::debug!(%error, "a connection could not be opened ahead");
            }
        });
    }

    fn conn(&self, owner: Option<Owner>, capabilities: &Arc<str>) -> Arc<Conn> {
        let mut config = ClientConfig::new(self.target.options.info.clone());
        config.capabilities = (&**capabilities).into();
        config.era = Some(Era::Legacy);
        // Those of parked calls, which are bounded themselves, and of running ones.
        config.max_asks += self.target.options.parked.count;
        Conn::new(&self.target, self.events.clone(), owner, config, false)
    }

    fn release(&self, conn: &Arc<Conn>) {
        let mut gone = None;
        {
            let mut state = self.state();
            if let Some(at) = state.members.iter().position(|member| member.is_conn(conn)) {
                let member = &mut state.members[at];
                member.users -= 1;
                member.idle_since = Instant::now();
                // Whatever the server remembers of the one call goes with it.
                let over = member.is_orphan || matches!(member.owner, Some(Owner::Call(_)));
                if over && member.users == 0 {
                    gone = Some(state.members.swap_remove(at));
                }
            }
        }
        gone.into_iter().for_each(close);
        self.freed.notify_waiters();
    }

    fn remove(&self, which: impl Fn(&Member) -> bool) {
        let mut gone = Vec::new();
        {
            let mut state = self.state();
            let mut at = 0;
            while at < state.members.len() {
                if which(&state.members[at]) {
                    gone.push(state.members.swap_remove(at));
                } else {
                    at += 1;
                }
            }
        }
        if !gone.is_empty() {
            gone.into_iter().for_each(close);
            self.freed.notify_waiters();
        }
    }

    fn wait_turn(&self) -> Result<Turn<'_>, RpcError> {
        let mut state = self.state();
        if state.waiting >= self.target.options.max_waiting {
            return Err(self.busy("and too many calls wait for one"));
        }
        state.waiting += 1;
        Ok(Turn(self))
    }

    fn busy(&self, why: &str) -> RpcError {
        let (server, most) = (self.target.name(), self.target.max_connections());
        RpcError::overloaded(format!(
            "all {most} connections to server {server:?} are busy {why}; try again later"
        ))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes a connection that has left the pool.
fn close(member: Member) {
    if let Kind::Session(session) = &member.kind {
        session.outbox.close_session();
    }
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    runtime.spawn(async move { member.kind.line().close().await });
}

/// One that waits; it no longer does when this is dropped.
struct Turn<'a>(&'a Pool);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.state().waiting -= 1;
    }
}
