//! `docs/revisions.md` says what the changes are.

use super::super::change::{ANY, Addition, Change, Op, Rebuild, Source, Test};
use super::*;
use alloc::vec;
use alloc::{format, string::String};

/// Set to anything, it makes the test write the file.
const UPDATE: &str = "CARRICK_UPDATE_REVISIONS";

#[test]
fn the_page_of_revisions_is_what_the_changes_are() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/revisions.md");
    let written = std::fs::read_to_string(&path).unwrap();
    let mut fresh = fill(&written, "pairs", &pairs());
    for &revision in &Revision::ALL[1..] {
        fresh = fill(&fresh, revision.date(), &changes_of(revision));
    }
    if std::env::var_os(UPDATE).is_some() {
        return std::fs::write(&path, fresh).unwrap();
    }
    assert!(written == fresh, "docs/revisions.md is stale; set {UPDATE}=1 to write it anew");
}

/// Puts text between the comments that mark its place.
fn fill(page: &str, place: &str, text: &str) -> String {
    let (begin, end) = (format!("<!-- begin {place} -->\n"), format!("<!-- end {place} -->"));
    let (before, rest) = page.split_once(&begin).expect("the place begins");
    let (_, after) = rest.split_once(&end).expect("the place ends");
    format!("{before}{begin}\n{text}\n{end}{after}")
}

/// What any two revisions come to.
fn pairs() -> String {
    let mut out = String::from("| from \\ to |");
    Revision::ALL.iter().for_each(|to| out.push_str(&format!(" {to} |")));
    out.push_str("\n|---|");
    out.push_str(&"---|".repeat(Revision::ALL.len()));
    for &from in Revision::ALL {
        out.push_str(&format!("\n| **{from}** |"));
        for &to in Revision::ALL {
            let (low, high) = (from.min(to), from.max(to));
            let between = Revision::ALL.iter().filter(|r| low < **r && **r <= high);
            let ops = |change: &Change| if from < to { change.up } else { change.down };
            let lists: Vec<&[Op]> = between.flat_map(|r| r.changes()).map(ops).collect();
            let lossy = lists.iter().any(|ops| any(ops, is_lossy));
            let refusing = lists.iter().any(|ops| any(ops, refuses));
            out.push_str(match (from == to, lossy, refusing) {
                (true, ..) => " the same slice |",
                (_, false, false) => " exact |",
                (_, true, false) => " losses told |",
                (_, false, true) => " some refused |",
                (_, true, true) => " losses told, some refused |",
            });
        }
    }
    out.push('\n');
    out
}

fn any(ops: &[Op], holds: fn(&Op) -> bool) -> bool {
    ops.iter().any(|op| match op {
        Op::In(_, inner) | Op::Each(inner) | Op::Items(inner) => any(inner, holds),
        _ => holds(op),
    })
}

fn is_lossy(op: &Op) -> bool {
    matches!(
        op,
        Op::Forget(_) | Op::ForgetIf(..) | Op::Unstructure(_) | Op::Rebuild(_) | Op::Put(..)
    )
}

fn refuses(op: &Op) -> bool {
    matches!(op, Op::Require(_) | Op::RefuseIf(..))
}

fn changes_of(revision: Revision) -> String {
    let mut out = String::new();
    for (title, ops) in [
        ("Going up", (|change: &Change| change.up) as fn(&Change) -> &'static [Op]),
        ("Going down", |change: &Change| change.down),
    ] {
        let rows = rows(revision, ops);
        if rows.is_empty() {
            out.push_str(&format!("{title}, nothing changes.\n"));
            continue;
        }
        out.push_str(&format!("{title}:\n\n| Part | What changes |\n|---|---|\n"));
        for (parts, lines) in rows {
            out.push_str(&format!("| {} | {} |\n", parts.join("<br>"), lines.join("<br>")));
        }
        out.push('\n');
    }
    out.trim_end().replace("changes.\nGoing", "changes.\n\nGoing") + "\n"
}

/// The parts that change alike, and how.
fn rows(revision: Revision, ops: fn(&Change) -> &'static [Op]) -> Vec<(Vec<String>, Vec<String>)> {
    let mut rows: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for change in revision.changes() {
        let mut lines = Vec::new();
        say(ops(change), &mut vec![], &mut lines);
        if lines.is_empty() {
            continue;
        }
        match rows.iter_mut().find(|(_, others)| *others == lines) {
            Some((parts, _)) => parts.push(name(change.on)),
            None => rows.push((vec![name(change.on)], lines)),
        }
    }
    rows
}

fn name(part: Part) -> String {
    match part {
        Part::Params(method) => format!("params of `{}`", method.name()),
        Part::Result(method) => format!("result of `{}`", method.name()),
        Part::Error(method) => format!("error of `{}`", method.name()),
        Part::ClientCapabilities => "client capabilities".into(),
        Part::ServerCapabilities => "server capabilities".into(),
        Part::Implementation => "who a party is".into(),
    }
}

fn when(Test { says, .. }: Test) -> String {
    if says == ANY.says { String::new() } else { format!(" when it {says}") }
}

fn say(ops: &[Op], path: &mut Vec<&'static str>, lines: &mut Vec<String>) {
    for op in ops {
        let place = path.iter().copied().chain(op.member()).collect::<Vec<_>>().join(".");
        let line = match *op {
            Op::In(name, inner) => {
                path.push(name);
                say(inner, path, lines);
                path.pop();
                continue;
            }
            Op::Each(inner) | Op::Items(inner) => {
                path.push("*");
                say(inner, path, lines);
                path.pop();
                continue;
            }
            Op::Rebuild(Rebuild { says, .. }) => format!("`{place}`: {says}"),
            Op::Add(Addition { value, given, .. }) => {
                let value = match value {
                    Source::Text(text) => format!("`{text}`"),
                    Source::Of(other) => format!("what `{other}` is"),
                };
                let given = match given {
                    [] => String::new(),
                    names => format!(", given `{}`", names.join("` or `")),
                };
                format!("`{place}` is added unless there: {value}{given}")
            }
            Op::Put(_, text) => format!("`{place}` is `{text}`, whatever is there"),
            Op::Drop(_) => format!("`{place}` is dropped, said otherwise"),
            Op::Forget(_) => format!("`{place}` is lost"),
            Op::ForgetIf(_, test) => format!("`{place}` is lost{}", when(test)),
            Op::Unstructure(test) => {
                let when = when(test);
                format!(
                    "`{place}` is lost{when}; where `content` is empty, its JSON becomes text there"
                )
            }
            Op::Swap { from, to, given, .. } => {
                format!("`{place}`: {from} becomes {to}{}", when(given))
            }
            Op::Require(_) => format!("refused without `{place}`"),
            Op::RefuseIf(_, Test { says, .. }) => format!("refused when `{place}` {says}"),
        };
        lines.push(line);
    }
}
