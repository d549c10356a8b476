//! Who hears a turn: the terminal, or a program that reads JSON.

mod approver;
mod lines;
pub(crate) mod question;
mod terminal;

use crate::args::PermissionArgs;
use crate::exit::Failure;
use approver::Approver;
use carrick_host::turn::Frontend;
use lines::JsonLines;
use std::sync::{Mutex, PoisonError};
use terminal::Terminal;

/// A frontend that says in the end whether all that it heard could be written.
pub(crate) trait Listener: Frontend {
    /// The first thing that went wrong with stdout, if anything did.
    fn finish(&self) -> Result<(), Failure>;
}

/// The frontend that the flags ask for. `echoes` says that the answer will be
/// the result itself, which then need not be shown twice on one terminal.
pub(crate) fn frontend(json: bool, permission: &PermissionArgs, echoes: bool) -> Box<dyn Listener> {
    let approver = Approver::from(permission);
    if json {
        Box::new(JsonLines::new(approver))
    } else {
        Box::new(Terminal::new(approver, echoes))
    }
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
