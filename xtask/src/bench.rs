//! Our echo server beside those on other SDKs and the least that any server can do.
//!
//! The rounds are interleaved: every server has its turn in each, so that what else happens
//! on the machine falls on all alike. `bench/README.md` says how to read the tables.

use std::path::PathBuf;
use std::process::Command;

use crate::{Result, process};

#[cfg(target_os = "linux")]
mod call;
mod gateway;
mod instructions;
mod micro;
mod peers;

use peers::Peers;

/// The workspace of the generators, the limits and the peers.
const MANIFEST: &str = "bench/Cargo.toml";
/// Its packages but for the peers, built one at a time so that no feature of one reaches another.
const PACKAGES: [&str; 2] = ["load", "limits"];
/// Where all programs of a comparison are built: apart from the checks, in release mode.
const TARGET: &str = "bench/target";
/// The package with our echo server, and the name of the example that it is.
const OURS: (&str, &str) = ("carrick-testkit", "echo");

const PARTS: [&str; 6] = ["stdio", "instructions", "http", "sessions", "gateway", "call"];

const USAGE: &str = "usage: cargo xtask bench [stdio|instructions|http|sessions|gateway|call]… [--option value]…\n\
       cargo xtask bench micro [FILTER] | allocations\n\
    `--only NAME,NAME` picks servers to compare with. All other options go to the load\n\
    generators, such as `--rounds 3 --secs 0.2 --mode stateless`.";

/// `cargo xtask bench`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(done) = micro::run(arguments) {
        return done;
    }
    let (parts, options) = split(arguments);
    if let Some(part) = parts.iter().find(|part| !PARTS.contains(&part.as_str())) {
        return Err(format!("no benchmark named {part:?}\n{USAGE}"));
    }
    let is_chosen = |part: &&str| parts.is_empty() || parts.iter().any(|chosen| chosen == part);
    let chosen: Vec<&str> = PARTS.into_iter().filter(is_chosen).collect();
    let mut options = options.to_vec();
    let mut peers = Peers::choose(&mut options)?;
    if chosen != ["call"] {
        build()?;
        let with_echo = chosen.iter().any(|part| !["call", "gateway"].contains(part));
        peers.prepare(with_echo, chosen.contains(&"gateway"));
    }
    for part in chosen {
        match part {
            "stdio" => stdio(&peers, &options)?,
            "instructions" => instructions::measure(&stdio_servers(peers.native()))?,
            "http" => http(&peers, &options)?,
            "sessions" => sessions(&peers, &options)?,
            "gateway" => gateway::measure(&peers, &options)?,
            _ => call()?,
        }
    }
    Ok(())
}

/// The names of benchmarks, and the options behind them.
fn split(arguments: &[String]) -> (&[String], &[String]) {
    let parts = arguments.iter().take_while(|argument| !argument.starts_with("--")).count();
    arguments.split_at(parts)
}

fn build() -> Result<()> {
    for package in PACKAGES {
        build_release(&["--manifest-path", MANIFEST, "--package", package])?;
    }
    let (package, example) = OURS;
    build_release(&["--package", package, "--example", example])
}

fn build_release(arguments: &[&str]) -> Result<()> {
    let mut command = process::cargo(&["build", "--release", "--locked"]);
    process::run(command.args(arguments).env("CARGO_TARGET_DIR", process::root().join(TARGET)))
}

fn program(name: &str) -> String {
    let path: PathBuf =
        [process::root(), TARGET.as_ref(), "release".as_ref(), name.as_ref()].iter().collect();
    path.display().to_string()
}

fn ours() -> String {
    program(&format!("examples/{}", OURS.1))
}

/// `NAME=COMMAND` of the servers over stdio, the limit first.
fn stdio_servers(peers: Vec<String>) -> Vec<String> {
    let own = [
        format!("bare={}", program("bare-stdio")),
        format!("bare-async={} inline", program("bare-stdio-async")),
        format!("carrick={} stdio", ours()),
    ];
    own.into_iter().chain(peers).collect()
}

fn stdio(peers: &Peers, options: &[String]) -> Result<()> {
    process::run(
        Command::new(program("load-stdio")).args(options).args(stdio_servers(peers.stdio())),
    )
}

fn http(peers: &Peers, options: &[String]) -> Result<()> {
    process::run(Command::new(program("load-http")).args(options).args(http_servers(peers.http())))
}

/// Idle sessions: what each costs in memory.
fn sessions(peers: &Peers, options: &[String]) -> Result<()> {
    let few = ["--rounds", "1", "--sizes", "", "--sessions", "1000,10000"].map(str::to_owned);
    let options = if options.is_empty() { &few[..] } else { options };
    process::run(Command::new(program("load-http")).args(options).args(http_servers(peers.http())))
}

/// `NAME=COMMAND` of the servers over HTTP, the limit first.
fn http_servers(peers: Vec<String>) -> Vec<String> {
    const ADDRESS: &str = "127.0.0.1:{port}";
    let own = [
        format!("bare={} {ADDRESS}", program("bare-http")),
        format!("carrick={} http {ADDRESS}", ours()),
    ];
    own.into_iter().chain(peers).collect()
}

#[cfg(target_os = "linux")]
fn call() -> Result<()> {
    call::measure()
}

/// Who has orphans is a question that only Linux answers.
#[cfg(not(target_os = "linux"))]
fn call() -> Result<()> {
    Err("this benchmark runs on Linux only".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_begin_at_the_first_flag() {
        let arguments = ["stdio", "http", "--rounds", "2"].map(str::to_owned);
        let (parts, options) = split(&arguments);
        assert_eq!((parts.len(), options.len()), (2, 2));
    }

    #[test]
    fn unknown_benchmarks_are_refused_before_anything_is_built() {
        assert!(run(&["nothing".to_owned()]).unwrap_err().contains("no benchmark named"));
    }
}
