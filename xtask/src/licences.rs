//! The dependencies: their licences, where they come from, and how many there are.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::metadata::{list, text};
use crate::{Result, metadata, no_arguments, process};

mod expression;

/// The platform that is shipped and tested.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The package whose binary is shipped.
const SHIPPED: &str = "carrick-cli";
/// The shipped binary is built from fewer crates than this.
const CRATE_LIMIT: usize = 300;

/// Crates that may be there in two incompatible versions, and why.
const TWO_VERSIONS: [(&str, &str); 5] = [
    ("bit-set", "the schema validator stays on the older one, which its regex engine brings"),
    ("bit-vec", "comes with bit-set"),
    ("getrandom", "ring stays on the old interface; the crate is a thin call into the kernel"),
    ("io-lifetimes", "cap-std re-exports one version and builds its descriptors on another"),
    ("syn", "the schema validator derives with the older one; in builds only, not in the binary"),
];

/// `cargo xtask licences`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    no_arguments("licences", arguments)?;
    let everything = metadata::read(&[])?;
    let ours = metadata::read(&["--filter-platform", TARGET])?;
    let mut problems = licences_and_sources(&everything);
    problems.extend(versions(&ours, &TWO_VERSIONS));
    let shipped = shipped_crates()?;
    if shipped >= CRATE_LIMIT {
        problems.push(format!(
            "{SHIPPED} is built from {shipped} crates, the limit is {}",
            CRATE_LIMIT - 1
        ));
    }
    if problems.is_empty() {
        println!(
            "licences: {} packages are in order; {shipped} crates are shipped",
            list(&everything, "packages").len()
        );
        return Ok(());
    }
    problems.iter().for_each(|problem| println!("{problem}"));
    Err(format!("{} problems with dependencies", problems.len()))
}

fn licences_and_sources(metadata: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    for package in list(metadata, "packages") {
        let (name, version, licence) =
            (text(package, "name"), text(package, "version"), text(package, "license"));
        match expression::is_allowed(licence) {
            Ok(true) => {}
            Ok(false) => problems.push(format!("{name} {version}: the licence {licence:?} is not on the list in xtask/src/licences/expression.rs")),
            Err(why) => problems.push(format!("{name} {version}: cannot read the licence {licence:?}: {why}")),
        }
        if text(package, "source").starts_with("git+") {
            problems.push(format!(
                "{name} {version} comes from git: only released versions can be got again"
            ));
        }
    }
    problems
}

/// Crates in more than one incompatible version, and exceptions that nobody needs.
fn versions(metadata: &Value, exceptions: &[(&str, &str)]) -> Vec<String> {
    let mut found: BTreeMap<&str, BTreeMap<String, &str>> = BTreeMap::new();
    for package in list(metadata, "packages") {
        let version = text(package, "version");
        found.entry(text(package, "name")).or_default().insert(compatible(version), version);
    }
    found.retain(|_, versions| versions.len() > 1);
    let unlisted = found
        .iter()
        .filter(|(name, _)| !exceptions.iter().any(|(exception, _)| exception == *name));
    let mut problems: Vec<String> = unlisted
        .map(|(name, versions)| {
            format!(
                "{name} is there as {}: use one, or add it with a reason to xtask/src/licences.rs",
                versions.values().copied().collect::<Vec<_>>().join(" and ")
            )
        })
        .collect();
    let stale = exceptions.iter().filter(|(name, _)| !found.contains_key(name));
    problems.extend(stale.map(|(name, _)| {
        format!("{name} is there once: take it off the list in xtask/src/licences.rs")
    }));
    problems
}

/// The part of a version that two compatible ones share: up to the first number that is not 0.
fn compatible(version: &str) -> String {
    let numbers = version.split(['-', '+']).next().unwrap_or(version).split('.');
    let mut kept = Vec::new();
    for number in numbers {
        kept.push(number);
        if number != "0" {
            break;
        }
    }
    kept.join(".")
}

fn shipped_crates() -> Result<usize> {
    let mut tree = process::cargo(&[
        "tree",
        "--locked",
        "--package",
        SHIPPED,
        "--edges",
        "normal",
        "--target",
        TARGET,
        "--prefix",
        "none",
    ]);
    let listed = process::output(&mut tree)?;
    // A crate is listed again, with a mark behind it, wherever another one uses it.
    let crates: BTreeSet<&str> = listed
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .filter(|line| !line.is_empty())
        .collect();
    Ok(crates.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn compatible_versions_share_their_first_number_that_counts() {
        for (version, expected) in [
            ("1.2.3", "1"),
            ("0.11.0", "0.11"),
            ("0.0.3", "0.0.3"),
            ("2.0.0-rc.1+b", "2"),
            ("0.0.0", "0.0.0"),
        ] {
            assert_eq!(compatible(version), expected, "{version}");
        }
    }

    #[test]
    fn two_versions_need_a_reason_and_a_reason_two_versions() {
        let package = |name: &str, version: &str| json!({"name": name, "version": version});
        let metadata = json!({"packages": [
            package("a", "1.0.0"), package("a", "2.1.0"), package("b", "1.0.0"), package("b", "1.2.0"),
            package("c", "0.1.0"), package("c", "0.2.0"),
        ]});
        let problems = versions(&metadata, &[("c", "why"), ("b", "why")]);
        assert_eq!(problems.len(), 2);
        assert!(problems[0].starts_with("a is there as 1.0.0 and 2.1.0"), "{problems:?}");
        assert!(problems[1].starts_with("b is there once"), "{problems:?}");
    }

    #[test]
    fn licences_and_sources_are_checked_for_every_package() {
        let metadata = json!({"packages": [
            {"name": "a", "version": "1.0.0", "license": "MIT", "source": null},
            {"name": "b", "version": "1.0.0", "license": "GPL-3.0-only", "source": "registry+x"},
            {"name": "c", "version": "1.0.0", "license": null, "source": "git+https://example.org/c"},
        ]});
        let problems = licences_and_sources(&metadata);
        assert_eq!(problems.len(), 3);
        assert!(problems[0].starts_with("b 1.0.0: the licence"), "{problems:?}");
        assert!(problems[1].starts_with("c 1.0.0: cannot read"), "{problems:?}");
        assert!(problems[2].starts_with("c 1.0.0 comes from git"), "{problems:?}");
    }
}
