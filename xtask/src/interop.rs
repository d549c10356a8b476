//! Carrick against the official clients and servers, both ways, and as a bridge between them.
//!
//! The peers are pinned in `interop/` and installed below cargo's target folder. Every check
//! starts real programs and looks at what they print; nothing here knows the protocol.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Result, process};

mod ask;
mod drive;
mod entries;
mod leftovers;
mod peers;
mod serve;
mod serving;

pub(crate) use peers::Peers;

/// How long one program may take. Generous: a busy machine starts Node slowly.
const LIMIT: Duration = Duration::from_secs(60);

/// Checks that run side by side: each waits for other programs most of its time.
const SIDE_BY_SIDE: usize = 2;

/// What a check needs: the peers, the built binary, and a folder with known files.
struct Rig {
    peers: Peers,
    carrick: PathBuf,
    /// Where servers and clients run.
    folder: PathBuf,
    /// Where `carrick` finds its config and keeps what it remembers.
    own: PathBuf,
}

/// What a check does; its error is the reason for a failure.
type Run = dyn Fn(&Rig) -> Result<()> + Send + Sync;

/// One named pass or fail.
struct Check {
    name: String,
    run: Box<Run>,
}

impl Check {
    fn new(
        name: impl Into<String>,
        run: impl Fn(&Rig) -> Result<()> + Send + Sync + 'static,
    ) -> Check {
        Check { name: name.into(), run: Box::new(run) }
    }
}

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    /// Only install the peers.
    install: bool,
    /// A binary from elsewhere, such as a release, in place of the one built here.
    binary: Option<PathBuf>,
    /// Parts of the names of the checks to run; none for all.
    filters: Vec<String>,
}

impl Options {
    fn new(arguments: &[String]) -> Result<Options> {
        let mut options = Options::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--install" => options.install = true,
                "--binary" => {
                    options.binary = Some(arguments.next().ok_or("--binary needs a path")?.into());
                }
                flag if flag.starts_with("--") => return Err(format!("no flag {flag:?}\n{USAGE}")),
                filter => options.filters.push(filter.to_owned()),
            }
        }
        Ok(options)
    }

    fn chooses(&self, check: &Check) -> bool {
        self.filters.is_empty()
            || self.filters.iter().any(|part| check.name.contains(part.as_str()))
    }
}

const USAGE: &str = "usage: cargo xtask interop [--install] [--binary PATH] [filter…]";

/// `cargo xtask interop`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::new(arguments)?;
    if options.install {
        return Peers::install().map(drop);
    }
    let Outcome { passed, failed } = check(&options)?;
    println!("interop: {passed} of {} checks passed", passed + failed);
    if failed == 0 { Ok(()) } else { Err(format!("{failed} interop checks failed")) }
}

/// How many checks passed and failed.
pub(crate) struct Outcome {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

/// Runs every check.
pub(crate) fn run_all() -> Result<Outcome> {
    check(&Options::default())
}

fn check(options: &Options) -> Result<Outcome> {
    let checks = [serve::checks(), drive::checks(), ask::checks(), leftovers::checks()];
    let chosen: Vec<Check> =
        checks.into_iter().flatten().filter(|check| options.chooses(check)).collect();
    if chosen.is_empty() {
        return Err(format!("no interop check is named like {}", options.filters.join(" or ")));
    }
    let peers = Peers::install()?;
    let target = process::target_directory()?;
    let (folder, own) = (target.join("interop/folder"), target.join("interop/own"));
    lay_out(&folder, &own)?;
    let carrick = options.binary.clone().map_or_else(|| build(&target), Ok)?;
    let rig = Rig { peers, carrick, folder, own };
    let passed = passed(&chosen, &rig);
    Ok(Outcome { passed, failed: chosen.len() - passed })
}

/// Runs the checks, some side by side, each worker taking the next one that is left.
fn passed(checks: &[Check], rig: &Rig) -> usize {
    let (next, passed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                while let Some(check) = checks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    passed.fetch_add(usize::from(passes(check, rig)), Ordering::Relaxed);
                }
            });
        }
    });
    passed.into_inner()
}

fn build(target: &Path) -> Result<PathBuf> {
    process::run(&mut process::cargo(&["build", "--locked", "--package", "carrick-cli"]))?;
    Ok(target.join("debug/carrick"))
}

fn passes(check: &Check, rig: &Rig) -> bool {
    let begin = Instant::now();
    let outcome = (check.run)(rig);
    let seconds = begin.elapsed().as_secs_f64();
    match &outcome {
        Ok(()) => println!("  ok    {} ({seconds:.1} s)", check.name),
        Err(why) => println!(
            "  FAIL  {} ({seconds:.1} s)\n        {}",
            check.name,
            why.replace('\n', "\n        ")
        ),
    }
    outcome.is_ok()
}

/// The file that servers of files are asked for, and what is in it.
const NOTE: (&str, &str) = ("note.txt", "a carrick bend joins two lines\n");

/// Makes both folders anew, the first with a file and a git repository in it.
fn lay_out(folder: &Path, own: &Path) -> Result<()> {
    let failed = |error: std::io::Error| format!("cannot prepare {}: {error}", folder.display());
    for folder in [folder, own] {
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(failed)?;
        }
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(folder.join(NOTE.0), NOTE.1).map_err(failed)?;
    let git =
        |arguments: &[&str]| process::run(Command::new("git").current_dir(folder).args(arguments));
    git(&["init", "--quiet"])?;
    git(&["add", NOTE.0])?;
    git(&[
        "-c",
        "user.name=interop",
        "-c",
        "user.email=interop@example.com",
        "-c",
        "commit.gpgsign=false",
        "commit",
        "--quiet",
        "--message",
        "a first note",
    ])
}

/// A run of a program that must end with status 0; gives what it printed.
fn printed(command: &mut Command) -> Result<String> {
    let line = process::line(command);
    let finished = process::finish(command, LIMIT)?;
    if finished.code == Some(0) {
        return Ok(finished.stdout);
    }
    let code = finished.code.map_or_else(|| "a signal".to_owned(), |code| format!("status {code}"));
    Err(format!(
        "`{line}` ended with {code}\nstdout: {}\nstderr: {}",
        finished.stdout.trim(),
        finished.stderr.trim()
    ))
}

/// Fails with everything that was printed unless the condition holds.
fn expect(condition: bool, what: &str, seen: &dyn std::fmt::Display) -> Result<()> {
    if condition { Ok(()) } else { Err(format!("{what}; seen: {seen}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_filters_are_told_apart() {
        let options = |arguments: &[&str]| {
            Options::new(
                &arguments.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>(),
            )
        };
        let expected = Options {
            install: false,
            binary: Some("a/carrick".into()),
            filters: vec!["time".into()],
        };
        assert_eq!(options(&["--binary", "a/carrick", "time"]), Ok(expected));
        assert!(options(&["--binary"]).is_err());
        assert!(options(&["--nothing"]).is_err());
        let time = Check::new("serve/time/stdio", |_| Ok(()));
        assert!(
            options(&[]).unwrap().chooses(&time)
                && options(&["git", "time"]).unwrap().chooses(&time)
        );
        assert!(!options(&["git"]).unwrap().chooses(&time));
    }
}
