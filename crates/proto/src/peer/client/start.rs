//! How a connection opens: the probe, the fallback and the handshake.
//!
//! Follows `basic/versioning`, Backward Compatibility. The first message to an
//! unknown server is `server/discover`, never a call: a legacy server might
//! execute it.

use super::{
    CallError, CallOptions, ClientConfig, ClientOutput, ClientPeer, Era, LaneEnd, Phase,
    ServerDescription, result,
};
use crate::method::Method;
use crate::peer::Lane;
use crate::revision::{Part, Revision};
use crate::rpc::{self, Json, Message};
use crate::types::{Implementation, RpcError, ServerCapabilities};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;
use serde::Deserialize;

/// Requests that may be spent on opening one connection. The longest way that
/// makes sense is probe, probe in another revision, handshake, probe again.
const OPENINGS: u8 = 4;

/// What is remembered while a connection opens.
#[derive(Default)]
pub(super) struct Opening {
    /// What is known, or assumed, of the server.
    era: Option<Era>,
    /// When connecting began.
    since: Duration,
    /// When it has taken long enough.
    by: Duration,
    sent: u8,
    /// Whether a revision was tried again right after it was refused.
    repeated: bool,
    /// A probe that was given up for its silence. A server that was only slow
    /// to start may answer it yet.
    late: Option<u64>,
    /// What it then said.
    discovered: Option<ServerDescription>,
    /// A handshake that a memory led to and that was met by silence. It may be
    /// answered yet.
    unanswered: Option<u64>,
}

impl Opening {
    /// Nothing is known but the time in which it must be done.
    pub(super) fn within(since: Duration, time: Duration) -> Self {
        Self { since, by: since.saturating_add(time), ..Self::default() }
    }
}

impl ClientPeer {
    /// Opens the connection: [`ClientOutput::Ready`] or [`ClientOutput::Failed`]
    /// follows. After a failure it may be called again on a new transport, with
    /// another `era`.
    pub fn connect(&mut self, now: Duration, era: Option<Era>) {
        let pinned = self.config.revision.map(Era::of);
        let era = pinned.or(era).or(self.config.era);
        self.opening = Opening { era, ..Opening::within(now, self.config.connect_timeout) };
        match era {
            Some(Era::Legacy) => self.initialize(now),
            Some(Era::Modern) | None => {
                self.probe(now, self.config.revision.unwrap_or(Revision::NEWEST));
            }
        }
    }

