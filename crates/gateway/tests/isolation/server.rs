//! The worst honest server: it remembers all that it was ever told on a
//! connection, and repeats it in everything it says there.

mod mind;
mod plan;
mod say;

use crate::evidence::Evidence;
use carrick::Client;
use carrick::client::managed::{ConnectError, Connector};
use carrick::client::{ClientConfig, Hooks};
use carrick::proto::method::Method;
use carrick::proto::peer::Lane;
use carrick::transport::{Event, Outgoing, Transport};
use carrick_gateway::Upstream;
use futures_util::future::{BoxFuture, FutureExt, TryFutureExt};
use mind::Mind;
use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// What kind of server it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nature {
    /// Whether it needs no sessions (2026-07-28).
    pub(crate) modern: bool,
    /// Whether each request has a stream of its own, as over HTTP.
    pub(crate) lanes: bool,
    /// What it remembers.
    pub(crate) memory: Memory,
    /// Whether it asks and logs as soon as a session is open.
    pub(crate) asks_at_once: bool,
}

/// What a server remembers when it says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// What it was told in the call that it speaks of.
    Call,
    /// What it was told on the connection, or in the session.
    Session,
    /// What it was told by anybody: no honest server does.
    Everybody,
}

/// What one memory holds: what told it, and whose marker that had.
type Remembered = Arc<Mutex<BTreeSet<String>>>;

/// Such a server.
pub(crate) struct Worst {
    nature: Nature,
    evidence: Evidence,
    everybody: Remembered,
    minds: Minds,
}

/// What it is on each connection: what changes is told on all of them.
type Minds = Arc<Mutex<Vec<Weak<Mind>>>>;

impl Worst {
    pub(crate) fn new(nature: Nature, evidence: Evidence) -> Self {
        Self { nature, evidence, everybody: Remembered::default(), minds: Minds::default() }
    }
}

impl Upstream for Worst {
    fn tells_calls_apart(&self) -> bool {
        self.nature.lanes
    }
}

impl Connector for Worst {
    fn name(&self) -> &str {
        "worst"
    }

    fn connect(
        &self,
        config: ClientConfig,
        hooks: Hooks,
    ) -> BoxFuture<'_, Result<Client, ConnectError>> {
        let remembered = match self.nature.memory {
            Memory::Everybody => self.everybody.clone(),
            Memory::Call | Memory::Session => Remembered::default(),
        };
        let (events, says) = mpsc::unbounded_channel();
        let minds = self.minds.clone();
        let mind = Mind::new(self.nature, remembered, minds, events, self.evidence.clone());
        self.minds.lock().unwrap().push(Arc::downgrade(&mind));
        Client::connect(Wire { mind, says }, config, hooks).map_err(ConnectError::from).boxed()
    }
}

/// The gateway's end of a connection to it: a pipe, or exchanges and a stream
/// beside them.
struct Wire {
    mind: Arc<Mind>,
    says: mpsc::UnboundedReceiver<Event>,
}

impl Transport for Wire {
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        self.says.poll_recv(cx).map(|event| event.unwrap_or(Event::Closed("it died".into())))
    }

    fn send(&mut self, message: Outgoing) {
        let nature = self.mind.nature;
        let is_cancel = message.head.is_some_and(|head| head.method == Method::Cancelled);
        if is_cancel && nature.modern && nature.lanes {
            // Here the end of the exchange says it.
            return;
        }
        self.mind.hear(message.lane, &message.bytes);
    }

    fn abandon(&mut self, lane: Lane) {
        if let (Lane::Exchange(exchange), true) = (lane, self.mind.nature.lanes) {
            self.mind.abandoned(exchange);
        }
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn queued(&self) -> usize {
        0
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<()> {
        self.mind.end();
        Poll::Ready(())
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.mind.end();
    }
}
