//! Servers behind a launcher: however `carrick` ends, nothing of what it started stays.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::entries::{Official, carrick, entry};
use super::{Check, LIMIT, Rig, expect, printed, serving};
use crate::{Result, process};

/// The variable by which a check knows its processes: the config gives it to the server,
/// and everything that the server starts inherits it.
const MARK: &str = "CARRICK_INTEROP_CHECK";

/// Programs that start the server as their own child, and may leave it behind.
const LAUNCHERS: [(&str, Launcher); 3] = [("sh", by_shell), ("npx", by_npx), ("serve", by_serve)];

/// Makes the entry of the server of all features behind a launcher.
type Launcher = fn(&Rig, &str) -> Result<Value>;

/// Each launcher with an ordinary end, and with one that gives `carrick` no time for anything.
pub(super) fn checks() -> Vec<Check> {
    let mut checks = Vec::new();
    for (name, launcher) in LAUNCHERS {
        let mark = format!("{name}-{}", std::process::id());
        checks.push(Check::new(format!("leftovers/{name}/end"), {
            let mark = format!("{mark}-end");
            move |rig| after_the_end(rig, launcher, &mark)
        }));
        checks.push(Check::new(format!("leftovers/{name}/kill"), {
            let mark = format!("{mark}-kill");
            move |rig| after_a_kill(rig, launcher, &mark)
        }));
    }
    checks
}

/// A shell that stays, with the server and one more program below it.
fn by_shell(rig: &Rig, mark: &str) -> Result<Value> {
    let server = Official::Everything.command(rig).join("' '");
    Ok(json!({
        "command": "sh",
        "args": ["-c", format!("sleep 1000 & '{server}'; true")],
        "env": {MARK: mark},
    }))
}

fn by_npx(rig: &Rig, mark: &str) -> Result<Value> {
    Ok(json!({
        "command": "npx",
        "args": ["--no-install", "mcp-server-everything"],
        "cwd": rig.peers.node_folder(),
        "env": {MARK: mark},
    }))
}

/// A `carrick serve` in front of the shell.
fn by_serve(rig: &Rig, mark: &str) -> Result<Value> {
    let mut entry = entry(serving::command(rig, by_shell(rig, mark)?)?);
    entry["env"] = json!({MARK: mark});
    Ok(entry)
}

fn marked(rig: &Rig, launcher: Launcher, mark: &str) -> Result<Command> {
    carrick(rig, Some(&json!({"everything": launcher(rig, mark)?})))
}

fn after_the_end(rig: &Rig, launcher: Launcher, mark: &str) -> Result<()> {
    let mut command = marked(rig, launcher, mark)?;
    let said = printed(command.args(["call", "everything", "echo", "message=hello"]))?;
    expect(said.contains("Echo: hello"), "not the answer", &said)?;
    nothing_left(mark)
}

/// `kill -9` in the middle of a call, which the first sign of progress shows to be running.
fn after_a_kill(rig: &Rig, launcher: Launcher, mark: &str) -> Result<()> {
    let mut command = marked(rig, launcher, mark)?;
    let tool = "trigger-long-running-operation";
    command.args(["call", "everything", tool, "duration=600", "steps=1200"]);
    let mut child = process::start(&mut command)?;
    let mut said = String::new();
    let progress = child.stderr.take().is_some_and(|stderr| {
        let lines = BufReader::new(stderr).lines().map_while(std::io::Result::ok);
        lines.inspect(|line| said += line).any(|line| line.contains("/1200"))
    });
    let running = processes(mark);
    // Not its group: what is to be seen is that the rest ends without help.
    let killed = child.kill().and_then(|()| child.wait());
    expect(progress, "the call never reported progress", &said)?;
    expect(
        running.len() > 1,
        "the launcher and the server were not both running",
        &json!(running),
    )?;
    killed.map_err(|error| format!("cannot end carrick: {error}"))?;
    nothing_left(mark)
}

/// Waits until no process has the mark any more.
fn nothing_left(mark: &str) -> Result<()> {
    const PAUSE: Duration = Duration::from_millis(10);
    let deadline = Instant::now() + LIMIT;
    loop {
        let left = processes(mark);
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(format!("these are left: {}", left.join("; ")));
        }
        std::thread::sleep(PAUSE);
    }
}

/// The command lines of the processes with this mark in their environment.
fn processes(mark: &str) -> Vec<String> {
    let wanted = format!("{MARK}={mark}");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let marked = entries.filter(|entry| {
        // A process that is gone, or somebody else's, cannot be read and is not ours.
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    });
    let line = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).replace('\0', " ");
    marked.map(|entry| line(fs::read(entry.path().join("cmdline")).unwrap_or_default())).collect()
}
