//! The client's half of a connection, for both lifecycles.

mod config;
mod error;
mod forward;
mod level;
mod listen;
mod output;
mod params;
mod reopen;
mod request;
mod result;
mod start;

pub use config::{CallOptions, ClientConfig, Era, ServerDescription};
pub use error::{CallError, InputRequest, InputRequired, LaneEnd};
pub use forward::Forward;
pub use output::{ClientOutput, Head, Name};
pub(super) use result::read_error;

use super::{Changed, Lane, brief};
use crate::method::Method;
use crate::revision::Revision;
use crate::rpc::{self, Field, Id, Kind, Message, ScanError, Scanned, Spares};
use crate::types::{LogLevel, Progress};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use bytes::Bytes;
use core::time::Duration;
use params::{OwnMeta, write_with_meta};
use serde::Deserialize;

struct Pending {
    method: Method,
    deadline: Duration,
    last: Duration,
    options: CallOptions,
    started: Duration,
    /// Whether its answer is handed out as it comes.
    raw: bool,
    /// What is left of its time, while it stands still because the server waits for us.
    paused: Option<Duration>,
    /// How many questions of the server's it may have led to.
    asked: u32,
}

impl Pending {
    /// A sign of life: the stored wake-up may now be early; waking finds that out.
    fn heard(&mut self, now: Duration) {
        if self.options.reset_on_progress {
            self.paused = self.paused.map(|_| self.options.timeout);
            self.renew(now);
        }
    }

    /// Lets its time stand still.
    fn pause(&mut self, now: Duration) {
        self.paused.get_or_insert(self.deadline.saturating_sub(now));
    }

    /// Lets its time go on where it stood still.
    fn resume(&mut self, now: Duration) {
        if let Some(left) = self.paused.take()
            && self.deadline < Duration::MAX
        {
            self.deadline = now.saturating_add(left).min(self.last);
        }
    }

    fn renew(&mut self, now: Duration) {
        if self.deadline < Duration::MAX {
            self.deadline = now.saturating_add(self.options.timeout).min(self.last);
        }
    }
}

/// Where the connection stands.
#[derive(Debug, PartialEq)]
enum Phase {
    Idle,
    Probing {
        id: u64,
    },
    Initializing {
        id: u64,
    },
    Ready,
    /// The session was lost; another one is on its way.
    Reopening {
        id: u64,
    },
    Closed {
        how: String,
    },
}

/// The client's half of one connection.
pub struct ClientPeer {
    config: ClientConfig,
    phase: Phase,
    revision: Revision,
    next_id: u64,
    pending: BTreeMap<u64, Pending>,
    /// No deadline is earlier than this.
    wake: Option<Duration>,
    opening: start::Opening,
    /// Whether the session was opened in place of a lost one, and has not yet
    /// answered anything.
    untried: bool,
    subscriptions: listen::Subscriptions,
    /// Whether the server logs, and from which level on it should.
    logs: bool,
    log_level: Option<LogLevel>,
    own_meta: OwnMeta,
    asked: request::Asked,
    spares: Spares,
    out: VecDeque<ClientOutput>,
}

impl ClientPeer {
    /// A peer that has not said anything yet: see [`ClientPeer::connect`].
    pub fn new(config: ClientConfig) -> Self {
        let asked = request::Asked::new(&config.capabilities);
        Self {
            config,
            asked,
            phase: Phase::Idle,
            revision: Revision::NEWEST,
            next_id: 1,
            pending: BTreeMap::new(),
            wake: None,
            opening: start::Opening::default(),
            untried: false,
            subscriptions: listen::Subscriptions::default(),
            logs: false,
            log_level: None,
            own_meta: OwnMeta::default(),
            spares: Spares::default(),
            out: VecDeque::new(),
        }
    }

    /// Sends a request; `params` is a JSON object, or empty. A `_meta` in it is
    /// kept, with the protocol's own members added.
    ///
    /// Returns the key that [`ClientOutput::Resolved`] will carry. What cannot
    /// be sent (no object, no open connection) resolves at once.
    pub fn call(
        &mut self,
        now: Duration,
        method: &str,
        params: &[u8],
        name: Option<&str>,
        options: CallOptions,
    ) -> u64 {
        let refused = match &self.phase {
            // What is sent meanwhile waits for the new session.
            Phase::Ready | Phase::Reopening { .. } => None,
            Phase::Closed { how } => Some(CallError::Closed(how.clone())),
            _ => Some(CallError::NotConnected),
        };
        let refused = refused.or_else(|| params::check(params).err().map(CallError::Params));
        match refused {
            None => self.send_request(now, method, params, name, options),
            Some(error) => {
                let id = self.take_id();
                self.out.push_back(ClientOutput::Resolved(id, Err(error)));
                id
            }
        }
    }

