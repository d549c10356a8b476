//! The files of the repository, and the Rust files that its targets reach.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{Finding, Source};
use crate::metadata::{list, text};
use crate::{Result, process};

/// The manifests of all workspaces in the repository.
const WORKSPACES: [&str; 3] = ["Cargo.toml", "bench/Cargo.toml", "fuzz/Cargo.toml"];

/// What the rules look at.
pub(crate) struct Tree {
    /// Every file that git knows or would add, from the root folder.
    pub(crate) files: Vec<String>,
    /// The Rust files that a target reaches by `mod`.
    pub(crate) sources: Vec<Source>,
}

impl Tree {
    /// Reads the file list from git and the targets from cargo.
    pub(crate) fn read() -> Result<Tree> {
        let root = fs::canonicalize(process::root())
            .map_err(|error| format!("cannot find the root folder: {error}"))?;
        let mut walk = Walk { root, sources: BTreeMap::new() };
        for manifest in
            WORKSPACES.into_iter().filter(|manifest| process::root().join(manifest).is_file())
        {
            let metadata = process::output(&mut process::cargo(&[
                "metadata",
                "--no-deps",
                "--format-version",
                "1",
                "--manifest-path",
                manifest,
            ]))?;
            let metadata: Value = serde_json::from_str(&metadata)
                .map_err(|error| format!("cannot read the output of cargo metadata: {error}"))?;
            for target in
                list(&metadata, "packages").iter().flat_map(|package| list(package, "targets"))
            {
                walk.target(target)?;
            }
        }
        Ok(Tree { files: files()?, sources: walk.sources.into_values().collect() })
    }

    /// Rust files that no `mod` names: forgotten, and never compiled.
    pub(crate) fn unreachable(&self) -> Vec<Finding> {
        let reached: BTreeSet<&str> =
            self.sources.iter().map(|source| source.path.as_str()).collect();
        let forgotten = self.files.iter().filter(|path| {
            path.ends_with(".rs") && !reached.contains(path.as_str()) && !is_compiler_input(path)
        });
        forgotten
            .map(|path| Finding::new(path, 0, "no `mod` leads here, so it is never compiled"))
            .collect()
    }
}

/// Files that a test hands to the compiler itself, to look at its messages.
fn is_compiler_input(path: &str) -> bool {
    path.contains("/tests/ui/")
}

fn files() -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(process::root());
    let listed = process::output(&mut git)?;
    let there = listed.split_terminator('\0').filter(|path| process::root().join(path).is_file());
    Ok(there.map(str::to_owned).collect())
}

/// Follows `mod` declarations from the targets' first files.
struct Walk {
    root: PathBuf,
    sources: BTreeMap<PathBuf, Source>,
}

impl Walk {
    fn target(&mut self, target: &Value) -> Result<()> {
        let is_test = list(target, "kind")
            .iter()
            .any(|kind| matches!(kind.as_str(), Some("test" | "bench" | "example")));
        let file = PathBuf::from(text(target, "src_path"));
        let folder = file.parent().map(Path::to_owned).unwrap_or_default();
        self.file(&file, &folder, is_test)
    }

    /// Reads a file whose child modules lie in `folder`.
    fn file(&mut self, file: &Path, folder: &Path, is_test: bool) -> Result<()> {
        // A module that both a program and a test include counts as the program's.
        if self.sources.get(file).is_some_and(|known| is_test || !known.is_test) {
            return Ok(());
        }
        let content = fs::read_to_string(file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let source = Source::new(&self.relative(file), content, is_test);
        let (is_test, modules) = (source.is_test, source.declared_modules());
        self.sources.insert(file.to_owned(), source);
        for module in modules {
            if let Some(found) = module_file(file, folder, &module) {
                let children = match module.path {
                    None if found.ends_with("mod.rs") => {
                        found.parent().map(Path::to_owned).unwrap_or_default()
                    }
                    None => found.with_extension(""),
                    Some(_) => found.parent().map(Path::to_owned).unwrap_or_default(),
                };
                self.file(&found, &children, is_test || module.is_test)?;
            }
        }
        Ok(())
    }

    fn relative(&self, file: &Path) -> String {
        let inside = file.strip_prefix(&self.root).unwrap_or(file);
        inside
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect::<Vec<_>>()
            .join("/")
    }
}

/// The file that a declaration means. None is there when a `cfg` leaves it out on purpose,
/// and otherwise the compiler complains better than we would.
fn module_file(file: &Path, folder: &Path, module: &super::source::Declared) -> Option<PathBuf> {
    let candidates = match &module.path {
        Some(path) => vec![file.parent()?.join(path)],
        None => {
            let stem = module.names.iter().fold(folder.to_owned(), |path, name| path.join(name));
            vec![stem.with_extension("rs"), stem.join("mod.rs")]
        }
    };
    candidates.into_iter().map(|path| without_dots(&path)).find(|path| path.is_file())
}

fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::super::source::Declared;
    use super::*;

    fn declared(names: &[&str], path: Option<&str>) -> Declared {
        Declared {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            path: path.map(str::to_owned),
            is_test: false,
        }
    }

    #[test]
    fn modules_are_found_where_the_compiler_looks() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        for file in ["lib.rs", "a.rs", "a/b.rs", "a/c/d.rs", "e/mod.rs", "odd.rs"] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let find = |from: &str, children: &str, module: &Declared| {
            let found = module_file(&root.join(from), &root.join(children), module)?;
            Some(found.strip_prefix(&root).unwrap().to_string_lossy().into_owned())
        };
        assert_eq!(find("lib.rs", "", &declared(&["a"], None)).as_deref(), Some("a.rs"));
        assert_eq!(find("lib.rs", "", &declared(&["e"], None)).as_deref(), Some("e/mod.rs"));
        assert_eq!(find("a.rs", "a", &declared(&["b"], None)).as_deref(), Some("a/b.rs"));
        assert_eq!(find("a.rs", "a", &declared(&["c", "d"], None)).as_deref(), Some("a/c/d.rs"));
        assert_eq!(
            find("a/b.rs", "a/b", &declared(&["x"], Some("../odd.rs"))).as_deref(),
            Some("odd.rs")
        );
        assert_eq!(find("lib.rs", "", &declared(&["missing"], None)), None);
    }

    #[test]
    fn a_walk_follows_modules_and_knows_tests() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::write(root.join("lib.rs"), "mod a;\n#[cfg(test)]\nmod tests;\n").unwrap();
        fs::write(root.join("a.rs"), "").unwrap();
        fs::write(root.join("tests.rs"), "").unwrap();
        fs::write(root.join("forgotten.rs"), "").unwrap();
        let mut walk = Walk { root: root.clone(), sources: BTreeMap::new() };
        walk.file(&root.join("lib.rs"), &root, false).unwrap();
        let found: Vec<_> =
            walk.sources.values().map(|source| (source.path.as_str(), source.is_test)).collect();
        assert_eq!(found, [("a.rs", false), ("lib.rs", false), ("tests.rs", true)]);
        let files =
            ["a.rs", "forgotten.rs", "lib.rs", "notes.md", "tests.rs", "x/tests/ui/wrong.rs"]
                .map(str::to_owned)
                .to_vec();
        let tree = Tree { files, sources: walk.sources.into_values().collect() };
        let forgotten: Vec<_> =
            tree.unreachable().into_iter().map(|finding| finding.path).collect();
        assert_eq!(forgotten, ["forgotten.rs"]);
    }
}
