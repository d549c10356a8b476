//! Packages from npm, at the versions that a lock file pins.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{Result, process};

/// The files that say what to install.
pub(crate) const PINS: [&str; 2] = ["package.json", "package-lock.json"];

/// Installs what the pins in `source` say into `folder`. No package runs a script.
pub(crate) fn install(source: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    for file in PINS {
        let (from, to) = (source.join(file), folder.join(file));
        fs::copy(&from, &to).map_err(|error| {
            format!("cannot copy {} to {}: {error}", from.display(), to.display())
        })?;
    }
    process::run(
        Command::new("npm")
            .args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"])
            .current_dir(folder),
    )
}
