//! `carrick serve` between the suite and what it tests.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::rig::{listening_on, make_anew};
use crate::served::Served;
use crate::{Result, process};

/// The task that the suite is given as its client: `conformance-relay CARRICK CLIENT FOLDER URL`.
pub(super) const TASK: &str = "conformance-relay";

/// Starts `carrick serve` before the server at `url`, with a config and a state of its own
/// below `folder`; gives the address where it is served.
pub(super) fn serve(carrick: &Path, folder: &Path, url: &str) -> Result<(Served, String)> {
    let own = folder.join("carrick");
    let config = own.join("config.json");
    let servers = json!({"mcpServers": {"conformance": {"type": "http", "url": url}}});
    make_anew(&own)?;
    fs::write(&config, servers.to_string())
        .map_err(|error| format!("cannot write {}: {error}", config.display()))?;
    let mut command = Command::new(carrick);
    command
        .current_dir(&own)
        .env_remove("CARRICK_CONFIG")
        .env_remove("CARRICK_LOG")
        .env("HOME", &own)
        .env("XDG_CONFIG_HOME", own.join("config"))
        .env("XDG_STATE_HOME", own.join("state"))
        .arg("--config")
        .arg(&config)
        .args(["serve", "--http", "127.0.0.1:0"]);
    Served::start(&mut command, listening_on)
}

/// Runs a client against the suite's server at `URL` through the gateway, and fails as it does.
/// It is this process's own: what the suite says in the environment reaches it.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let [carrick, client, folder, url] = arguments else {
        return Err(format!("usage: cargo xtask {TASK} CARRICK CLIENT FOLDER URL"));
    };
    let (_served, address) = serve(Path::new(carrick), Path::new(folder), url)?;
    process::run(Command::new(client).arg(address))
}
