//! Very many sessions, streams and calls, over real sockets.

mod memory;
mod parked;
mod raw;
mod sessions;
mod streams;

use std::error::Error;
use std::time::Duration;

pub use sessions::serve;

/// What a scenario gives: lines for people, or what did not hold.
pub type Outcome = Result<Vec<String>, Box<dyn Error + Send + Sync>>;

/// The names of the scenarios.
pub const NAMES: [&str; 3] = ["sessions", "streams", "parked"];

/// Runs a scenario of this name again and again until the time is over, at least
/// once; nothing when there is no such scenario.
pub async fn run(name: &str, time: Duration) -> Option<Outcome> {
    Some(match name {
        "sessions" => sessions::run(time).await,
        "streams" => streams::run(time).await,
        "parked" => parked::run(time).await,
        _ => return None,
    })
}
