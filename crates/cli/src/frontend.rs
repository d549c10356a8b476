//! Who hears a turn: the terminal, or a program that reads JSON.

mod approver;
mod elicitation;
mod lines;
pub(crate) mod question;
mod terminal;

use crate::args::PermissionArgs;
use crate::exit::Failure;
use crate::print;
use approver::Approver;
use carrick_host::permission::visible;
use carrick_host::registry::{Catalog, ServerEvent, ServerObserver};
use carrick_host::turn::{Approval, Event, Frontend, Verdict};
use futures_util::future::BoxFuture;
use lines::JsonLines;
use std::sync::{Arc, Mutex, PoisonError};
use terminal::Terminal;

/// A frontend that says in the end whether all that it heard could be written.
pub(crate) trait Listener: Frontend {
    /// The first thing that went wrong with stdout, if anything did.
    fn finish(&self) -> Result<(), Failure>;
}

/// Nobody hears, and nobody can be asked.
pub(crate) struct Nobody;

impl Frontend for Nobody {
    fn event(&self, _: &Event) {}

    fn approve<'a>(&'a self, _: &'a Approval) -> BoxFuture<'a, Verdict> {
        Box::pin(std::future::ready(Verdict::Unavailable))
    }
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
            ServerEvent::ListenEnded(why) => ("listenEnded", Some(why)),
            ServerEvent::ToolsChanged => ("toolsChanged", None),
            ServerEvent::ToolsHeld(names) => ("toolsHeld", Some(names.join(", "))),
            // These go to the log.
            _ => return,
        };
        frontend.event(&Event::Server { server: server.into(), state: state.into(), message });
    })
}

/// Tells which servers could not be reached, and which are not there yet.
pub(crate) fn tell_missing(catalog: &Catalog, frontend: &dyn Frontend) {
    for error in &catalog.failed {
        let server = Some(error.server().to_owned());
        frontend.event(&Event::Error { server, message: error.message() });
    }
    for server in &catalog.starting {
        let (server, state) = (server.clone(), "starting".into());
        frontend.event(&Event::Server { server, state, message: None });
    }
    if let Some(text) = still_starting(catalog) {
        print::say(text);
    }
}

/// Which servers are not there yet, if any are not.
pub(crate) fn still_starting(catalog: &Catalog) -> Option<String> {
    let names: Vec<String> = catalog.starting.iter().map(|name| visible(name)).collect();
    (!names.is_empty()).then(|| format!("still starting: {}", names.join(", ")))
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
