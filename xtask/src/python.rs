//! Packages from Python's index, at the versions that a file of requirements pins.

use std::path::Path;
use std::process::Command;

use crate::{Result, process};

/// The file that says what to install.
pub(crate) const PINS: &str = "requirements.txt";

/// Makes an environment in `folder` with what the pins in `source` say.
pub(crate) fn install(source: &Path, folder: &Path) -> Result<()> {
    process::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
    let mut pip = Command::new(folder.join("bin/pip"));
    process::run(
        pip.args(["install", "--quiet", "--disable-pip-version-check", "--requirement"])
            .arg(source.join(PINS)),
    )
}
