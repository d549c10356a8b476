//! One connection in the pool.

use super::super::conn::Conn;
use super::super::line::Line;
use super::super::owner::Owner;
use super::super::session::Session;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

pub(super) struct Member {
    pub(super) kind: Kind,
    /// None as long as it has served nobody, and of sessions.
    pub(super) owner: Option<Owner>,
    /// What its client can do, as canonical JSON.
    pub(super) capabilities: Arc<str>,
    pub(super) users: usize,
    pub(super) idle_since: Instant,
    /// Whether its owner has gone.
    pub(super) is_orphan: bool,
    /// Whether it stays when nobody uses it.
    pub(super) stays: bool,
}

/// A connection and what it is for.
#[derive(Clone)]
pub(crate) enum Kind {
    /// One that calls are leased.
    Conn(Arc<Conn>),
    /// A session of a client's on both sides.
    Session(Arc<Session>),
}

impl Kind {
    pub(crate) fn line(&self) -> &Line {
        match self {
            Self::Conn(conn) => &conn.line,
            Self::Session(session) => &session.line,
        }
    }
}

impl Member {
    pub(super) fn new(kind: Kind, owner: Option<Owner>, capabilities: Arc<str>) -> Self {
        Self {
            kind,
            owner,
            capabilities,
            users: 0,
            idle_since: Instant::now(),
            is_orphan: false,
            stays: false,
        }
    }

    pub(super) fn conn(&self) -> Option<&Arc<Conn>> {
        match &self.kind {
            Kind::Conn(conn) => Some(conn),
            Kind::Session(_) => None,
        }
    }

    pub(super) fn is_conn(&self, conn: &Arc<Conn>) -> bool {
        self.conn().is_some_and(|own| Arc::ptr_eq(own, conn))
    }

    pub(super) fn is_session(&self, session: &Arc<Session>) -> bool {
        matches!(&self.kind, Kind::Session(own) if Arc::ptr_eq(own, session))
    }

    /// Whether another call of its owner's may take it. The gateway's own knows
    /// something of clients once they have subscribed to resources on it.
    pub(super) fn may_be_shared(&self) -> bool {
        self.owner != Some(Owner::Gateway)
            || self.conn().is_some_and(|conn| !conn.watched.has_been_used())
    }

    /// How long nobody has used it; none while somebody does.
    pub(super) fn idle(&self, now: Instant) -> Option<Duration> {
        let since = match &self.kind {
            Kind::Session(session) => session.idle_since()?,
            Kind::Conn(_) if self.users > 0 => return None,
            Kind::Conn(_) => self.idle_since,
        };
        Some(now.saturating_duration_since(since))
    }

    /// Whether it may go when it has been idle for so long, for somebody else to
    /// have its place.
    pub(super) fn may_go(&self, idle: Duration, present: Duration) -> bool {
        match (&self.kind, &self.owner) {
            _ if self.stays => false,
            (Kind::Session(_), _) => idle >= present,
            // Its client would not learn that the server has forgotten it.
            (Kind::Conn(_), Some(Owner::Downstream(_) | Owner::Everyone)) => false,
            (Kind::Conn(_), _) => true,
        }
    }
}