    /// The revision in use, or tried.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    pub(super) fn is_opening(&self, id: u64) -> bool {
        matches!(self.phase,
            Phase::Probing { id: opening }
            | Phase::Initializing { id: opening }
            | Phase::Reopening { id: opening } if opening == id)
    }

    pub(super) fn opening_answered(&mut self, now: Duration, result: Result<Json, CallError>) {
        match (&self.phase, result) {
            (Phase::Reopening { .. }, Ok(json)) => self.reopened(now, json),
            (Phase::Reopening { .. }, Err(error)) => self.not_reopened(&error),
            (Phase::Probing { .. }, Ok(json)) => match discovered(&json, &self.config) {
                Ok(Some(description)) => self.ready(now, description),
                Ok(None) => self.initialize(now),
                // Some legacy servers answer anything with some result.
                Err(Discovery::Nonsense(error)) => self.fall_back(now, error),
                Err(Discovery::NoCommon(error)) => self.failed(error),
            },
            (_, Err(CallError::Rpc(error))) if error.is_modern() => self.refused(now, error),
            // Any other answer comes from a server that does not know the probe.
            (Phase::Probing { .. }, Err(error)) => self.fall_back(now, error),
            (_, Ok(json)) => self.initialized(now, json),
            (_, Err(error)) => self.not_initialized(now, error),
        }
    }

    pub(super) fn opening_silent(&mut self, now: Duration, id: u64) {
        let error = CallError::Timeout(now.saturating_sub(self.opening.since));
        match self.phase {
            // There is time left: the memory was wrong, or the server is slow.
            Phase::Initializing { .. } if now < self.opening.by && self.is_by_memory() => {
                self.opening.unanswered = Some(id);
                self.probe(now, Revision::NEWEST);
            }
            Phase::Probing { .. } => {
                self.opening.late = Some(id);
                self.fall_back(now, error);
            }
            Phase::Reopening { .. } => self.not_reopened(&error),
            _ => self.not_initialized(now, error),
        }
    }

    pub(super) fn opening_ended(&mut self, now: Duration, end: LaneEnd) {
        let may = matches!(end, LaneEnd::Status { fall_back: true, .. });
        let error = CallError::Exchange(end);
        match self.phase {
            Phase::Probing { .. } if may => self.fall_back(now, error),
            Phase::Reopening { .. } => self.not_reopened(&error),
            _ => self.failed(error),
        }
    }

    /// Lets opening take longer, by a quarter of the time for connecting, when it
    /// is about to fail for the server's silence; within
    /// [`ClientConfig::max_connect_timeout`]. Says whether it does.
    pub fn extend_opening(&mut self, now: Duration) -> bool {
        let (Phase::Probing { id } | Phase::Initializing { id }) = self.phase else { return false };
        let last = self.opening.since.saturating_add(self.config.max_connect_timeout);
        if now < self.opening.by || now >= last {
            return false;
        }
        let Some(pending) = self.pending.get_mut(&id) else { return false };
        let by = now.saturating_add(self.config.connect_timeout / 4).min(last);
        self.opening.by = by;
        (pending.deadline, pending.last) = (by, by);
        self.wake = Some(by);
        true
    }

    /// Whether the handshake is tried first because of what is remembered.
    fn is_by_memory(&self) -> bool {
        self.opening.era == Some(Era::Legacy)
            && self.opening.sent == 1
            && self.config.revision.is_none()
    }

    /// Takes the answer to a handshake that was met by silence at first.
    pub(super) fn late_handshake(&mut self, now: Duration, id: u64, message: &Message) -> bool {
        let probing = matches!(self.phase, Phase::Probing { .. });
        if !probing || self.opening.unanswered != Some(id) {
            return false;
        }
        self.opening.unanswered = None;
        let answer = result::read(
            Method::Initialize,
            Revision::NEWEST_HANDSHAKE,
            self.asked.offered(),
            message,
        );
        // A refusal leaves it to the probe.
        let Ok(json) = answer else { return true };
        if let Phase::Probing { id } = self.phase {
            self.pending.remove(&id);
        }
        self.initialized(now, json);
        true
    }

    /// Takes the answer to a probe that was given up. It counts once the
    /// handshake has been refused: a server of both eras may by then have
    /// settled on the older one.
    pub(super) fn late_probe(&mut self, id: u64, message: &Message) -> bool {
        if self.opening.late != Some(id) {
            return false;
        }
        self.opening.late = None;
        let (method, offered) = (Method::ServerDiscover, self.asked.offered());
        let json = result::read(method, Revision::NEWEST, offered, message);
        let discovered = json.ok().and_then(|json| discovered(&json, &self.config).ok().flatten());
        self.opening.discovered = discovered;
        self.opening.discovered.is_some()
    }

    fn probe(&mut self, now: Duration, revision: Revision) {
        self.revision = revision;
        self.phase = Phase::Probing { id: self.next_id };
        let timeout = match self.opening.era {
            // The handshake before it is still out.
            _ if self.opening.unanswered.is_some() => self.config.connect_timeout,
            // There is nothing to fall back to.
            Some(Era::Modern) if self.config.revision.is_some() => self.config.connect_timeout,
            // It is probably only slow; if not, half the time is left.
            Some(Era::Modern) => self.config.probe_timeout.max(self.config.connect_timeout / 2),
            _ => self.config.probe_timeout,
        };
        self.open(now, Method::ServerDiscover, b"", timeout);
    }

    fn initialize(&mut self, now: Duration) {
        let first = self.config.revision.or(self.config.offer.filter(|r| r.is_legacy()));
        self.revision = first.unwrap_or(Revision::NEWEST_HANDSHAKE);
        self.phase = Phase::Initializing { id: self.next_id };
        self.shake_hands(now);
    }

    pub(super) fn shake_hands(&mut self, now: Duration) {
        let info = serde_json::to_string(&self.config.info).unwrap_or_default();
        let params = format!(
            "{{\"protocolVersion\":\"{}\",\"capabilities\":{},\"clientInfo\":{info}}}",
            self.revision, self.config.capabilities,
        );
        let timeout = match self.opening.sent == 0 && self.opening.era == Some(Era::Legacy) {
            // Half of the time is left for a server that is none of the era it was
            // remembered for.
            true if self.config.revision.is_none() => {
                self.config.probe_timeout.max(self.config.connect_timeout / 2)
            }
            _ => self.config.connect_timeout,
        };
        self.open(now, Method::Initialize, params.as_bytes(), timeout);
    }

    fn open(&mut self, now: Duration, method: Method, params: &[u8], timeout: Duration) {
        self.opening.sent += 1;
        let timeout = timeout.min(self.opening.by.saturating_sub(now));
        let options = CallOptions { timeout, progress: false, ..CallOptions::default() };
        self.send_request(now, method.name(), params, None, options);
    }

    /// Whether another request may be spent on opening.
    fn may_try(&self, now: Duration) -> bool {
        self.opening.sent < OPENINGS && now < self.opening.by
    }

    /// The same, for a revision that a refusal names. One that names the very
    /// revision it refuses gets a second chance, as it may have only just come
    /// up, but no third.
    fn may_ask(&mut self, now: Duration, revision: Revision) -> bool {
        let again = revision == self.revision;
        self.may_try(now) && !(again && core::mem::replace(&mut self.opening.repeated, true))
    }

    /// A modern server that refuses what the probe, or the handshake, said.
    fn refused(&mut self, now: Duration, error: RpcError) {
        #[derive(Deserialize)]
        struct Data {
            supported: Vec<String>,
        }
        let data = error.data.as_ref();
        let Some(Data { supported }) = data.and_then(|d| serde_json::from_str(d.get()).ok()) else {
            return self.failed(CallError::Rpc(error));
        };
        match common(&supported, &self.config) {
            None => self.failed(no_common(&supported, &self.config)),
            Some(revision) if !self.may_ask(now, revision) => self.failed(CallError::Rpc(error)),
            Some(revision) if revision.is_legacy() => self.initialize(now),
            Some(revision) => self.probe(now, revision),
        }
    }

    fn speaks_legacy(&self) -> bool {
        self.config.spoken().any(Revision::is_legacy)
    }

    fn fall_back(&mut self, now: Duration, error: CallError) {
        if !self.speaks_legacy() || !self.may_try(now) {
            return self.failed(error);
        }
        self.initialize(now);
    }

    /// The handshake was refused, or met by silence. That is the end, unless
    /// there is reason to think that the server is a modern one after all.
    fn not_initialized(&mut self, now: Duration, error: CallError) {
        if let Some(description) = self.opening.discovered.take() {
            return self.ready(now, description);
        }
        let unheard = self.opening.late.is_some() || self.opening.era == Some(Era::Legacy);
        let may = self.config.revision.is_none() && self.may_try(now);
        if matches!(error, CallError::Rpc(_)) && unheard && may {
            self.opening.era = None;
            self.opening.late = None;
            return self.probe(now, Revision::NEWEST);
        }
        self.failed(error);
    }

    fn initialized(&mut self, now: Duration, json: Json) {
        let description = match self.handshake(json) {
            Ok(description) => description,
            Err(error) => return self.failed(error),
        };
        self.revision = description.revision;
        let mut bytes = Vec::new();
        rpc::notification(&mut bytes, Method::Initialized.name(), b"");
        self.push_plain(bytes, Method::Initialized, Method::Initialized.name());
        self.ready(now, description);
    }

    /// What a server says of itself in the answer to `initialize`.
    pub(super) fn handshake(&self, json: Json) -> Result<ServerDescription, CallError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Version {
            protocol_version: String,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Body {
            #[serde(default)]
            capabilities: ServerCapabilities,
            // A name that does not fit counts as absent.
            #[serde(default)]
            server_info: serde_json::Value,
            #[serde(default)]
            instructions: Option<String>,
        }
        let broken = |e| CallError::Protocol(format!("the answer to initialize: {e}"));
        let Version { protocol_version } = json.read().map_err(broken)?;
        let known = Revision::from_date(&protocol_version).filter(|r| r.is_legacy());
        let revision = known
            .filter(|r| self.config.speaks(*r))
            .ok_or_else(|| no_common(&[protocol_version], &self.config))?;
        let said = json.clone();
        let json = result::newest(json, Part::Result(Method::Initialize), revision)?;
        let body: Body = json.read().map_err(broken)?;
        Ok(ServerDescription {
            revision,
            capabilities: body.capabilities,
            info: serde_json::from_value(body.server_info).ok(),
            instructions: body.instructions,
            said,
        })
    }

    fn ready(&mut self, now: Duration, description: ServerDescription) {
        self.revision = description.revision;
        self.phase = Phase::Ready;
        if let Some(id) = self.opening.late.take() {
            self.out.push_back(ClientOutput::Abandon(Lane::Exchange(id)));
        }
        let capabilities = description.capabilities.clone();
        self.out.push_back(ClientOutput::Ready(description));
        self.start_listening(now, &capabilities);
    }

    fn failed(&mut self, error: CallError) {
        self.shut(&error.to_string());
        self.out.push_back(ClientOutput::Failed(error));
    }
}

