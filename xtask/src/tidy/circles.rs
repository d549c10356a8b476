//! Modules of a crate that use one another in a circle.
//!
//! Looked for among the children of each module, where each child stands for all
//! that is in it: a child may use its parent, and a parent its child.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::{Path, exports, references};
use super::{Finding, Source};

/// Circles that were there before this was looked at: the module that they are
/// in, and the children. None may be added, and one that is gone is taken out.
const KNOWN: &[(&str, &[&str])] = &[
    ("crates/cli/src", &["environment", "exit", "print"]),
    ("crates/host/src/config", &["error", "text"]),
    ("crates/host/src/matcher/fill", &["command", "free"]),
    ("crates/host/src/matcher", &["role", "schema"]),
    ("crates/host/src/turn", &["calls", "event", "matched"]),
    ("crates/host/src", &["asks", "registry", "turn"]),
    ("crates/proto/src/peer/server", &["ask", "output"]),
    ("crates/proto/src/peer", &["client", "pass"]),
    ("crates/proto/src/revision", &["apply", "change", "translate"]),
    ("crates/proto/src/rpc", &["de", "json"]),
    ("crates/proto/src/rpc", &["guess", "id", "message", "scan", "spare", "write"]),
    ("crates/proto/src/types", &["ask", "capability", "content", "resource", "tool"]),
    ("crates/sdk/src/client", &["call", "drive", "forward"]),
    ("crates/sdk/src/server", &["ask", "context"]),
    ("crates/sdk/src/server", &["extract", "texts"]),
    ("crates/sdk/src/server", &["service", "subscribe"]),
    ("crates/sdk/src/transport/http/client", &["exchange", "old", "stream"]),
    ("crates/sdk/src/transport/http/server", &["body", "endpoint", "old", "post", "refusal"]),
    ("crates/sdk/src/transport/http/server", &["lanes", "session"]),
    ("crates/sdk/src", &["drive", "transport"]),
    ("xtask/src/bench", &["peers", "programs"]),
    ("xtask/src/conformance", &["relay", "rig"]),
    ("xtask/src", &["metadata", "process"]),
];

/// The modules of one crate, by the names on the way to each.
struct Crate<'a> {
    sources: BTreeMap<Path, &'a Source>,
    exports: BTreeMap<Path, BTreeMap<String, Path>>,
}

/// Which children of a module use which, with a line where one does.
type Arrows = BTreeMap<Path, BTreeMap<(String, String), (String, usize)>>;

pub(crate) fn check(sources: &[Source]) -> Vec<Finding> {
    check_but(sources, KNOWN)
}

fn check_but(sources: &[Source], known: &[(&str, &[&str])]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Crate<'_>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.is_test) {
        let Some((root, file)) = source.path.split_once("/src/") else { continue };
        let Some(path) = module(file) else { continue };
        let own = crates
            .entry(root)
            .or_insert_with(|| Crate { sources: BTreeMap::new(), exports: BTreeMap::new() });
        own.sources.insert(path, source);
    }
    let mut findings = Vec::new();
    let mut gone: BTreeSet<&(&str, &[&str])> = known.iter().collect();
    for (root, mut own) in crates {
        own.exports =
            own.sources.iter().map(|(path, s)| (path.clone(), exports(path, s))).collect();
        for (parent, arrows) in own.arrows() {
            let place = place(root, &parent);
            for circle in circles(&arrows) {
                let is_it = |(at, names): &&(&str, &[&str])| {
                    *at == place && circle.iter().all(|name| names.contains(&name.as_str()))
                };
                match known.iter().find(is_it) {
                    Some(entry) => drop(gone.remove(entry)),
                    None => findings.extend(told(&place, &circle, &arrows)),
                }
            }
        }
    }
    let gone = gone.into_iter().map(|(place, names)| {
        let names = names.join(", ");
        let text = format!("{names} are no circle any more: see xtask/src/tidy/circles.rs");
        Finding::new(place, 0, text)
    });
    findings.extend(gone);
    findings
}

fn place(root: &str, parent: &Path) -> String {
    [&[root.to_owned(), "src".to_owned()], &parent[..]].concat().join("/")
}

/// The module that a file below `src` is.
fn module(file: &str) -> Option<Path> {
    let path = file.strip_suffix(".rs")?;
    match path {
        "lib" | "main" => Some(Path::new()),
        path if path.starts_with("bin/") => None,
        path => Some(path.split('/').map(str::to_owned).collect()),
    }
}

