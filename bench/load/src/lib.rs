//! Puts load on MCP servers, many servers in turn, and tells what each request costs.
//!
//! The generators write prepared bytes and look at no more of an answer than they must:
//! they share the machine with what they measure.

mod account;
pub mod http;
mod message;
mod options;
pub mod stdio;
mod table;

pub use message::Mode;
pub use options::{Options, run};
use table::Table;

/// What goes wrong with a server ends up in the report, as text.
type Outcome<T> = Result<T, String>;

/// Where the servers' own output goes: the file that `BENCH_STDERR` names, or nowhere.
fn server_log() -> Outcome<std::fs::File> {
    let path = std::env::var("BENCH_STDERR").unwrap_or_else(|_| "/dev/null".into());
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .map_err(|error| format!("{path}: {error}"))
}
