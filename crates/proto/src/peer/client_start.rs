//! How a connection opens: the probe, the fallback and the handshake.
//!
//! Follows `basic/versioning`, Backward Compatibility. The first message to an
//! unknown server is `server/discover`, never a call: a legacy server might
//! execute it.

use super::client::ServerDescription;
use super::client::{CallError, CallOptions, ClientOutput, ClientPeer, Era, LaneEnd, Phase};
use crate::method::Method;
use crate::revision::Revision;
use crate::rpc::{self, Json};
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
            Some(Era::Legacy) => self.initialize(now),
            Some(Era::Modern) | None => self.probe(now, Revision::NEWEST, false),
        }
    }

    /// The revision in use, or tried.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    pub(super) fn is_opening(&self, id: u64) -> bool {
        matches!(self.phase,
            Phase::Probing { id: opening, .. } | Phase::Initializing { id: opening } if opening == id)
    }

    pub(super) fn opening_answered(&mut self, now: Duration, result: Result<Json, CallError>) {
        match (&self.phase, result) {
            (Phase::Probing { .. }, Ok(json)) => self.discovered(now, &json),
            (Phase::Probing { retried, .. }, Err(CallError::Rpc(error))) if error.is_modern() => {
                let retried = *retried;
                self.refused(now, error, retried);
            }
            // Any other answer comes from a server that does not know the probe.
            (Phase::Probing { .. }, Err(error)) => self.fall_back(now, error),
            (_, Ok(json)) => self.initialized(&json),
            (_, Err(error)) => self.failed(error),
        }
    }

    pub(super) fn opening_silent(&mut self, now: Duration) {
        let since = self.connect_by.saturating_sub(self.config.connect_timeout);
        let error = CallError::Timeout(now.saturating_sub(since));
        match self.phase {
            // The answer, should it still come, meets no call.
            Phase::Probing { .. } => self.fall_back(now, error),
            _ => self.failed(error),
        }
    }

    pub(super) fn opening_ended(&mut self, now: Duration, _id: u64, end: LaneEnd) {
        let may = matches!(end, LaneEnd::Status { fall_back: true, .. });
        let error = CallError::Exchange(end);
        match self.phase {
            Phase::Probing { .. } if may => self.fall_back(now, error),
            _ => self.failed(error),
        }
    }

    fn probe(&mut self, now: Duration, revision: Revision, retried: bool) {
        self.revision = revision;
        self.phase = Phase::Probing { id: self.next_id, retried };
        let timeout = if self.config.era == Some(Era::Modern) {
            self.config.connect_timeout
        } else {
            self.config.probe_timeout
        };
        self.open(now, Method::ServerDiscover, b"", timeout);
    }

    fn initialize(&mut self, now: Duration) {
        self.revision = Revision::NEWEST_HANDSHAKE;
        self.phase = Phase::Initializing { id: self.next_id };
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

    fn discovered(&mut self, now: Duration, json: &Json) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Body {
            supported_versions: Vec<String>,
            #[serde(default)]
            capabilities: ServerCapabilities,
            #[serde(default)]
            instructions: Option<String>,
            #[serde(rename = "_meta", default)]
            meta: Option<Meta>,
        }
        // A server's name that does not fit counts as absent.
        #[derive(Deserialize)]
        struct Meta {
            #[serde(rename = "io.modelcontextprotocol/serverInfo", default)]
            info: serde_json::Value,
        }
        let body: Body = match json.read() {
            Ok(body) => body,
            // Some legacy servers answer anything with some result.
            Err(e) => {
                let error = CallError::Protocol(format!("not an answer to server/discover: {e}"));
                return self.fall_back(now, error);
            }
        };
        let Some(revision) = common(&body.supported_versions) else {
            return self.failed(no_common(&body.supported_versions));
        };
        if revision.is_legacy() {
            return self.initialize(now);
        }
        let info =
            body.meta.and_then(|meta| serde_json::from_value::<Implementation>(meta.info).ok());
        self.revision = revision;
        self.ready(ServerDescription {
            revision,
            capabilities: body.capabilities,
            info,
            instructions: body.instructions,
        });
    }

    /// A modern server that refuses what the probe said.
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
            Some(revision) if revision.is_legacy() => self.initialize(now),
            Some(revision) if !retried => self.probe(now, revision, true),
            Some(_) => self.failed(CallError::Rpc(error)),
            None => self.failed(no_common(&supported)),
        }
    }

    fn fall_back(&mut self, now: Duration, error: CallError) {
        if self.config.era == Some(Era::Modern) || now >= self.connect_by {
            return self.failed(error);
        }
        self.initialize(now);
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
        self.out.push_back(ClientOutput::Ready(description));
    }

    fn failed(&mut self, error: CallError) {
        self.phase = Phase::Closed;
        self.out.push_back(ClientOutput::Failed(error));
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
