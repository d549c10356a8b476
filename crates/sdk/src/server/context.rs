//! What a handler can do besides returning: report progress, log.

use carrick_proto::peer::{Call, CallKey};
use carrick_proto::revision::Revision;
use carrick_proto::types::LogLevel;
use serde::Serialize;
use std::sync::Arc;

/// Where a running call's messages go. Implemented by whatever drives a connection.
///
/// Both methods return at once. When the client reads too slowly, progress is
/// skipped and log messages are dropped and counted, never answers.
pub trait Outbox: Send + Sync {
    /// Passes on how far a call is.
    fn progress(&self, key: CallKey, done: f64, total: Option<f64>, message: Option<String>);

    /// Passes on a log message; `data` is JSON.
    fn log(&self, key: CallKey, level: LogLevel, logger: Option<String>, data: Vec<u8>);
}

/// The call a handler works on.
#[derive(Clone)]
pub struct Context {
    key: CallKey,
    revision: Revision,
    wants_progress: bool,
    outbox: Arc<dyn Outbox>,
}

impl Context {
    pub(super) fn new(call: &Call, outbox: Arc<dyn Outbox>) -> Self {
        Self { key: call.key, revision: call.revision, wants_progress: call.wants_progress, outbox }
    }

    /// The revision the client speaks.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Whether the client asked for progress.
    pub fn wants_progress(&self) -> bool {
        self.wants_progress
    }

    /// Reports `done` of `total` (any unit; must only grow), if the client
    /// asked for that.
    pub fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        if self.wants_progress {
            self.outbox.progress(self.key, done, total, message.map(Into::into));
        }
    }

    /// Logs to the client, if it wants this level. (Deprecated by the protocol
    /// since 2026-07-28, and in daily use in the revisions before.)
    pub fn log(&self, level: LogLevel, data: &impl Serialize) {
        if let Ok(data) = serde_json::to_vec(data) {
            self.outbox.log(self.key, level, None, data);
        }
    }
}
