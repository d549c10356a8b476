//! The programs that the checks need beside cargo, and their installation.

use std::process::Command;

use crate::{Result, no_arguments, process};

/// A program from the system's packages.
struct Tool {
    /// A command that succeeds when the program is there and good enough.
    probe: &'static [&'static str],
    /// The Debian packages that bring it.
    packages: &'static [&'static str],
    what_for: &'static str,
}

const TOOLS: [Tool; 4] = [
    Tool {
        probe: &["git", "--version"],
        packages: &["git"],
        what_for: "the list of files that tidy reads",
    },
    Tool {
        probe: &["cc", "--version"],
        packages: &["build-essential"],
        what_for: "linking, and the C parts of dependencies",
    },
    Tool {
        probe: &[
            "node",
            "-e",
            "process.exit(Number(process.versions.node.split('.')[0]) >= 20 ? 0 : 1)",
        ],
        packages: &["nodejs", "npm"],
        what_for: "the TypeScript servers and client of interop, Node 20 or newer",
    },
    Tool {
        probe: &["python3", "-c", "import ensurepip, venv"],
        packages: &["python3", "python3-venv"],
        what_for: "the Python servers and client of interop",
    },
];

/// Runs the tests; without it they run too, but slower and with less to read.
const NEXTEST: (&str, &str) = ("cargo-nextest", "0.9.143");

/// `cargo xtask setup`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    no_arguments("setup", arguments)?;
    ensure()?;
    println!("everything that the checks need is there");
    Ok(())
}

/// Installs what is missing where that is ours to do, and otherwise says what to install.
pub(crate) fn ensure() -> Result<()> {
    let missing: Vec<&Tool> = TOOLS.iter().filter(|tool| !tool.is_there()).collect();
    if !missing.is_empty() {
        install(&missing)?;
    }
    if !has_nextest() && may_install() {
        let (name, version) = NEXTEST;
        process::run(&mut process::cargo(&["install", "--locked", name, "--version", version]))?;
    }
    Ok(())
}

/// Whether tests can run with cargo-nextest.
pub(crate) fn has_nextest() -> bool {
    process::probe("cargo", &["nextest", "--version"])
}

impl Tool {
    fn is_there(&self) -> bool {
        process::probe(self.probe[0], &self.probe[1..])
    }
}

fn install(missing: &[&Tool]) -> Result<()> {
    let packages: Vec<&str> = missing.iter().flat_map(|tool| tool.packages).copied().collect();
    if !may_install() {
        let lines: Vec<String> = missing
            .iter()
            .map(|tool| format!("  {} ({})", tool.packages.join(" "), tool.what_for))
            .collect();
        return Err(format!(
            "these are missing, named as Debian does:\n{}\nInstall them with your package manager.",
            lines.join("\n")
        ));
    }
    let apt = |arguments: &[&str]| {
        process::run(
            Command::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args(arguments),
        )
    };
    apt(&["update", "--quiet"])?;
    apt(&[&["install", "--quiet", "--yes", "--no-install-recommends"], packages.as_slice()]
        .concat())?;
    match missing.iter().find(|tool| !tool.is_there()) {
        None => Ok(()),
        Some(tool) => Err(format!(
            "{} did not bring a good enough `{}`: needed for {}",
            tool.packages.join(" "),
            tool.probe[0],
            tool.what_for
        )),
    }
}

/// Only as root, and only where the packages' names are known: on Debian and its kin.
fn may_install() -> bool {
    let is_root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    is_root && process::probe("apt-get", &["--version"])
}
