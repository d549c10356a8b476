//! Our programs, and the ways in which the suite reaches them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::Run;
use super::scenarios::{Scenario, Side};
use super::suite::Suite;
use super::verdict::Verdict;
use crate::served::Served;
use crate::{Result, process};

/// How our test programs are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// The suite talks to them itself.
    Direct,
    /// The suite talks to `carrick serve`, behind which the server is.
    Gateway,
}

impl Target {
    pub(super) const ALL: [Target; 2] = [Target::Direct, Target::Gateway];

    pub(super) fn name(self) -> &'static str {
        match self {
            Target::Direct => "direct",
            Target::Gateway => "gateway",
        }
    }

    /// Whether what a scenario tests is reached so.
    pub(super) fn reaches(self, scenario: &Scenario) -> bool {
        match self {
            Target::Direct => true,
            Target::Gateway => scenario.side == Side::Server && scenario.passes_through(),
        }
    }
}

/// What the runs need: the suite, our programs, and a folder for what is written.
pub(super) struct Rig {
    suite: Suite,
    server: PathBuf,
    client: PathBuf,
    carrick: PathBuf,
    results: PathBuf,
}

impl Rig {
    /// Installs the suite and builds our programs.
    pub(super) fn new() -> Result<Rig> {
        let suite = Suite::install()?;
        let mut examples = process::cargo(&["build", "--locked", "--package", "carrick-testkit"]);
        examples.args(["--example", "conformance_server", "--example", "conformance_client"]);
        process::run(&mut examples)?;
        process::run(&mut process::cargo(&["build", "--locked", "--package", "carrick-cli"]))?;
        let target = process::target_directory()?;
        let examples = target.join("debug/examples");
        Ok(Rig {
            suite,
            server: examples.join("conformance_server"),
            client: examples.join("conformance_client"),
            carrick: target.join("debug/carrick"),
            results: target.join("conformance/results"),
        })
    }

    /// What the suite knows.
    pub(super) fn suite(&self) -> &Suite {
        &self.suite
    }

    /// Runs one scenario against a program that nothing else has used.
    pub(super) fn judge(&self, run: Run) -> Result<Verdict> {
        let folder = self.results.join(run.to_string());
        make_anew(&folder)?;
        let scenario = &run.scenario;
        let ended = match scenario.side {
            Side::Server => {
                let (_served, url) = self.serve(run.target, &folder)?;
                self.suite.run(scenario, &["--url".to_owned(), url], &folder)
            }
            Side::Client => {
                let client = self.client.display().to_string();
                self.suite.run(scenario, &["--command".to_owned(), client], &folder)
            }
        };
        let mut verdict = Verdict::new(scenario, &folder).unwrap_or_else(Verdict::failed);
        verdict.problems.extend(ended.err());
        Ok(verdict)
    }

    /// Starts our server, and what stands before it; gives the address to talk to. The last
    /// one started is the first to end.
    fn serve(&self, target: Target, folder: &Path) -> Result<(Vec<Served>, String)> {
        let mut server = Command::new(&self.server);
        let (server, url) = Served::start(server.arg("127.0.0.1:0"), listening_on)?;
        match target {
            Target::Direct => Ok((vec![server], url)),
            Target::Gateway => {
                let (gateway, url) = self.serve_through(&url, folder)?;
                Ok((vec![gateway, server], url))
            }
        }
    }

    /// Starts `carrick serve` before a server, with a config and a state of its own.
    fn serve_through(&self, url: &str, folder: &Path) -> Result<(Served, String)> {
        let own = folder.join("carrick");
        let config = own.join("config.json");
        let servers = json!({"mcpServers": {"conformance": {"type": "http", "url": url}}});
        make_anew(&own)?;
        fs::write(&config, servers.to_string())
            .map_err(|error| format!("cannot write {}: {error}", config.display()))?;
        let mut command = Command::new(&self.carrick);
        command
            .current_dir(&own)
            .env_remove("CARRICK_CONFIG")
            .env_remove("CARRICK_LOG")
            .env("XDG_CONFIG_HOME", own.join("config"))
            .env("XDG_STATE_HOME", own.join("state"))
            .arg("--config")
            .arg(&config)
            .args(["serve", "--http", "127.0.0.1:0"]);
        Served::start(&mut command, listening_on)
    }
}

/// The address in the line that all our servers print.
fn listening_on(line: &str) -> Option<String> {
    let (_, url) = line.split_once("listening on ")?;
    Some(url.trim().to_owned())
}

fn make_anew(folder: &Path) -> Result<()> {
    let failed = |error: std::io::Error| format!("cannot prepare {}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)
}
