//! The calls on one connection, and to which of them something belongs that the
//! server says without saying what of.

use carrick::client::Relay;
use carrick::server::Outbox;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::Instant;

/// How long a call that has ended still counts: what its server says late must
/// not be taken for something of the next call.
const LINGER: Duration = Duration::from_secs(5);

/// Conversations that have ended calls are remembered by name up to this many.
const REMEMBERED: usize = 32;

/// A call that runs.
pub(crate) struct Running {
    pub(crate) number: u64,
    pub(crate) relay: Weak<dyn Relay>,
    /// Its conversation.
    pub(crate) outbox: Weak<dyn Outbox>,
    /// Whether the server may ask its client something.
    pub(crate) may_be_asked: bool,
    /// Whether its client wants log messages.
    pub(crate) hears_logs: bool,
}

/// The calls of one connection.
#[derive(Default)]
pub(crate) struct InFlight {
    running: Vec<Running>,
    /// Whose calls have ended lately, and when the last of each did.
    ended: Vec<(Weak<dyn Outbox>, Instant)>,
    /// Too many have ended lately to remember whose they were: until then.
    crowded: Option<Instant>,
}

impl InFlight {
    /// A call begins, or goes on for a client that has come back to it.
    pub(crate) fn enter(&mut self, call: Running) {
        self.running.retain(|known| known.number != call.number);
        self.running.push(call);
    }

    pub(crate) fn leave(&mut self, number: u64, now: Instant) {
        let Some(at) = self.running.iter().position(|call| call.number == number) else { return };
        let call = self.running.remove(at);
        if let Some(known) = self.ended.iter_mut().find(|(o, _)| Weak::ptr_eq(o, &call.outbox)) {
            known.1 = now;
            return;
        }
        if self.ended.len() >= REMEMBERED {
            self.ended.retain(|(_, at)| now.duration_since(*at) < LINGER);
        }
        if self.ended.len() >= REMEMBERED {
            self.crowded = Some(now + LINGER);
        } else {
            self.ended.push((call.outbox, now));
        }
    }

    /// The newest call that hears log messages. `of_one`: all calls are known to
    /// be of one client; otherwise there is none unless all that run, or ended
    /// a moment ago, are of one conversation.
    pub(crate) fn hearing(&mut self, of_one: bool, now: Instant) -> Option<Arc<dyn Relay>> {
        let newest = self.running.iter().rev().find(|call| call.hears_logs)?;
        if !of_one {
            self.ended.retain(|(_, at)| now.duration_since(*at) < LINGER);
            if self.crowded.is_some_and(|until| now < until) {
                return None;
            }
            let its = |outbox: &Weak<dyn Outbox>| Weak::ptr_eq(outbox, &newest.outbox);
            let alone = self.running.iter().all(|call| its(&call.outbox))
                && self.ended.iter().all(|(outbox, _)| its(outbox));
            if !alone {
                return None;
            }
        }
        newest.relay.upgrade()
    }

    /// The call whose client the server asks something: the newest that may be
    /// asked. All calls must be of one client.
    pub(crate) fn asked(&self) -> Option<Arc<dyn Relay>> {
        self.running.iter().rev().find(|call| call.may_be_asked)?.relay.upgrade()
    }
}
