//! The client's half of a connection, for both lifecycles.

use super::Lane;
use super::client_start::SilentProbe;
use crate::method::Method;
use crate::revision::{Part, Revision, translate};
use crate::rpc::{self, Field, Id, Json, Kind, Limits, Message, ScanError, Scanned};
use crate::types::{Implementation, Progress, RpcError, ServerCapabilities};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use bytes::Bytes;
use core::fmt;
use core::time::Duration;
use serde::Deserialize;

/// What a client says of itself, and how it finds out what the server speaks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientConfig {
    /// Name and version.
    pub info: Implementation,
    /// `ClientCapabilities` as JSON. Default `{}`.
    pub capabilities: String,
    /// What is known of the server from an earlier run. Default: nothing.
    pub era: Option<Era>,
    /// How long the server may be silent on the probe before the handshake is
    /// tried. Default 3 s.
    pub probe_timeout: Duration,
    /// How long connecting may take in all. Default 10 s.
    pub connect_timeout: Duration,
    /// Bounds on a message.
    pub limits: Limits,
}

impl ClientConfig {
    /// The defaults for a client of this name.
    pub fn new(info: Implementation) -> Self {
        Self {
            info,
            capabilities: "{}".into(),
            era: None,
            probe_timeout: Duration::from_secs(3),
            connect_timeout: Duration::from_secs(10),
            limits: Limits::default(),
        }
    }
}

/// Which lifecycle a server has (`basic/versioning`, Terminology).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize` and a session.
    Legacy,
    /// Metadata on every request.
    Modern,
}

/// What the server said of itself when the connection opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerDescription {
    /// The revision spoken from now on.
    pub revision: Revision,
    /// What it offers.
    pub capabilities: ServerCapabilities,
    /// Name and version, where it gave them.
    pub info: Option<Implementation>,
    /// What it wants a model to know.
    pub instructions: Option<String>,
}

impl ServerDescription {
    /// The lifecycle of the revision spoken.
    pub fn era(&self) -> Era {
        if self.revision.is_legacy() { Era::Legacy } else { Era::Modern }
    }
}

/// How long a call may take.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CallOptions {
    /// Without a sign of life. Default 60 s.
    pub timeout: Duration,
    /// Whether progress starts `timeout` anew. Default true.
    pub reset_on_progress: bool,
    /// In all, whatever progress there is. Default 10 min.
    pub max_total: Duration,
    /// Whether to ask for progress. Default true.
    pub progress: bool,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            reset_on_progress: true,
            max_total: Duration::from_secs(600),
            progress: true,
        }
    }
}

/// Why a call has no result.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The server answered with an error.
    Rpc(RpcError),
    /// No answer within this time; the server was told to stop.
    Timeout(Duration),
    /// The connection ended first; the text says how.
    Closed(String),
    /// The answer is not one the protocol allows.
    Protocol(String),
    /// The server wants input that this client did not offer.
    InputRequired,
    /// The exchange failed before an answer; asking again may work.
    Exchange(LaneEnd),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rpc(error) => error.fmt(f),
            Self::Timeout(after) => write!(f, "no answer within {}", seconds(*after)),
            Self::Closed(how) => write!(f, "the connection ended: {how}"),
            Self::Protocol(what) => write!(f, "the answer breaks the protocol: {what}"),
            Self::InputRequired => {
                f.write_str("the server asks for input that this client cannot give")
            }
            Self::Exchange(end) => end.fmt(f),
        }
    }
}

impl core::error::Error for CallError {}

/// A time to a tenth of a second, for people.
fn seconds(time: Duration) -> String {
    let tenths = (time.as_millis() + 50) / 100;
    match tenths % 10 {
        0 => format!("{} s", tenths / 10),
        rest => format!("{}.{rest} s", tenths / 10),
    }
}

/// How an exchange ended without the response it was opened for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaneEnd {
    /// The stream closed early, or the network failed.
    Lost(String),
    /// An HTTP status other than success, and the start of the body.
    Status {
        /// The status.
        status: u16,
        /// `WWW-Authenticate`, of a 401 or 403.
        challenge: Option<String>,
        /// The body, cut at some KiB.
        body: String,
        /// Whether a client that probes should fall back to the handshake.
        fall_back: bool,
    },
}

impl fmt::Display for LaneEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(how) => f.write_str(how),
            Self::Status { status, body, .. } if body.trim().is_empty() => {
                write!(f, "HTTP status {status}")
            }
            Self::Status { status, body, .. } => write!(f, "HTTP status {status}: {}", body.trim()),
        }
    }
}

