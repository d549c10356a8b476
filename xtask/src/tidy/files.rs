//! Rules about files as wholes: names, the licence, and words that no file may hold.

use std::fs;

use super::scan::{is_word, line_of};
use super::{Finding, Tree};
use crate::process;

/// Paths of one machine. Written in two parts, so that this file holds none.
const MACHINE_PATHS: [&str; 3] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];
/// Hosts of package registries: a lock file or script that names one fails behind a mirror.
const REGISTRY_HOSTS: [&str; 6] = [
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("registry", ".npmjs.org"),
    concat!("registry", ".yarnpkg.com"),
    concat!("deb", ".debian.org"),
];
/// Where such words are data.
const DATA_FOLDERS: [&str; 1] = ["cases/"];
/// Cargo writes the name of the index here, whichever mirror it really asks.
const CARGO_LOCK: &str = "Cargo.lock";

/// Files whose names or contents break a rule.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !tree.files.iter().any(|path| path == "LICENSE") {
        findings.push(Finding::new("LICENSE", 0, "the licence's text is missing"));
    }
    for path in &tree.files {
        if path.ends_with("/mod.rs") {
            findings.push(Finding::new(
                path,
                0,
                "modules are `foo.rs` beside `foo/`, never `foo/mod.rs`",
            ));
        }
        if DATA_FOLDERS.iter().any(|folder| path.starts_with(folder)) || path.ends_with(CARGO_LOCK)
        {
            continue;
        }
        // A file that is not text holds no words.
        if let Ok(text) = fs::read_to_string(process::root().join(path)) {
            let in_tests = |offset| {
                tree.sources
                    .iter()
                    .find(|source| source.path == *path)
                    .is_some_and(|source| source.in_tests(offset))
            };
            findings.extend(forbidden_words(path, &text, in_tests));
        }
    }
    findings
}

fn forbidden_words(path: &str, text: &str, in_tests: impl Fn(usize) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for machine_path in MACHINE_PATHS {
        // In tests a path is data, as `--root` or in a URI.
        for (offset, _) in text
            .match_indices(machine_path)
            .filter(|(offset, _)| starts_a_path(text, *offset) && !in_tests(*offset))
        {
            findings.push(Finding::new(
                path,
                line_of(text, offset),
                format!("`{machine_path}` is a path of one machine"),
            ));
        }
    }
    for host in REGISTRY_HOSTS {
        for (offset, _) in text.match_indices(host) {
            findings.push(Finding::new(
                path,
                line_of(text, offset),
                format!("`{host}` is a registry's host"),
            ));
        }
    }
    findings
}

/// Whether an absolute path begins here, and not a later part of a longer one.
fn starts_a_path(text: &str, offset: usize) -> bool {
    let before = offset.checked_sub(1).map(|at| text.as_bytes()[at]);
    before.is_none_or(|byte| !is_word(byte) && !matches!(byte, b'.' | b'-' | b'*' | b'}' | b')'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        forbidden_words("a.md", text, |_| false).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn paths_of_a_machine_are_found_where_they_begin() {
        let [first, second, third] = MACHINE_PATHS;
        assert_eq!(
            found(&format!("x\ncd {first}x")),
            [format!("a.md:2: `{first}` is a path of one machine")]
        );
        assert_eq!(found(&format!("file://{second}x and \"{third}y\"")).len(), 2);
        assert_eq!(found(&format!("..{first}x target{first} ${{dir}}{third}")), [""; 0]);
    }

    #[test]
    fn paths_are_data_in_tests_and_hosts_never() {
        let text = format!("{} {}", MACHINE_PATHS[2], REGISTRY_HOSTS[0]);
        let found = forbidden_words("a.rs", &text, |_| true);
        assert_eq!(
            found,
            [Finding::new("a.rs", 1, format!("`{}` is a registry's host", REGISTRY_HOSTS[0]))]
        );
    }
}
