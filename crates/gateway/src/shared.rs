//! A connection to the server that the calls of several clients share.

use crate::gateway::Inner;
use crate::line::{Line, LineEvents};
use carrick::Client;
use carrick::client::{Changed, ClientConfig, Relay, ServerAsk};
use carrick::proto::peer::ServerDescription;
use carrick::proto::revision::Revision;
use carrick::proto::rpc::Message;
use carrick::server::Outbox;
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Such a connection, and the calls on it to which something may belong that
/// the server says without saying what of.
pub(crate) struct Trunk {
    pub(crate) line: Line,
    gateway: Weak<Inner>,
    /// Whether what the server says of itself on it counts.
    is_main: bool,
    calls: Mutex<BTreeMap<u64, Guest>>,
}

/// A call on the connection.
pub(crate) struct Guest {
    pub(crate) relay: Weak<dyn Relay>,
    /// Its conversation.
    pub(crate) outbox: Weak<dyn Outbox>,
    /// Whether the server may ask its client something.
    pub(crate) may_be_asked: bool,
    /// Whether its client wants log messages.
    pub(crate) hears_logs: bool,
}

impl Trunk {
    pub(crate) fn new(gateway: &Weak<Inner>, shared: &Inner, config: ClientConfig) -> Arc<Self> {
        Self::made(gateway, shared.upstream.clone(), config, false)
    }

    /// The connection that is opened first.
    pub(crate) fn main(
        gateway: &Weak<Inner>,
        upstream: Arc<dyn crate::Upstream>,
        config: ClientConfig,
    ) -> Arc<Self> {
        Self::made(gateway, upstream, config, true)
    }

    fn made(
        gateway: &Weak<Inner>,
        upstream: Arc<dyn crate::Upstream>,
        config: ClientConfig,
        is_main: bool,
    ) -> Arc<Self> {
        Arc::new_cyclic(|trunk: &Weak<Self>| Self {
            line: Line::new(upstream, config, Arc::new(Ears(trunk.clone()))),
            gateway: gateway.clone(),
            is_main,
            calls: Mutex::default(),
        })
    }

    /// Takes in a call to which something unsaid may belong.
    pub(crate) fn enter(&self, number: u64, guest: Guest) {
        self.calls().insert(number, guest);
    }

    pub(crate) fn leave(&self, number: u64) {
        self.calls().remove(&number);
    }

    /// The only call there is that may be asked something.
    fn asked_one(&self) -> Option<Arc<dyn Relay>> {
        let calls = self.calls();
        let mut asked = calls.values().filter(|guest| guest.may_be_asked);
        let first = asked.next()?;
        asked.next().is_none().then(|| first.relay.upgrade()).flatten()
    }

    /// The newest call that hears logs, if all that do are of one conversation.
    fn hearing(&self) -> Option<Arc<dyn Relay>> {
        let calls = self.calls();
        let mut hearing = calls.values().filter(|guest| guest.hears_logs).rev();
        let newest = hearing.next()?;
        let of_one = hearing.all(|guest| Weak::ptr_eq(&guest.outbox, &newest.outbox));
        of_one.then(|| newest.relay.upgrade()).flatten()
    }

    fn calls(&self) -> MutexGuard<'_, BTreeMap<u64, Guest>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Relay for Trunk {
    fn notice(&self, message: Message, revision: Revision) {
        match self.hearing() {
            Some(relay) => relay.notice(message, revision),
            // One client must not hear what was said to another.
            None => {
                tracing::debug!(method = message.method().name(), "whose this is cannot be told");
            }
        }
    }

    fn asked(&self, ask: ServerAsk) {
        // Dropping it refuses it.
        if let Some(relay) = self.asked_one() {
            relay.asked(ask);
        }
    }
}

impl LineEvents for Trunk {
    fn opened(&self, server: &ServerDescription) {
        if let Some(gateway) = self.gateway.upgrade().filter(|_| self.is_main) {
            gateway.opened(server);
        }
    }

    fn prepare(&self, client: Client) -> BoxFuture<'static, ()> {
        let gateway = self.gateway.upgrade();
        Box::pin(async move {
            if let Some(gateway) = gateway {
                gateway.watched.catch_up(&client).await;
            }
        })
    }

    fn closed(&self) {
        if let Some(gateway) = self.gateway.upgrade().filter(|_| self.is_main) {
            gateway.closed();
        }
    }

    fn changed(&self, changed: Changed) {
        if let Some(gateway) = self.gateway.upgrade() {
            let pace = gateway.pace.clone();
            let gateway = self.gateway.clone();
            pace.tell(changed, move |changed| {
                if let Some(gateway) = gateway.upgrade() {
                    gateway.changed(&changed);
                }
            });
        }
    }
}

/// What a line tells of, without keeping it.
pub(crate) struct Ears<T>(pub(crate) Weak<T>);

impl<T: LineEvents> Relay for Ears<T> {
    fn notice(&self, message: Message, revision: Revision) {
        if let Some(owner) = self.0.upgrade() {
            owner.notice(message, revision);
        }
    }

    fn asked(&self, ask: ServerAsk) {
        if let Some(owner) = self.0.upgrade() {
            owner.asked(ask);
        }
    }
}

impl<T: LineEvents> LineEvents for Ears<T> {
    fn opened(&self, server: &ServerDescription) {
        if let Some(owner) = self.0.upgrade() {
            owner.opened(server);
        }
    }

    fn prepare(&self, client: Client) -> BoxFuture<'static, ()> {
        match self.0.upgrade() {
            Some(owner) => owner.prepare(client),
            None => Box::pin(std::future::ready(())),
        }
    }

    fn closed(&self) {
        if let Some(owner) = self.0.upgrade() {
            owner.closed();
        }
    }

    fn changed(&self, changed: Changed) {
        if let Some(owner) = self.0.upgrade() {
            owner.changed(changed);
        }
    }
}
