//! Instructions in user space for each call over stdio, counted by valgrind: free of noise.

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::json;

use crate::{Result, process};

/// The sizes of the echoed text, and two numbers of calls: the difference of a long and a
/// short run leaves the start out.
const RUNS: [(usize, u64, u64); 2] = [(100, 1000, 3000), (10_240, 100, 300)];

/// Prints a table of the servers, each given as `NAME=COMMAND`.
pub(super) fn measure(servers: &[String]) -> Result<()> {
    if !process::probe("valgrind", &["--version"]) {
        return Err(
            "valgrind is needed to count instructions; install it with your package manager".into(),
        );
    }
    println!("\n**user-space instructions for a call over stdio**\n");
    println!(
        "| server | {} |\n|---|---|---|",
        RUNS.map(|(size, ..)| format!("{size} bytes")).join(" | ")
    );
    for server in servers {
        let (name, command) =
            server.split_once('=').ok_or_else(|| format!("{server:?} is not NAME=COMMAND"))?;
        let mut cells = Vec::new();
        for (size, short, long) in RUNS {
            let text = "x".repeat(size);
            let extra = instructions(command, &text, long)?
                .saturating_sub(instructions(command, &text, short)?);
            cells.push((extra / (long - short)).to_string());
        }
        println!("| {name} | {} |", cells.join(" | "));
    }
    Ok(())
}

/// All instructions of a server that echoes a text so many times.
fn instructions(command: &str, text: &str, calls: u64) -> Result<u64> {
    let failed = |what: &str| format!("`{command}` under valgrind: {what}");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).args(command.split(' '));
    valgrind.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = valgrind.spawn().map_err(|error| failed(&error.to_string()))?;
    let writer = write_calls(&mut child, text.to_owned(), calls);
    let answers = child.stdout.take().map_or(0, |pipe| {
        BufReader::new(pipe)
            .lines()
            .map_while(|line| line.ok())
            .filter(|line| line.contains("\"result\""))
            .count()
    });
    let report = child.wait_with_output().map_err(|error| failed(&error.to_string()))?;
    writer
        .and_then(|writer| writer.join().ok())
        .ok_or_else(|| failed("nothing could be written"))?;
    let report = String::from_utf8_lossy(&report.stderr).into_owned();
    // One more for the answer to `initialize`.
    if answers as u64 != calls + 1 {
        return Err(failed(&format!("{answers} answers to {} requests\n{report}", calls + 1)));
    }
    collected(&report).ok_or_else(|| failed(&format!("no count in its report\n{report}")))
}

/// Writes the handshake and the calls from a thread, since the answers are read meanwhile.
fn write_calls(child: &mut Child, text: String, calls: u64) -> Option<thread::JoinHandle<()>> {
    let mut stdin = child.stdin.take()?;
    Some(thread::spawn(move || {
        let client = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "load", "version": "0.0.0"}});
        let head = [
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        ];
        let call = |id: u64| json!({"jsonrpc": "2.0", "id": id + 10, "method": "tools/call", "params": {"name": "echo", "arguments": {"message": text}}});
        for message in head.into_iter().chain((0..calls).map(call)) {
            // A server that ends early is found out by the number of its answers.
            if writeln!(stdin, "{message}").is_err() {
                return;
            }
        }
    }))
}

/// The count in callgrind's report: the line `==1== Collected : 12345`.
fn collected(report: &str) -> Option<u64> {
    let (_, count) = report.lines().find_map(|line| line.split_once("Collected :"))?;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::collected;

    #[test]
    fn the_count_is_read_from_the_report() {
        assert_eq!(collected("==7== Events    : Ir\n==7== Collected : 123456\n"), Some(123_456));
        assert_eq!(collected("==7== Events    : Ir\n"), None);
    }
}
