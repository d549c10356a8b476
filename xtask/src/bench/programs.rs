//! What is measured: how it is built, where it is, and how each server is started.

use std::path::PathBuf;

use super::peers::Peers;
use crate::{Result, process};

/// The workspace of the generators, the limits and the peers.
pub(super) const MANIFEST: &str = "bench/Cargo.toml";
/// Its packages but for the peers, built one at a time so that no feature of one reaches another.
const PACKAGES: [&str; 2] = ["load", "limits"];
/// Where all programs of a comparison are built: apart from the checks, in release mode.
pub(super) const TARGET: &str = "bench/target";
/// The package with our echo server and our client, which are examples of it.
pub(super) const OURS: &str = "carrick-testkit";
const EXAMPLES: [&str; 2] = ["echo", "client_calls"];
/// How those are built: as releases are that say nothing of it, which is what a user of an SDK
/// gets, and how the peers are built.
const PLAIN: &str = "plain";

/// Builds all of them but the command line.
pub(super) fn build() -> Result<()> {
    for package in PACKAGES {
        build_release(&["--manifest-path", MANIFEST, "--package", package])?;
    }
    for example in EXAMPLES {
        let arguments = ["--profile", PLAIN, "--locked", "--package", OURS, "--example", example];
        let mut command = process::cargo(&["build"]);
        process::run(
            command.args(arguments).env("CARGO_TARGET_DIR", process::root().join(TARGET)),
        )?;
    }
    Ok(())
}

/// Builds with these arguments in release mode.
pub(super) fn build_release(arguments: &[&str]) -> Result<()> {
    let mut command = process::cargo(&["build", "--release", "--locked"]);
    process::run(command.args(arguments).env("CARGO_TARGET_DIR", process::root().join(TARGET)))
}

/// The path of a program that was built.
pub(super) fn program(name: &str) -> String {
    path("release", name).display().to_string()
}

fn path(profile: &str, name: &str) -> PathBuf {
    [process::root(), TARGET.as_ref(), profile.as_ref(), name.as_ref()].iter().collect()
}

/// Whether a program has been built.
pub(super) fn is_built(name: &str) -> bool {
    path("release", name).is_file()
}

/// One of our examples.
pub(super) fn example(name: &str) -> String {
    path(PLAIN, &format!("examples/{name}")).display().to_string()
}

/// The clients, the limit first: by name, program, and what follows the name of the
/// transport in its command.
pub(super) fn clients(others: &Peers) -> Vec<(&'static str, String, &'static str)> {
    [("bare", program("bare-client"), ""), ("carrick", example("client_calls"), "")]
        .into_iter()
        .chain(others.clients())
        .collect()
}

/// `NAME=COMMAND` of the servers over stdio, the limit first.
pub(super) fn stdio_servers(others: Vec<String>) -> Vec<String> {
    let own = [
        format!("bare={}", program("bare-stdio")),
        format!("bare-async={} inline", program("bare-stdio-async")),
        format!("carrick={} stdio", example("echo")),
    ];
    own.into_iter().chain(others).collect()
}

/// What becomes a free port in the commands of servers over HTTP.
pub(super) const ADDRESS: &str = "127.0.0.1:{port}";

/// `NAME=COMMAND` of the servers over HTTP, the limit first.
pub(super) fn http_servers(others: Vec<String>) -> Vec<String> {
    let own = [
        format!("bare={} {ADDRESS}", program("bare-http")),
        format!("carrick={} http {ADDRESS}", example("echo")),
    ];
    own.into_iter().chain(others).collect()
}

/// An empty file name in a folder of our own, for one part to write to.
pub(super) fn scratch(name: &str) -> Result<PathBuf> {
    let folder = process::target_directory()?.join("bench");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder.join(name))
}
