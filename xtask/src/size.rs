//! The size of the binary that is shipped.

use std::fs;

use crate::{Result, no_arguments, process};

/// Bytes that the binary must stay below, stripped as the release profile has it.
const LIMIT: u64 = 25_000_000;

/// `cargo xtask size`. No step of `ci`: the release build takes longer than all of those.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    no_arguments("size", arguments)?;
    process::run(&mut process::cargo(&[
        "build",
        "--release",
        "--locked",
        "--package",
        "carrick-cli",
    ]))?;
    let binary = process::target_directory()?.join("release/carrick");
    let size = fs::metadata(&binary)
        .map_err(|error| format!("cannot read {}: {error}", binary.display()))?
        .len();
    if size < LIMIT {
        println!("size: {size} bytes, below the limit of {LIMIT}");
        return Ok(());
    }
    Err(format!("{} has {size} bytes, the limit is {LIMIT}", binary.display()))
}
