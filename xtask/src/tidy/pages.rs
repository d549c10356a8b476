//! The pages of the book: all of them in its summary, and every link to a file that is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::Finding;
use crate::{Result, process};

/// The book's pages.
const BOOK: &str = "docs";
const SUMMARY: &str = "docs/SUMMARY.md";
/// Pages besides those of the book.
const OTHERS: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];

pub(super) fn check() -> Result<Vec<Finding>> {
    let root = process::root();
    let read = |path: &str| {
        fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
    };
    let mut pages: BTreeSet<String> = BTreeSet::new();
    for entry in fs::read_dir(root.join(BOOK)).map_err(|error| format!("{BOOK}: {error}"))? {
        let name = entry.map_err(|error| format!("{BOOK}: {error}"))?.file_name();
        let name = name.to_string_lossy().into_owned();
        if name.ends_with(".md") {
            pages.insert(format!("{BOOK}/{name}"));
        }
    }
    let listed: BTreeSet<String> =
        links(&read(SUMMARY)?).map(|(_, link)| format!("{BOOK}/{link}")).collect();
    let missing = pages.iter().filter(|page| *page != SUMMARY && !listed.contains(*page));
    let mut findings: Vec<Finding> = missing
        .map(|page| Finding::new(page, 0, format!("is not in {SUMMARY}, so no reader finds it")))
        .collect();
    for page in pages.iter().map(String::as_str).chain(OTHERS) {
        findings.extend(broken(page, &read(page)?, |path| root.join(path).exists()));
    }
    Ok(findings)
}

/// Links of a page to files that are not there.
fn broken(page: &str, text: &str, exists: impl Fn(&Path) -> bool) -> Vec<Finding> {
    let folder = Path::new(page).parent().unwrap_or(Path::new(""));
    let outside = |link: &str| link.contains("://") || link.starts_with(['#', '<']);
    links(text)
        .filter(|(_, link)| !outside(link))
        .filter(|(_, link)| {
            let file = link.split('#').next().unwrap_or_default();
            !exists(&folder.join(file))
        })
        .map(|(line, link)| {
            Finding::new(page, line, format!("links to {link}, which is not there"))
        })
        .collect()
}

/// The targets of links outside of code blocks, with their lines.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    let lines = text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    });
    lines.flat_map(|(at, line)| {
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        targets.map(move |(target, _)| (at + 1, target))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_code() {
        let text = "[a](b.md) and [c](d.md#e)\n```\n[x](y)\n```\n[f](https://g)\n";
        let found: Vec<_> = links(text).collect();
        assert_eq!(found, [(1, "b.md"), (1, "d.md#e"), (5, "https://g")]);
    }

    #[test]
    fn a_link_to_nothing_is_reported_and_one_to_elsewhere_is_not() {
        let text = "[a](there.md#part)\n[b](gone.md) [c](https://c) [d](#here)\n";
        let found = broken("docs/page.md", text, |path| path == Path::new("docs/there.md"));
        let [finding] = &found[..] else { panic!("{found:?}") };
        assert!(finding.to_string().starts_with("docs/page.md:2: links to gone.md"));
    }
}
