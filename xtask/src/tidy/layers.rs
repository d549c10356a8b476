//! Which crates may depend on which.

use serde_json::Value;

use super::Finding;
use crate::Result;
use crate::metadata::{self, list, text};

/// The crates from the bottom up. A dependency points to a lower layer, never sideways.
const LAYERS: [&[&str]; 5] = [
    &["carrick-proto", "carrick-macros"],
    &["carrick", "carrick-policy"],
    &["carrick-host", "carrick-gateway", "carrick-servers"],
    &["carrick-cli", "carrick-testkit"],
    &[SOAK],
];
/// The only crate that may depend on the macros: others get them through it.
const MACROS: (&str, &str) = ("carrick-macros", "carrick");
/// Only tests may depend on this one, and the crate that is nothing but tests.
const TEST_ONLY: &str = "carrick-testkit";
/// Long tests, as a program.
const SOAK: &str = "carrick-soak";
/// Stands beside the layers and builds on none of them.
const CHORES: &str = "xtask";

/// Dependencies between the workspace's crates that point the wrong way.
pub(crate) fn check() -> Result<Vec<Finding>> {
    let metadata = metadata::read(&["--no-deps"])?;
    Ok(wrong_arrows(&metadata))
}

fn wrong_arrows(metadata: &Value) -> Vec<Finding> {
    let packages = list(metadata, "packages");
    let own: Vec<&str> = packages.iter().map(|package| text(package, "name")).collect();
    let mut findings = Vec::new();
    for package in packages {
        let name = text(package, "name");
        let manifest = text(package, "manifest_path");
        let path = manifest
            .strip_prefix(text(metadata, "workspace_root"))
            .unwrap_or(manifest)
            .trim_start_matches('/');
        if layer(name).is_none() && name != CHORES {
            findings.push(Finding::new(
                path,
                0,
                format!("{name} is in no layer: give it one in xtask/src/tidy/layers.rs"),
            ));
        }
        for dependency in list(package, "dependencies")
            .iter()
            .filter(|dependency| own.contains(&text(dependency, "name")))
        {
            let (to, is_for_tests) = (text(dependency, "name"), text(dependency, "kind") == "dev");
            if let Some(why) = wrong(name, to, is_for_tests) {
                findings.push(Finding::new(
                    path,
                    0,
                    format!("{name} must not depend on {to}: {why}"),
                ));
            }
        }
    }
    findings
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

fn wrong(from: &str, to: &str, is_for_tests: bool) -> Option<&'static str> {
    if from == CHORES {
        return Some("the chores must build when nothing else does");
    }
    if is_for_tests {
        return None;
    }
    if to == TEST_ONLY && from != SOAK {
        return Some("it is for tests only");
    }
    if to == MACROS.0 && from != MACROS.1 {
        return Some("the macros come through the SDK");
    }
    (layer(from) <= layer(to)).then_some("arrows point down the layers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_point_down() {
        assert_eq!(wrong("carrick-cli", "carrick-host", false), None);
        assert_eq!(wrong("carrick-host", "carrick-proto", false), None);
        assert_eq!(wrong("carrick-host", "carrick-policy", false), None);
        assert_eq!(wrong("carrick-gateway", "carrick-policy", false), None);
        assert!(wrong("carrick", "carrick-policy", false).is_some());
        assert!(wrong("carrick-policy", "carrick", false).is_some());
        assert_eq!(wrong("carrick", "carrick-macros", false), None);
        assert!(wrong("carrick-proto", "carrick", false).is_some());
        assert!(wrong("carrick-host", "carrick-gateway", false).is_some());
    }

    #[test]
    fn macros_testkit_and_chores_have_rules_of_their_own() {
        assert!(wrong("carrick-host", "carrick-macros", false).is_some());
        assert!(wrong("carrick-cli", "carrick-testkit", false).is_some());
        assert_eq!(wrong(SOAK, "carrick-testkit", false), None);
        assert_eq!(wrong("carrick-proto", "carrick-testkit", true), None);
        assert!(wrong("xtask", "carrick", true).is_some());
    }

    #[test]
    fn findings_name_the_manifest() {
        let metadata = serde_json::json!({"workspace_root": "/r", "packages": [
            {"name": "carrick-proto", "manifest_path": "/r/crates/proto/Cargo.toml", "dependencies": [
                {"name": "carrick", "kind": null}, {"name": "serde", "kind": null}]},
            {"name": "carrick", "manifest_path": "/r/crates/sdk/Cargo.toml", "dependencies": []},
            {"name": "novel", "manifest_path": "/r/crates/novel/Cargo.toml", "dependencies": []},
        ]});
        let found: Vec<String> = wrong_arrows(&metadata).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "crates/proto/Cargo.toml: carrick-proto must not depend on carrick: arrows point down the layers",
                "crates/novel/Cargo.toml: novel is in no layer: give it one in xtask/src/tidy/layers.rs",
            ]
        );
    }
}
