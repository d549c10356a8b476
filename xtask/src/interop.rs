//! Carrick against the official clients and servers, both ways.
//!
//! The peers are pinned in `interop/` and installed below cargo's target folder. Every check
//! starts real programs and looks at what they print; nothing here knows the protocol.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{Result, process};

mod ask;
mod drive;
mod peers;
mod serve;
mod served;

use peers::Peers;

/// How long one program may take. Generous: a busy machine starts Node slowly.
const LIMIT: Duration = Duration::from_secs(60);

/// What a check needs: the peers, the built binary, and a folder with known files.
struct Rig {
    peers: Peers,
    carrick: PathBuf,
    /// Where servers and clients run.
    folder: PathBuf,
}

/// What a check does; its error is the reason for a failure.
type Run = dyn Fn(&Rig) -> Result<()>;

/// One named pass or fail.
struct Check {
    name: String,
    run: Box<Run>,
}

impl Check {
    fn new(name: impl Into<String>, run: impl Fn(&Rig) -> Result<()> + 'static) -> Check {
        Check { name: name.into(), run: Box::new(run) }
    }
}

/// `cargo xtask interop [--install] [filter…]`.
///
/// A filter is a part of the names of the checks to run, such as `typescript` or `http/modern`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let peers = Peers::install()?;
    if arguments.iter().any(|argument| argument == "--install") {
        return Ok(());
    }
    process::run(&mut process::cargo(&["build", "--locked", "--package", "carrick-cli"]))?;
    let target = process::target_directory()?;
    let folder = target.join("interop/folder");
    lay_out(&folder)?;
    let rig = Rig { peers, carrick: target.join("debug/carrick"), folder };
    let checks = [serve::checks(), drive::checks(), ask::checks()].into_iter().flatten();
    let chosen: Vec<Check> = checks
        .filter(|check| {
            arguments.is_empty() || arguments.iter().any(|part| check.name.contains(part.as_str()))
        })
        .collect();
    if chosen.is_empty() {
        return Err(format!("no interop check is named like {}", arguments.join(" or ")));
    }
    let failed = chosen.iter().filter(|check| !passes(check, &rig)).count();
    println!("interop: {} of {} checks passed", chosen.len() - failed, chosen.len());
    if failed == 0 { Ok(()) } else { Err(format!("{failed} interop checks failed")) }
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

/// Makes the folder anew, with a file and a git repository in it.
fn lay_out(folder: &Path) -> Result<()> {
    let failed = |error: std::io::Error| format!("cannot prepare {}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)?;
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
