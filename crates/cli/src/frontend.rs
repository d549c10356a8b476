//! Who hears a turn: the terminal, or a program that reads JSON.

mod approver;
mod elicitation;
mod lines;
pub(crate) mod question;
mod terminal;

use crate::args::PermissionArgs;
use crate::exit::Failure;
use approver::Approver;
use carrick_host::registry::{ServerEvent, ServerObserver};
use carrick_host::turn::{Event, Frontend};
use lines::JsonLines;
use std::sync::{Arc, Mutex, PoisonError};
use terminal::Terminal;

/// A frontend that says in the end whether all that it heard could be written.
pub(crate) trait Listener: Frontend {
    /// The first thing that went wrong with stdout, if anything did.
    fn finish(&self) -> Result<(), Failure>;
}

/// The frontend that the flags ask for.
pub(crate) fn frontend(json: bool, permission: &PermissionArgs) -> Arc<dyn Listener> {
    let approver = Approver::from(permission);
    if json { Arc::new(JsonLines::new(approver)) } else { Arc::new(Terminal::new(approver)) }
}

/// Tells a frontend what happens to servers outside of calls.
pub(crate) fn observer(frontend: Arc<dyn Listener>) -> ServerObserver {
    Arc::new(move |server, event| {
        let (state, message) = match event {
            ServerEvent::Connecting => ("connecting", None),
            ServerEvent::Connected(who) => ("connected", Some(who)),
            ServerEvent::Closed(how) => ("closed", Some(how)),
            ServerEvent::ToolsChanged => ("toolsChanged", None),
            ServerEvent::ToolsHeld(names) => ("toolsHeld", Some(names.join(", "))),
            // These go to the log.
            _ => return,
        };
        frontend.event(&Event::Server { server: server.into(), state: state.into(), message });
    })
}

/// Keeps the first failure to write; events cannot fail one by one.
#[derive(Default)]
struct Written(Mutex<Option<Failure>>);

impl Written {
    fn note(&self, outcome: Result<(), Failure>) {
        if let Err(failure) = outcome {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        }
    }

    fn finish(&self) -> Result<(), Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}
