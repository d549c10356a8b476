//! The official clients and servers: pinned in `interop/`, installed below the target folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Result, npm, pinned, process, python};

/// The pinned versions; a change in one of these files installs anew.
const PINS: [&str; 3] = [npm::PINS[0], npm::PINS[1], python::PINS];
/// The client scripts, copied beside the packages, where Node looks for those.
const CLIENTS: [&str; 4] = ["python_client.py", "steps.mjs", "ts_client.mjs", "ts1_client.mjs"];

/// Where the installed peers are.
pub(crate) struct Peers {
    node: PathBuf,
    python: PathBuf,
}

impl Peers {
    /// Installs the peers, unless the same versions are there already.
    pub(crate) fn install() -> Result<Peers> {
        let source = process::root().join("interop");
        let target = process::target_directory()?.join("interop");
        let peers = Peers { node: target.join("node"), python: target.join("python") };
        pinned::once(&PINS.map(|file| source.join(file)), &target, || {
            npm::install(&source, &peers.node)?;
            python::install(&source, &peers.python)
        })?;
        for client in CLIENTS {
            copy(&source.join("clients").join(client), &peers.node.join(client))?;
        }
        Ok(peers)
    }

    /// The official Python client, ready for the arguments of `python_client.py`.
    pub(crate) fn python_client(&self) -> Command {
        let mut command = Command::new(self.python.join("bin/python"));
        command.arg(self.node.join("python_client.py"));
        command
    }

    /// The official TypeScript client, ready for the arguments of `ts_client.mjs`.
    pub(crate) fn typescript_client(&self) -> Command {
        self.node_client("ts_client.mjs")
    }

    /// The client of the TypeScript SDK's first major version.
    pub(crate) fn typescript_1_client(&self) -> Command {
        self.node_client("ts1_client.mjs")
    }

    fn node_client(&self, script: &str) -> Command {
        let mut command = Command::new("node");
        command.arg(self.node.join(script));
        command
    }

    /// The folder where npm finds the servers.
    pub(crate) fn node_folder(&self) -> &Path {
        &self.node
    }

    /// The command of a server from npm, by the name of its program.
    pub(crate) fn node_server(&self, program: &str) -> Vec<String> {
        vec!["node".to_owned(), path(&self.node.join("node_modules/.bin").join(program))]
    }

    /// The command of a server from Python's packages, by the name of its program.
    pub(crate) fn python_server(&self, program: &str) -> Vec<String> {
        vec![path(&self.python.join("bin").join(program))]
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)
        .map(drop)
        .map_err(|error| format!("cannot copy {} to {}: {error}", from.display(), to.display()))
}

/// A path as text; one that is not UTF-8 fails when the program behind it is started.
fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
