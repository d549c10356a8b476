//! The loop that joins a client engine, a transport and a clock.

use super::forward::{Relay, ServerAsk, Waiter};
use super::{CallError, CallOptions, Changed, ClientConfig, ClientEvent, Hooks, ProgressHandler};
use super::{Forward, Reply, ServerDescription, Shared};
use crate::tally::Tally;
use crate::transport::{Event, Outgoing, Transport, wire};
use carrick_proto::method::Method;
use carrick_proto::peer::{ClientOutput, ClientPeer, Head, Lane};
use carrick_proto::revision::Revision;
use carrick_proto::rpc::{Id, Json, Message};
use carrick_proto::types::{LogLevel, RpcError, SubscriptionFilter};
use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, Sleep};

/// What handles tell the loop.
pub(super) enum Command {
    Call {
        ticket: u64,
        what: What,
        options: CallOptions,
        progress: Option<ProgressHandler>,
        reply: oneshot::Sender<Result<Json, CallError>>,
    },
    Forward {
        ticket: u64,
        forward: Forward,
        waiter: Waiter,
    },
    Notify(Box<Message>, Revision),
    /// The answer to a request of the server's own.
    Answer(Id, Result<Box<Reply>, RpcError>),
    Cancel(u64),
    Close(oneshot::Sender<()>),
}

/// What a call is for.
pub(super) enum What {
    Request { method: String, params: Vec<u8>, name: Option<String> },
    Subscribe(String),
    Unsubscribe(String),
    LogLevel(LogLevel),
}

pub(super) type Ready = oneshot::Sender<Result<ServerDescription, CallError>>;

pub(super) async fn drive<T: Transport>(
    transport: T,
    config: ClientConfig,
    hooks: Hooks,
    shared: Arc<Shared>,
    (own, commands): (mpsc::WeakUnboundedSender<Command>, mpsc::UnboundedReceiver<Command>),
    ready: Ready,
) {
    let mut driver = Driver {
        max_queued: config.max_queued_bytes,
        left_out: Tally::default(),
        peer: ClientPeer::new(config),
        transport,
        hooks,
        shared,
        listened: BTreeSet::new(),
        asked: BTreeMap::new(),
        passed: BTreeMap::new(),
        answered: JoinSet::new(),
        own,
        commands: Some(commands),
        ready: Some(ready),
        calls: BTreeMap::new(),
        busy: false,
        tickets: BTreeMap::new(),
        closers: Vec::new(),
        started: Instant::now(),
        timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
        armed: None,
        noise: 0,
        state: State::Open,
    };
    driver.peer.connect(Duration::ZERO, None);
    driver.drain();
    poll_fn(|cx| driver.poll(cx)).await;
    for closer in driver.closers {
        // Whoever waited may have given up.
        let _ = closer.send(());
    }
    if driver.noise > 1 {
        tracing::debug!(lines = driver.noise, "lines that are no messages were skipped in all");
    }
}

struct Waiting {
    ticket: u64,
    end: End,
}

/// Where the end of a call is told.
enum End {
    Own { progress: Option<ProgressHandler>, reply: oneshot::Sender<Result<Json, CallError>> },
    PassedOn(Waiter),
}

#[derive(PartialEq)]
enum State {
    Open,
    /// Asked to close: what is queued still goes out.
    Closing,
    /// The other side is gone.
    Gone,
}

struct Driver<T> {
    peer: ClientPeer,
    transport: T,
    hooks: Hooks,
    shared: Arc<Shared>,
    /// The resources whose changes a server without sessions tells of.
    listened: BTreeSet<String>,
    /// The server's own requests that are being answered.
    asked: BTreeMap<Id, AbortHandle>,
    /// Those that somebody else is to answer; dropping tells them that the
    /// server no longer wants that.
    passed: BTreeMap<Id, oneshot::Sender<()>>,
    answered: JoinSet<(Id, Result<Vec<u8>, RpcError>)>,
    own: mpsc::WeakUnboundedSender<Command>,
    /// None once all handles are gone.
    commands: Option<mpsc::UnboundedReceiver<Command>>,
    ready: Option<Ready>,
    calls: BTreeMap<u64, Waiting>,
    /// Whether there were calls when it was last looked.
    busy: bool,
    tickets: BTreeMap<u64, u64>,
    closers: Vec<oneshot::Sender<()>>,
    started: Instant,
    timer: Pin<Box<Sleep>>,
    armed: Option<Duration>,
    /// Bytes that the server may leave unread.
    max_queued: usize,
    /// Notifications and answers that were left out for that.
    left_out: Tally,
    noise: usize,
    state: State,
}

/// Lines that are no messages, after which a server is not taken for one that is
/// still starting.
const MUCH_NOISE: usize = 1000;

