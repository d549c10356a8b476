//! The checks, in the order in which they run: quick ones first.

use std::process::Command;

use super::{Counts, Step};
use crate::metadata::packages;
use crate::{Result, conformance, interop, licences, process, setup, spec, tidy};

/// Every step of `cargo xtask ci`.
pub(super) const ALL: [Step; 12] = [
    Step { name: "fmt", about: "rustfmt would change nothing", run: fmt },
    Step { name: "tidy", about: "sizes, layers, words and files", run: || once(tidy::run(&[])) },
    Step {
        name: "licences",
        about: "licences, sources and versions of dependencies",
        run: || once(licences::run(&[])),
    },
    Step { name: "clippy", about: "clippy on each package alone, warnings denied", run: clippy },
    Step {
        name: "no-std",
        about: "carrick-proto builds without std, as do the features it asks for",
        run: no_std,
    },
    Step { name: "test", about: "unit and integration tests", run: test },
    Step {
        name: "member-order",
        about: "sealed states where serde_json keeps the order of members",
        run: member_order,
    },
    Step { name: "doc-test", about: "the examples in the documentation", run: doc_test },
    Step { name: "doc", about: "the documentation builds, with every link", run: doc },
    Step { name: "bench", about: "the benchmarks pass clippy and their own tests", run: bench },
    Step {
        name: "interop",
        about: "official clients and servers against `carrick`",
        run: || interop::run_all().map(Counts::from),
    },
    Step {
        name: "conformance",
        about: "the official conformance suite against our test programs",
        run: || {
            let conformance::Outcome { passed, failed } = conformance::run_all()?;
            Ok(Counts { passed: passed as u64, failed: failed as u64 })
        },
    },
];

/// The workspace of the benchmarks, which stays apart so that its peers' dependencies do.
const BENCH: &str = "bench/Cargo.toml";

/// A step that is one check.
fn once(outcome: Result<()>) -> Result<Counts> {
    outcome.map(|()| Counts::PASSED)
}

fn cargo(arguments: &[&str]) -> Result<()> {
    process::run(&mut process::cargo(arguments))
}

fn fmt() -> Result<Counts> {
    cargo(&["fmt", "--all", "--check"])?;
    once(cargo(&["fmt", "--all", "--check", "--manifest-path", BENCH]))
}

/// One package at a time: built together, the features that one package asks for would
/// hide that another forgot to ask.
fn clippy() -> Result<Counts> {
    let mut failed = Vec::new();
    for package in packages()? {
        if cargo(&[
            "clippy",
            "--locked",
            "--package",
            &package,
            "--all-targets",
            "--",
            "--deny",
            "warnings",
        ])
        .is_err()
        {
            failed.push(package);
        }
    }
    if failed.is_empty() {
        Ok(Counts::PASSED)
    } else {
        Err(format!("warnings in {}", failed.join(", ")))
    }
}

/// Builds the protocol crate as a user without `std` would. `tidy` sees to its own code;
/// here its dependencies are asked whether any of their `std` features came along.
fn no_std() -> Result<Counts> {
    const PACKAGE: &str = "carrick-proto";
    cargo(&["build", "--locked", "--package", PACKAGE, "--no-default-features"])?;
    let mut tree = process::cargo(&[
        "tree",
        "--locked",
        "--package",
        PACKAGE,
        "--no-default-features",
        "--edges",
        "normal,features",
        "--prefix",
        "none",
    ]);
    let listed = process::output(&mut tree)?;
    let with_std: Vec<&str> =
        listed.lines().filter(|line| line.contains("feature \"std\"")).collect();
    if with_std.is_empty() {
        Ok(Counts::PASSED)
    } else {
        Err(format!("dependencies of {PACKAGE} use std: {}", with_std.join(", ")))
    }
}

fn test() -> Result<Counts> {
    let (mut command, read): (Command, fn(&str) -> Option<Counts>) = if setup::has_nextest() {
        (
            process::cargo(&[
                "nextest",
                "run",
                "--workspace",
                "--locked",
                "--no-fail-fast",
                "--no-tests",
                "pass",
            ]),
            Counts::from_nextest,
        )
    } else {
        eprintln!(
            "cargo-nextest is not installed (`cargo xtask setup` does it): running `cargo test` instead"
        );
        (
            process::cargo(&[
                "test",
                "--workspace",
                "--locked",
                "--no-fail-fast",
                "--lib",
                "--bins",
                "--tests",
                "--examples",
            ]),
            Counts::from_cargo_test,
        )
    };
    // Ten thousand in all.
    command.env("CARRICK_ISOLATION_CASES", "1600");
    let line = process::line(&command);
    let (status, output) = process::tee(&mut command)?;
    if let Some(left_out) = spec::left_out() {
        eprintln!("{left_out}");
    }
    let counts =
        read(&output).ok_or_else(|| format!("`{line}` ended with {status} and no summary"))?;
    // A runner that fails without a failed test, as when a test does not compile, has failed once.
    let unseen = !status.success() && counts.failed == 0;
    Ok(if unseen { counts.plus(Counts::FAILED) } else { counts })
}

