//! One entry of `mcpServers`.

use std::collections::BTreeSet;
use std::time::Duration;

use super::super::error::{Fault, Located};
use super::super::template::{LaunchTemplate, ServerTemplate, SessionUse, Text};
use super::keys::{Foreign, Table, invalid, nearest};
use carrick_policy::json::Node;

const KEYS: &[&str] = &[
    "type", "command", "args", "env", "cwd", "url", "headers", "name", "disabled", "timeout",
    "session",
];

/// Types that Carrick knows of and does not drive yet.
const LATER: &[&str] = &["xml-stdio", "xml-sse", "ws", "websocket", "nats"];

/// The longest time that may be set: one day, in milliseconds.
pub(super) const MAX_MILLIS: u64 = 24 * 60 * 60 * 1000;

const FOREIGN: &[Foreign] = &[
    Foreign("autoApprove", "name the tools in \"permissions\", \"allow\", at the top of the file"),
    Foreign("alwaysAllow", "name the tools in \"permissions\", \"allow\", at the top of the file"),
    Foreign("trust", "name the tools in \"permissions\", \"allow\", at the top of the file"),
    Foreign("disabledTools", "name the tools in \"permissions\", \"deny\", at the top of the file"),
    Foreign("excludeTools", "name the tools in \"permissions\", \"deny\", at the top of the file"),
    Foreign("enabled", "write \"disabled\": true for a server that must not start"),
    Foreign("transport", "the key is \"type\""),
    Foreign("serverUrl", "the key is \"url\""),
    Foreign("httpUrl", "the key is \"url\""),
    Foreign("envFile", "files of variables are not read; name the variables in \"env\""),
    Foreign("cmd", "the key is \"command\""),
    Foreign("envs", "the key is \"env\""),
];

/// How a server is reached.
enum Kind {
    Child,
    Http { sse: bool },
    Builtin,
    Later(Text),
}

pub(super) fn read(node: &Node) -> Result<ServerTemplate, Located> {
    let entry = Table::new(node, "a server", "server")?;
    let kind = kind(&entry, node.at)?;
    if !matches!(kind, Kind::Later(_)) {
        entry.check_keys(KEYS, FOREIGN)?;
    }
    let launch = match kind {
        Kind::Child => child(&entry, node.at)?,
        Kind::Http { sse } => http(&entry, node.at, sse)?,
        Kind::Builtin => builtin(&entry, node.at)?,
        // Its keys are not judged: which ones there will be is not known yet.
        Kind::Later(kind) => LaunchTemplate::Later { kind },
    };
    let timeout = entry.count("timeout", MAX_MILLIS)?.map(Duration::from_millis);
    let disabled = entry.flag("disabled")?;
    let session = session(&entry)?;
    Ok(ServerTemplate { launch, disabled, timeout, session })
}

/// What calls share that come to a gateway without a session.
fn session(entry: &Table<'_>) -> Result<SessionUse, Located> {
    let Some(text) = entry.text("session")? else { return Ok(SessionUse::default()) };
    match &*text.raw {
        "per-call" => Ok(SessionUse::PerCall),
        "shared" => Ok(SessionUse::Shared),
        _ => Err(invalid(
            &text,
            "this is \"per-call\" (each call of a client without a session has one of its own) or \"shared\"",
        )),
    }
}

/// What `type` says; without it, `command` and `url` tell.
fn kind(entry: &Table<'_>, at: usize) -> Result<Kind, Located> {
    let Some(text) = entry.text("type")? else {
        return match (entry.has("command"), entry.has("url")) {
            (true, false) => Ok(Kind::Child),
            (false, true) => Ok(Kind::Http { sse: false }),
            (true, true) => Err(apart(at, "\"command\" and \"url\" exclude each other")),
            (false, false) => {
                entry.check_keys(KEYS, FOREIGN)?;
                Err(apart(at, "a server needs \"command\" (a program) or \"url\" (an address)"))
            }
        };
    };
    match &*text.raw {
        "stdio" => Ok(Kind::Child),
        "http" | "streamable-http" => Ok(Kind::Http { sse: false }),
        "sse" => Ok(Kind::Http { sse: true }),
        "builtin" => Ok(Kind::Builtin),
        later if LATER.contains(&later) => Ok(Kind::Later(text)),
        other => Err(invalid(&text, unknown_type(other))),
    }
}