/// Messages taken in one go before what they caused is written.
const BURST: usize = 256;

impl<T: Transport> Driver<T> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let polled = self.poll_all(cx);
        let busy = !self.calls.is_empty();
        if std::mem::replace(&mut self.busy, busy) != busy {
            *self.shared.idle_since() = (!busy).then(Instant::now);
        }
        polled
    }

    fn poll_all(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let more = self.poll_inputs(cx);
            if let Poll::Ready(Err(error)) = self.transport.poll_flush(cx) {
                self.gone(&format!("writing failed: {error}"));
            }
            self.reuse();
            if self.state != State::Open {
                return self.transport.poll_close(cx);
            }
            if !more {
                return Poll::Pending;
            }
        }
    }

    /// Takes what has arrived; true when it stopped before there was nothing.
    fn poll_inputs(&mut self, cx: &mut Context<'_>) -> bool {
        self.poll_commands(cx);
        self.poll_answers(cx);
        self.poll_time(cx);
        for _ in 0..BURST {
            if self.state != State::Open {
                return false;
            }
            let Poll::Ready(event) = self.transport.poll_recv(cx) else {
                // Taking messages may have started answers, of which nobody was
                // to be woken yet, and set or moved a deadline.
                self.poll_answers(cx);
                self.poll_time(cx);
                return false;
            };
            self.event(event);
            self.drain();
        }
        true
    }

    fn poll_commands(&mut self, cx: &mut Context<'_>) {
        while let Some(commands) = &mut self.commands {
            match commands.poll_recv(cx) {
                Poll::Pending => return,
                Poll::Ready(Some(command)) => self.command(command),
                Poll::Ready(None) => {
                    self.commands = None;
                    self.close();
                }
            }
            self.drain();
        }
    }

    fn poll_answers(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(answer)) = self.answered.poll_join_next(cx) {
            // Those that were cancelled have no answer.
            if let Ok((id, answer)) = answer {
                self.asked.remove(&id);
                self.peer.respond(self.now(), &id, answer);
                self.drain();
            }
        }
    }

    fn poll_time(&mut self, cx: &mut Context<'_>) {
        while let Some(at) = self.peer.poll_timeout() {
            if self.armed != Some(at) {
                self.armed = Some(at);
                self.timer.as_mut().reset(self.started + at);
            }
            if self.timer.as_mut().poll(cx).is_pending() {
                return;
            }
            self.armed = None;
            let now = self.now();
            // Asked each time, so that it is never about what was long ago. Whoever
            // writes much that is no message is at work on something else.
            let starting = self.ready.is_some() && self.noise < MUCH_NOISE;
            if starting && self.transport.is_active() {
                self.peer.extend_opening(now);
            }
            self.peer.handle_timeout(now);
            self.drain();
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Call { what: What::Request { params, .. }, reply, .. }
                if let Some(error) = self.backlog(params.len()) =>
            {
                // Whoever called may have given up.
                let _ = reply.send(Err(error));
            }
            Command::Forward { forward, waiter, .. }
                if let Some(error) = self.backlog(forward.message.bytes().len()) =>
            {
                waiter.done(Err(error));
            }
            Command::Call { ticket, what, options, progress, reply } => {
                let now = self.now();
                let id = match what {
                    What::Request { method, params, name } => {
                        self.peer.call(now, &method, &params, name.as_deref(), options)
                    }
                    What::Subscribe(uri) => self.peer.subscribe(now, &uri, options),
                    What::Unsubscribe(uri) => self.peer.unsubscribe(now, &uri, options),
                    What::LogLevel(level) => self.peer.set_log_level(now, level, options),
                };
                self.tickets.insert(ticket, id);
                self.calls.insert(id, Waiting { ticket, end: End::Own { progress, reply } });
            }
            Command::Forward { ticket, forward, waiter } => {
                let id = self.peer.forward(self.now(), forward);
                self.tickets.insert(ticket, id);
                self.calls.insert(id, Waiting { ticket, end: End::PassedOn(waiter) });
            }
            Command::Notify(message, _) if self.backlog(message.bytes().len()).is_some() => {
                self.count_left_out();
            }
            Command::Notify(message, from) => self.peer.notify(&message, from),
            Command::Answer(id, answer) => {
                self.passed.remove(&id);
                match answer {
                    Ok(reply) => self.peer.pass_answer(self.now(), &id, &reply),
                    Err(error) => self.peer.respond(self.now(), &id, Err(error)),
                }
            }
            Command::Cancel(ticket) => {
                if let Some(id) = self.tickets.remove(&ticket) {
                    self.calls.remove(&id);
                    self.peer.cancel(id, "the caller gave it up");
                }
            }
            Command::Close(closer) => {
                self.closers.push(closer);
                self.close();
            }
        }
    }

    /// Whether a message of so many bytes is too much for a server that does not read.
    fn backlog(&self, bytes: usize) -> Option<CallError> {
        let (waiting, limit) = (self.transport.queued(), self.max_queued);
        let too_much = waiting > 0 && waiting.saturating_add(bytes) > limit;
        too_much.then_some(CallError::Backlog { waiting, limit })
    }

    fn count_left_out(&self) {
        if let Some(count) = self.left_out.add() {
            tracing::warn!(count, "messages were left out: the server does not read");
        }
    }

    fn close(&mut self) {
        if self.state == State::Open {
            self.state = State::Closing;
            self.peer.handle_closed("the connection was closed on this side");
            self.drain();
        }
    }

    fn gone(&mut self, how: &str) {
        if self.state == State::Gone {
            return;
        }
        // Whoever still waits for it to open is told by that.
        let open = self.state == State::Open && self.ready.is_none();
        self.state = State::Gone;
        // First of all, so that nobody who hears of a lost call tries again here.
        if open {
            self.tell(ClientEvent::Closed(how.into()));
        }
        self.peer.handle_closed(how);
        self.drain();
    }

    fn event(&mut self, event: Event) {
        let now = self.now();
        match event {
            Event::Message { lane, bytes } => {
                wire::received(&bytes);
                self.peer.handle_input(now, lane, bytes);
            }
            Event::Scanned { lane, message } => {
                wire::received(message.bytes());
                self.peer.handle_scanned(now, lane, message);
            }
            Event::LaneEnd { lane, end } => self.peer.handle_lane_end(now, lane, end),
            Event::StreamClosed { lane, retry } => self.stream_closed(lane, retry),
            Event::SessionLost => self.peer.handle_session_lost(now),
            Event::ListenEnded(how) => self.tell(ClientEvent::ListenEnded(how)),
            // Which call it answered cannot be known, so none can go on.
            Event::Oversize { limit } => {
                self.gone(&format!("the server sent a message of more than {limit} bytes"));
            }
            Event::Closed(how) => self.gone(&how),
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.peer.poll_output() {
            match output {
                ClientOutput::Send { lane, bytes, head } => self.send(lane, bytes, head),
                ClientOutput::Abandon(lane) => self.transport.abandon(lane),
                ClientOutput::Ready(server) => self.opened(Ok(server)),
                ClientOutput::Failed(error) => {
                    self.opened(Err(error));
                    self.close();
                }
                ClientOutput::Resolved(id, result) => match self.ended(id) {
                    // The caller may have given up a moment ago.
                    Some(End::Own { reply, .. }) => drop(reply.send(result)),
                    Some(End::PassedOn(waiter)) => {
                        if let Err(error) = result {
                            waiter.done(Err(error));
                        }
                    }
                    None => {}
                },
                ClientOutput::Forwarded(id, reply) => {
                    if let Some(End::PassedOn(waiter)) = self.ended(id) {
                        waiter.done(Ok(reply));
                    }
                }
                ClientOutput::Notified { call, message } => self.notified(call, message),
                ClientOutput::Asked { call, message } => self.pass_ask(call, message),
                ClientOutput::Progress(id, progress) => {
                    let end = self.calls.get(&id).map(|call| &call.end);
                    if let Some(End::Own { progress: Some(handler), .. }) = end {
                        handler(progress);
                    }
                }
                ClientOutput::Request { id, method, params } => self.asked(id, method, params),
                ClientOutput::RequestCancelled(id) => {
                    self.passed.remove(&id);
                    if let Some(task) = self.asked.remove(&id) {
                        task.abort();
                    }
                }
                ClientOutput::Log(params) => self.tell(ClientEvent::Log(params)),
                ClientOutput::Changed(what) => self.changed(what),
                ClientOutput::Listening { agreed, unheard } => self.listening(agreed, unheard),
                ClientOutput::Reopened(server) => self.reopened(server),
                ClientOutput::Gone(how) => self.gone(&how),
                ClientOutput::Ignored { what, noise } => self.ignored(what, noise),
                ClientOutput::Warning(what) => tracing::warn!("{what}"),
                _ => {}
            }
        }
    }

    /// Tells whoever passed a call on that its stream has been closed.
    fn stream_closed(&self, lane: Lane, retry: Option<Duration>) {
        // A call's exchange has its number.
        let Lane::Exchange(id) = lane else { return };
        if let Some(End::PassedOn(waiter)) = self.calls.get(&id).map(|call| &call.end) {
            waiter.relay().stream_closed(retry);
        }
    }

    /// Takes a call out that has come to its end.
    fn ended(&mut self, id: u64) -> Option<End> {
        let call = self.calls.remove(&id)?;
        self.tickets.remove(&call.ticket);
        Some(call.end)
    }

    /// Who hears what the server says of a call, or of none.
    fn relay(&self, call: Option<u64>) -> Option<&dyn Relay> {
        match call.and_then(|id| self.calls.get(&id)).map(|call| &call.end) {
            Some(End::PassedOn(waiter)) => Some(waiter.relay()),
            _ => self.hooks.relay.as_deref(),
        }
    }

    fn notified(&self, call: Option<u64>, message: Message) {
        if let Some(relay) = self.relay(call) {
            relay.notice(message, self.peer.revision());
        }
    }

    /// Hands a request of the server's own to whoever passes it on.
    fn pass_ask(&mut self, call: Option<u64>, message: Message) {
        let Some(id) = message.id().cloned() else { return };
        let (open, withdrawn) = oneshot::channel();
        self.passed.insert(id.clone(), open);
        let revision = self.peer.revision();
        let ask = ServerAsk::new(message, id, revision, self.own.clone(), withdrawn);
        if let Some(relay) = self.relay(call) {
            relay.asked(ask);
        }
    }

    /// Answers a request of the server's own in a task, which may ask a person.
    fn asked(&mut self, id: Id, method: Method, params: Json) {
        let handlers = self.hooks.handlers.clone();
        let key = id.clone();
        let task = self.answered.spawn(async move {
            let answer = handlers.answer(method, params.as_bytes()).await;
            (id, answer)
        });
        self.asked.insert(key, task);
    }

    fn changed(&mut self, what: Changed) {
        {
            let mut cache = self.shared.cache();
            cache.forget(&what);
            // Whoever has the list is about to be told.
            cache.take_asked(&what);
        }
        self.tell(ClientEvent::Changed(what));
    }

    /// A list may have changed. Tells so if somebody has it.
    fn may_have_changed(&mut self, list: Changed) {
        let told = {
            let mut cache = self.shared.cache();
            cache.forget(&list);
            cache.take_asked(&list)
        };
        if told {
            self.tell(ClientEvent::Changed(list));
        }
    }

    /// The server tells of changes from now on. Of those up to now it may not
    /// have told.
    fn listening(&mut self, agreed: SubscriptionFilter, unheard: bool) {
        let lists = [
            (agreed.tools_list_changed, Changed::Tools),
            (agreed.prompts_list_changed, Changed::Prompts),
            (agreed.resources_list_changed, Changed::Resources),
        ];
        if unheard {
            lists
                .into_iter()
                .filter(|(on, _)| *on)
                .for_each(|(_, list)| self.may_have_changed(list));
        }
        let uris: BTreeSet<String> = agreed.resource_subscriptions.into_iter().collect();
        let before = std::mem::replace(&mut self.listened, uris.clone());
        for uri in uris {
            let known = before.contains(&uri);
            let changed = Changed::Resource(uri);
            if unheard || !known {
                self.shared.cache().forget(&changed);
            }
            if unheard && known {
                self.tell(ClientEvent::Changed(changed));
            }
        }
    }

    /// There is another session, with a server that may have changed altogether.
    fn reopened(&mut self, server: ServerDescription) {
        *self.shared.reopened() = Some(Arc::new(server));
        for list in [Changed::Tools, Changed::Prompts, Changed::Resources] {
            self.may_have_changed(list);
        }
        self.shared.cache().forget_all();
    }

    fn send(&mut self, lane: Lane, bytes: Vec<u8>, head: Head) {
        // Only answers to the server's own requests have no method. Calls are
        // bounded by their callers; these would pile up for one that sends
        // and does not read.
        if head.method_name.is_empty() && self.transport.queued() > self.max_queued / 2 {
            return self.count_left_out();
        }
        wire::sent(&bytes);
        self.transport.send(Outgoing::from_client(lane, bytes, head));
        self.reuse();
    }

    /// Gives the engine back what the transport has written.
    fn reuse(&mut self) {
        while let Some(buffer) = self.transport.spent() {
            self.peer.reuse(buffer);
        }
    }

    fn opened(&mut self, result: Result<ServerDescription, CallError>) {
        if let Some(ready) = self.ready.take() {
            // Whoever connects may have given up.
            let _ = ready.send(result);
        }
    }

    fn ignored(&mut self, what: String, noise: bool) {
        if !noise {
            tracing::debug!(what, "ignored");
            return;
        }
        self.noise += 1;
        if self.noise == 1 {
            self.tell(ClientEvent::Noise(what));
        }
    }

    fn tell(&self, event: ClientEvent) {
        if let Some(events) = &self.hooks.events {
            events(event);
        }
    }
}
