//! Clients, one call at a time, against the least servers.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::bars::Bars;
use super::generator::{CPU, P50};
use super::options::Options;
use super::programs::{clients, program};
use super::upstream::Upstream;
use super::values::Values;
use crate::{Result, process};

/// How many calls a client makes in a round unless `--count` says otherwise.
const COUNT: &str = "2000";
/// How long the echoed text is.
const SIZE: &str = "100";
/// How long a client may take for a round.
const LIMIT: Duration = Duration::from_secs(120);

/// Over stdio and over HTTP, against servers of one era and of the other.
pub(super) fn measure(options: &Options) -> Result<()> {
    let count = options.count.as_deref().unwrap_or(COUNT);
    let mut bars = Bars::default();
    for era in ["legacy", "modern"] {
        let server = ["--", &program("bare-stdio"), "--only", era].map(str::to_owned);
        let scenario = format!("clients over stdio, {era} server");
        let values = rounds(options, &scenario, |command, form| {
            command.args([&format!("stdio{form}"), count, SIZE]).args(&server);
        })?;
        add_bar(&mut bars, &values, 2.2);
        let upstream = Upstream::start(&["--only", era])?;
        let url = format!("{}/mcp", upstream.url());
        let scenario = format!("clients over HTTP, {era} server");
        let values = rounds(options, &scenario, |command, form| {
            command.args([&format!("http{form}"), count, SIZE, &url]);
        })?;
        add_bar(&mut bars, &values, 1.3);
    }
    bars.print("clients");
    Ok(())
}

/// Gives every client its turn in each round; prints the table.
fn rounds(
    options: &Options,
    scenario: &str,
    arguments: impl Fn(&mut Command, &str),
) -> Result<Values> {
    let mut values = Values::default();
    let mut failures = Vec::new();
    for round in 0..options.rounds()? {
        for (name, path, form) in clients(&options.others) {
            let mut command = Command::new(path);
            arguments(&mut command, form);
            match run(&mut command) {
                Ok(report) => {
                    for (metric, value) in report.metrics() {
                        values.add(scenario, name, metric, round, value);
                    }
                }
                Err(why) => failures.push(format!("- {name}, round {round}: {why}")),
            }
        }
    }
    print!("{}", values.markdown(scenario, "bare", &[CPU, P50, RATE]));
    if !failures.is_empty() {
        println!("\nFailed:\n\n{}", failures.join("\n"));
    }
    Ok(values)
}

fn add_bar(bars: &mut Bars, values: &Values, bar: f64) {
    for scenario in values.scenarios(CPU) {
        let ratio = values.ratio(scenario, "carrick", "bare", CPU);
        bars.add(format!("{scenario}: CPU of carrick's, × bare"), ratio, bar);
    }
}

/// How many calls a second there were.
const RATE: &str = "calls/s";

/// What a client says of its calls.
#[derive(Debug, PartialEq)]
struct Report {
    requests: f64,
    elapsed_ns: f64,
    cpu_ns: f64,
    p50_ns: f64,
}

impl Report {
    /// Reads the line of JSON that a client prints.
    fn parse(text: &str) -> Option<Report> {
        let report: Value = serde_json::from_str(text.trim()).ok()?;
        let member = |name: &str| report[name].as_f64();
        let requests = member("requests").filter(|requests| *requests > 0.0)?;
        let (elapsed_ns, cpu_ns) = (member("elapsed_ns")?, member("cpu_ns")?);
        Some(Report { requests, elapsed_ns, cpu_ns, p50_ns: member("p50_ns")? })
    }

    fn metrics(&self) -> [(&'static str, f64); 3] {
        [
            (CPU, self.cpu_ns / self.requests / 1e3),
            (P50, self.p50_ns / 1e3),
            (RATE, self.requests / self.elapsed_ns * 1e9),
        ]
    }
}

fn run(command: &mut Command) -> Result<Report> {
    let finished = process::finish(command, LIMIT)?;
    if finished.code != Some(0) {
        return Err(format!("it failed: {}", finished.stderr.trim()));
    }
    let report = Report::parse(&finished.stdout);
    report.ok_or_else(|| format!("no report but {:?}", finished.stdout))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read() {
        let text =
            "{\"requests\":2000,\"elapsed_ns\":1000000000,\"cpu_ns\":40000000,\"p50_ns\":450000}\n";
        let report = Report::parse(text).unwrap();
        assert_eq!(report.metrics(), [(CPU, 20.0), (P50, 450.0), (RATE, 2000.0)]);
        assert_eq!(
            Report::parse("{\"requests\":0,\"elapsed_ns\":1,\"cpu_ns\":1,\"p50_ns\":1}"),
            None
        );
        assert_eq!(Report::parse("done"), None);
    }
}
