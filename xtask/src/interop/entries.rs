//! The servers as a config file names them, and `carrick` run with them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};

use super::Rig;
use crate::Result;
use crate::served::{Served, free_port};

/// The variables that decide what `carrick` does; a person's own have no say in a check.
const SETTINGS: [&str; 9] = [
    "CARRICK_CONFIG",
    "CARRICK_LOG",
    "CARRICK_MODEL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "GEMINI_API_KEY",
    "OLLAMA_HOST",
];

/// An official server that `carrick` starts itself. The two from Python speak the newest
/// revision, the two from npm one with a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Official {
    Everything,
    Filesystem,
    Time,
    Git,
}

impl Official {
    pub(super) const ALL: [Official; 4] =
        [Official::Everything, Official::Filesystem, Official::Time, Official::Git];

    /// The name that it gets in the config, and that checks are named after.
    pub(super) fn name(self) -> &'static str {
        match self {
            Official::Everything => "everything",
            Official::Filesystem => "filesystem",
            Official::Time => "time",
            Official::Git => "git",
        }
    }

    /// The revision that it is spoken to in.
    pub(super) fn revision(self) -> &'static str {
        match self {
            Official::Everything | Official::Filesystem => "2025-11-25",
            Official::Time | Official::Git => "2026-07-28",
        }
    }

    /// The program and its arguments.
    pub(super) fn command(self, rig: &Rig) -> Vec<String> {
        match self {
            Official::Everything => rig.peers.node_server("mcp-server-everything"),
            Official::Filesystem => {
                let mut command = rig.peers.node_server("mcp-server-filesystem");
                command.push(rig.folder.to_string_lossy().into_owned());
                command
            }
            Official::Time => rig.peers.python_server("mcp-server-time"),
            Official::Git => rig.peers.python_server("mcp-server-git"),
        }
    }

    /// Its entry in the config.
    pub(super) fn entry(self, rig: &Rig) -> Value {
        entry(self.command(rig))
    }
}

/// `mcpServers` with these servers.
pub(super) fn servers(rig: &Rig, chosen: &[Official]) -> Value {
    let entries = chosen.iter().map(|server| (server.name().to_owned(), server.entry(rig)));
    Value::Object(entries.collect::<Map<_, _>>())
}

/// The entry of a server that is started by this command.
pub(super) fn entry(command: Vec<String>) -> Value {
    json!({"command": command.first(), "args": command.get(1..)})
}

/// Starts the server of all features over Streamable HTTP, for as long as the check runs.
pub(super) fn over_http(rig: &Rig, check: impl FnOnce(Value) -> Result<()>) -> Result<()> {
    // A port is free only until somebody takes it.
    static STARTING: Mutex<()> = Mutex::new(());
    let starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let port = free_port()?;
    let [program, script] = &Official::Everything.command(rig)[..] else {
        return Err("a server from npm is started by node".into());
    };
    let mut server = Command::new(program);
    server.args([script, "streamableHttp"]).env("PORT", port.to_string());
    let (_served, ()) =
        Served::start(&mut server, |line| line.contains("listening on port").then_some(()))?;
    drop(starting);
    check(json!({"type": "http", "url": format!("http://127.0.0.1:{port}/mcp")}))
}

/// `carrick`, in the folder with known files, with these `mcpServers` or no config at all.
pub(super) fn carrick(rig: &Rig, servers: Option<&Value>) -> Result<Command> {
    let mut command = Command::new(&rig.carrick);
    command.current_dir(&rig.folder);
    for name in SETTINGS {
        command.env_remove(name);
    }
    command.envs(folders(rig));
    if let Some(servers) = servers {
        command.arg("--config").arg(config(rig, servers)?);
    }
    Ok(command)
}

/// The variables that keep a run of `carrick` away from what a person has configured.
pub(super) fn folders(rig: &Rig) -> [(&'static str, PathBuf); 2] {
    [("XDG_CONFIG_HOME", rig.own.join("config")), ("XDG_STATE_HOME", rig.own.join("state"))]
}

/// Writes a config with these `mcpServers`; each has a file of its own, since checks run
/// side by side.
pub(super) fn config(rig: &Rig, servers: &Value) -> Result<PathBuf> {
    static WRITTEN: AtomicUsize = AtomicUsize::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let config = rig.own.join(format!("config-{number}.json"));
    fs::write(&config, json!({"mcpServers": servers}).to_string())
        .map_err(|error| format!("cannot write {}: {error}", config.display()))?;
    Ok(config)
}

/// What `--json` prints: one value a line.
pub(super) fn json_lines(text: &str) -> Result<Vec<Value>> {
    let parse = |line: &str| {
        serde_json::from_str(line).map_err(|error| format!("{line:?} is not JSON: {error}"))
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_one_by_one() {
        assert_eq!(json_lines("{\"a\":1}\n\n[2]\n"), Ok(vec![json!({"a": 1}), json!([2])]));
        assert!(json_lines("{\"a\":1}\nlog\n").is_err());
    }

    #[test]
    fn an_entry_splits_the_program_from_its_arguments() {
        assert_eq!(
            entry(vec!["node".into(), "a.js".into(), "b".into()]),
            json!({"command": "node", "args": ["a.js", "b"]})
        );
        assert_eq!(entry(vec!["a".into()]), json!({"command": "a", "args": []}));
    }
}
