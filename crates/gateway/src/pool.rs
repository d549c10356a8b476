//! Connections on which a server of sessions is offered to clients without.
//!
//! Each request of such a client stands alone and says what its client can do;
//! a session says that once. So there is a session for each set of abilities.
//! Where the server does not say which call a question of its own belongs to,
//! a call whose client can be asked has its session for itself, or one client
//! would be asked what was meant for another.

use crate::gateway::Inner;
use crate::shared::Trunk;
use carrick::client::{ClientConfig, Era};
use carrick::types::RpcError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::time::timeout;

/// Those connections.
pub(crate) struct Pool {
    state: Mutex<State>,
    /// Wakes those who wait for one.
    freed: Notify,
}

struct State {
    members: Vec<Member>,
    waiting: usize,
}

struct Member {
    /// What its clients can do, as canonical JSON.
    capabilities: Arc<str>,
    trunk: Arc<Trunk>,
    users: usize,
    /// Whether a call has it for itself, but for those that cannot be asked.
    taken: bool,
    /// Whether it stays when nobody uses it.
    stays: bool,
}

/// A connection for the time of a call.
pub(crate) struct Lease {
    gateway: Arc<Inner>,
    trunk: Arc<Trunk>,
    alone: bool,
}

impl Lease {
    pub(crate) fn trunk(&self) -> &Arc<Trunk> {
        &self.trunk
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.gateway.pool.release(&self.trunk, self.alone);
    }
}

impl Pool {
    /// A pool that has the connection of clients that can do nothing.
    pub(crate) fn new(first: Arc<Trunk>) -> Self {
        let member =
            Member { capabilities: "{}".into(), trunk: first, users: 0, taken: false, stays: true };
        let state = State { members: vec![member], waiting: 0 };
        Self { state: Mutex::new(state), freed: Notify::new() }
    }

    /// A connection, if there is one or there may be another; for the call
    /// `alone`, or beside others.
    pub(crate) fn try_lease(
        &self,
        gateway: &Arc<Inner>,
        capabilities: &Arc<str>,
        alone: bool,
    ) -> Option<Lease> {
        let mut state = self.state();
        let fits = |member: &Member| member.capabilities == *capabilities;
        let free = |member: &&mut Member| fits(member) && !(alone && member.taken);
        let trunk = match state.members.iter_mut().find(free) {
            Some(member) => {
                member.users += 1;
                member.taken |= alone;
                member.trunk.clone()
            }
            None => state.add(gateway, capabilities, alone)?,
        };
        Some(Lease { gateway: gateway.clone(), trunk, alone })
    }

    /// Waits for a connection.
    ///
    /// # Errors
    /// When too many wait already, or none comes free in time.
    pub(crate) async fn lease(
        &self,
        gateway: &Arc<Inner>,
        capabilities: &Arc<str>,
        alone: bool,
    ) -> Result<Lease, RpcError> {
        if let Some(lease) = self.try_lease(gateway, capabilities, alone) {
            return Ok(lease);
        }
        let _turn = self.wait_turn(gateway)?;
        let waited = timeout(gateway.options.wait, async {
            loop {
                // Listening begins before looking, so that nothing is missed.
                let mut freed = std::pin::pin!(self.freed.notified());
                freed.as_mut().enable();
                if let Some(lease) = self.try_lease(gateway, capabilities, alone) {
                    return lease;
                }
                freed.await;
            }
        });
        waited.await.map_err(|_| busy(gateway, "and none came free in time"))
    }

    /// Every connection there is.
    pub(crate) fn all(&self) -> Vec<Arc<Trunk>> {
        self.state().members.iter().map(|member| member.trunk.clone()).collect()
    }

    fn wait_turn(&self, gateway: &Inner) -> Result<Turn<'_>, RpcError> {
        let mut state = self.state();
        if state.waiting >= gateway.options.max_waiting {
            return Err(busy(gateway, "and too many calls wait for one"));
        }
        state.waiting += 1;
        Ok(Turn(self))
    }

    fn release(&self, trunk: &Arc<Trunk>, alone: bool) {
        let mut state = self.state();
        let is_it = |member: &&mut Member| Arc::ptr_eq(&member.trunk, trunk);
        if let Some(member) = state.members.iter_mut().find(is_it) {
            member.users -= 1;
            member.taken &= !alone;
        }
        drop(state);
        self.freed.notify_waiters();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Another connection, in the place of an idle one if need be.
    fn add(
        &mut self,
        gateway: &Arc<Inner>,
        capabilities: &Arc<str>,
        alone: bool,
    ) -> Option<Arc<Trunk>> {
        if self.members.len() >= gateway.options.max_upstreams.max(1) {
            let idle = self.members.iter().position(|m| m.users == 0 && !m.stays)?;
            let idle = self.members.swap_remove(idle);
            tokio::spawn(async move { idle.trunk.line.close().await });
        }
        let mut config = ClientConfig::new(gateway.options.info.clone());
        config.capabilities = (&**capabilities).into();
        config.era = Some(Era::Legacy);
        // Those of parked calls, which are bounded themselves, and of running ones.
        config.max_asks += gateway.options.parked.count;
        let trunk = Trunk::new(&Arc::downgrade(gateway), gateway, config);
        self.members.push(Member {
            capabilities: capabilities.clone(),
            trunk: trunk.clone(),
            users: 1,
            taken: alone,
            stays: false,
        });
        Some(trunk)
    }
}

/// One that waits; it no longer does when this is dropped.
struct Turn<'a>(&'a Pool);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.state().waiting -= 1;
    }
}

fn busy(gateway: &Inner, why: &str) -> RpcError {
    let (server, most) = (gateway.upstream.name(), gateway.options.max_upstreams);
    RpcError::internal(format!(
        "all {most} connections to server {server:?} are busy {why}; try again later"
    ))
}
