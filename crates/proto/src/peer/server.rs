//! The server's half of a connection, for both lifecycles.

mod ask;
mod batch;
mod calls;
mod emit;
mod forward;
mod identity;
mod listen;
mod opening;
mod output;

pub use ask::{AskKey, KnownClient};
pub use forward::AskPlace;
pub use identity::Identity;
pub use listen::SubscriptionLimits;
pub use output::{Call, CallKey, Envelope, Outcome, Sent, ServerOutput};

use super::{Lane, brief};
use crate::method::Method;
use crate::revision::{Direction, Lifecycle, Revision, method_row};
use crate::rpc::{self, Field, Id, Kind, Limits, Message, ScanError, Scanned, Spares};
use crate::types::{LogLevel, RpcError};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use batch::{Batches, Place};
use bytes::Bytes;
use calls::Calls;
use opening::log_level;

struct Active {
    id: Id,
    place: Place,
    method: Method,
    revision: Revision,
    progress_token: Option<Id>,
    /// The last progress sent; it has to grow.
    progress: f64,
    /// The least severe log level to send, if any.
    log: Option<LogLevel>,
}

struct Session {
    client: ask::Client,
    revision: Revision,
    ready: bool,
    log: LogLevel,
}

/// The server's half of one connection (stdio), one session (legacy HTTP) or
/// one request (modern HTTP).
pub struct ServerPeer {
    identity: Arc<Identity>,
    limits: Limits,
    session: Option<Session>,
    asks: ask::Asks,
    watches: listen::Watches,
    calls: Calls,
    batches: Batches,
    spares: Spares,
    out: VecDeque<ServerOutput>,
}

impl ServerPeer {
    /// A peer that has heard nothing yet.
    pub fn new(identity: Arc<Identity>, limits: Limits) -> Self {
        Self {
            identity,
            limits,
            session: None,
            asks: ask::Asks::default(),
            watches: listen::Watches::default(),
            calls: Calls::default(),
            batches: Batches::default(),
            spares: Spares::default(),
            out: VecDeque::new(),
        }
    }

    /// The revision of the session, once there is one.
    pub fn session(&self) -> Option<Revision> {
        self.session.as_ref().map(|s| s.revision)
    }

    /// Gives back the memory that only work needs, when there is none: for peers
    /// that may be idle for long.
    pub fn shrink(&mut self) {
        if self.out.is_empty() {
            self.out = VecDeque::new();
        }
        self.watches.shrink();
        self.spares.clear();
        self.calls.shrink();
    }

    /// Requests that wait for the application.
    pub fn in_flight(&self) -> usize {
        self.calls.len()
    }

    #[cfg(test)]
    pub(super) fn slots(&self) -> usize {
        self.calls.slots()
    }

    /// Takes one frame.
    pub fn handle_input(&mut self, lane: Lane, bytes: Bytes) {
        match rpc::scan_into(bytes, self.limits, &mut self.spares) {
            Ok(scanned) => self.handle_scanned(lane, scanned),
            Err(error) => self.handle_bad(lane.into(), error),
        }
    }

    /// Takes one frame that has been scanned already.
    pub fn handle_scanned(&mut self, lane: Lane, scanned: Scanned) {
        match scanned {
            Scanned::One(message) => self.handle_message(lane, message),
            Scanned::Batch(messages) => self.handle_batch(lane, messages),
        }
    }

    /// Takes the messages of one frame. What answers them comes as one array,
    /// once there is an answer to each request.
    fn handle_batch(&mut self, lane: Lane, messages: Vec<Result<Message, ScanError>>) {
        let batching = |session: &Session| session.revision.rules().batching;
        let refused = if !self.session.as_ref().is_some_and(batching) {
            "batches are not part of this protocol revision: send one message at a time"
        } else if messages.is_empty() {
            "an empty batch"
        } else {
            let place = self.batches.begin(lane);
            for message in messages {
                match message {
                    Ok(message) => self.handle_placed(place, message),
                    Err(error) => self.handle_bad(place, error),
                }
            }
            return self.placed(place);
        };
        let error = RpcError::new(RpcError::INVALID_REQUEST, refused);
        self.fail(lane.into(), None, &error);
    }

