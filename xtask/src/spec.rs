//! Fetching the public protocol schemas, which tests compare our types with.
//!
//! They stay outside the repository: they are other people's text, and large.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Result, no_arguments, process};

/// Names the folder of the schemas, for this task and for the tests that read them.
const FOLDER_VARIABLE: &str = "CARRICK_SPEC_DIR";
/// The folder when the variable is not set, from the root folder.
const DEFAULT_FOLDER: &str = "../shared/spec";

/// A public repository at one commit, so that everybody gets the same bytes.
struct Origin {
    url: &'static str,
    commit: &'static str,
    /// Paths there, and the paths they get in the folder of the schemas.
    copied: &'static [(&'static str, &'static str)],
}

const ORIGINS: [Origin; 2] = [
    Origin {
        url: "https://github.com/modelcontextprotocol/modelcontextprotocol",
        commit: "b0f60ba5409db7a6582440a7b473cc0398890f15",
        copied: &[
            ("schema/2024-11-05/schema.json", "2024-11-05/schema.json"),
            ("schema/2025-03-26/schema.json", "2025-03-26/schema.json"),
            ("schema/2025-06-18/schema.json", "2025-06-18/schema.json"),
            ("schema/2025-11-25/schema.json", "2025-11-25/schema.json"),
            ("schema/2026-07-28/schema.json", "2026-07-28/schema.json"),
            ("schema/2026-07-28/examples", "2026-07-28/examples"),
        ],
    },
    Origin {
        url: "https://github.com/modelcontextprotocol/ext-tasks",
        commit: "e4345978be1f602f1fc48d89051e8559dd5302a6",
        copied: &[("schema/draft/schema.json", "ext-tasks/schema.json")],
    },
];

/// `cargo xtask spec`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    no_arguments("spec", arguments)?;
    let folder = folder();
    if let Some(path) = missing(&folder) {
        println!("{} is not there yet", path.display());
    } else {
        println!("the schemas are in {}", folder.display());
        return Ok(());
    }
    let scratch = process::target_directory()?.join("spec");
    for (number, origin) in ORIGINS.iter().enumerate() {
        let clone = scratch.join(number.to_string());
        origin.fetch(&clone).map_err(|why| {
            format!("{why}\nThe schemas come from {} and need the network once; set {FOLDER_VARIABLE} if you have them elsewhere.", origin.url)
        })?;
        origin.copy(&clone, &folder)?;
    }
    fs::remove_dir_all(&scratch)
        .map_err(|error| format!("cannot remove {}: {error}", scratch.display()))?;
    println!("the schemas are in {}", folder.display());
    Ok(())
}

/// What tests leave out where the schemas are not, and how to get them. The runner hides
/// what a passing test prints, so the tests' own words about it go unread.
pub(crate) fn left_out() -> Option<String> {
    let path = missing(&folder())?;
    Some(format!(
        "left out: every comparison with the public schemas, since {} is not there; \
         `cargo xtask spec` fetches them",
        path.display()
    ))
}

/// The folder that the schemas are in or will be.
fn folder() -> PathBuf {
    std::env::var_os(FOLDER_VARIABLE)
        .map_or_else(|| process::root().join(DEFAULT_FOLDER), PathBuf::from)
}

/// The first path that the folder lacks.
fn missing(folder: &Path) -> Option<PathBuf> {
    let paths = ORIGINS.iter().flat_map(|origin| origin.copied).map(|(_, to)| folder.join(to));
    paths.into_iter().find(|path| !path.exists())
}

impl Origin {
    /// Gets the commit's copied paths into a clone, and nothing else of the repository.
    fn fetch(&self, clone: &Path) -> Result<()> {
        fs::create_dir_all(clone)
            .map_err(|error| format!("cannot make {}: {error}", clone.display()))?;
        let git = |arguments: &[&str]| {
            process::run(Command::new("git").arg("-C").arg(clone).args(arguments))
        };
        if !clone.join(".git").exists() {
            git(&["init", "--quiet"])?;
            git(&["remote", "add", "origin", self.url])?;
        }
        git(&["fetch", "--quiet", "--depth", "1", "--filter=blob:none", "origin", self.commit])?;
        let paths: Vec<&str> = self.copied.iter().map(|(from, _)| *from).collect();
        git(&[&["checkout", "--quiet", self.commit, "--"], paths.as_slice()].concat())
    }

    fn copy(&self, clone: &Path, folder: &Path) -> Result<()> {
        for (from, to) in self.copied {
            let (from, to) = (clone.join(from), folder.join(to));
            copy(&from, &to).map_err(|error| {
                format!("cannot copy {} to {}: {error}", from.display(), to.display())
            })?;
        }
        Ok(())
    }
}

/// Copies a file, or a folder with everything in it.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() {
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        return fs::copy(from, to).map(drop);
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_copied_with_what_is_in_them() {
        let scratch = tempfile::tempdir().unwrap();
        let from = scratch.path().join("from");
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::write(from.join("a/b/c.json"), "{}").unwrap();
        let to = scratch.path().join("to/deep");
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("a/b/c.json")).unwrap(), "{}");
    }

    #[test]
    fn a_folder_is_complete_when_every_path_is_there() {
        let scratch = tempfile::tempdir().unwrap();
        let paths: Vec<&str> =
            ORIGINS.iter().flat_map(|origin| origin.copied).map(|(_, to)| *to).collect();
        for path in &paths {
            assert!(missing(scratch.path()).is_some(), "complete before {path}");
            fs::create_dir_all(scratch.path().join(path)).unwrap();
        }
        assert_eq!(missing(scratch.path()), None);
    }
}