/// What a state is bound to must not depend on the order of members, also where some part of a
/// program has asked serde_json to keep it. The first test sees that it does.
fn member_order() -> Result<Counts> {
    let feature = "carrick-testkit/preserve-order";
    let packages = ["--package", "carrick", "--package", "carrick-testkit"];
    let mut command = process::cargo(&["test", "--locked", "--lib", "--features", feature]);
    command.args(packages).args(["--", "members_keep_their_order", "f41_a_state"]);
    let line = process::line(&command);
    let (status, output) = process::tee(&mut command)?;
    let counts = Counts::from_cargo_test(&output)
        .ok_or_else(|| format!("`{line}` ended with {status} and no summary"))?;
    match (status.success(), counts.passed) {
        (false, _) if counts.failed == 0 => Ok(counts.plus(Counts::FAILED)),
        (true, passed) if passed < 2 => Err(format!("`{line}` ran {passed} tests of two")),
        _ => Ok(counts),
    }
}

fn doc_test() -> Result<Counts> {
    once(cargo(&["test", "--workspace", "--locked", "--doc"]))
}

fn doc() -> Result<Counts> {
    let mut command = process::cargo(&["doc", "--workspace", "--locked", "--no-deps"]);
    once(process::run(command.env("RUSTDOCFLAGS", "--deny warnings")))
}

/// Into the target folder of the rest, so that what both depend on is built once. The
/// peers have no tests of their own, and would only have to be built for none; all but the
/// first are also left to `cargo xtask bench` to compile, since their dependencies take
/// longer than everything else that is checked here. `micro` would have the library and
/// criterion checked once more; who changes it builds it.
fn bench() -> Result<Counts> {
    let target = process::target_directory()?;
    let run = |task: &str, rest: &[&str]| {
        let mut command = process::cargo(&[task, "--locked", "--manifest-path", BENCH]);
        process::run(command.args(rest).env("CARGO_TARGET_DIR", &target))
    };
    let tested = ["--package", "load", "--package", "limits"];
    let deny = ["--all-targets", "--", "--deny", "warnings"];
    let linted = Linted::now()?;
    if linted.is_known() {
        eprintln!("bench/ is as it was when its peer passed clippy: that is not built again");
        run("clippy", &[&tested[..], &deny].concat())?;
    } else {
        run("clippy", &[&tested[..], &["--package", "peer-rmcp"], &deny].concat())?;
        linted.keep()?;
    }
    once(run("test", &tested))
}

/// What is below `bench/`, its lock included, as one digest. The peers use nothing of ours,
/// so that only this can change what clippy says of them.
struct Linted(String);

impl Linted {
    /// The digest that passed last, which is committed with the change.
    const FILE: &str = "bench/linted";

    fn now() -> Result<Self> {
        let files = ["ls-files", "--cached", "--others", "--exclude-standard", "bench"];
        let listed = process::output(&mut git(&files))?;
        let mut digests = String::new();
        let there = |path: &&str| *path != Self::FILE && process::root().join(path).is_file();
        for path in listed.lines().filter(there) {
            let digest = process::output(&mut git(&["hash-object", path]))?;
            digests.push_str(&format!("{} {path}\n", digest.trim()));
        }
        let folder = process::target_directory()?;
        let list = std::path::Path::new(&folder).join("bench-files");
        std::fs::write(&list, digests).map_err(|error| format!("{}: {error}", list.display()))?;
        let list = list.to_str().ok_or("the target folder's name is not UTF-8")?;
        Ok(Self(
            process::output(&mut git(&["hash-object", "--no-filters", list]))?.trim().to_owned(),
        ))
    }

    fn is_known(&self) -> bool {
        let known = std::fs::read_to_string(process::root().join(Self::FILE));
        known.is_ok_and(|known| known.trim() == self.0)
    }

    fn keep(&self) -> Result<()> {
        eprintln!("bench/ has changed: commit {} with it", Self::FILE);
        std::fs::write(process::root().join(Self::FILE), format!("{}\n", self.0))
            .map_err(|error| format!("{}: {error}", Self::FILE))
    }
}

fn git(arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(process::root());
    command
}
