//! How large the programs are, and of how many crates they are made.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::programs::{MANIFEST, OURS, build_release, example, is_built, program, scratch};
use crate::{Result, process};

/// A program, where its package is, and the package's name.
struct Subject {
    name: &'static str,
    path: String,
    /// The manifest of its workspace.
    manifest: &'static str,
    package: &'static str,
}

/// The echo servers of other SDKs, by package and program alike; those that are not built are
/// left out.
const PEERS: [&str; 4] = ["peer-rmcp", "peer-tower-mcp", "peer-turbomcp", "peer-rust-mcp-sdk"];

/// Prints a table of all that are built.
pub(super) fn measure() -> Result<()> {
    build_release(&["--package", "carrick-cli"])?;
    println!("\n**release binaries without symbols, and the crates behind them**\n");
    println!("| program | MiB | crates |\n|---|---|---|");
    for subject in subjects() {
        let mebibytes = stripped_size(&subject)? as f64 / f64::from(1 << 20);
        println!("| {} | {mebibytes:.2} | {} |", subject.name, crates(&subject)?);
    }
    Ok(())
}

fn subjects() -> Vec<Subject> {
    let own = |name, path, package| Subject { name, path, manifest: "Cargo.toml", package };
    let peer = |name| Subject { name, path: program(name), manifest: MANIFEST, package: name };
    let mut all = vec![
        own("carrick", program("carrick"), "carrick-cli"),
        own("our echo server", example("echo"), OURS),
        Subject { package: "limits", ..peer("bare-http") },
    ];
    all.extend(PEERS.into_iter().filter(|name| is_built(name)).map(peer));
    all
}

/// The size of a copy without symbols.
fn stripped_size(subject: &Subject) -> Result<u64> {
    let copy: PathBuf = scratch("stripped")?;
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(&copy).arg(&subject.path);
    process::output(&mut strip)?;
    let found = fs::metadata(&copy).map_err(|error| format!("{}: {error}", copy.display()))?;
    Ok(found.len())
}

/// How many crates a build of the package takes on this machine, its own workspace's among
/// them, those for tests left out.
fn crates(subject: &Subject) -> Result<usize> {
    let tree = process::output(&mut process::cargo(&[
        "tree",
        "--locked",
        "--manifest-path",
        subject.manifest,
        "--package",
        subject.package,
        "--edges",
        "normal,build",
        "--prefix",
        "none",
    ]))?;
    Ok(distinct(&tree))
}

/// The different crates in the lines of `cargo tree`: `NAME vVERSION` and remarks.
fn distinct(tree: &str) -> usize {
    let crates = tree.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        words.next().zip(words.next())
    });
    crates.collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::distinct;

    #[test]
    fn each_version_of_a_crate_counts_once() {
        let tree = "a v0.1.0 (here)\nb v1.0.0\nc v2.0.0 (proc-macro)\nb v1.0.0 (*)\nb v0.9.0\n\n";
        assert_eq!(distinct(tree), 4);
    }
}
