//! The scenarios that must pass, and those that are left out, compared with the suite's own list.

use std::collections::{BTreeMap, BTreeSet};

use crate::Result;

const MARCH_2025: &str = "2025-03-26";
const JUNE_2025: &str = "2025-06-18";
const NOVEMBER_2025: &str = "2025-11-25";
const JULY_2026: &str = "2026-07-28";

const ALL_SINCE_JUNE: &[&str] = &[JUNE_2025, NOVEMBER_2025, JULY_2026];
const SESSIONS_SINCE_JUNE: &[&str] = &[JUNE_2025, NOVEMBER_2025];
const ALL_SINCE_NOVEMBER: &[&str] = &[NOVEMBER_2025, JULY_2026];
const ONLY_NOVEMBER: &[&str] = &[NOVEMBER_2025];
const ONLY_JULY: &[&str] = &[JULY_2026];

/// A scenario's name, and the versions on whose wire it is run.
type Entry = (&'static str, &'static [&'static str]);

const SERVER: &[Entry] = &[
    ("server-initialize", SESSIONS_SINCE_JUNE),
    ("server-session-lifecycle", &[MARCH_2025, JUNE_2025, NOVEMBER_2025]),
    ("server-stateless", ONLY_JULY),
    ("logging-set-level", SESSIONS_SINCE_JUNE),
    ("ping", SESSIONS_SINCE_JUNE),
    ("completion-complete", ALL_SINCE_JUNE),
    ("tools-list", ALL_SINCE_JUNE),
    ("tools-call-simple-text", ALL_SINCE_JUNE),
    ("tools-call-image", ALL_SINCE_JUNE),
    ("tools-call-audio", ALL_SINCE_JUNE),
    ("tools-call-embedded-resource", ALL_SINCE_JUNE),
    ("tools-call-mixed-content", ALL_SINCE_JUNE),
    ("tools-call-with-logging", SESSIONS_SINCE_JUNE),
    ("tools-call-error", ALL_SINCE_JUNE),
    ("tools-call-with-progress", ALL_SINCE_JUNE),
    ("tools-call-sampling", SESSIONS_SINCE_JUNE),
    ("tools-call-elicitation", SESSIONS_SINCE_JUNE),
    ("json-schema-2020-12", ALL_SINCE_NOVEMBER),
    ("elicitation-sep1034-defaults", ONLY_NOVEMBER),
    ("server-sse-polling", ONLY_NOVEMBER),
    ("server-sse-multiple-streams", ALL_SINCE_NOVEMBER),
    ("elicitation-sep1330-enums", ONLY_NOVEMBER),
    ("resources-list", ALL_SINCE_JUNE),
    ("resources-read-text", ALL_SINCE_JUNE),
    ("resources-read-binary", ALL_SINCE_JUNE),
    ("resources-templates-read", ALL_SINCE_JUNE),
    ("resources-subscribe", SESSIONS_SINCE_JUNE),
    ("resources-unsubscribe", SESSIONS_SINCE_JUNE),
    ("sep-2164-resource-not-found", ONLY_JULY),
    ("prompts-list", ALL_SINCE_JUNE),
    ("prompts-get-simple", ALL_SINCE_JUNE),
    ("prompts-get-with-args", ALL_SINCE_JUNE),
    ("prompts-get-embedded-resource", ALL_SINCE_JUNE),
    ("prompts-get-with-image", ALL_SINCE_JUNE),
    ("dns-rebinding-protection", ALL_SINCE_NOVEMBER),
    ("caching", ONLY_JULY),
    ("http-header-validation", ONLY_JULY),
    ("http-custom-header-server-validation", ONLY_JULY),
    ("input-required-result-basic-elicitation", ONLY_JULY),
    ("input-required-result-basic-sampling", ONLY_JULY),
    ("input-required-result-basic-list-roots", ONLY_JULY),
    ("input-required-result-request-state", ONLY_JULY),
    ("input-required-result-multiple-input-requests", ONLY_JULY),
    ("input-required-result-multi-round", ONLY_JULY),
    ("input-required-result-missing-input-response", ONLY_JULY),
    ("input-required-result-non-tool-request", ONLY_JULY),
    ("input-required-result-result-type", ONLY_JULY),
    ("input-required-result-unsupported-methods", ONLY_JULY),
    ("input-required-result-tampered-state", ONLY_JULY),
    ("input-required-result-capability-check", ONLY_JULY),
    ("input-required-result-ignore-extra-params", ONLY_JULY),
    ("input-required-result-validate-input", ONLY_JULY),
];

const CLIENT: &[Entry] = &[
    ("initialize", SESSIONS_SINCE_JUNE),
    ("tools_call", ALL_SINCE_JUNE),
    ("elicitation-sep1034-client-defaults", ONLY_NOVEMBER),
    ("sse-retry", ONLY_NOVEMBER),
    ("request-metadata", ONLY_JULY),
    ("sep-2322-client-request-state", ONLY_JULY),
    ("http-standard-headers", ONLY_JULY),
    ("http-custom-headers", ONLY_JULY),
    ("http-invalid-tool-headers", ONLY_JULY),
    ("json-schema-ref-no-deref", ONLY_JULY),
    ("json-schema-2020-12-preservation", ALL_SINCE_NOVEMBER),
];

/// Scenarios that are not run, by the beginning of their names, and why.
const LEFT_OUT: [(&str, &str); 3] = [
    ("auth/", "authorization is not built yet"),
    ("tasks-", "the tasks extension is not built yet"),
    ("sep-2640-", "the skills extension is not built yet"),
];

/// Scenarios of servers that are not run through the gateway, and why.
const NOT_THROUGH: [(&str, &str); 1] = [(
    "server-sse-polling",
    "a server lets go of the stream that it holds itself: here that is the gateway's, which \
     answers as soon as the server does",
)];

/// A check that is skipped whatever an implementation does.
struct Skipped {
    scenario: &'static str,
    check: &'static str,
    /// A part of what the suite says, where several checks have the same id.
    said: &'static str,
}

const ALWAYS_SKIPPED: &[Skipped] = &[
    Skipped {
        scenario: "http-standard-headers",
        check: "sep-2243-client-includes-standard-headers",
        // This revision has no handshake.
        said: "did not send a initialize request",
    },
    Skipped {
        scenario: "http-standard-headers",
        check: "sep-2243-client-includes-standard-headers",
        said: "did not send a notifications/initialized request",
    },
];

/// Checks that must be there and pass, of scenarios whose rest passes without what they are about.
const MUST_PASS: &[(&str, &[&str])] = &[
    // A server that never closes the stream has nothing to resume.
    ("server-sse-polling", &["server-sse-priming-event", "server-sse-disconnect-resume"]),
];

/// Which side of the protocol is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Server,
    Client,
}

impl Side {
    /// As the suite's command line has it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Side::Server => "server",
            Side::Client => "client",
        }
    }
}