    /// Takes one message that has been scanned already.
    pub fn handle_message(&mut self, lane: Lane, message: Message) {
        self.handle_placed(lane.into(), message);
    }

    fn handle_placed(&mut self, place: Place, message: Message) {
        match message.kind() {
            Kind::Request => {
                if let Err((id, error)) = self.request(place, message) {
                    self.fail(place, Some(&id), &error);
                }
            }
            Kind::Notification => self.notification(message),
            Kind::Result | Kind::Error => self.answered(message),
        }
    }

    /// Takes back the bytes of a message that has been sent, to write the next
    /// one into. Only for connections that carry many messages: what is kept is
    /// 256 KiB at most, and from the first on 64 scanned messages (25 KiB), until
    /// [`ServerPeer::shrink`].
    pub fn reuse(&mut self, buffer: Vec<u8>) {
        self.spares.written(buffer);
    }

    /// What to do next, until there is nothing.
    pub fn poll_output(&mut self) -> Option<ServerOutput> {
        self.out.pop_front()
    }

    /// Answers a call; without effect when it was cancelled meanwhile.
    pub fn respond(&mut self, key: CallKey, outcome: Outcome) {
        let is_listen = |call: &Active| call.method == Method::SubscriptionsListen;
        match outcome {
            Outcome::Listening(agreed) => return self.listening(key, agreed),
            _ if outcome.is_success() && self.active(key).is_some_and(is_listen) => {
                return self.end_listen(key);
            }
            _ => {}
        }
        self.watches.settle(key, outcome.is_success());
        let Some(call) = self.take(key) else { return };
        let (place, id) = (call.place, call.id.clone());
        match outcome {
            // Answered above.
            Outcome::Listening(_) => {}
            Outcome::Error(error) => self.fail(place, Some(&id), &error),
            Outcome::Response(bytes) => self.send(place, bytes),
            Outcome::Result { body, has_meta } => {
                match self.shape(call.revision, call.method, body, has_meta, &id) {
                    Ok(bytes) => self.send(place, bytes),
                    Err(error) => self.fail(place, Some(&id), &error),
                }
            }
            Outcome::Called(result) => match self.called(&call, &result) {
                Ok(bytes) => self.send(place, bytes),
                Err(error) => self.fail(place, Some(&id), &error),
            },
            Outcome::Shaped(body) => {
                let bytes = self.wrapped(call.revision, &body, false, &id);
                self.send(place, bytes);
            }
            Outcome::Forwarded(reply) => {
                self.pass_reply(&call, &reply);
                self.spares.done(reply.into_message());
            }
            Outcome::InputRequired(body) if !call.revision.rules().server_requests => {
                let mut out = Vec::new();
                rpc::result_response_with(&mut out, &id, &body, &self.identity.input_required);
                self.send(place, out);
            }
            Outcome::InputRequired(_) => {
                let error = RpcError::internal("a session asks its client by requests");
                self.fail(place, Some(&id), &error);
            }
        }
        self.placed(place);
    }

    /// Gives up every call of a lane that has gone.
    pub fn drop_lane(&mut self, lane: Lane) {
        let keys: Vec<CallKey> = self.calls.of_lane(lane).collect();
        for key in keys {
            self.give_up(key);
        }
    }

    fn handle_bad(&mut self, place: Place, error: ScanError) {
        if error.is_response || error.is_notification {
            let what = if error.is_response { "response" } else { "notification" };
            return self.ignore(format!("a broken {what}: {error}"));
        }
        let answer = RpcError::new(error.kind.code(), error.kind.to_string());
        self.fail(place, error.id.as_ref(), &answer);
    }

