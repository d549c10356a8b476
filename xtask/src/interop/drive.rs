//! The official servers under our command line: `tools`, `call`, `read` and `doctor`; directly,
//! and through `carrick serve`.

use serde_json::{Value, json};

use super::entries::{Official, carrick, entry, json_lines, over_http, servers};
use super::serve::TRANSPORTS;
use super::{Check, LIMIT, NOTE, Rig, expect, printed, serving};
use crate::{Result, process};

/// A tool that a server must list, and a call of it.
#[derive(Clone, Copy)]
struct Target {
    server: Official,
    tool: &'static str,
    /// Arguments as the command line takes them; `{folder}` is filled in.
    arguments: &'static [&'static str],
    /// A part of the first text of the answer.
    answer: &'static str,
}

const EVERYTHING: Target = Target {
    server: Official::Everything,
    tool: "echo",
    arguments: &["message=hello"],
    answer: "Echo: hello",
};

const TARGETS: [Target; 4] = [
    EVERYTHING,
    Target {
        server: Official::Filesystem,
        tool: "read_text_file",
        arguments: &["path={folder}/note.txt"],
        answer: NOTE.1,
    },
    Target {
        server: Official::Time,
        tool: "convert_time",
        arguments: &["source_timezone=Asia/Tokyo", "time=12:30", "target_timezone=UTC"],
        answer: "03:30",
    },
    Target {
        server: Official::Git,
        tool: "git_log",
        arguments: &["repo_path={folder}"],
        answer: "a first note",
    },
];

/// Resources of the server of all features: one that it lists, and one of a template.
const RESOURCES: [(&str, &str, &str); 2] = [
    ("listed", "demo://resource/static/document/architecture.md", "Everything Server"),
    ("template", "demo://resource/dynamic/text/1", "Resource 1"),
];

/// For each server its tools and a call; the one that also serves HTTP twice, and its
/// resources; and all together.
pub(super) fn checks() -> Vec<Check> {
    let mut checks = Vec::new();
    for target in TARGETS {
        let name = |what: &str| format!("drive/{}/stdio/{what}", target.server.name());
        checks.push(Check::new(name("tools"), move |rig| tools(rig, target, &config(rig, target))));
        checks.push(Check::new(name("call"), move |rig| call(rig, target, &config(rig, target))));
    }
    checks.push(Check::new("drive/everything/http/tools", |rig| {
        over_http(rig, |entry| tools(rig, EVERYTHING, &json!({"everything": entry})))
    }));
    checks.push(Check::new("drive/everything/http/call", |rig| {
        over_http(rig, |entry| call(rig, EVERYTHING, &json!({"everything": entry})))
    }));
    for (name, uri, text) in RESOURCES {
        checks.push(Check::new(format!("drive/everything/stdio/read/{name}"), move |rig| {
            read(rig, uri, text, &config(rig, EVERYTHING))
        }));
        checks.push(Check::new(format!("drive/everything/http/read/{name}"), move |rig| {
            over_http(rig, |entry| read(rig, uri, text, &json!({"everything": entry})))
        }));
    }
    checks.push(Check::new("drive/filesystem/stdio/refusal", |rig| {
        refusal(rig, &servers(rig, &[Official::Filesystem]))
    }));
    checks.push(Check::new("drive/all/doctor", doctor));
    checks.extend(through());
    checks
}

/// All of it once more with `carrick serve` between, over each transport of its own.
fn through() -> Vec<Check> {
    let mut checks = Vec::new();
    for target in TARGETS {
        for transport in TRANSPORTS {
            let name = target.server.name();
            checks.push(Check::new(format!("through/drive/{name}/{transport}"), move |rig| {
                serving::between(rig, transport, target.server.entry(rig), |entry| {
                    everything_of(rig, target, &json!({name: entry}))
                })
            }));
        }
    }
    // Here the server behind is reached over HTTP, too.
    for transport in TRANSPORTS {
        let name = format!("through/drive/everything-http/{transport}");
        checks.push(Check::new(name, move |rig| {
            over_http(rig, |entry| {
                serving::between(rig, transport, entry, |entry| {
                    everything_of(rig, EVERYTHING, &json!({"everything": entry}))
                })
            })
        }));
    }
    checks.push(Check::new("through/drive/all/doctor", doctor_through));
    checks
}

