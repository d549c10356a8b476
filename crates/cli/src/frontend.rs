//! Who hears a turn: the terminal, or a program that reads JSON.

mod approver;
mod lines;
pub(crate) mod question;
mod terminal;

use crate::args::PermissionArgs;
use approver::Approver;
use carrick_host::turn::Frontend;
use lines::JsonLines;
use terminal::Terminal;

/// The frontend that the flags ask for.
pub(crate) fn frontend(json: bool, permission: &PermissionArgs) -> Box<dyn Frontend> {
    let approver = Approver::from(permission);
    if json { Box::new(JsonLines::new(approver)) } else { Box::new(Terminal::new(approver)) }
}
