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

#[cfg(test)]
mod tests {
    use super::*;
    use carrick::client::ServerAsk;
    use carrick::proto::peer::{CallKey, Changed, Outcome};
    use carrick::proto::revision::Revision;
    use carrick::proto::rpc::Message;
    use carrick::server::{PassedAsk, Question};
    use carrick::types::LogLevel;
    use futures_util::future::BoxFuture;

    /// A call, or its conversation.
    struct Deaf;

    impl Relay for Deaf {
        fn notice(&self, _: Message, _: Revision) {}
        fn asked(&self, _: ServerAsk) {}
    }

    impl Outbox for Deaf {
        fn progress(&self, _: CallKey, _: f64, _: Option<f64>, _: Option<String>) {}
        fn log(&self, _: CallKey, _: LogLevel, _: Option<String>, _: Vec<u8>) {}
        fn ask(&self, _: CallKey, _: Question) -> BoxFuture<'_, ()> {
            Box::pin(std::future::ready(()))
        }
        fn changed(&self, _: Changed) {}
        fn answer(&self, _: CallKey, _: Outcome) {}
        fn pass_notice(&self, _: Option<CallKey>, _: Message, _: Revision) {}
        fn pass_ask(&self, _: PassedAsk) {}
        fn sweep_asks(&self) {}
    }

    fn conversation() -> Arc<dyn Outbox> {
        Arc::new(Deaf)
    }

    /// Takes a call in; it is there as long as what is returned.
    fn enter(calls: &mut InFlight, number: u64, of: &Arc<dyn Outbox>) -> Arc<dyn Relay> {
        let call: Arc<dyn Relay> = Arc::new(Deaf);
        let (relay, outbox) = (Arc::downgrade(&call), Arc::downgrade(of));
        calls.enter(Running { number, relay, outbox, may_be_asked: true, hears_logs: true });
        call
    }

    fn is(found: Option<Arc<dyn Relay>>, call: &Arc<dyn Relay>) -> bool {
        found.is_some_and(|found| Arc::ptr_eq(&found, call))
    }

    #[test]
    fn a_call_that_ends_is_asked_nothing_and_the_others_still_are() {
        let (mut calls, now, client) = (InFlight::default(), Instant::now(), conversation());
        let one = enter(&mut calls, 1, &client);
        let two = enter(&mut calls, 2, &client);
        assert!(is(calls.asked(), &two), "the newest");
        calls.leave(2, now);
        assert!(is(calls.asked(), &one) && is(calls.hearing(true, now), &one));
        calls.leave(1, now);
        assert!(calls.asked().is_none() && calls.hearing(true, now).is_none());
        assert!(calls.running.is_empty());
    }

    #[test]
    fn logs_are_nobodys_while_calls_of_two_run_and_a_moment_longer() {
        let (mut calls, now) = (InFlight::default(), Instant::now());
        let (ada, bob) = (conversation(), conversation());
        let one = enter(&mut calls, 1, &ada);
        assert!(is(calls.hearing(false, now), &one));
        let two = enter(&mut calls, 2, &bob);
        assert!(calls.hearing(false, now).is_none());
        calls.leave(1, now);
        assert!(calls.hearing(false, now).is_none(), "what is said late may be of the other");
        assert!(is(calls.hearing(false, now + LINGER), &two));
    }

    #[test]
    fn logs_are_nobodys_when_too_many_have_ended_to_remember_whose_they_were() {
        let (mut calls, now) = (InFlight::default(), Instant::now());
        let mut gone = Vec::new();
        for number in 0..=REMEMBERED as u64 {
            let client = conversation();
            enter(&mut calls, number, &client);
            calls.leave(number, now);
            gone.push(client);
        }
        assert_eq!(calls.ended.len(), REMEMBERED);
        let client = conversation();
        let last = enter(&mut calls, 99, &client);
        let late = now + LINGER - Duration::from_millis(1);
        assert!(calls.hearing(false, late).is_none());
        assert!(is(calls.hearing(false, now + LINGER), &last));
    }

    #[test]
    fn calls_that_ended_long_ago_make_room_for_others() {
        let (mut calls, now) = (InFlight::default(), Instant::now());
        let end = |calls: &mut InFlight, number, at| {
            let client = conversation();
            enter(calls, number, &client);
            calls.leave(number, at);
            client
        };
        let _gone: Vec<_> = (0..REMEMBERED as u64).map(|n| end(&mut calls, n, now)).collect();
        assert_eq!(calls.ended.len(), REMEMBERED);
        end(&mut calls, 99, now + LINGER);
        assert_eq!((calls.ended.len(), calls.crowded), (1, None));
    }
}