/// Which list a server says has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Changed {
    /// The tools.
    Tools,
    /// The prompts.
    Prompts,
    /// The resources.
    Resources,
    /// One resource, by URI.
    Resource(String),
}

/// What a transport needs to know of a message to send, besides its bytes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Head {
    /// The method; [`Method::Unknown`] for responses.
    pub method: Method,
    /// The method's name on the wire; empty for responses.
    pub method_name: String,
    /// Whether an answer is expected on the lane.
    pub is_request: bool,
    /// The revision of the message; none for `initialize`, which negotiates it.
    pub revision: Option<Revision>,
    /// The tool, prompt or URI that `Mcp-Name` mirrors.
    pub name: Option<String>,
}

/// What the driver has to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientOutput {
    /// Send this message.
    Send {
        /// Which exchange to open; the connection itself over stdio.
        lane: Lane,
        /// The message, without a line end.
        bytes: Vec<u8>,
        /// What it is.
        head: Head,
    },
    /// An exchange is no longer wanted: over HTTP, close its stream.
    Abandon(Lane),
    /// The connection is open.
    Ready(ServerDescription),
    /// It cannot be opened.
    Failed(CallError),
    /// A call has ended. The result is in the newest revision's shape.
    Resolved(u64, Result<Json, CallError>),
    /// A call has come further.
    Progress(u64, Progress),
    /// The server logs something: `params` of `notifications/message`.
    Log(Json),
    /// A list, or a resource, has changed.
    Changed(Changed),
    /// Something came that is no message, or one with no effect.
    Ignored {
        /// What it was, bounded.
        what: String,
        /// Whether it was not a message at all, as a print on stdout is.
        noise: bool,
    },
}

pub(super) struct Pending {
    pub(super) method: Method,
    deadline: Duration,
    last: Duration,
    options: CallOptions,
    started: Duration,
}

/// Where the connection stands.
#[derive(Debug, PartialEq)]
pub(super) enum Phase {
    Idle,
    Probing { id: u64, retried: bool },
    Initializing { id: u64, retried: bool },
    Ready,
    Closed,
}

/// The client's half of one connection.
pub struct ClientPeer {
    pub(super) config: ClientConfig,
    pub(super) phase: Phase,
    pub(super) revision: Revision,
    pub(super) silent_probe: Option<SilentProbe>,
    pub(super) next_id: u64,
    pub(super) pending: BTreeMap<u64, Pending>,
    /// No deadline is earlier than this.
    wake: Option<Duration>,
    pub(super) connect_by: Duration,
    pub(super) out: VecDeque<ClientOutput>,
}

impl ClientPeer {
    /// A peer that has not said anything yet: see [`ClientPeer::connect`].
    pub fn new(config: ClientConfig) -> Self {
        Self {
            config,
            phase: Phase::Idle,
            revision: Revision::NEWEST,
            silent_probe: None,
            next_id: 1,
            pending: BTreeMap::new(),
            wake: None,
            connect_by: Duration::MAX,
            out: VecDeque::new(),
        }
    }

