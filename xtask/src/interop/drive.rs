//! The official servers under our command line: `carrick tools` and `carrick call`.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::served::{Served, free_port};
use super::{Check, NOTE, Rig, expect, printed};
use crate::Result;

/// A server, a tool that it must list, and a call of it.
#[derive(Clone, Copy)]
struct Target {
    name: &'static str,
    /// The entry of `mcpServers`.
    entry: fn(&Rig) -> Value,
    tool: &'static str,
    /// Arguments as the command line takes them; `{folder}` is filled in.
    arguments: &'static [&'static str],
    /// A part of the first text of the answer.
    answer: &'static str,
}

/// The servers that `carrick` starts itself. The two from Python speak the newest
/// revision, the two from npm an older one.
const STDIO: [Target; 4] = [
    Target {
        name: "everything",
        entry: everything,
        tool: "echo",
        arguments: &["message=hello"],
        answer: "Echo: hello",
    },
    Target {
        name: "filesystem",
        entry: filesystem,
        tool: "read_text_file",
        arguments: &["path={folder}/note.txt"],
        answer: NOTE.1,
    },
    Target {
        name: "time",
        entry: |rig| entry(rig.peers.python_server("mcp-server-time")),
        tool: "convert_time",
        arguments: &["source_timezone=Asia/Tokyo", "time=12:30", "target_timezone=UTC"],
        answer: "03:30",
    },
    Target {
        name: "git",
        entry: |rig| entry(rig.peers.python_server("mcp-server-git")),
        tool: "git_log",
        arguments: &["repo_path={folder}"],
        answer: "a first note",
    },
];

/// For each server its tools and a call; the one that also serves HTTP twice.
pub(super) fn checks() -> Vec<Check> {
    let mut checks = Vec::new();
    for target in STDIO {
        checks.push(Check::new(format!("drive/{}/stdio/tools", target.name), move |rig| {
            tools(rig, target, &(target.entry)(rig))
        }));
        checks.push(Check::new(format!("drive/{}/stdio/call", target.name), move |rig| {
            call(rig, target, &(target.entry)(rig))
        }));
    }
    let [target, ..] = STDIO;
    checks.push(Check::new("drive/everything/http/tools", move |rig| {
        over_http(rig, |entry| tools(rig, target, entry))
    }));
    checks.push(Check::new("drive/everything/http/call", move |rig| {
        over_http(rig, |entry| call(rig, target, entry))
    }));
    checks.push(Check::new("drive/everything/stdio/refusal", refusal));
    checks
}

fn entry(command: Vec<String>) -> Value {
    json!({"command": command.first(), "args": command.get(1..)})
}

fn everything(rig: &Rig) -> Value {
    entry(rig.peers.node_server("mcp-server-everything"))
}

fn filesystem(rig: &Rig) -> Value {
    let mut command = rig.peers.node_server("mcp-server-filesystem");
    command.push(rig.folder.to_string_lossy().into_owned());
    entry(command)
}

fn over_http(rig: &Rig, check: impl Fn(&Value) -> Result<()>) -> Result<()> {
    let port = free_port()?;
    let [program, script] = &rig.peers.node_server("mcp-server-everything")[..] else {
        return Err("a server from npm is started by node".into());
    };
    let mut server = Command::new(program);
    server.args([script, "streamableHttp"]).env("PORT", port.to_string());
    let (_served, ()) =
        Served::start(&mut server, |line| line.contains("listening on port").then_some(()))?;
    check(&json!({"type": "http", "url": format!("http://127.0.0.1:{port}/mcp")}))
}

/// `carrick --config FILE …` with one server in the file.
pub(super) fn carrick(rig: &Rig, name: &str, entry: &Value) -> Result<Command> {
    let config = rig.folder.join(format!("{name}.mcp.json"));
    let text = json!({"mcpServers": {name: entry}}).to_string();
    fs::write(&config, text)
        .map_err(|error| format!("cannot write {}: {error}", config.display()))?;
    let mut command = Command::new(&rig.carrick);
    command.current_dir(&rig.folder).arg("--config").arg(config);
    Ok(command)
}

fn tools(rig: &Rig, target: Target, entry: &Value) -> Result<()> {
    let lines = json_lines(&printed(carrick(rig, target.name, entry)?.args(["tools", "--json"]))?)?;
    let found =
        lines.iter().find(|line| line["server"] == target.name && line["name"] == target.tool);
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

fn call(rig: &Rig, target: Target, entry: &Value) -> Result<()> {
    let folder = rig.folder.to_string_lossy();
    let arguments = target.arguments.iter().map(|argument| argument.replace("{folder}", &folder));
    let mut command = carrick(rig, target.name, entry)?;
    let lines = json_lines(&printed(
        command.args(["call", target.name, target.tool]).args(arguments).arg("--json"),
    )?)?;
    let [result] = &lines[..] else { return Err(format!("not one line: {}", json!(lines))) };
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    expect(
        result["isError"] != true && text.contains(target.answer),
        &format!("the answer does not hold {:?}", target.answer),
        result,
    )
}

/// A tool's own error gives its text and the exit code that PRODUCT promises for it.
fn refusal(rig: &Rig) -> Result<()> {
    const TOOL_ERROR: i32 = 5;
    let mut command = carrick(rig, "everything", &everything(rig))?;
    command.args(["call", "everything", "get-sum", "a=one", "b=2", "--json"]);
    let finished = crate::process::finish(&mut command, super::LIMIT)?;
    let seen = format!(
        "status {:?}\nstdout: {}\nstderr: {}",
        finished.code, finished.stdout, finished.stderr
    );
    expect(finished.code == Some(TOOL_ERROR), "the exit code is not that of a tool's error", &seen)
}

/// What `--json` prints: one value a line.
pub(super) fn json_lines(text: &str) -> Result<Vec<Value>> {
    let parse = |line: &str| {
        serde_json::from_str(line).map_err(|error| format!("{line:?} is not JSON: {error}"))
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_one_by_one() {
        assert_eq!(json_lines("{\"a\":1}\n\n[2]\n"), Ok(vec![json!({"a": 1}), json!([2])]));
        assert!(json_lines("{\"a\":1}\nlog\n").is_err());
    }

    #[test]
    fn an_entry_splits_the_program_from_its_arguments() {
        assert_eq!(
            entry(vec!["node".into(), "a.js".into(), "b".into()]),
            json!({"command": "node", "args": ["a.js", "b"]})
        );
        assert_eq!(entry(vec!["a".into()]), json!({"command": "a", "args": []}));
    }
}
