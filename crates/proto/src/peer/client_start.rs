//! How a connection opens: the probe, the fallback and the handshake.
//!
//! Follows `basic/versioning`, Backward Compatibility. The first message to an
//! unknown server is `server/discover`, never a call: a legacy server might
//! execute it.

use super::Lane;
use super::client::ServerDescription;
use super::client::{CallError, CallOptions, ClientOutput, ClientPeer, Era, LaneEnd, Phase};
use crate::method::Method;
use crate::revision::Revision;
use crate::rpc::{self, Json, Kind, Message};
use crate::types::{Implementation, RpcError, ServerCapabilities};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use serde::Deserialize;

impl ClientPeer {
    /// Opens the connection: [`ClientOutput::Ready`] or [`ClientOutput::Failed`]
    /// follows. After a failure it may be called again on a new transport, with
    /// another `era`.
    pub fn connect(&mut self, now: Duration, era: Option<Era>) {
        self.connect_by = now.saturating_add(self.config.connect_timeout);
        match era.or(self.config.era) {
            Some(Era::Legacy) => self.initialize(now, false),
            Some(Era::Modern) | None => self.probe(now, Revision::NEWEST, false),
        }
    }

    /// The revision in use, or tried.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    pub(super) fn is_opening(&self, id: u64) -> bool {
        matches!(self.phase,
            Phase::Probing { id: opening, .. } | Phase::Initializing { id: opening, .. }
                if opening == id)
    }

    pub(super) fn opening_answered(&mut self, now: Duration, result: Result<Json, CallError>) {
        match (&self.phase, result) {
            (Phase::Probing { retried, .. }, Ok(json)) => self.discovered(now, &json, *retried),
            (Phase::Probing { retried, .. }, Err(CallError::Rpc(error))) if error.is_modern() => {
                self.refused(now, error, *retried);
            }
            // Any other answer comes from a server that does not know the probe.
            (Phase::Probing { retried, .. }, Err(error)) => self.fall_back(now, error, *retried),
            (_, Ok(json)) => self.initialized(&json),
            (Phase::Initializing { retried: false, .. }, Err(CallError::Rpc(error)))
                if error.is_modern() && !self.was_discovered() =>
            {
                self.refused(now, error, false);
            }
            (_, Err(error)) => self.handshake_failed(error),
        }
    }

    pub(super) fn opening_silent(&mut self, now: Duration) {
        let since = self.connect_by.saturating_sub(self.config.connect_timeout);
        let error = CallError::Timeout(now.saturating_sub(since));
        match self.phase {
            Phase::Probing { id, retried } => {
                self.silent_probe = Some(SilentProbe { id, found: None });
                self.fall_back(now, error, retried);
            }
            _ => self.handshake_failed(error),
        }
    }

    pub(super) fn opening_ended(&mut self, now: Duration, _id: u64, end: LaneEnd) {
        let may = matches!(end, LaneEnd::Status { fall_back: true, .. });
        let error = CallError::Exchange(end);
        match self.phase {
            Phase::Probing { retried, .. } if may => self.fall_back(now, error, retried),
            _ => self.handshake_failed(error),
        }
    }

    /// Takes an answer to the probe that came when the handshake had begun: a
    /// modern server that was slow to start. A server of both eras may still take
    /// the handshake, and then serves as that says; one that refuses it, or a
    /// silent one, serves as it said here.
    pub(super) fn probe_answered_late(&mut self, message: &Message) {
        let result = match message.kind() {
            Kind::Result => self.result(Method::ServerDiscover, Revision::NEWEST, message),
            _ => return,
        };
        let found = result.ok().and_then(|json| json.read::<Discovery>().ok());
        let found = found.and_then(|found| {
            let revision = common(&found.supported_versions)?;
            (!revision.is_legacy()).then(|| found.describe(revision))
        });
        if let Some(probe) = &mut self.silent_probe {
            probe.found = found;
        }
    }

    fn was_discovered(&self) -> bool {
        self.silent_probe.as_ref().is_some_and(|probe| probe.found.is_some())
    }

    fn probe(&mut self, now: Duration, revision: Revision, retried: bool) {
        self.end_silent_probe();
        self.revision = revision;
        self.phase = Phase::Probing { id: self.next_id, retried };
        let timeout = if self.config.era == Some(Era::Modern) {
            self.config.connect_timeout
        } else {
            self.config.probe_timeout
        };
        self.open(now, Method::ServerDiscover, b"", timeout);
    }

    /// `retried`: a server of the modern era has said before how to go on.
    fn initialize(&mut self, now: Duration, retried: bool) {
        self.revision = Revision::NEWEST_HANDSHAKE;
        self.phase = Phase::Initializing { id: self.next_id, retried };
        let info = serde_json::to_string(&self.config.info).unwrap_or_default();
        let params = format!(
            "{{\"protocolVersion\":\"{}\",\"capabilities\":{},\"clientInfo\":{info}}}",
            self.revision, self.config.capabilities,
        );
        self.open(now, Method::Initialize, params.as_bytes(), self.config.connect_timeout);
    }

    fn open(&mut self, now: Duration, method: Method, params: &[u8], timeout: Duration) {
        let timeout = timeout.min(self.connect_by.saturating_sub(now));
        let options = CallOptions { timeout, progress: false, ..CallOptions::default() };
        self.call(now, method.name(), params, None, options);
    }

    fn discovered(&mut self, now: Duration, json: &Json, retried: bool) {
        let found: Discovery = match json.read() {
            Ok(found) => found,
            // Some legacy servers answer anything with some result.
            Err(e) => {
                let error = CallError::Protocol(format!("not an answer to server/discover: {e}"));
                return self.fall_back(now, error, retried);
            }
        };
        let Some(revision) = common(&found.supported_versions) else {
            return self.failed(no_common(&found.supported_versions));
        };
        if revision.is_legacy() {
            return self.initialize(now, retried);
        }
        self.ready(found.describe(revision));
    }

    /// A modern server that refuses what the probe, or the handshake, said.
    fn refused(&mut self, now: Duration, error: RpcError, retried: bool) {
        #[derive(Deserialize)]
        struct Data {
            supported: Vec<String>,
        }
        let data = error.data.as_ref();
        let Some(Data { supported }) = data.and_then(|d| serde_json::from_str(d.get()).ok()) else {
            return self.failed(CallError::Rpc(error));
        };
        match common(&supported) {
            Some(revision) if revision.is_legacy() => self.initialize(now, true),
            Some(revision) if !retried => self.probe(now, revision, true),
            Some(_) => self.failed(CallError::Rpc(error)),
            None => self.failed(no_common(&supported)),
        }
    }

    fn fall_back(&mut self, now: Duration, error: CallError, retried: bool) {
        if self.config.era == Some(Era::Modern) || now >= self.connect_by {
            return self.failed(error);
        }
        self.initialize(now, retried);
    }

    fn handshake_failed(&mut self, error: CallError) {
        match self.silent_probe.as_mut().and_then(|probe| probe.found.take()) {
            Some(description) => self.ready(description),
            None => self.failed(error),
        }
    }

    fn initialized(&mut self, json: &Json) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Body {
            protocol_version: String,
            #[serde(default)]
            capabilities: ServerCapabilities,
            #[serde(default)]
            server_info: Option<Implementation>,
            #[serde(default)]
            instructions: Option<String>,
        }
        let body: Body = match json.read() {
            Ok(body) => body,
            Err(e) => {
                return self.failed(CallError::Protocol(format!("the answer to initialize: {e}")));
            }
        };
        let known = Revision::from_date(&body.protocol_version).filter(|r| r.is_legacy());
        let Some(revision) = known else {
            return self.failed(no_common(&[body.protocol_version]));
        };
        self.revision = revision;
        let mut bytes = Vec::new();
        rpc::notification(&mut bytes, Method::Initialized.name(), b"");
        self.push_plain(bytes, Method::Initialized, Method::Initialized.name());
        self.ready(ServerDescription {
            revision,
            capabilities: body.capabilities,
            info: body.server_info,
            instructions: body.instructions,
        });
    }

    fn ready(&mut self, description: ServerDescription) {
        self.phase = Phase::Ready;
        self.revision = description.revision;
        self.end_silent_probe();
        self.out.push_back(ClientOutput::Ready(description));
    }

    fn failed(&mut self, error: CallError) {
        self.phase = Phase::Closed;
        self.end_silent_probe();
        self.out.push_back(ClientOutput::Failed(error));
    }

    /// An answer from now on meets no call.
    fn end_silent_probe(&mut self) {
        if let Some(probe) = self.silent_probe.take() {
            self.out.push_back(ClientOutput::Abandon(Lane::Exchange(probe.id)));
        }
    }
}

