//! What is measured: how it is built, where it is, and how each server is started.

use std::path::PathBuf;

use crate::{Result, process};

/// The workspace of the generators, the limits and the peers.
pub(super) const MANIFEST: &str = "bench/Cargo.toml";
/// Its packages, built one at a time so that no feature of one reaches another.
const PACKAGES: [&str; 3] = ["load", "limits", "peer-rmcp"];
/// Where all programs of a comparison are built: apart from the checks, in release mode.
pub(super) const TARGET: &str = "bench/target";
/// The package with our echo server and our client, which are examples of it.
pub(super) const OURS: &str = "carrick-testkit";
const EXAMPLES: [&str; 2] = ["echo", "client_calls"];
/// Clients on other SDKs, by name and program; those that are not built are left out.
const PEER_CLIENTS: [(&str, &str); 1] = [("rmcp", "client-rmcp")];

/// Builds all of them but the command line.
pub(super) fn build() -> Result<()> {
    for package in PACKAGES {
        build_release(&["--manifest-path", MANIFEST, "--package", package])?;
    }
    for example in EXAMPLES {
        build_release(&["--package", OURS, "--example", example])?;
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
    path(name).display().to_string()
}

fn path(name: &str) -> PathBuf {
    [process::root(), TARGET.as_ref(), "release".as_ref(), name.as_ref()].iter().collect()
}

/// Whether a program has been built.
pub(super) fn is_built(name: &str) -> bool {
    path(name).is_file()
}

/// One of our examples.
pub(super) fn example(name: &str) -> String {
    program(&format!("examples/{name}"))
}

/// The clients, the limit first, by name and path.
pub(super) fn clients() -> Vec<(&'static str, String)> {
    let peers = PEER_CLIENTS.into_iter().filter(|(_, name)| is_built(name));
    let peers = peers.map(|(name, file)| (name, program(file)));
    [("bare", program("bare-client")), ("carrick", example("client_calls"))]
        .into_iter()
        .chain(peers)
        .collect()
}

/// `NAME=COMMAND` of the servers over stdio, the limit first.
pub(super) fn stdio_servers() -> Vec<String> {
    let (rmcp, bare) = (program("peer-rmcp"), program("bare-stdio"));
    let asynchronous = program("bare-stdio-async");
    vec![
        format!("bare={bare}"),
        format!("bare-async={asynchronous} inline"),
        format!("carrick={} stdio", example("echo")),
        format!("rmcp={rmcp} stdio"),
        format!("rmcp-tuned={rmcp} stdio-tuned"),
    ]
}

/// What becomes a free port in the commands of servers over HTTP.
pub(super) const ADDRESS: &str = "127.0.0.1:{port}";

/// `NAME=COMMAND` of the servers over HTTP, the limit first.
pub(super) fn http_servers() -> Vec<String> {
    let (rmcp, bare) = (program("peer-rmcp"), program("bare-http"));
    vec![
        format!("bare={bare} {ADDRESS}"),
        format!("carrick={} http {ADDRESS}", example("echo")),
        format!("rmcp={rmcp} http {ADDRESS}"),
        format!("rmcp-tuned={rmcp} http-tuned {ADDRESS}"),
    ]
}

/// An empty file name in a folder of our own, for one part to write to.
pub(super) fn scratch(name: &str) -> Result<PathBuf> {
    let folder = process::target_directory()?.join("bench");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder.join(name))
}
