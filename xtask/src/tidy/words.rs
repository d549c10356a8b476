//! Words that Rust code may use in some places only.

use super::scan::{line_of, words};
use super::{Finding, Source};

/// Words, where they belong, and why they belong nowhere else.
struct Rule {
    words: &'static [&'static str],
    /// Whether the words count in literals too.
    in_literals: bool,
    /// Path prefixes where the words may stand.
    allowed: &'static [&'static str],
    why: &'static str,
}

const RULES: [Rule; 3] = [
    Rule {
        words: &[
            "Revision::V2*",
            "2024-11-05",
            "2025-03-26",
            "2025-06-18",
            "2025-11-25",
            "2026-07-28",
        ],
        in_literals: true,
        // The testkit, the chores and the benchmarks speak fixed revisions on purpose.
        allowed: &[
            "crates/proto/src/revision",
            "crates/testkit/",
            "crates/soak/",
            "xtask/",
            "bench/",
            "fuzz/",
        ],
        why: "code asks a rule by its name, never for a revision",
    },
    Rule {
        words: &["println!", "eprintln!", "print!", "eprint!", "dbg!", "env::*", "process::exit"],
        in_literals: false,
        allowed: &[
            "crates/cli/",
            "crates/testkit/",
            "crates/soak/",
            "xtask/",
            "bench/",
            "fuzz/",
            // The guard is `carrick` started again as a server's parent: it is a program of its own.
            "crates/sdk/src/transport/child",
        ],
        why: "only the command line prints, reads the environment or exits",
    },
    Rule {
        words: &["todo!", "unimplemented!"],
        in_literals: false,
        allowed: &[],
        why: "unfinished code is not committed",
    },
];

/// Where `std` is out of reach, but for tests.
const NO_STD: &str = "crates/proto/";

/// Words of a file that stand in the wrong place.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule.check(source)).collect();
    if source.path.starts_with(NO_STD) {
        findings.extend(uses_of_std(source));
    }
    findings
}

impl Rule {
    fn check<'a>(&'a self, source: &'a Source) -> impl Iterator<Item = Finding> + 'a {
        let applies = !self.allowed.iter().any(|prefix| source.path.starts_with(prefix));
        let text = if self.in_literals { &source.scan.uncommented } else { &source.scan.tokens };
        let places =
            self.words.iter().filter(move |_| applies).flat_map(move |word| found(text, word));
        let places = places.filter(|(offset, _)| !source.in_tests(*offset));
        places.map(|(offset, word)| {
            Finding::new(
                &source.path,
                line_of(&source.text, offset),
                format!("`{word}`: {}", self.why),
            )
        })
    }
}

/// The offsets of a word, which may end in `*` for any identifier, and what stands there.
fn found<'a>(text: &'a str, pattern: &'a str) -> Box<dyn Iterator<Item = (usize, &'a str)> + 'a> {
    let Some(prefix) = pattern.strip_suffix('*') else {
        return Box::new(words(text, pattern).map(move |offset| (offset, pattern)));
    };
    let begins = move |offset: usize| {
        !text[..offset].ends_with(|last: char| last.is_alphanumeric() || last == '_')
    };
    let places =
        text.match_indices(prefix).map(|(offset, _)| offset).filter(move |offset| begins(*offset));
    Box::new(places.map(move |offset| {
        let rest = &text[offset + prefix.len()..];
        let length =
            rest.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(rest.len());
        (offset, &text[offset..offset + prefix.len() + length])
    }))
}

fn uses_of_std(source: &Source) -> Vec<Finding> {
    let tokens = &source.scan.tokens;
    let mut findings = Vec::new();
    if source.path == format!("{NO_STD}src/lib.rs") && !tokens.contains("#![no_std]") {
        findings.push(Finding::new(&source.path, 0, "the protocol crate is `#![no_std]`"));
    }
    for offset in words(tokens, "std").filter(|offset| !source.in_tests(*offset)) {
        let is_path = tokens[offset + 3..].trim_start().starts_with("::")
            || tokens[..offset].trim_end().ends_with("crate");
        if is_path {
            findings.push(Finding::new(
                &source.path,
                line_of(&source.text, offset),
                "the protocol crate asks the machine for nothing: `core` and `alloc` only",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Source::new(path, text.to_owned(), false))
            .into_iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn revisions_are_named_in_their_module_only() {
        let text = "// 2025-11-25\nlet a = \"2025-11-25\";\nlet b = Revision::V2025_11_25;\nlet c = Revision::Visible;\nlet d = Revision::newest();\n";
        assert_eq!(lines("crates/host/src/a.rs", text), [3, 2]);
        assert_eq!(lines("crates/proto/src/revision/a.rs", text), [0; 0]);
        assert_eq!(
            lines(
                "crates/host/src/a.rs",
                "#[cfg(test)]\nmod tests { const A: &str = \"2025-11-25\"; }"
            ),
            [0; 0]
        );
    }

    #[test]
    fn printing_and_the_environment_belong_to_the_command_line() {
        let text = "fn a() {\n    println!(\"x\");\n    std::env::var(\"A\");\n    log(\"print!\");\n    process::exit(1)\n}\nuse std::env::args;\nconst A: &str = env!(\"A\");\n";
        assert_eq!(lines("crates/host/src/a.rs", text), [2, 3, 7, 5]);
        assert_eq!(lines("crates/cli/src/a.rs", text), [0; 0]);
        assert_eq!(lines("crates/sdk/src/transport/child/guard.rs", text), [0; 0]);
    }

    #[test]
    fn unfinished_code_is_found_everywhere() {
        assert_eq!(
            lines("crates/cli/src/a.rs", "fn a() { todo!() }\nfn b() { unimplemented!() }"),
            [1, 2]
        );
    }

    #[test]
    fn the_protocol_crate_has_no_std_outside_tests() {
        let text = "#![no_std]\nextern crate alloc;\n#[cfg(test)]\nextern crate std;\nuse core::fmt;\n/// `std::io`\nstruct A { std: u8 }\n";
        assert_eq!(lines("crates/proto/src/lib.rs", text), [0; 0]);
        assert_eq!(
            lines("crates/proto/src/lib.rs", "extern crate std;\nuse std::io;\n"),
            [0, 1, 2]
        );
        assert_eq!(lines("crates/sdk/src/lib.rs", "use std::io;"), [0; 0]);
    }
}