/// A probe that was not answered in time.
#[derive(Debug)]
pub(super) struct SilentProbe {
    pub(super) id: u64,
    /// What the server said of itself, when it was only late.
    found: Option<ServerDescription>,
}

/// The result of `server/discover`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Discovery {
    supported_versions: Vec<String>,
    #[serde(default)]
    capabilities: ServerCapabilities,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(rename = "_meta", default)]
    meta: Option<DiscoveryMeta>,
}

/// A server's name that does not fit counts as absent.
#[derive(Deserialize)]
struct DiscoveryMeta {
    #[serde(rename = "io.modelcontextprotocol/serverInfo", default)]
    info: serde_json::Value,
}

impl Discovery {
    fn describe(self, revision: Revision) -> ServerDescription {
        let info =
            self.meta.and_then(|meta| serde_json::from_value::<Implementation>(meta.info).ok());
        ServerDescription {
            revision,
            capabilities: self.capabilities,
            info,
            instructions: self.instructions,
        }
    }
}

/// The newest revision that both sides speak.
fn common(supported: &[String]) -> Option<Revision> {
    Revision::ALL.iter().rev().copied().find(|r| supported.iter().any(|s| s == r.date()))
}

fn no_common(supported: &[String]) -> CallError {
    let ours: Vec<&str> = Revision::ALL.iter().map(|r| r.date()).collect();
    CallError::Protocol(format!(
        "no common protocol revision: the server speaks {}, this client {}",
        supported.join(", "),
        ours.join(", "),
    ))
}

#[cfg(test)]
mod tests;