impl Crate<'_> {
    fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (from, source) in &self.sources {
            for (path, line) in references(from, source) {
                let Some(to) = self.resolve(&path) else { continue };
                let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
                let (Some(a), Some(b)) = (from.get(common), to.get(common)) else { continue };
                let example = (source.path.clone(), line);
                let level = arrows.entry(from[..common].to_vec()).or_default();
                level.entry((a.clone(), b.clone())).or_insert(example);
            }
        }
        arrows
    }

    /// The module that has what a path names, or is it.
    fn resolve(&self, path: &Path) -> Option<Path> {
        let mut path = path.clone();
        // What is exported anew may be so several times; a circle of that ends.
        for _ in 0..8 {
            let depth = (0..=path.len()).rev().find(|n| self.sources.contains_key(&path[..*n]))?;
            let Some(name) = path.get(depth) else { return Some(path) };
            let Some(target) = self.exports.get(&path[..depth]).and_then(|names| names.get(name))
            else {
                return Some(path[..depth].to_vec());
            };
            path = [&target[..], &path[depth + 1..]].concat();
        }
        None
    }
}

/// The sets of children that reach one another.
fn circles(arrows: &BTreeMap<(String, String), (String, usize)>) -> Vec<Vec<String>> {
    let names: BTreeSet<&String> = arrows.keys().flat_map(|(a, b)| [a, b]).collect();
    let reached = |from: &String| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(name) = next.pop() {
            for (_, to) in arrows.keys().filter(|(a, _)| a == name) {
                if seen.insert(to) {
                    next.push(to);
                }
            }
        }
        seen
    };
    let reach: BTreeMap<&String, _> = names.iter().map(|name| (*name, reached(name))).collect();
    let mut circles = BTreeSet::new();
    for name in names {
        let circle: Vec<String> = reach
            .iter()
            .filter(|(other, back)| reach[name].contains(*other) && back.contains(name))
            .map(|(other, _)| (*other).clone())
            .collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

fn told(
    place: &str,
    circle: &[String],
    arrows: &BTreeMap<(String, String), (String, usize)>,
) -> Vec<Finding> {
    let inside = arrows.iter().filter(|((a, b), _)| circle.contains(a) && circle.contains(b));
    inside
        .map(|((a, b), (path, line))| {
            let names = circle.join(", ");
            Finding::new(path, *line, format!("{a} uses {b}, in a circle of {names} in {place}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        findings_but(&[], files)
    }

    fn findings_but(known: &[(&str, &[&str])], files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> = files
            .iter()
            .map(|(path, text)| Source::new(&format!("crates/a/src/{path}"), (*text).into(), false))
            .collect();
        check_but(&sources, known).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_circle_of_two_is_found_and_told_with_its_lines() {
        let found = findings(&[
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "\nuse crate::b::B;\n"),
            ("b.rs", "fn f() { super::a::g() }\n"),
        ]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("crates/a/src/a.rs:2: a uses b, in a circle of a, b"));
    }

    #[test]
    fn a_known_circle_may_stay_and_must_not_grow_or_outlive_itself() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\n"),
            ("a.rs", "use crate::b;\n"),
            ("b.rs", "use crate::a;\n"),
            ("c.rs", ""),
        ];
        let known: &[(&str, &[&str])] = &[("crates/a/src", &["a", "b"])];
        assert_eq!(findings_but(known, &files), Vec::<String>::new());
        let mut more = files;
        (more[2], more[3]) = (("b.rs", "use crate::c;\n"), ("c.rs", "use crate::a;\n"));
        assert_eq!(findings_but(known, &more).len(), 4, "three arrows, and the known one is gone");
        let mut less = files;
        less[2] = ("b.rs", "");
        assert!(findings_but(known, &less)[0].contains("no circle any more"));
    }

    #[test]
    fn children_parents_and_arrows_one_way_are_no_circles() {
        let found = findings(&[
            ("lib.rs", "mod a;\nmod b;\npub use a::A;\n"),
            ("a.rs", "mod c;\nuse crate::b::{B, self};\nuse c::C;\n"),
            ("a/c.rs", "use super::A;\nuse crate::b::*;\n"),
            ("b.rs", "// use crate::a::A;\n#[cfg(test)]\nmod tests {\n use crate::a::A;\n}\n"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn a_circle_is_seen_through_what_is_exported_anew_and_among_deep_modules() {
        let found = findings(&[
            ("lib.rs", "mod a;\nmod b;\npub use crate::b::{inner::Thing as Other, B};\n"),
            ("a.rs", "use crate::Other;\npub struct A;\n"),
            ("b.rs", "mod inner;\n"),
            ("b/inner.rs", "use crate::a::A;\npub struct Thing;\n"),
        ]);
        assert_eq!(found.len(), 2, "{found:?}");
        let found = findings(&[
            ("lib.rs", "mod a;\n"),
            ("a.rs", "mod b;\nmod c;\nmod d;\n"),
            ("a/b.rs", "use super::c;\n"),
            ("a/c.rs", "use super::{d::D, e};\n"),
            ("a/d.rs", "use crate::{a::{b::B}, x};\n"),
        ]);
        assert_eq!(found.len(), 3, "{found:?}");
    }
}