/// Why an answer to `server/discover` opens no connection.
enum Discovery {
    Nonsense(CallError),
    NoCommon(CallError),
}

/// What a modern server said of itself; none when it speaks only older
/// revisions with us.
fn discovered(json: &Json, config: &ClientConfig) -> Result<Option<ServerDescription>, Discovery> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Body {
        supported_versions: Vec<String>,
        #[serde(default)]
        capabilities: ServerCapabilities,
        #[serde(default)]
        instructions: Option<String>,
        #[serde(rename = "_meta", default)]
        meta: serde_json::Value,
    }
    let body: Body = json.read().map_err(|e| {
        let text = format!("not an answer to server/discover: {e}");
        Discovery::Nonsense(CallError::Protocol(text))
    })?;
    let Some(revision) = common(&body.supported_versions, config) else {
        return Err(Discovery::NoCommon(no_common(&body.supported_versions, config)));
    };
    if revision.is_legacy() {
        return Ok(None);
    }
    // A name that does not fit counts as absent.
    let info = body.meta.get("io.modelcontextprotocol/serverInfo").cloned();
    let info = info.and_then(|info| serde_json::from_value::<Implementation>(info).ok());
    Ok(Some(ServerDescription {
        revision,
        capabilities: body.capabilities,
        info,
        instructions: body.instructions,
        said: json.clone(),
    }))
}

/// The newest revision that both sides speak.
fn common(supported: &[String], config: &ClientConfig) -> Option<Revision> {
    config.spoken().rev().find(|r| supported.iter().any(|s| s == r.date()))
}

fn no_common(supported: &[String], config: &ClientConfig) -> CallError {
    let ours: Vec<&str> = config.spoken().map(Revision::date).collect();
    let mut theirs: Vec<String> =
        supported.iter().take(10).map(|version| crate::peer::brief(version.as_bytes())).collect();
    if supported.len() > theirs.len() {
        theirs.push("…".to_string());
    }
    let theirs = if theirs.is_empty() { "none".to_string() } else { theirs.join(", ") };
    CallError::Protocol(format!(
        "no common protocol revision: the server speaks {theirs}, this client {}",
        ours.join(", "),
    ))
}
