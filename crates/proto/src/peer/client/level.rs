//! From which level on the server logs: asked for once in a session
//! (`logging/setLevel`), and by every request without one (`server/utilities/logging`).

use super::{CallError, CallOptions, ClientPeer};
use crate::method::Method;
use crate::types::LogLevel;
use alloc::format;
use core::time::Duration;

impl ClientPeer {
    /// Sets the level from which on [`ClientOutput::Log`] comes. It holds for
    /// later sessions, too. [`ClientOutput::Resolved`] tells when the server has
    /// agreed, by the key that is returned.
    ///
    /// [`ClientOutput::Log`]: super::ClientOutput::Log
    /// [`ClientOutput::Resolved`]: super::ClientOutput::Resolved
    pub fn set_log_level(&mut self, now: Duration, level: LogLevel, options: CallOptions) -> u64 {
        if self.is_open() && !self.logs {
            return self.resolved(Err(CallError::NotOffered("logging")));
        }
        self.log_level = Some(level);
        if self.is_open() && !self.has(Method::LoggingSetLevel) {
            return self.resolved(Ok(super::listen::nothing()));
        }
        let params = format!("{{\"level\":\"{}\"}}", level.name());
        self.call(now, Method::LoggingSetLevel.name(), params.as_bytes(), None, options)
    }

    /// Asks again for what was asked for in the lost session.
    pub(super) fn log_again(&mut self, now: Duration) {
        if let Some(level) = self.log_level {
            let options = CallOptions { progress: false, ..CallOptions::default() };
            self.set_log_level(now, level, options);
        }
    }
}