    fn request(&mut self, place: Place, message: Message) -> Result<(), (Id, RpcError)> {
        let Some(id) = message.id().cloned() else { return Ok(()) };
        if self.calls.find(&id).is_some() {
            let error = RpcError::new(
                RpcError::INVALID_REQUEST,
                format!("id {} belongs to a request that is still running", {
                    brief(id.to_string().as_bytes())
                }),
            );
            return Err((id, error));
        }
        let revision = match self.revision_of(&message) {
            Ok(revision) => revision,
            Err(error) => return Err((id, error)),
        };
        let method = message.method();
        let row = method_row(method);
        let offered = row.is_some_and(|row| {
            row.is_request && row.direction != Direction::FromServer && row.exists_in(revision)
        });
        if !offered && method != Method::Unknown {
            return Err((id, method_not_found(&message)));
        }
        match method {
            Method::Initialize => return self.initialize(place, &message, id),
            Method::ServerDiscover => {
                let body = self.identity.discover();
                match self.shape(revision, method, body, false, &id) {
                    Ok(bytes) => self.send(place, bytes),
                    Err(error) => return Err((id, error)),
                }
            }
            Method::Ping => self.reply(place, &id, b"{}"),
            Method::LoggingSetLevel if self.identity.logging => {
                return self.set_level(place, &message, id);
            }
            Method::SubscriptionsListen
            | Method::ResourcesSubscribe
            | Method::ResourcesUnsubscribe => match self.watch(&message) {
                Ok(watch) => {
                    let key = self.call(place, message, revision, id);
                    self.watches.begin(key, watch);
                }
                Err(error) => return Err((id, error)),
            },
            _ => {
                self.call(place, message, revision, id);
            }
        }
        Ok(())
    }

    fn call(&mut self, place: Place, message: Message, revision: Revision, id: Id) -> CallKey {
        let modern = revision.rules().lifecycle == Lifecycle::PerRequest;
        let log = if modern {
            log_level(&message, Field::MetaLogLevel)
        } else {
            self.session.as_ref().map(|s| s.log)
        };
        let active = Active {
            id,
            place,
            method: message.method(),
            revision,
            progress_token: message.id_at(Field::MetaProgressToken),
            progress: f64::NEG_INFINITY,
            log,
        };
        let wants_progress = active.progress_token.is_some();
        if let Some(batch) = place.batch {
            self.batches.wait(batch);
        }
        let key = self.calls.insert(active);
        // A request without a session says itself what its client can do.
        let session = self.session.as_ref().filter(|_| !modern);
        let client = session.map(|s| s.client.clone()).unwrap_or_default();
        self.out.push_back(ServerOutput::Call(Call {
            key,
            lane: place.lane,
            revision,
            message,
            wants_progress,
            log,
            client_info: client.info,
            client_capabilities: client.capabilities,
            identity: self.identity.clone(),
        }));
        key
    }

    fn notification(&mut self, message: Message) {
        match message.method() {
            Method::Initialized => match &mut self.session {
                Some(session) => {
                    session.ready = true;
                    self.tell_held();
                }
                None => self.ignore("notifications/initialized before initialize".into()),
            },
            Method::Cancelled => self.cancelled(&message),
            _ => self.out.push_back(ServerOutput::Notification(message)),
        }
    }

    fn cancelled(&mut self, message: &Message) {
        let key = message.id_at(Field::RequestId).and_then(|id| self.calls.find(&id));
        // An unknown id is normal: the answer may be on its way already.
        if let Some(key) = key {
            self.give_up(key);
        }
    }

    fn give_up(&mut self, key: CallKey) {
        if let Some(call) = self.take(key) {
            // What is left of its batch goes out before its lane may close.
            self.placed(call.place);
        }
        self.out.push_back(ServerOutput::Cancel(key));
    }

    fn active(&self, key: CallKey) -> Option<&Active> {
        self.calls.get(key)
    }

    fn active_mut(&mut self, key: CallKey) -> Option<&mut Active> {
        self.calls.get_mut(key)
    }

    fn take(&mut self, key: CallKey) -> Option<Active> {
        let active = self.calls.remove(key)?;
        self.drop_asks(key);
        self.watches.settle(key, false);
        Some(active)
    }
}

fn method_not_found(message: &Message) -> RpcError {
    let name = message.method_name();
    let text = format!("no method {:?} here", brief(name.as_bytes()));
    RpcError::new(RpcError::METHOD_NOT_FOUND, text)
}
