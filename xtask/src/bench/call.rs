//! The whole of one call from the command line, beside the same call by the Python client.
//!
//! What counts is the processor time of everything that the command started, the server
//! included: a person waits for all of it, and a script pays for all of it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::programs::{build_release, program};
use crate::interop::Peers;
use crate::{Result, process};

/// Runs of each command, in turns. Odd, so that one of them is the median.
const ROUNDS: usize = 11;

/// What the command may cost at most, as a part of what the Python client costs.
const BAR: f64 = 1.0 / 20.0;

/// The call that both make, and what its answer must hold.
const ARGUMENTS: [(&str, &str); 3] =
    [("source_timezone", "Asia/Tokyo"), ("time", "12:30"), ("target_timezone", "UTC")];
const ANSWER: &str = "03:30";

/// Measures both, prints a table, and fails above the bar.
pub(super) fn measure() -> Result<()> {
    let python = Peers::install()?;
    build_release(&["--package", "carrick-cli"])?;
    let carrick = program("carrick");
    let folder = process::target_directory()?.join("bench-call");
    prepare(&folder, &carrick)?;
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    // The first round fills the caches of the disk and is thrown away.
    for round in 0..=ROUNDS {
        let (one, other) =
            (spent(&mut by_carrick(&folder, &carrick))?, spent(&mut by_python(&python, &carrick))?);
        if round > 0 {
            ours.push(one);
            theirs.push(other);
        }
    }
    report(median(ours), median(theirs))
}

fn report(ours: Duration, theirs: Duration) -> Result<()> {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!("\n**processor time of one call, server included (median of {ROUNDS})**\n");
    println!("| command | ms | part of the Python client's |\n|---|---|---|");
    println!("| `carrick call` | {:.1} | {ratio:.4} |", milliseconds(ours));
    println!("| Python client | {:.1} | 1 |", milliseconds(theirs));
    if ratio <= BAR { Ok(()) } else { Err(format!("the bar is {BAR}, this is {ratio:.4}")) }
}

/// Makes an empty folder with a config that names our own server of time.
fn prepare(folder: &Path, carrick: &str) -> Result<()> {
    let failed = |error: std::io::Error| format!("cannot prepare {}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)?;
    let server = json!({"type": "stdio", "command": carrick, "args": ["server", "time"]});
    fs::write(folder.join("config.json"), json!({"mcpServers": {"time": server}}).to_string())
        .map_err(failed)
}

fn by_carrick(folder: &Path, carrick: &str) -> Command {
    let mut command = Command::new(carrick);
    command.current_dir(folder).env("XDG_CONFIG_HOME", folder).env("XDG_STATE_HOME", folder);
    command.args(["--config", "config.json", "call", "time", "convert_time"]);
    command.args(ARGUMENTS.map(|(name, value)| format!("{name}={value}")));
    command
}

fn by_python(peers: &Peers, carrick: &str) -> Command {
    let arguments: serde_json::Map<_, _> =
        ARGUMENTS.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let plan = json!([{"call": "convert_time", "arguments": arguments}]).to_string();
    let mut command = peers.python_client();
    command.args(["--era", "auto", "--plan", &plan, "stdio", "--", carrick, "server", "time"]);
    command
}

/// The processor time, in and out of the kernel, of a command and all that it starts.
fn spent(command: &mut Command) -> Result<Duration> {
    // What a command leaves behind comes to this process, so that it is counted too.
    nix::sys::prctl::set_child_subreaper(true)
        .map_err(|error| format!("cannot take in orphans: {error}"))?;
    let line = process::line(command);
    let before = spent_by_children()?;
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start `{line}`: {error}"))?;
    while nix::sys::wait::wait().is_ok() {}
    let after = spent_by_children()?;
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && said.contains(ANSWER) {
        Ok(after.saturating_sub(before))
    } else {
        Err(format!("`{line}` ended with {} and printed {said:?}", output.status))
    }
}

/// Of all children that have ended and been waited for.
fn spent_by_children() -> Result<Duration> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike as _;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)
        .map_err(|error| format!("cannot read what children have used: {error}"))?;
    let time = usage.user_time() + usage.system_time();
    Ok(Duration::from_micros(time.num_microseconds().unsigned_abs()))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        let times = [9, 1, 5].map(Duration::from_millis).to_vec();
        assert_eq!(median(times), Duration::from_millis(5));
        assert_eq!(median(Vec::new()), Duration::ZERO);
    }

    #[test]
    fn above_the_bar_it_fails() {
        let theirs = Duration::from_millis(1000);
        assert_eq!(report(Duration::from_millis(50), theirs), Ok(()));
        assert!(report(Duration::from_millis(51), theirs).is_err());
    }
}