    /// Gives up a call and tells the server. No [`ClientOutput::Resolved`] follows.
    pub fn cancel(&mut self, id: u64, reason: &str) {
        self.stop_waiting(id);
        if self.pending.remove(&id).is_some() {
            self.send_cancel(id, reason);
        }
    }

    /// Takes one frame that came on `lane`.
    pub fn handle_input(&mut self, now: Duration, lane: Lane, bytes: Bytes) {
        let start = bytes.clone();
        match rpc::scan_into(bytes, self.config.limits, &mut self.spares) {
            Ok(Scanned::One(message)) => self.handle_message(now, lane, message),
            Ok(Scanned::Batch(messages)) => {
                for message in messages {
                    match message {
                        Ok(message) => self.handle_message(now, lane, message),
                        Err(error) => self.handle_bad(now, lane, &start, error),
                    }
                }
            }
            Err(error) => match self.without_deep_entries(&error, &start) {
                Some(message) => self.handle_message(now, lane, message),
                None => self.handle_bad(now, lane, &start, error),
            },
        }
    }

    /// A list that we wait for, without the entries that nest too deeply to be read.
    fn without_deep_entries(&mut self, error: &ScanError, bytes: &[u8]) -> Option<Message> {
        let [id] = &error.answers[..] else { return None };
        let call = self.pending.get(&number(Some(id))?)?;
        if !call.method.is_list() || !error.is_too_deep() {
            return None;
        }
        let limits = self.config.limits;
        let (bytes, names) = rpc::without_deep_entries(bytes, limits)?;
        let Ok(Scanned::One(message)) = rpc::scan(bytes, limits) else { return None };
        let (names, list) = (names.join(", "), call.method.name());
        let what = format!("left out of {list}, as they nest too deeply to be read: {names}");
        self.out.push_back(ClientOutput::Warning(what));
        Some(message)
    }

    /// Takes a message that came on `lane` and has been scanned already.
    pub fn handle_scanned(&mut self, now: Duration, lane: Lane, message: Message) {
        self.handle_message(now, lane, message);
    }

    /// Takes the end of an exchange; without effect when it has been answered.
    pub fn handle_lane_end(&mut self, now: Duration, lane: Lane, end: LaneEnd) {
        let Lane::Exchange(id) = lane else { return };
        if self.pending.remove(&id).is_none() {
            return;
        }
        if self.is_opening(id) {
            return self.opening_ended(now, end);
        }
        let error = match end {
            LaneEnd::Params(what) => CallError::Params(what),
            end => CallError::Exchange(end),
        };
        self.answered(now, id, Err(error));
    }

    /// Takes the end of the connection: every call, now and later, ends with `how`.
    pub fn handle_closed(&mut self, how: &str) {
        if matches!(self.phase, Phase::Closed { .. }) {
            return;
        }
        let opening = matches!(self.phase, Phase::Probing { .. } | Phase::Initializing { .. });
        self.stop_listening(how);
        let pending = self.shut(how);
        if opening {
            self.out.push_back(ClientOutput::Failed(CallError::Closed(how.into())));
            return;
        }
        for id in pending.into_keys() {
            let error = CallError::Closed(how.into());
            self.out.push_back(ClientOutput::Resolved(id, Err(error)));
        }
    }

    /// Lets time pass.
    pub fn handle_timeout(&mut self, now: Duration) {
        if self.wake.is_none_or(|wake| now < wake) {
            return;
        }
        let due: Vec<u64> =
            self.pending.iter().filter(|(_, p)| p.deadline <= now).map(|(id, _)| *id).collect();
        for id in due {
            // It is on us; only the time for all of it goes on.
            if self.waits_for_us(id)
                && let Some(call) = self.pending.get_mut(&id).filter(|call| now < call.last)
            {
                call.renew(now);
                continue;
            }
            let Some(call) = self.pending.remove(&id) else { continue };
            let waited = now.saturating_sub(call.started);
            if self.is_opening(id) {
                self.opening_silent(now, id);
                continue;
            }
            self.send_cancel(id, "timed out");
            self.answered(now, id, Err(CallError::Timeout(waited)));
        }
        self.listen_if_due(now);
        let deadlines = self.pending.values().map(|p| p.deadline);
        let first = deadlines.filter(|deadline| *deadline < Duration::MAX).min();
        self.wake = listen::earliest(first, self.subscriptions.due());
    }

