//! A session that was lost is opened anew (2025-11-25 `basic/transports`,
//! Session Management, item 4).

use super::start::Opening;
use super::{CallError, ClientOutput, ClientPeer, Phase, ServerDescription};
use crate::method::Method;
use crate::rpc::{self, Json};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

impl ClientPeer {
    /// Takes the loss of the session: the server knows it no more. A new one is
    /// opened, in the same revision; [`ClientOutput::Reopened`] follows, or
    /// [`ClientOutput::Gone`].
    ///
    /// Calls go on meanwhile. Those that the transport still has it sends in the
    /// new session; of those that the server may have run it says that they are
    /// lost. A session that is lost before it has answered anything is the last.
    pub fn handle_session_lost(&mut self, now: Duration) {
        if self.phase != Phase::Ready || !self.revision.is_legacy() {
            return;
        }
        if self.untried {
            return self.gone("the server lost the session again as soon as it was opened".into());
        }
        self.opening = Opening::within(now, self.config.connect_timeout);
        let asked = self.asked.forget();
        self.out.extend(asked.map(ClientOutput::RequestCancelled));
        self.phase = Phase::Reopening { id: self.next_id };
        self.shake_hands(now);
    }

    /// The new session is open, or it is not what the old one was.
    pub(super) fn reopened(&mut self, now: Duration, json: Json) {
        let server = match self.handshake(json) {
            Ok(server) if server.revision == self.revision => server,
            Ok(ServerDescription { revision, .. }) => {
                return self.gone(format!(
                    "the server lost the session, and now speaks revision {revision} in place of {}",
                    self.revision
                ));
            }
            Err(error) => return self.not_reopened(&error),
        };
        self.phase = Phase::Ready;
        self.untried = true;
        let mut bytes = Vec::new();
        rpc::notification(&mut bytes, Method::Initialized.name(), b"");
        self.push_plain(bytes, Method::Initialized, Method::Initialized.name());
        self.out.push_back(ClientOutput::Reopened(server));
        self.subscribe_again(now);
        self.log_again(now);
    }

    pub(super) fn not_reopened(&mut self, error: &CallError) {
        let error = error.to_string();
        self.gone(format!("the server lost the session, and no new one could be opened: {error}"));
    }

    /// The connection is over, as this side has found out.
    fn gone(&mut self, how: String) {
        self.out.push_back(ClientOutput::Gone(how.clone()));
        self.handle_closed(&how);
    }
}
