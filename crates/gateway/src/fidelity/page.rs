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

A server without sessions has one connection for all clients. One of sessions has a session for each
client's session, opened with what that client says it can do; clients without sessions share one for
each set of abilities. Over stdio each of these is a process of its own, so that what a server keeps in
its memory it keeps for each alone. Not passed on: tasks that are part of the core, and extensions of the
protocol that name ids or tokens outside of where the protocol has them.
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
