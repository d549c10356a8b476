//! Who hears a turn: the terminal, or a program that reads JSON.

mod approver;
mod lines;
pub(crate) mod question;
mod terminal;

use crate::args::PermissionArgs;
use approver::Approver;
use carrick_host::registry::{ServerEvent, ServerObserver};
use carrick_host::turn::{Event, Frontend};
use lines::JsonLines;
use std::sync::Arc;
use terminal::Terminal;

/// The frontend that the flags ask for.
pub(crate) fn frontend(json: bool, permission: &PermissionArgs) -> Arc<dyn Frontend> {
    let approver = Approver::from(permission);
    if json { Arc::new(JsonLines::new(approver)) } else { Arc::new(Terminal::new(approver)) }
}

/// Tells a frontend what happens to servers outside of calls.
pub(crate) fn observer(frontend: Arc<dyn Frontend>) -> ServerObserver {
    Arc::new(move |server, event| {
        let (state, message) = match event {
            ServerEvent::Connecting => ("connecting", None),
            ServerEvent::Connected(who) => ("connected", Some(who)),
            ServerEvent::Closed(how) => ("closed", Some(how)),
            ServerEvent::ToolsChanged => ("toolsChanged", None),
            // These go to the log.
            _ => return,
        };
        frontend.event(&Event::Server { server: server.into(), state: state.into(), message });
    })
}
