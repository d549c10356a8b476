//! Echo servers under load: in general, from their start, and as event streams.

use super::bars::Bars;
use super::generator::{Generator, P50};
use super::options::Options;
use super::programs::{ADDRESS, example, http_servers, stdio_servers};
use crate::Result;

/// Wall time, processor time and memory over stdio.
pub(super) fn stdio(options: &Options) -> Result<()> {
    Generator::Stdio.run(options, &[], &stdio_servers(options.others.stdio())).map(drop)
}

/// The same over HTTP.
pub(super) fn http(options: &Options) -> Result<()> {
    Generator::Http.run(options, &[], &http_servers(options.others.http())).map(drop)
}

/// Idle sessions: what each costs in memory.
pub(super) fn sessions(options: &Options) -> Result<()> {
    let defaults = [("rounds", "1"), ("sizes", ""), ("sessions", "1000,10000")];
    Generator::Http.run(options, &defaults, &http_servers(options.others.http())).map(drop)
}

/// From the start of a program to its first list of tools, many times.
pub(super) fn cold(options: &Options) -> Result<()> {
    const BAR: f64 = 1.6;
    const METRIC: &str = "cold ms";
    let mut bars = Bars::default();
    for mode in options.modes() {
        println!("\n**cold starts, mode {mode}**");
        let defaults = [("mode", mode), ("cold", "20"), ("sizes", "")];
        let values =
            Generator::Stdio.run(options, &defaults, &stdio_servers(options.others.stdio()))?;
        for scenario in values.scenarios(METRIC) {
            let ratio = values.ratio(scenario, "carrick", "bare", METRIC);
            bars.add(format!("{mode}: carrick, × bare"), ratio, BAR);
        }
    }
    bars.print("cold starts");
    Ok(())
}

/// Answers as event streams beside answers as JSON, of the same server.
pub(super) fn sse(options: &Options) -> Result<()> {
    const BAR: f64 = 1.5;
    let command = format!("{} http {ADDRESS} --events", example("echo"));
    let servers = [format!("json={command}"), format!("sse!echo_events={command}")];
    let mut bars = Bars::default();
    for mode in options.modes() {
        println!("\n**event streams beside JSON, mode {mode}**");
        let defaults =
            [("mode", mode), ("progress", "true"), ("sizes", "100,10240"), ("conc", "1,16")];
        let values = Generator::Http.run(options, &defaults, &servers)?;
        for scenario in values.scenarios(P50) {
            let ratio = values.ratio(scenario, "sse", "json", P50);
            bars.add(format!("{mode}, {scenario}: p50 of SSE, × JSON"), ratio, BAR);
        }
    }
    bars.print("event streams");
    Ok(())
}
