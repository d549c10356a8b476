//! A stdio server that misbehaves, each time in one way.
//!
//! It is written without the SDK, which would not let it. It speaks the newest revision with a
//! handshake and refuses the probe, so that it also stands for the many servers that know nothing
//! newer.

mod steers;
mod wire;

use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;
use std::str::FromStr;
use wire::Wire;

/// In which way the server misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Says why on stderr and exits with 7 before it has read anything.
    Exits,
    /// Exits with 9 on a message that it does not know, such as the probe. Adds a line to the
    /// file that is its first argument each time it is started.
    Fragile,
    /// Reads everything and never answers.
    Mute,
    /// Answers all but calls, of which it only tells on stderr.
    Silent,
    /// Exits with 3 on a call of `die`, once as many calls of `hold` are pending as the call's
    /// argument `after` says. `hold` is never answered, `echo` at once.
    Dies,
    /// Prints what is no message on stdout, before and between its messages: the lines of the
    /// file that is its first argument, whose answers get the ids that were asked. Writes every
    /// line it reads to the file that is its second.
    Noisy,
    /// Writes 256 KiB to stderr before its first answer and 1 MiB within each call.
    Floods,
    /// Pings before it answers the probe and the handshake, and waits for the answers.
    Pings,
    /// Puts what steers a terminal into every text that it writes, stderr too.
    Steers,
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "exits" => Self::Exits,
            "fragile" => Self::Fragile,
            "mute" => Self::Mute,
            "silent" => Self::Silent,
            "dies" => Self::Dies,
            "noisy" => Self::Noisy,
            "floods" => Self::Floods,
            "pings" => Self::Pings,
            "steers" => Self::Steers,
            _ => return Err(format!("no such fault: {text:?}")),
        })
    }
}

/// Serves on stdin and stdout until stdin ends or the fault ends it.
///
/// # Errors
/// When stdin, stdout or a file of the arguments fails.
pub fn run(fault: Fault, arguments: &[&str]) -> io::Result<ExitCode> {
    let mut wire = Wire::new();
    match fault {
        Fault::Exits => {
            wire.complain("first line of many");
            wire.complain("cannot open the database: no such file");
            return Ok(ExitCode::from(7));
        }
        Fault::Fragile => {
            let [started] = arguments else { return Err(io::ErrorKind::InvalidInput.into()) };
            return fragile(&mut wire, started);
        }
        Fault::Mute => {
            wire.complain("reading, and thinking about it");
            while wire.read()?.is_some() {}
        }
        Fault::Silent => silent(&mut wire)?,
        Fault::Dies => return dies(&mut wire),
        Fault::Noisy => {
            let [played, heard] = arguments else { return Err(io::ErrorKind::InvalidInput.into()) };
            noisy(&mut wire, played, heard)?;
        }
        Fault::Floods => floods(&mut wire)?,
        Fault::Pings => pings(&mut wire)?,
        Fault::Steers => return steers::run(&mut wire),
    }
    Ok(ExitCode::SUCCESS)
}

fn fragile(wire: &mut Wire, started: &str) -> io::Result<ExitCode> {
    writeln!(File::options().create(true).append(true).open(started)?, "started")?;
    while let Some(message) = wire.read()? {
        match message["method"].as_str() {
            Some("tools/call") => wire.result(&message["id"], &said(&json!("alive")))?,
            Some("server/discover") => {
                wire.complain("unknown method");
                return Ok(ExitCode::from(9));
            }
            _ => common(wire, &message, &["live"])?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn silent(wire: &mut Wire) -> io::Result<()> {
    while let Some(message) = wire.read()? {
        match message["method"].as_str() {
            Some("tools/call") => wire.complain("the backend does not answer"),
            _ => common(wire, &message, &["wait"])?,
        }
    }
    Ok(())
}

fn dies(wire: &mut Wire) -> io::Result<ExitCode> {
    let (mut held, mut after) = (0, None);
    while let Some(message) = wire.read()? {
        let arguments = &message["params"]["arguments"];
        match message["params"]["name"].as_str() {
            Some("hold") => held += 1,
            Some("die") => after = Some(arguments["after"].as_u64().unwrap_or(0)),
            Some("echo") => wire.result(&message["id"], &said(&arguments["t"]))?,
            _ => common(wire, &message, &["die", "hold", "echo"])?,
        }
        if after.is_some_and(|after| held >= after) {
            for line in 1..=20 {
                wire.complain(&format!("stack frame {line}"));
            }
            wire.complain("panic: 内存不足");
            return Ok(ExitCode::from(3));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn noisy(wire: &mut Wire, played: &str, heard: &str) -> io::Result<()> {
    wire.keep(heard)?;
    let played = std::fs::read_to_string(played)?;
    let mut lines = played.lines().peekable();
    while let Some(line) = lines.next_if(|line| answer(line).is_none()) {
        wire.line(line)?;
    }
    while let Some(message) = wire.read()? {
        if message["id"].is_null() {
            continue;
        }
        if message["method"] == "server/discover" {
            wire.refuse(&message["id"])?;
            continue;
        }
        for line in lines.by_ref() {
            let Some(mut answer) = answer(line) else {
                wire.line(line)?;
                continue;
            };
            answer["id"] = message["id"].clone();
            wire.line(&answer.to_string())?;
            break;
        }
    }
    Ok(())
}

/// The message on this line, unless it is noise.
fn answer(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok().filter(|value: &Value| value["jsonrpc"].is_string())
}

fn floods(wire: &mut Wire) -> io::Result<()> {
    let line = "x".repeat(1023);
    let flood = |wire: &mut Wire, kibibytes: usize| {
        (0..kibibytes).for_each(|_| wire.complain(&line));
    };
    flood(wire, 256);
    while let Some(message) = wire.read()? {
        match message["method"].as_str() {
            Some("tools/call") => {
                flood(wire, 1024);
                wire.result(&message["id"], &said(&json!("still here")))?;
            }
            _ => common(wire, &message, &["flood"])?,
        }
    }
    Ok(())
}

fn pings(wire: &mut Wire) -> io::Result<()> {
    let mut answered = 0;
    while let Some(message) = wire.read()? {
        let id = format!("ping {answered}");
        match message["method"].as_str() {
            Some("server/discover" | "initialize") => {
                wire.line(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string())?;
                let pong = wire.read()?.unwrap_or_default();
                if pong["id"] != id || !pong["result"].is_object() {
                    wire.complain(&format!("expected an answer to {id}, got {pong}"));
                    return Ok(());
                }
                answered += 1;
                common(wire, &message, &[])?;
            }
            Some("tools/call") => {
                let text = json!(format!("{answered} pings were answered"));
                wire.result(&message["id"], &said(&text))?;
            }
            _ => common(wire, &message, &["pinged"])?,
        }
    }
    Ok(())
}

/// What every one of these servers answers: the handshake, the probe's refusal, the tools.
fn common(wire: &mut Wire, message: &Value, tools: &[&str]) -> io::Result<()> {
    let id = &message["id"];
    match message["method"].as_str() {
        _ if id.is_null() => Ok(()),
        Some("initialize") => wire.result(
            id,
            &json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "faulty", "version": "0" },
            }),
        ),
        Some("ping") => wire.result(id, &json!({})),
        Some("tools/list") => {
            let tools: Vec<Value> = tools
                .iter()
                .map(|name| json!({ "name": name, "inputSchema": { "type": "object" } }))
                .collect();
            wire.result(id, &json!({ "tools": tools }))
        }
        _ => wire.refuse(id),
    }
}

fn said(text: &Value) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}
