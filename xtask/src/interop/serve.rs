//! Our servers under the official clients: both transports, both eras.

use std::process::Command;

use serde_json::{Value, json};

use super::peers::Peers;
use super::{Check, NOTE, Rig, expect, printed};
use crate::Result;
use crate::served::Served;

/// How a client opens the connection, and the revision that it must end with.
#[derive(Clone, Copy)]
struct Era {
    name: &'static str,
    revision: &'static str,
}

const LEGACY: Era = Era { name: "legacy", revision: "2025-11-25" };
const ERAS: [Era; 3] = [
    LEGACY,
    Era { name: "modern", revision: "2026-07-28" },
    Era { name: "auto", revision: "2026-07-28" },
];

/// An official client, and the eras that it knows.
#[derive(Clone, Copy)]
struct Client {
    name: &'static str,
    command: fn(&Peers) -> Command,
    eras: &'static [Era],
}

const CLIENTS: [Client; 3] = [
    Client { name: "python", command: Peers::python_client, eras: &ERAS },
    Client { name: "typescript", command: Peers::typescript_client, eras: &ERAS },
    Client { name: "typescript-1", command: Peers::typescript_1_client, eras: &[LEGACY] },
];
const TRANSPORTS: [&str; 2] = ["stdio", "http"];

/// One of `carrick`'s own servers, what is asked of it, and how its answers must look.
#[derive(Clone, Copy)]
struct Subject {
    server: &'static str,
    plan: fn(&Rig) -> Value,
    verify: fn(&[Value]) -> Result<()>,
}

const SUBJECTS: [Subject; 2] = [
    Subject { server: "time", plan: time_plan, verify: verify_time },
    Subject { server: "files", plan: files_plan, verify: verify_files },
];

/// Every server with every client, transport and era.
pub(super) fn checks() -> Vec<Check> {
    let mut checks = Vec::new();
    for subject in SUBJECTS {
        for transport in TRANSPORTS {
            for client in CLIENTS {
                for &era in client.eras {
                    let name = format!(
                        "serve/{}/{transport}/{}/{}",
                        subject.server, client.name, era.name
                    );
                    checks.push(Check::new(name, move |rig| {
                        check(rig, subject, transport, client, era)
                    }));
                }
            }
        }
    }
    checks
}

fn check(rig: &Rig, subject: Subject, transport: &str, client: Client, era: Era) -> Result<()> {
    let plan = (subject.plan)(rig).to_string();
    let mut client = (client.command)(&rig.peers);
    client.current_dir(&rig.folder).args(["--era", era.name, "--plan", &plan, transport]);
    let report = if transport == "http" {
        let mut server = Command::new(&rig.carrick);
        server.current_dir(&rig.folder).args(["server", subject.server, "--http", "127.0.0.1:0"]);
        let (_served, url) = Served::start(&mut server, listening_on)?;
        printed(client.arg(url))?
    } else {
        printed(client.arg("--").arg(&rig.carrick).args(["server", subject.server]))?
    };
    let report: Value = serde_json::from_str(&report)
        .map_err(|error| format!("the client printed {report:?}: {error}"))?;
    expect(
        report["protocolVersion"] == era.revision,
        &format!("the revision is not {}", era.revision),
        &report["protocolVersion"],
    )?;
    (subject.verify)(report["steps"].as_array().map_or(&[], Vec::as_slice))
}

/// The URL in the line with which `carrick server --http` says that it is ready.
fn listening_on(line: &str) -> Option<String> {
    line.split_once("listening on ").map(|(_, url)| url.trim().to_owned())
}

fn time_plan(_: &Rig) -> Value {
    json!([
        {"list": "tools"},
        {"call": "current_time", "arguments": {"timezone": "Asia/Tokyo"}},
        {"call": "convert_time", "arguments": {"source_timezone": "Asia/Tokyo", "time": "12:30", "target_timezone": "UTC"}},
        {"call": "no_such_tool"},
    ])
}

fn verify_time(steps: &[Value]) -> Result<()> {
    let [tools, now, converted, refused] = steps else {
        return Err(format!("not four answers: {steps:?}"));
    };
    expect(
        holds(tools, "current_time") && holds(tools, "convert_time"),
        "a tool is missing",
        tools,
    )?;
    expect(now["isError"] == false && now.to_string().contains("+09:00"), "no time in Tokyo", now)?;
    expect(
        converted["isError"] == false && converted.to_string().contains("03:30"),
        "12:30 in Tokyo is 03:30 UTC",
        converted,
    )?;
    expect(
        refused["error"]["code"] == -32602 || refused["isError"] == true,
        "an unknown tool was not refused",
        refused,
    )
}

fn files_plan(rig: &Rig) -> Value {
    json!([
        {"list": "tools"},
        {"call": "read_file", "arguments": {"path": NOTE.0}},
        {"call": "read_file", "arguments": {"path": "../Cargo.toml"}},
        {"list": "resources"},
        {"read": format!("file://{}/{}", rig.folder.display(), NOTE.0)},
    ])
}

fn verify_files(steps: &[Value]) -> Result<()> {
    let [tools, read, outside, resources, resource] = steps else {
        return Err(format!("not five answers: {steps:?}"));
    };
    expect(holds(tools, "read_file"), "a tool is missing", tools)?;
    expect(
        read["isError"] == false && read["text"].to_string().contains(NOTE.1.trim()),
        "not the file's text",
        read,
    )?;
    expect(
        outside["isError"] == true || outside["error"].is_object(),
        "a file outside the folder was not refused",
        outside,
    )?;
    expect(resources.to_string().contains(NOTE.0), "the file is no resource", resources)?;
    expect(resource[0] == NOTE.1, "the resource is not the file's text", resource)
}

fn holds(list: &Value, text: &str) -> bool {
    list.as_array().is_some_and(|items| items.iter().any(|item| item == text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_is_read_from_the_line_that_names_it() {
        assert_eq!(
            listening_on("carrick: listening on http://127.0.0.1:4711/mcp\n").as_deref(),
            Some("http://127.0.0.1:4711/mcp")
        );
        assert_eq!(listening_on("starting\n"), None);
    }

    #[test]
    fn every_combination_is_checked_under_its_own_name() {
        let mut names: Vec<String> = checks().into_iter().map(|check| check.name).collect();
        let eras: usize = CLIENTS.iter().map(|client| client.eras.len()).sum();
        assert_eq!(names.len(), SUBJECTS.len() * TRANSPORTS.len() * eras);
        names.sort();
        names.dedup();
        assert_eq!(names.len(), checks().len());
    }

    #[test]
    fn answers_that_are_wrong_are_found() {
        let tools = json!(["current_time", "convert_time"]);
        let now =
            json!({"isError": false, "text": ["2026-01-01T00:00:00+09:00"], "structured": null});
        let converted = json!({"isError": false, "text": ["03:30"], "structured": null});
        let refused = json!({"error": {"code": -32602, "message": "no such tool"}});
        let right = [tools, now, converted, refused];
        assert_eq!(verify_time(&right), Ok(()));
        for wrong in 0..right.len() {
            let mut steps = right.clone();
            steps[wrong] = json!({"isError": false, "text": ["nothing"], "structured": null});
            assert!(verify_time(&steps).is_err(), "answer {wrong}");
        }
        assert!(verify_time(&right[..3]).is_err());
    }
}