fn unknown_type(found: &str) -> String {
    let known = ["stdio", "http", "streamable-http", "sse", "builtin"];
    let found_shown = carrick_policy::quoted(found);
    match nearest(found, &known) {
        Some(near) => format!("{found_shown} is no type of server; did you mean \"{near}\"?"),
        None => format!("{found_shown} is no type of server; known are {}", known.join(", ")),
    }
}

fn child(entry: &Table<'_>, at: usize) -> Result<LaunchTemplate, Located> {
    forbid(entry, at, &["url", "headers"], "\"url\" and \"headers\" are for type \"http\"")?;
    forbid(entry, at, &["name"], "\"name\" is for type \"builtin\"")?;
    let Some(command) = entry.text("command")? else {
        return Err(apart(at, "type \"stdio\" needs \"command\": the program to start"));
    };
    if command.raw.is_empty() {
        return Err(invalid(&command, "a program is needed"));
    }
    let env = entry.text_map("env")?;
    for (name, value) in &env {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(invalid(value, "this is not a name for an environment variable"));
        }
    }
    let (args, cwd) = (entry.texts("args")?, entry.text("cwd")?);
    Ok(LaunchTemplate::Child { command, args, env, cwd })
}

fn http(entry: &Table<'_>, at: usize, sse: bool) -> Result<LaunchTemplate, Located> {
    let keys = &["command", "args", "env", "cwd"];
    forbid(entry, at, keys, "\"command\", \"args\", \"env\" and \"cwd\" are for type \"stdio\"")?;
    forbid(entry, at, &["name"], "\"name\" is for type \"builtin\"")?;
    let Some(url) = entry.text("url")? else {
        return Err(apart(
            at,
            "types \"http\" and \"sse\" need \"url\": the address of the server",
        ));
    };
    let headers = entry.text_map("headers")?;
    let mut seen = BTreeSet::new();
    for (name, value) in &headers {
        if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(invalid(value, "this is not a name for a header"));
        }
        if !seen.insert(name.to_ascii_lowercase()) {
            return Err(invalid(value, "the same header stands here in another spelling"));
        }
    }
    Ok(LaunchTemplate::Http { url, headers, sse })
}

fn builtin(entry: &Table<'_>, at: usize) -> Result<LaunchTemplate, Located> {
    let keys = &["command", "env", "cwd", "url", "headers"];
    forbid(entry, at, keys, "a server of type \"builtin\" has a \"name\" and \"args\" only")?;
    let Some(name) = entry.text("name")? else {
        return Err(apart(at, "type \"builtin\" needs \"name\": \"time\" or \"files\""));
    };
    let args = entry.texts("args")?;
    let most = match &*name.raw {
        "time" => 0,
        "files" => 1,
        _ => {
            return Err(invalid(
                &name,
                "no such built-in server; there are \"time\" and \"files\"",
            ));
        }
    };
    if let Some(extra) = args.get(most) {
        let takes = if most == 0 { "takes no arguments" } else { "takes one argument, the folder" };
        return Err(invalid(extra, format!("the built-in server \"{}\" {takes}", name.raw)));
    }
    Ok(LaunchTemplate::Builtin { name: name.raw, args })
}

fn forbid(entry: &Table<'_>, at: usize, keys: &[&str], why: &'static str) -> Result<(), Located> {
    match keys.iter().find_map(|key| entry.node(key)) {
        Some(node) => Err(apart(node.at.max(at), why)),
        None => Ok(()),
    }
}

fn apart(at: usize, why: &'static str) -> Located {
    Located { at, fault: Fault::Combination(why) }
}