/// Whatever the direct checks do with this server.
fn everything_of(rig: &Rig, target: Target, servers: &Value) -> Result<()> {
    tools(rig, target, servers)?;
    call(rig, target, servers)?;
    match target.server {
        Official::Everything => {
            RESOURCES.iter().try_for_each(|(_, uri, text)| read(rig, uri, text, servers))
        }
        Official::Filesystem => refusal(rig, servers),
        _ => Ok(()),
    }
}

/// The `mcpServers` of one target.
fn config(rig: &Rig, target: Target) -> Value {
    servers(rig, &[target.server])
}

fn tools(rig: &Rig, target: Target, servers: &Value) -> Result<()> {
    let printed = printed(carrick(rig, Some(servers))?.args(["tools", "--json"]))?;
    let lines = json_lines(&printed)?;
    let found = lines
        .iter()
        .find(|line| line["server"] == target.server.name() && line["name"] == target.tool);
    let Some(tool) = found else {
        return Err(format!(
            "{} is not among {} tools: {}",
            target.tool,
            lines.len(),
            json!(lines)
        ));
    };
    expect(
        tool["description"].is_string() && tool["inputSchema"]["type"] == "object",
        "the tool is not whole",
        tool,
    )
}

fn call(rig: &Rig, target: Target, servers: &Value) -> Result<()> {
    let folder = rig.folder.to_string_lossy();
    let arguments = target.arguments.iter().map(|argument| argument.replace("{folder}", &folder));
    let mut command = carrick(rig, Some(servers))?;
    command.args(["call", target.server.name(), target.tool]).args(arguments).arg("--json");
    let lines = json_lines(&printed(&mut command)?)?;
    let [result] = &lines[..] else { return Err(format!("not one line: {}", json!(lines))) };
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    expect(
        result["isError"] != true && text.contains(target.answer),
        &format!("the answer does not hold {:?}", target.answer),
        result,
    )
}

fn read(rig: &Rig, uri: &str, text: &str, servers: &Value) -> Result<()> {
    let printed = printed(carrick(rig, Some(servers))?.args(["read", "everything", uri]))?;
    expect(printed.contains(text), &format!("the resource does not hold {text:?}"), &printed)
}

/// A call whose arguments are right and that the tool fails all the same: the exit code
/// tells it from every other failure, and stdout has the result as it came.
fn refusal(rig: &Rig, servers: &Value) -> Result<()> {
    const TOOL_ERROR: i32 = 5;
    let mut command = carrick(rig, Some(servers))?;
    let path = format!("path={}", rig.folder.join("missing.txt").display());
    command.args(["call", "filesystem", "read_text_file", &path, "--json"]);
    let finished = process::finish(&mut command, LIMIT)?;
    let seen = format!(
        "status {:?}\nstdout: {}\nstderr: {}",
        finished.code, finished.stdout, finished.stderr
    );
    expect(
        finished.code == Some(TOOL_ERROR),
        "the exit code is not that of a tool's error",
        &seen,
    )?;
    let lines = json_lines(&finished.stdout)?;
    expect(
        lines.len() == 1 && lines[0]["isError"] == true,
        "the result does not say that it is an error",
        &seen,
    )
}

/// All servers at once, over both transports: each is well, and spoken to in its revision.
fn doctor(rig: &Rig) -> Result<()> {
    over_http(rig, |entry| {
        let mut all = servers(rig, &Official::ALL);
        all["remote"] = entry;
        let expected = Official::ALL.map(|server| (server.name(), server.revision()));
        are_well(rig, &all, expected.into_iter().chain([("remote", "2025-11-25")]))
    })
}

/// All servers, each behind a `carrick serve`. In which revision they are spoken to is not
/// said: where one takes long to start, its silence is taken for that of an old server.
fn doctor_through(rig: &Rig) -> Result<()> {
    let mut all = json!({});
    for server in Official::ALL {
        all[server.name()] = entry(serving::command(rig, server.entry(rig))?);
    }
    are_well(rig, &all, Official::ALL.map(|server| (server.name(), "")).into_iter())
}

fn are_well<'a>(
    rig: &Rig,
    servers: &Value,
    expected: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<()> {
    let printed = printed(carrick(rig, Some(servers))?.args(["doctor", "--json"]))?;
    let lines = json_lines(&printed)?;
    for (name, revision) in expected {
        let line = lines.iter().find(|line| line["check"] == "server" && line["name"] == name);
        let said = line.filter(|line| line["ok"] == true).and_then(|line| line["message"].as_str());
        expect(
            said.is_some_and(|said| said.contains(&format!("revision {revision}"))),
            &format!("{name} is not well at revision {revision}"),
            &printed,
        )?;
    }
    Ok(())
}
