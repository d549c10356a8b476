//! Long tests: very many sessions, streams and calls, the fuzz targets, and
//! clients that must hear nothing of each other.

use crate::{Result, process};

/// The one that is not of `carrick-soak`: a test of the gateway, run for longer.
const ISOLATION: &str = "isolation";

/// `cargo xtask soak [name…] [--minutes N]`: `isolation`, and what the program of
/// `carrick-soak` takes; all of it without a name.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let is_name = |argument: &&String| argument.starts_with(char::is_alphabetic);
    let names: Vec<_> = arguments.iter().filter(is_name).collect();
    let others: Vec<_> = arguments.iter().filter(|argument| *argument != ISOLATION).collect();
    let everything = names.is_empty();
    if everything || names.iter().any(|name| *name == ISOLATION) {
        let minutes = arguments.iter().skip_while(|argument| *argument != "--minutes").nth(1);
        isolation(minutes.map(String::as_str))?;
    }
    let of_program = names.iter().any(|name| *name != ISOLATION);
    if everything || of_program { program(&others) } else { Ok(()) }
}

fn program(arguments: &[&String]) -> Result<()> {
    let mut command = process::cargo(&[
        "run",
        "--locked",
        "--release",
        "--package",
        "carrick-soak",
        "--bin",
        "carrick-soak",
        "--",
    ]);
    process::run(command.args(arguments))
}

/// The settings run side by side, each for so long.
fn isolation(minutes: Option<&str>) -> Result<()> {
    let mut command = process::cargo(&[
        "test",
        "--locked",
        "--release",
        "--package",
        "carrick-gateway",
        "--test",
        "isolation",
        "--",
        "--test-threads",
        "16",
    ]);
    match minutes {
        Some(minutes) => command.env("CARRICK_ISOLATION_MINUTES", minutes),
        None => command.env("CARRICK_ISOLATION_CASES", "10000"),
    };
    process::run(&mut command)
}
