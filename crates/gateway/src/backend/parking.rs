//! Calls that wait at the gateway for their clients to come back.

use carrick::proto::flow::{Full, ParkLimits, Parked, Token};
use carrick::proto::peer::CallKey;
use carrick::proto::rpc::Json;
use carrick::server::{Dispatch, Outbox};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::Notify;
use tokio::time::Instant;

/// A call that can be parked.
pub(crate) trait Park: Send + Sync {
    /// Gives it up: its client has not come back, for the reason given.
    fn expire(&self, why: &str);

    /// Whether it keeps a connection to the server from others.
    fn holds_connection(&self) -> bool;

    /// Its client is back with answers, by the request `key`.
    fn resume(
        self: Arc<Self>,
        outbox: Arc<dyn Outbox>,
        key: CallKey,
        answers: BTreeMap<String, Json>,
    ) -> Dispatch;
}

/// Those calls.
pub(crate) struct Parking {
    calls: Mutex<Parked<Arc<dyn Park>>>,
    /// Wakes whoever ends the calls whose time is over.
    changed: Arc<Notify>,
    started: Instant,
}

impl Parking {
    pub(crate) fn new(limits: ParkLimits) -> Arc<Self> {
        let calls = Mutex::new(Parked::new(limits));
        let parking = Arc::new(Self { calls, changed: Arc::default(), started: Instant::now() });
        tokio::spawn(expire(Arc::downgrade(&parking), parking.changed.clone()));
        parking
    }

    /// Parks a call that takes so many bytes.
    ///
    /// # Errors
    /// When a bound is reached.
    pub(crate) fn park(&self, token: Token, bytes: usize, call: Arc<dyn Park>) -> Result<(), Full> {
        let parked = self.calls().park(self.started.elapsed(), token, bytes, call);
        self.changed.notify_one();
        parked.map_err(|(full, _)| full)
    }

    /// Takes a call out, whose client is back.
    pub(crate) fn take(&self, token: &Token) -> Option<Arc<dyn Park>> {
        self.calls().take(token)
    }

    /// A parked call has come to an end that takes memory.
    pub(crate) fn grow(&self, token: &Token, bytes: usize) {
        let grown = self.calls().grow(token, bytes);
        if let Err((full, call)) = grown {
            tracing::warn!(%full, "the answer to a parked call was dropped");
            call.expire("its answer was too large to be kept");
        }
    }

    /// Gives up the call that has been parked longest of those that keep a
    /// connection from others; false when there is none.
    pub(crate) fn give_up_longest(&self) -> bool {
        let longest = self.calls().take_first(|call| call.holds_connection());
        let Some(call) = longest else { return false };
        tracing::warn!("a parked call was given up: another needed its connection");
        call.expire("another call needed the connection that it kept");
        true
    }

    /// Gives up all of them.
    pub(crate) fn clear(&self) {
        let all: Vec<_> = self.calls().drain().collect();
        all.iter().for_each(|call| call.expire("the gateway is about to end"));
    }

    /// How many there are, and the memory that they take, in bytes.
    pub(crate) fn size(&self) -> (usize, usize) {
        let calls = self.calls();
        (calls.len(), calls.bytes())
    }

    fn calls(&self) -> MutexGuard<'_, Parked<Arc<dyn Park>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Parking {
    fn drop(&mut self) {
        self.changed.notify_one();
    }
}

/// Ends parked calls when their time is over, for as long as there may be some.
async fn expire(parking: Weak<Parking>, changed: Arc<Notify>) {
    loop {
        let next = {
            let Some(parking) = parking.upgrade() else { return };
            let now = parking.started.elapsed();
            loop {
                let expired = parking.calls().expired(now);
                let Some(call) = expired else { break };
                call.expire("it was not back in time");
            }
            parking.calls().poll_timeout().map(|at| parking.started + at)
        };
        match next {
            Some(at) => tokio::select! {
                () = tokio::time::sleep_until(at) => {}
                () = changed.notified() => {}
            },
            None => changed.notified().await,
        }
    }
}