    /// When [`ClientPeer::handle_timeout`] is next worth calling.
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.wake
    }

    /// Takes back the bytes of a message that has been sent, to write the next
    /// one into. Only for connections that carry many messages: what is kept is
    /// 256 KiB at most, and from the first on 64 scanned messages (25 KiB).
    pub fn reuse(&mut self, buffer: Vec<u8>) {
        self.spares.written(buffer);
    }

    /// What to do next, until there is nothing.
    pub fn poll_output(&mut self) -> Option<ClientOutput> {
        self.out.pop_front()
    }

    fn handle_message(&mut self, now: Duration, lane: Lane, message: Message) {
        match message.kind() {
            Kind::Result | Kind::Error => self.response(now, lane, message),
            Kind::Request => self.server_request(now, lane, message),
            Kind::Notification if self.is_raw(&message) => self.hand_out(now, lane, message),
            Kind::Notification => {
                self.notification(now, lane, &message);
                self.spares.done(message);
            }
        }
    }

    /// Whether a notification is handed out as it is. Changes are not: who
    /// hears of them has nothing to do with any call.
    fn is_raw(&self, message: &Message) -> bool {
        use Method::{
            Cancelled, PromptsListChanged, ResourcesListChanged, ResourcesUpdated,
            SubscriptionsAcknowledged, ToolsListChanged,
        };
        let own = matches!(
            message.method(),
            Cancelled
                | PromptsListChanged
                | ResourcesListChanged
                | ResourcesUpdated
                | SubscriptionsAcknowledged
                | ToolsListChanged
        );
        self.config.forwarding && !own
    }

    /// A frame that is no message. One that was meant as the answer to a call
    /// ends it: no other will come.
    fn handle_bad(&mut self, now: Duration, lane: Lane, start: &[u8], error: ScanError) {
        let mut waiting = error.answers.iter().filter_map(|id| self.call_on(lane, Some(id)));
        let of_ours = waiting.by_ref().find(|id| self.pending.contains_key(id));
        // A message of two ids answers neither of two calls that wait.
        let another = waiting.any(|id| Some(id) != of_ours && self.pending.contains_key(&id));
        if let Some(id) = of_ours.filter(|_| !another) {
            self.pending.remove(&id);
            let error = CallError::Protocol(error.to_string());
            return self.answered(now, id, Err(error));
        }
        // Whatever it is, it is no message: a print, or a log line.
        let what = format!("{error}: {}", brief(start));
        self.out.push_back(ClientOutput::Ignored { what, noise: true });
    }

    /// The call of this number, as far as what came on `lane` may be about it. Where
    /// nothing but the exchange says whose something is, that is the exchange's own
    /// (`basic/transports`, Sending Messages): the calls beside it may be of others.
    fn call_on(&self, lane: Lane, id: Option<&Id>) -> Option<u64> {
        let own = match lane {
            Lane::Exchange(own) if !self.revision().rules().server_requests => Some(own),
            _ => None,
        };
        number(id).filter(|id| own.is_none_or(|own| own == *id))
    }

    fn response(&mut self, now: Duration, lane: Lane, message: Message) {
        let id = self.call_on(lane, message.id());
        let Some((id, call)) = id.and_then(|id| Some((id, self.pending.remove(&id)?))) else {
            let is_late =
                |id| self.late_handshake(now, id, &message) || self.late_probe(id, &message);
            if id.is_some_and(is_late) {
                return;
            }
            // An answer to a call that was cancelled or timed out, or an error
            // that names no request.
            let what = format!("an answer to no call: {}", brief(message.body_bytes()));
            self.out.push_back(ClientOutput::Ignored { what, noise: false });
            return;
        };
        self.untried = false;
        if call.raw {
            return self.forwarded(id, call.method, message);
        }
        let result = result::read(call.method, self.revision, self.asked.offered(), &message);
        self.spares.done(message);
        self.answered(now, id, result);
    }

    fn answered(&mut self, now: Duration, id: u64, result: Result<rpc::Json, CallError>) {
        if self.is_opening(id) {
            return self.opening_answered(now, result);
        }
        if self.is_listen(id) {
            return self.listen_ended(now, id, result.err());
        }
        self.session_changed(id, result.is_ok());
        self.out.push_back(ClientOutput::Resolved(id, result));
    }

    fn notification(&mut self, now: Duration, lane: Lane, message: &Message) {
        let output = match message.method() {
            Method::Progress => self.progress(now, lane, message),
            Method::Message => message.body().map(ClientOutput::Log),
            Method::Cancelled => self.request_cancelled(now, message),
            Method::SubscriptionsAcknowledged => self.acknowledged(now, message),
            Method::ToolsListChanged
            | Method::PromptsListChanged
            | Method::ResourcesListChanged
            | Method::ResourcesUpdated
                if !self.is_for_us(message) =>
            {
                None
            }
            Method::ToolsListChanged => Some(ClientOutput::Changed(Changed::Tools)),
            Method::PromptsListChanged => Some(ClientOutput::Changed(Changed::Prompts)),
            Method::ResourcesListChanged => Some(ClientOutput::Changed(Changed::Resources)),
            Method::ResourcesUpdated => message
                .text(Field::Uri)
                .map(|uri| ClientOutput::Changed(Changed::Resource(uri.into_owned()))),
            _ => None,
        };
        let output = output.unwrap_or_else(|| {
            let name = message.method_name();
            let what = format!("notification {:?}: {}", brief(name.as_bytes()), {
                brief(message.body_bytes())
            });
            ClientOutput::Ignored { what, noise: false }
        });
        self.out.push_back(output);
    }

    /// Progress of a running call that asked for it; none for any other.
    fn progress(&mut self, now: Duration, lane: Lane, message: &Message) -> Option<ClientOutput> {
        #[derive(Deserialize)]
        struct Body {
            progress: f64,
            #[serde(default)]
            total: Option<f64>,
            #[serde(default)]
            message: Option<String>,
        }
        let token = message.id_at(Field::ProgressToken)?;
        let id = self.call_on(lane, Some(&token))?;
        let call = self.pending.get_mut(&id).filter(|call| call.options.progress)?;
        let body: Body = serde_json::from_slice(message.body_bytes()).ok()?;
        call.heard(now);
        let Body { progress, total, message } = body;
        Some(ClientOutput::Progress(id, Progress { token, progress, total, message }))
    }

    fn take_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    fn send_request(
        &mut self,
        now: Duration,
        method: &str,
        params: &[u8],
        name: Option<&str>,
        options: CallOptions,
    ) -> u64 {
        let id = self.take_id();
        let known = Method::from_name(method.as_bytes());
        let params = match params::older(params, known, self.revision) {
            Ok(params) => params,
            Err(error) => {
                self.answered(now, id, Err(error));
                return id;
            }
        };
        let own = self.own_meta.of(&self.config, self.revision, self.log_level);
        let progress = options.progress.then_some(id);
        let mut bytes = self.spares.buffer(params.len() + own.len() + 120);
        if params.trim_ascii().is_empty() && own.is_empty() && progress.is_none() {
            rpc::request(&mut bytes, &Id::Number(id as i64), method, b"");
        } else {
            rpc::request_start(&mut bytes, &Id::Number(id as i64), method);
            write_with_meta(&mut bytes, &params, own, progress);
            bytes.push(b'}');
        }
        let revision = (known != Method::Initialize).then_some(self.revision);
        self.out.push_back(ClientOutput::Send {
            lane: Lane::Exchange(id),
            bytes,
            head: Head {
                method: known,
                method_name: output::lasting(known, method),
                is_request: true,
                id: Some(Id::Number(id as i64)),
                revision,
                name: name.map(Name::from),
            },
        });
        self.await_answer(now, id, known, options, false);
        id
    }

    fn await_answer(
        &mut self,
        now: Duration,
        id: u64,
        method: Method,
        options: CallOptions,
        raw: bool,
    ) {
        let last = now.saturating_add(options.max_total);
        let deadline = now.saturating_add(options.timeout).min(last);
        let pending =
            Pending { method, deadline, last, options, started: now, raw, paused: None, asked: 0 };
        self.pending.insert(id, pending);
        self.wake = Some(self.wake.map_or(deadline, |wake| wake.min(deadline)));
    }

    fn send_cancel(&mut self, id: u64, reason: &str) {
        let mut params = format!("{{\"requestId\":{id},\"reason\":\"").into_bytes();
        rpc::push_escaped(&mut params, reason);
        params.extend_from_slice(b"\"}");
        let mut bytes = Vec::new();
        rpc::notification(&mut bytes, Method::Cancelled.name(), &params);
        self.push_plain(bytes, Method::Cancelled, Method::Cancelled.name());
        self.out.push_back(ClientOutput::Abandon(Lane::Exchange(id)));
    }

    fn push_plain(&mut self, bytes: Vec<u8>, method: Method, name: &str) {
        let head = Head {
            method,
            method_name: output::lasting(method, name),
            is_request: false,
            id: None,
            revision: Some(self.revision),
            name: None,
        };
        self.out.push_back(ClientOutput::Send { lane: Lane::Connection, bytes, head });
    }

    /// Ends the connection on this side, and hands out what was running.
    fn shut(&mut self, how: &str) -> BTreeMap<u64, Pending> {
        self.phase = Phase::Closed { how: how.into() };
        self.wake = None;
        core::mem::take(&mut self.pending)
    }
}

/// An id of ours: all of them are numbers from 1 on.
fn number(id: Option<&Id>) -> Option<u64> {
    match id {
        Some(Id::Number(n)) => u64::try_from(*n).ok(),
        _ => None,
    }
}
