//! A long list of tools, beside the very same bytes from a server that only sends them.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, Command, Stdio};

use serde_json::json;
use serde_json::value::RawValue;

use super::bars::Bars;
use super::generator::{CPU, Generator};
use super::options::Options;
use super::programs::{ADDRESS, example, program, scratch};
use crate::Result;

/// How long the list is.
const TOOLS: usize = 1000;

/// Measures over stdio and over HTTP.
pub(super) fn measure(options: &Options) -> Result<()> {
    const BAR: f64 = 1.5;
    let mut bars = Bars::default();
    for mode in options.modes() {
        let file = answer_in_file(mode, TOOLS)?;
        let defaults = [
            ("mode", mode),
            ("lists", "true"),
            ("sizes", ""),
            ("cold", "1"),
            ("window", "0"),
            ("conc", "1"),
        ];
        for (name, generator) in [("stdio", Generator::Stdio), ("HTTP", Generator::Http)] {
            println!("\n**{TOOLS} tools over {name}, mode {mode}**");
            let values = generator.run(options, &defaults, &servers(generator, &file))?;
            for scenario in values.scenarios(CPU) {
                let ratio = values.ratio(scenario, "carrick", "bare", CPU);
                bars.add(format!("{mode}, {name}: CPU, × bare"), ratio, BAR);
            }
        }
    }
    bars.print(&format!("lists of {TOOLS} tools"));
    Ok(())
}

fn servers(generator: Generator, file: &str) -> [String; 2] {
    let echo = example("echo");
    match generator {
        Generator::Stdio => [
            format!("bare={} --tools {file}", program("bare-stdio")),
            format!("carrick={echo} stdio --tools {TOOLS}"),
        ],
        Generator::Http => [
            format!("bare={} {ADDRESS} --tools {file}", program("bare-http")),
            format!("carrick={echo} http {ADDRESS} --tools {TOOLS}"),
        ],
    }
}

/// Writes what our server answers to `tools/list` with so many tools to a file: its path.
pub(super) fn answer_in_file(mode: &str, tools: usize) -> Result<String> {
    let file = scratch(&format!("tools-{mode}-{tools}.json"))?;
    let result = answer(mode, tools)?;
    fs::write(&file, result).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file.display().to_string())
}

/// The result as it was sent, byte for byte; an error unless it is the whole list.
fn answer(mode: &str, tools: usize) -> Result<String> {
    let failed = |why: String| format!("the first list of {tools} tools: {why}");
    let mut command = Command::new(example("echo"));
    command.args(["stdio", "--tools", &tools.to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let (stdin, stdout) = child.stdin.take().zip(child.stdout.take()).ok_or("no pipes")?;
    let answered = ask(stdin, mode).and_then(|stdin| {
        let lines = BufReader::new(stdout).lines().map_while(std::io::Result::ok);
        let result = lines.filter_map(|line| result_of(&line)).find(|result| is_list(result));
        drop(stdin);
        result.ok_or_else(|| failed("there was none".into()))
    });
    // The end of its input ends it.
    child.wait().map_err(|error| failed(error.to_string()))?;
    let result = answered?;
    let list: serde_json::Value =
        serde_json::from_str(&result).map_err(|error| failed(error.to_string()))?;
    match list["tools"].as_array().map(Vec::len) {
        Some(count) if count == tools => Ok(result),
        count => Err(failed(format!("{count:?} came on the first page"))),
    }
}

/// Asks for the list in a mode; gives the pipe back so that it stays open.
fn ask(mut stdin: ChildStdin, mode: &str) -> Result<ChildStdin> {
    let client = json!({"name": "bench", "version": "0.0.0"});
    let mut messages = Vec::new();
    let mut params = json!({});
    if mode == "legacy" {
        let open =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        messages.push(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": open}));
        messages.push(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    } else {
        params = json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": client,
            "io.modelcontextprotocol/clientCapabilities": {},
        }});
    }
    messages.push(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": params}));
    for message in messages {
        writeln!(stdin, "{message}").map_err(|error| format!("the echo server: {error}"))?;
    }
    Ok(stdin)
}

/// The bytes of the result in an answer.
fn result_of(line: &str) -> Option<String> {
    let members: std::collections::BTreeMap<&str, &RawValue> = serde_json::from_str(line).ok()?;
    members.get("result").map(|result| result.get().to_owned())
}

fn is_list(result: &str) -> bool {
    result.contains("\"tools\":[")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_taken_as_it_was_sent() {
        let line = r#"{"jsonrpc":"2.0","id":2,"result":{ "tools":[ {"name":"a"} ]}}"#;
        let result = result_of(line).unwrap();
        assert_eq!(result, r#"{ "tools":[ {"name":"a"} ]}"#);
        assert!(is_list(&result));
        assert!(!is_list(r#"{"capabilities":{"tools":{}}}"#));
        assert_eq!(result_of(r#"{"jsonrpc":"2.0","method":"x"}"#), None);
    }
}
