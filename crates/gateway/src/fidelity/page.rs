//! The table as a page for readers.

use super::{Feature, Verdict, verdict};
use carrick::proto::revision::Revision;
use std::fmt::Write;

const HEAD: &str = "\
# Fidelity

`carrick serve` offers a server of any revision to clients of any revision. This page says what a client
then observes, in comparison with a client of the server's own revision and nothing in between:

- **exact**: the same;
- **degraded**: less, and what;
- **impossible**: there is no such thing between the two, and why.

The page is made from the table that the tests of the gateway run, cell by cell, in memory, over HTTP and
over stdio: `CARRICK_UPDATE_FIDELITY=1 cargo test -p carrick-gateway` writes it.

A server without sessions has one connection for all clients. To a server of sessions no two clients share
one, since it may remember what it was told, and say it again:

| client | its connection to a server of sessions |
|---|---|
| a session (legacy revisions) | its own, opened with what it says it can do, until the session ends |
| without sessions, over stdio | its own for each set of abilities, until the connection ends |
| without sessions, over HTTP with a principal | the principal's for each set of abilities, until idle for 30 min |
| without sessions, over HTTP without a principal | a fresh one for each call, closed with it |
| the same with `\"session\": \"shared\"` | one that all such clients share |

A server that remembers between calls (the page that a browser shows, a current folder, an open transaction)
therefore works as it does without the gateway in the first three cases. In the fourth it remembers nothing
between calls: a browser starts with an empty page in each. In the fifth it remembers for all of them: one
client's page is the others' page too; elicitation, sampling and roots are not offered to the server then,
since it could not say whom it asks. A fresh connection over stdio is a process; one is started ahead, so
that a call seldom waits for it.

Tried with `@playwright/mcp` 0.0.83 (over stdio, `--headless --isolated`, Chromium 156): `browser_navigate`
to a page, then `browser_snapshot` in the next call.

| client | what the snapshot shows |
|---|---|
| a session, over HTTP | the page |
| without sessions, over stdio | the page |
| without sessions, over HTTP without a principal | `about:blank`: another browser |
| the same with `\"session\": \"shared\"` | the page, as every such client sees it |

Each such connection is a process of the server's, which must bear others beside it: with a browser profile
on disk (without `--isolated`) the first client's process holds the profile, and a second client is told by
the server that the browser is already in use.

Not passed on: tasks that are part of the core, and extensions of the protocol that name ids or tokens
outside of where the protocol has them.
";

/// The page, in Markdown.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for feature in Feature::ALL {
        section(&mut page, *feature);
    }
    page
}

fn section(page: &mut String, feature: Feature) {
    let mut title = feature.name().to_owned();
    title[..1].make_ascii_uppercase();
    // Writing to a string cannot fail.
    let _ = write!(page, "\n## {title}\n\n{}\n\n", feature.note());
    let mut remarks: Vec<String> = Vec::new();
    page.push_str("| client ↓ server → |");
    for server in Revision::ALL {
        let _ = write!(page, " {server} |");
    }
    page.push_str("\n|---|");
    page.push_str(&"---|".repeat(Revision::ALL.len()));
    page.push('\n');
    for client in Revision::ALL {
        let _ = write!(page, "| {client} |");
        for server in Revision::ALL {
            let (word, why) = match verdict(feature, *client, *server) {
                Verdict::Exact => ("exact", None),
                Verdict::Degraded(how) => ("degraded", Some(how)),
                Verdict::Impossible(why) => ("impossible", Some(why)),
            };
            let _ = match why {
                None => write!(page, " {word} |"),
                Some(why) => write!(page, " {word} ({}) |", number(&mut remarks, why)),
            };
        }
        page.push('\n');
    }
    if !remarks.is_empty() {
        page.push('\n');
    }
    for (at, remark) in remarks.iter().enumerate() {
        let _ = writeln!(page, "{}. {remark}", at + 1);
    }
}

/// The number of a remark below the table.
fn number(remarks: &mut Vec<String>, remark: String) -> usize {
    match remarks.iter().position(|known| *known == remark) {
        Some(at) => at + 1,
        None => {
            remarks.push(remark);
            remarks.len()
        }
    }
}