    /// Sends a request; `params` is a JSON object without `_meta`, or empty.
    /// Returns the key that [`ClientOutput::Resolved`] will carry.
    pub fn call(
        &mut self,
        now: Duration,
        method: &str,
        params: &[u8],
        name: Option<&str>,
        options: CallOptions,
    ) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let known = Method::from_name(method.as_bytes());
        let meta = self.meta(options.progress.then_some(id));
        let params = with_meta(params, &meta);
        let mut bytes = Vec::with_capacity(params.len() + 80);
        rpc::request(&mut bytes, &Id::Number(id as i64), method, &params);
        let revision = (known != Method::Initialize).then_some(self.revision);
        self.out.push_back(ClientOutput::Send {
            lane: Lane::Exchange(id),
            bytes,
            head: Head {
                method: known,
                method_name: method.to_string(),
                is_request: true,
                revision,
                name: name.map(Into::into),
            },
        });
        let last = now.saturating_add(options.max_total);
        let deadline = now.saturating_add(options.timeout).min(last);
        let pending = Pending { method: known, deadline, last, options, started: now };
        self.pending.insert(id, pending);
        self.wake = Some(self.wake.map_or(deadline, |wake| wake.min(deadline)));
        id
    }

    /// Gives up a call and tells the server. No [`ClientOutput::Resolved`] follows.
    pub fn cancel(&mut self, id: u64, reason: &str) {
        if self.pending.remove(&id).is_some() {
            self.send_cancel(id, reason);
        }
    }

    /// Takes one frame.
    pub fn handle_input(&mut self, now: Duration, bytes: Bytes) {
        let start = bytes.slice(..bytes.len().min(200));
        match rpc::scan(bytes, self.config.limits) {
            Ok(Scanned::One(message)) => self.handle_message(now, message),
            Ok(Scanned::Batch(messages)) => {
                for message in messages {
                    match message {
                        Ok(message) => self.handle_message(now, message),
                        Err(error) => self.handle_bad(&start, error),
                    }
                }
            }
            Err(error) => self.handle_bad(&start, error),
        }
    }

    /// Takes the end of an exchange; without effect when it has been answered.
    pub fn handle_lane_end(&mut self, now: Duration, lane: Lane, end: LaneEnd) {
        let Lane::Exchange(id) = lane else { return };
        if self.pending.remove(&id).is_none() {
            return;
        }
        if self.is_opening(id) {
            return self.opening_ended(now, id, end);
        }
        self.out.push_back(ClientOutput::Resolved(id, Err(CallError::Exchange(end))));
    }

    /// Takes the end of the connection: every call ends with `how`.
    pub fn handle_closed(&mut self, how: &str) {
        let opening = matches!(self.phase, Phase::Probing { .. } | Phase::Initializing { .. });
        self.phase = Phase::Closed;
        let pending = core::mem::take(&mut self.pending);
        self.wake = None;
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
            let Some(call) = self.pending.remove(&id) else { continue };
            let waited = now.saturating_sub(call.started);
            if self.is_opening(id) {
                self.opening_silent(now);
                continue;
            }
            self.send_cancel(id, "timed out");
            self.out.push_back(ClientOutput::Resolved(id, Err(CallError::Timeout(waited))));
        }
        self.wake = self.pending.values().map(|p| p.deadline).min();
    }

    /// When [`ClientPeer::handle_timeout`] is next worth calling.
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.wake
    }

    /// What to do next, until there is nothing.
    pub fn poll_output(&mut self) -> Option<ClientOutput> {
        self.out.pop_front()
    }

    fn handle_message(&mut self, now: Duration, message: Message) {
        match message.kind() {
            Kind::Result | Kind::Error => self.response(now, message),
            Kind::Request => self.server_request(&message),
            Kind::Notification => self.notification(now, &message),
        }
    }

    fn handle_bad(&mut self, start: &[u8], error: ScanError) {
        let what = format!("{error}: {}", String::from_utf8_lossy(start));
        self.out.push_back(ClientOutput::Ignored { what, noise: !error.is_object });
    }

    fn response(&mut self, now: Duration, message: Message) {
        let id = match message.id() {
            Some(Id::Number(n)) => u64::try_from(*n).ok(),
            _ => None,
        };
        let Some((id, call)) = id.and_then(|id| Some((id, self.pending.remove(&id)?))) else {
            if id.is_some() && id == self.silent_probe.as_ref().map(|probe| probe.id) {
                return self.probe_answered_late(&message);
            }
            // An answer to a call that was cancelled or timed out, or an error
            // that names no request.
            let what = format!("an answer to no call: {}", brief(message.body_bytes()));
            self.out.push_back(ClientOutput::Ignored { what, noise: false });
            return;
        };
        let result = match message.kind() {
            Kind::Error => Err(CallError::Rpc(read_error(message.body_bytes()))),
            _ => self.result(call.method, self.revision, &message),
        };
        if self.is_opening(id) {
            return self.opening_answered(now, result);
        }
        self.out.push_back(ClientOutput::Resolved(id, result));
    }

    /// The result, which came in the shape of `revision`, in the newest one.
    pub(super) fn result(
        &self,
        method: Method,
        revision: Revision,
        message: &Message,
    ) -> Result<Json, CallError> {
        let kind = message.text(Field::ResultType);
        match kind.as_deref() {
            None if message.field(Field::ResultType).is_some() => {
                return Err(CallError::Protocol("resultType is not a string".into()));
            }
            None | Some("complete") => {}
            Some("input_required") => return Err(CallError::InputRequired),
            Some(other) => {
                return Err(CallError::Protocol(format!("unknown resultType {other:?}")));
            }
        }
        let body = message.body().filter(|json| json.as_bytes().first() == Some(&b'{'));
        let Some(body) = body else {
            return Err(CallError::Protocol("the result is not an object".into()));
        };
        translate(body, Part::Result(method), revision, Revision::NEWEST)
            .map(|(json, _)| json)
            .map_err(|e| CallError::Protocol(e.to_string()))
    }

    fn server_request(&mut self, message: &Message) {
        let Some(id) = message.id() else { return };
        let mut bytes = Vec::new();
        if message.method() == Method::Ping {
            rpc::result_response(&mut bytes, id, b"{}");
        } else {
            let text = format!("this client does not offer {:?}", message.method_name());
            rpc::error_response(&mut bytes, Some(id), RpcError::METHOD_NOT_FOUND, &text, None);
        }
        self.push_plain(bytes, Method::Unknown, "");
    }

    fn notification(&mut self, now: Duration, message: &Message) {
        let output = match message.method() {
            Method::Progress => return self.progress(now, message),
            Method::Message => match message.body() {
                Some(params) => ClientOutput::Log(params),
                None => return,
            },
            Method::ToolsListChanged => ClientOutput::Changed(Changed::Tools),
            Method::PromptsListChanged => ClientOutput::Changed(Changed::Prompts),
            Method::ResourcesListChanged => ClientOutput::Changed(Changed::Resources),
            Method::ResourcesUpdated => match message.text(Field::Uri) {
                Some(uri) => ClientOutput::Changed(Changed::Resource(uri.into_owned())),
                None => return,
            },
            _ => {
                let what = format!("notification {:?}", message.method_name());
                ClientOutput::Ignored { what, noise: false }
            }
        };
        self.out.push_back(output);
    }

    fn progress(&mut self, now: Duration, message: &Message) {
        #[derive(Deserialize)]
        struct Body {
            progress: f64,
            #[serde(default)]
            total: Option<f64>,
            #[serde(default)]
            message: Option<String>,
        }
        let Some(Id::Number(token)) = message.id_at(Field::ProgressToken) else { return };
        let Ok(id) = u64::try_from(token) else { return };
        let Some(call) = self.pending.get_mut(&id) else { return };
        let Ok(body) = serde_json::from_slice::<Body>(message.body_bytes()) else { return };
        if call.options.reset_on_progress {
            // The stored wake-up may now be early; waking finds that out.
            call.deadline = now.saturating_add(call.options.timeout).min(call.last);
        }
        let Body { progress, total, message } = body;
        let token = Id::Number(token);
        let progress = Progress { token, progress, total, message };
        self.out.push_back(ClientOutput::Progress(id, progress));
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

    pub(super) fn push_plain(&mut self, bytes: Vec<u8>, method: Method, name: &str) {
        let head = Head {
            method,
            method_name: name.into(),
            is_request: false,
            revision: Some(self.revision),
            name: None,
        };
        self.out.push_back(ClientOutput::Send { lane: Lane::Connection, bytes, head });
    }

    /// The members of `_meta` that the revision and the call ask for.
    fn meta(&self, progress: Option<u64>) -> String {
        let mut meta = String::new();
        if self.phase != Phase::Idle && !self.revision.is_legacy() {
            let info = serde_json::to_string(&self.config.info).unwrap_or_default();
            meta = format!(
                "\"io.modelcontextprotocol/protocolVersion\":\"{}\",\
                 \"io.modelcontextprotocol/clientInfo\":{info},\
                 \"io.modelcontextprotocol/clientCapabilities\":{}",
                self.revision, self.config.capabilities,
            );
        }
        if let Some(id) = progress {
            let comma = if meta.is_empty() { "" } else { "," };
            meta.push_str(&format!("{comma}\"progressToken\":{id}"));
        }
        meta
    }
}

/// Adds `_meta` to a parameter object that has none.
fn with_meta(params: &[u8], meta: &str) -> Vec<u8> {
    if meta.is_empty() {
        return params.to_vec();
    }
    let mut out = format!("{{\"_meta\":{{{meta}}}").into_bytes();
    match params.trim_ascii() {
        [b'{', rest @ ..] if rest.trim_ascii_start() != b"}" => {
            out.push(b',');
            out.extend_from_slice(rest);
        }
        _ => out.push(b'}'),
    }
    out
}

/// An error object, however badly it was written.
fn read_error(json: &[u8]) -> RpcError {
    serde_json::from_slice(json)
        .unwrap_or_else(|_| RpcError::internal(format!("an error without a code: {}", brief(json))))
}

fn brief(json: &[u8]) -> String {
    String::from_utf8_lossy(&json[..json.len().min(200)]).into_owned()
}