/// One scenario on the wire of one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Scenario {
    pub(super) side: Side,
    pub(super) version: &'static str,
    pub(super) name: &'static str,
}

impl std::fmt::Display for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.side.name(), self.version, self.name)
    }
}

impl Scenario {
    /// The checks that must be there and pass.
    pub(super) fn must_pass(&self) -> &'static [&'static str] {
        let of_this = MUST_PASS.iter().find(|(scenario, _)| *scenario == self.name);
        of_this.map_or(&[], |(_, checks)| checks)
    }

    /// Whether it is run through the gateway too.
    pub(super) fn passes_through(&self) -> bool {
        NOT_THROUGH.iter().all(|(name, _)| *name != self.name)
    }

    /// Whether a check of this scenario may be skipped, when the suite says this of it.
    pub(super) fn may_skip(&self, check: &str, said: &str) -> bool {
        ALWAYS_SKIPPED.iter().any(|known| {
            known.scenario == self.name && known.check == check && said.contains(known.said)
        })
    }
}

/// Every scenario on every one of its wires, in the order of the tables.
pub(super) fn all() -> Vec<Scenario> {
    let sides = [(Side::Server, SERVER), (Side::Client, CLIENT)];
    let of = |side, entries: &'static [Entry]| {
        entries.iter().flat_map(move |(name, versions)| {
            versions.iter().map(move |version| Scenario { side, version, name })
        })
    };
    sides.into_iter().flat_map(|(side, entries)| of(side, entries)).collect()
}

