//! Servers under the official clients: both transports, both eras.
//!
//! Our own servers directly; then, with `carrick serve` between, our own once more and official
//! ones of either era.

use std::process::Command;

use serde_json::{Value, json};

use super::entries::{Official, entry};
use super::peers::Peers;
use super::{Check, NOTE, Rig, expect, printed, serving};
use crate::Result;

/// How a client opens the connection, and the revision that it must end with.
#[derive(Clone, Copy)]
struct Era {
    name: &'static str,
    revision: &'static str,
}

const LEGACY: Era = Era { name: "legacy", revision: "2025-11-25" };
const AUTO: Era = Era { name: "auto", revision: "2026-07-28" };
const ERAS: [Era; 3] = [LEGACY, Era { name: "modern", revision: "2026-07-28" }, AUTO];

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
pub(super) const TRANSPORTS: [&str; 2] = ["stdio", "http"];

/// A server, what is asked of it, and how its answers must look.
#[derive(Clone, Copy)]
struct Subject {
    server: &'static str,
    /// The command that starts it on stdin and stdout.
    command: fn(&Rig) -> Vec<String>,
    plan: fn(&Rig) -> Value,
    verify: fn(&[Value]) -> Result<()>,
}

const SUBJECTS: [Subject; 2] = [
    Subject {
        server: "time",
        command: |rig| own(rig, "time"),
        plan: time_plan,
        verify: verify_time,
    },
    Subject {
        server: "files",
        command: |rig| own(rig, "files"),
        plan: files_plan,
        verify: verify_files,
    },
];

/// An official server of each era.
const OFFICIAL: [Subject; 2] = [
    Subject {
        server: "official-everything",
        command: |rig| Official::Everything.command(rig),
        plan: everything_plan,
        verify: verify_everything,
    },
    Subject {
        server: "official-time",
        command: |rig| Official::Time.command(rig),
        plan: official_time_plan,
        verify: verify_official_time,
    },
];

/// What stands between client and server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    Nothing,
    Serve,
}

/// Every server with every client, transport and era; of the official servers, those eras
/// that differ.
pub(super) fn checks() -> Vec<Check> {
    let mut checks = Vec::new();
    let all = |_: &Era| true;
    for subject in SUBJECTS {
        add(&mut checks, "serve", subject, Between::Nothing, all);
        add(&mut checks, "through/serve", subject, Between::Serve, all);
    }
    for subject in OFFICIAL {
        add(&mut checks, "through/serve", subject, Between::Serve, |era| era.name != AUTO.name);
    }
    checks
}

fn add(
    checks: &mut Vec<Check>,
    kind: &str,
    subject: Subject,
    between: Between,
    wanted: impl Fn(&Era) -> bool,
) {
    for transport in TRANSPORTS {
        for client in CLIENTS {
            for &era in client.eras.iter().filter(|era| wanted(era)) {
                let (server, client_name) = (subject.server, client.name);
                let name = format!("{kind}/{server}/{transport}/{client_name}/{}", era.name);
                checks.push(Check::new(name, move |rig| {
                    check(rig, subject, between, transport, client, era)
                }));
            }
        }
    }
}

fn check(
    rig: &Rig,
    subject: Subject,
    between: Between,
    transport: &str,
    client: Client,
    era: Era,
) -> Result<()> {
    let mut server = (subject.command)(rig);
    if between == Between::Serve {
        server = serving::command(rig, entry(server))?;
    }
    let plan = (subject.plan)(rig).to_string();
    let mut client = (client.command)(&rig.peers);
    client.current_dir(&rig.folder).args(["--era", era.name, "--plan", &plan, transport]);
    let report = if transport == "http" {
        let (_served, url) = serving::listening(rig, server)?;
        printed(client.arg(url))?
    } else {
        printed(client.arg("--").args(server))?
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

/// The command of one of `carrick`'s own servers.
fn own(rig: &Rig, server: &str) -> Vec<String> {
    vec![rig.carrick.to_string_lossy().into_owned(), "server".into(), server.into()]
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

fn everything_plan(_: &Rig) -> Value {
    json!([
        {"list": "tools"},
        {"call": "echo", "arguments": {"message": "hello"}},
        {"read": "demo://resource/static/document/architecture.md"},
    ])
}

fn verify_everything(steps: &[Value]) -> Result<()> {
    let [tools, echo, resource] = steps else {
        return Err(format!("not three answers: {steps:?}"));
    };
    expect(holds(tools, "echo"), "a tool is missing", tools)?;
    expect(
        echo["isError"] != true && echo["text"].to_string().contains("Echo: hello"),
        "not the echo",
        echo,
    )?;
    expect(resource.to_string().contains("Everything Server"), "not the resource", resource)
}

fn official_time_plan(_: &Rig) -> Value {
    json!([
        {"list": "tools"},
        {"call": "convert_time", "arguments": {"source_timezone": "Asia/Tokyo", "time": "12:30", "target_timezone": "UTC"}},
        {"call": "convert_time", "arguments": {"source_timezone": "No/Where", "time": "12:30", "target_timezone": "UTC"}},
    ])
}

fn verify_official_time(steps: &[Value]) -> Result<()> {
    let [tools, converted, refused] = steps else {
        return Err(format!("not three answers: {steps:?}"));
    };
    expect(holds(tools, "convert_time"), "a tool is missing", tools)?;
    expect(
        converted["isError"] != true && converted.to_string().contains("03:30"),
        "12:30 in Tokyo is 03:30 UTC",
        converted,
    )?;
    expect(
        refused["error"].is_object() || refused["isError"] == true,
        "an unknown time zone was not refused",
        refused,
    )
}

fn holds(list: &Value, text: &str) -> bool {
    list.as_array().is_some_and(|items| items.iter().any(|item| item == text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_is_checked_under_its_own_name() {
        let mut names: Vec<String> = checks().into_iter().map(|check| check.name).collect();
        let eras: usize = CLIENTS.iter().map(|client| client.eras.len()).sum();
        let own = SUBJECTS.len() * TRANSPORTS.len() * eras;
        let without_auto = eras - CLIENTS.iter().filter(|client| client.eras.len() > 1).count();
        assert_eq!(names.len(), 2 * own + OFFICIAL.len() * TRANSPORTS.len() * without_auto);
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
