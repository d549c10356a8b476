//! Long tests: very many sessions, streams and calls, and the fuzz targets.

use crate::{Result, process};

/// `cargo xtask soak [name…] [--minutes N]`: what the program of `carrick-soak` takes.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
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