/// What is left out and why, a line each.
pub(super) fn left_out() -> impl Iterator<Item = String> {
    let all = LEFT_OUT.iter().map(|(prefix, why)| format!("{prefix}*: {why}"));
    all.chain(NOT_THROUGH.iter().map(|(name, why)| format!("gateway: {name}: {why}")))
}

/// Compares the tables with what `conformance list` printed: nothing may be there that the
/// tables do not name, and nothing missing that they do.
pub(super) fn compare(listed: &str) -> Result<()> {
    let (mut problems, mut unused) = (Vec::new(), BTreeSet::from(LEFT_OUT.map(|(name, _)| name)));
    let mut expected: BTreeMap<(Side, &str), BTreeSet<&str>> = BTreeMap::new();
    for scenario in all() {
        expected.entry((scenario.side, scenario.name)).or_default().insert(scenario.version);
    }
    for (side, name, versions) in read(listed)? {
        if let Some((prefix, _)) = LEFT_OUT.iter().find(|(prefix, _)| name.starts_with(prefix)) {
            unused.remove(prefix);
            continue;
        }
        match expected.remove(&(side, name)) {
            None => problems.push(format!("{} {name} is new", side.name())),
            Some(known) if known != versions => problems
                .push(format!("{} {name} is for {versions:?}, here for {known:?}", side.name())),
            Some(_) => {}
        }
    }
    problems.extend(expected.keys().map(|(side, name)| format!("{} {name} is gone", side.name())));
    problems.extend(unused.iter().map(|prefix| format!("nothing is named {prefix}* any more")));
    if problems.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the suite's list differs from xtask/src/conformance/scenarios.rs:\n  {}",
        problems.join("\n  ")
    ))
}

/// A scenario of the suite's list: its side, name, and versions.
type Listed<'a> = (Side, &'a str, BTreeSet<&'a str>);

/// Reads lines such as `  - tools-list [2025-06-18,2025-11-25]` below headings such as
/// `Server scenarios (test against a server):`.
fn read(listed: &str) -> Result<Vec<Listed<'_>>> {
    let mut side = None;
    let mut scenarios = Vec::new();
    for line in listed.lines() {
        if let Some((heading, _)) = line.split_once(" scenarios (") {
            side = match heading {
                "Server" => Some(Side::Server),
                "Client" => Some(Side::Client),
                _ => None,
            };
            continue;
        }
        let (Some(side), Some(entry)) = (side, line.strip_prefix("  - ")) else { continue };
        let parts = entry.split_once(" [").and_then(|(name, versions)| {
            Some((name, versions.strip_suffix(']')?.split(',').collect()))
        });
        let (name, versions) =
            parts.ok_or_else(|| format!("cannot read this line of the suite's list: {line}"))?;
        scenarios.push((side, name, versions));
    }
    Ok(scenarios)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The suite's list as it must be.
    fn list() -> String {
        let lines = |entries: &[Entry]| -> String {
            let line = |(name, versions): &Entry| format!("  - {name} [{}]\n", versions.join(","));
            entries.iter().map(line).collect()
        };
        format!(
            "Server scenarios (test against a server):\n{}  - tasks-a [extension]\n  - sep-2640-a [extension]\n\nClient scenarios (test against a client):\n{}  - auth/a [{JULY_2026}]\n\nAuthorization server scenarios (test against an authorization server):\n  - other [{JULY_2026}]\n",
            lines(SERVER),
            lines(CLIENT)
        )
    }

    #[test]
    fn the_list_that_the_tables_describe_is_accepted() {
        assert_eq!(compare(&list()), Ok(()));
    }

    #[test]
    fn what_is_new_gone_or_moved_is_found() {
        for (from, to, problem) in [
            ("  - ping [", "  - pong [", "server pong is new"),
            ("  - ping [", "  - pong [", "server ping is gone"),
            ("  - ping [2025-06-18,", "  - ping [", "server ping is for {\"2025-11-25\"}"),
            ("  - auth/a", "  - ping", "nothing is named auth/* any more"),
            ("Client scenarios", "Other scenarios", "client initialize is gone"),
        ] {
            let error = compare(&list().replace(from, to)).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
        assert!(compare("Server scenarios (x):\n  - ping\n").unwrap_err().contains("cannot read"));
    }

    #[test]
    fn no_scenario_is_there_twice() {
        let all = all();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }
}
