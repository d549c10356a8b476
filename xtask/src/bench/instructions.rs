//! Instructions in user space for each call over stdio, counted by valgrind: free of noise.

use std::io::{BufRead, BufReader, Write as _};
use std::process::{ChildStdin, Command, Stdio};
use std::thread;

use serde_json::json;

use super::options::Options;
use super::programs::stdio_servers;
use crate::{Result, process};

/// The sizes of the echoed text, and two numbers of calls: the difference of a long and a
/// short run leaves the start out.
const RUNS: [(usize, u64, u64); 2] = [(100, 1000, 3000), (10_240, 100, 300)];

/// What is echoed, again and again: as the load generators do, one escape in 80 characters.
const TEXT: &str =
    "The quick brown fox jumps over the lazy dog and then it runs back home 0123456\n";

/// How long a run may take before `timeout` ends it. Valgrind makes all about 50 times slower.
const LIMIT_SECONDS: &str = "300";

/// Prints a table of the servers that no interpreter runs.
pub(super) fn measure(options: &Options) -> Result<()> {
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
    let mut failures = Vec::new();
    let servers = stdio_servers(options.others.native());
    for server in &servers {
        let (name, command) =
            server.split_once('=').ok_or_else(|| format!("{server:?} is not NAME=COMMAND"))?;
        match row(command) {
            Ok(cells) => println!("| {name} | {} |", cells.join(" | ")),
            Err(why) => failures.push(format!("- {name}: {why}")),
        }
    }
    if !failures.is_empty() {
        println!("\nFailed:\n\n{}", failures.join("\n"));
    }
    Ok(())
}

/// The instructions for one call, by size.
fn row(command: &str) -> Result<Vec<String>> {
    let cell = |(size, short, long)| {
        let text: String = TEXT.chars().cycle().take(size).collect();
        let extra = instructions(command, &text, long)?
            .saturating_sub(instructions(command, &text, short)?);
        Ok((extra / (long - short)).to_string())
    };
    RUNS.into_iter().map(cell).collect()
}

/// All instructions of a server that echoes a text so many times.
fn instructions(command: &str, text: &str, calls: u64) -> Result<u64> {
    let failed = |what: &str| format!("`{command}` under valgrind: {what}");
    let mut valgrind = Command::new("timeout");
    valgrind.args([LIMIT_SECONDS, "valgrind", "--tool=callgrind"]);
    valgrind.arg("--callgrind-out-file=/dev/null").args(command.split(' '));
    valgrind.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = valgrind.spawn().map_err(|error| failed(&error.to_string()))?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(failed("it has no pipes"));
    };
    let writer = thread::spawn({
        let text = text.to_owned();
        move || write_calls(stdin, &text, calls)
    });
    // One more for the answer to `initialize`. The input stays open until all are there:
    // some servers drop what they have not answered when it closes.
    let expected = calls + 1;
    let lines = BufReader::new(stdout).lines().map_while(std::io::Result::ok);
    let (answers, refusal) = count_results(lines, expected);
    drop(writer.join());
    let report = child.wait_with_output().map_err(|error| failed(&error.to_string()))?;
    let report = String::from_utf8_lossy(&report.stderr).into_owned();
    if let Some(refusal) = refusal {
        return Err(failed(&refusal));
    }
    if answers != expected {
        return Err(failed(&format!("{answers} answers to {expected} requests\n{report}")));
    }
    collected(&report).ok_or_else(|| failed(&format!("no count in its report\n{report}")))
}

/// Counts up to so many results; an error ends the count and is given as well.
fn count_results(lines: impl Iterator<Item = String>, most: u64) -> (u64, Option<String>) {
    let mut count = 0;
    for line in lines {
        if line.contains("\"result\"") {
            count += 1;
        } else if line.contains("\"error\"") {
            return (count, Some(line));
        }
        if count == most {
            break;
        }
    }
    (count, None)
}

/// Writes the handshake and the calls; gives the pipe back so that it stays open.
fn write_calls(mut stdin: ChildStdin, text: &str, calls: u64) -> ChildStdin {
    let client = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "load", "version": "0.0.0"}});
    let head = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    let call = |number: u64| {
        let params = json!({"name": "echo", "arguments": {"message": text}});
        json!({"jsonrpc": "2.0", "id": number + 10, "method": "tools/call", "params": params})
    };
    for message in head.into_iter().chain((0..calls).map(call)) {
        // In one piece, as clients write; a server that ends early is found out by the
        // number of its answers.
        if stdin.write_all(format!("{message}\n").as_bytes()).is_err() {
            break;
        }
    }
    stdin
}

/// The count in callgrind's report: the line `==1== Collected : 12345`.
fn collected(report: &str) -> Option<u64> {
    let (_, count) = report.lines().find_map(|line| line.split_once("Collected :"))?;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{collected, count_results};

    #[test]
    fn results_are_counted_until_all_are_there_or_one_is_refused() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>().into_iter();
        let [result, notice, error] = [r#"{"result":{}}"#, r#"{"method":"a"}"#, r#"{"error":{}}"#];
        let enough = format!("{result}\n{notice}\n{result}\n{error}");
        assert_eq!(count_results(lines(&enough), 2), (2, None));
        assert_eq!(count_results(lines(&enough), 3), (2, Some(error.to_owned())));
        assert_eq!(count_results(lines(result), 2), (1, None));
    }

    #[test]
    fn the_count_is_read_from_the_report() {
        assert_eq!(collected("==7== Events    : Ir\n==7== Collected : 123456\n"), Some(123_456));
        assert_eq!(collected("==7== Events    : Ir\n"), None);
    }
}
