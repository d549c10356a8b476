//! `carrick serve` in front of the least server, beside other gateways and a proxy that
//! reads no JSON.
//!
//! Four tables: clients and servers of the same era, and of different ones. No proxy that
//! reads nothing can stand between eras; there it goes to a server of its client's.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::bars::Bars;
use super::generator::{CPU, Generator, P50};
use super::options::Options;
use super::peers::Peers;
use super::programs::{ADDRESS, build_release, program, scratch};
use super::upstream::Upstream;
use super::values::{Values, median, number};
use crate::Result;

/// What everything is compared with, and what the latency is added to.
const PROXY: &str = "bare-proxy";
const DIRECT: &str = "direct";

/// One of the two eras, as the limits call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Legacy,
    Modern,
}

impl Era {
    const ALL: [Era; 2] = [Era::Legacy, Era::Modern];

    fn name(self) -> &'static str {
        match self {
            Era::Legacy => "legacy",
            Era::Modern => "modern",
        }
    }

    /// What the generators call it.
    fn mode(self) -> &'static str {
        match self {
            Era::Legacy => "legacy",
            Era::Modern => "stateless",
        }
    }
}

/// Runs the rounds of all four tables: straight to the server, by the proxy, by gateways.
pub(super) fn measure(options: &Options) -> Result<()> {
    build_release(&["--package", "carrick-cli"])?;
    let folder = scratch("gateway")?;
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut bars = Bars::default();
    for client in Era::ALL.into_iter().filter(|era| options.modes().contains(&era.mode())) {
        for server in Era::ALL {
            let (client_name, server_name) = (client.name(), server.name());
            println!("\n**gateways: {client_name} client, {server_name} server**");
            let rig = Rig::start(&folder, client, server)?;
            let defaults = [("mode", client.mode()), ("sizes", "100,10240"), ("conc", "1,16")];
            let (over_stdio, over_http) = rig.servers(&options.others);
            let values = Generator::Http.run(options, &defaults, &over_http)?;
            print!("{}", added_latencies(&values));
            add_bars(
                &mut bars,
                &values,
                &format!("{client_name} to {server_name}"),
                client == server,
            );
            if client == server {
                println!("\n**gateways: {client_name} client over stdio, {server_name} server**");
                Generator::Stdio.run(options, &defaults, &over_stdio)?;
            }
        }
    }
    bars.print("gateways");
    Ok(())
}

/// The servers behind the gateways of one table.
struct Rig {
    client: Era,
    /// A server of the client's era, for those who translate nothing.
    same: Upstream,
    /// A server of the era that the table is about.
    upstream: Upstream,
    /// The same over stdio.
    command: String,
    /// Knows where the first is.
    to_http: Config,
    /// Knows the second.
    to_stdio: Config,
}

impl Rig {
    fn start(folder: &Path, client: Era, server: Era) -> Result<Rig> {
        let same = Upstream::start(&["--only", client.name()])?;
        let upstream = Upstream::start(&["--only", server.name()])?;
        let command = format!("{} --only {}", program("bare-stdio"), server.name());
        let to_http = Config::write(folder, "http", &json!({ "url": endpoint(&upstream) }))?;
        let program = program("bare-stdio");
        let to_stdio = json!({ "command": program, "args": ["--only", server.name()] });
        let to_stdio = Config::write(folder, "stdio", &to_stdio)?;
        Ok(Rig { client, same, upstream, command, to_http, to_stdio })
    }

    /// `NAME=COMMAND` of all that clients over stdio, and over HTTP, go through.
    fn servers(&self, others: &Peers) -> (Vec<String>, Vec<String>) {
        let only = self.client.name();
        let (mut over_stdio, mut over_http) =
            others.gateways(&endpoint(&self.upstream), &self.command);
        let (to_http, to_stdio) = (self.to_http.serve(), self.to_stdio.serve());
        let own = [
            format!("{DIRECT}={} {ADDRESS} --only {only}", program("bare-http")),
            format!("{PROXY}={} {ADDRESS} {}", program("bare-proxy"), self.same.url()),
            format!("carrick={to_http} --http {ADDRESS}"),
            format!("carrick-stdio={to_stdio} --http {ADDRESS}"),
        ];
        over_http.splice(0..0, own);
        let direct = format!("{DIRECT}={} --only {only}", program("bare-stdio"));
        over_stdio.splice(0..0, [direct, format!("carrick={to_http}")]);
        (over_stdio, over_http)
    }
}

fn endpoint(upstream: &Upstream) -> String {
    format!("{}/mcp", upstream.url())
}

/// A file that names one server for `carrick`.
struct Config(PathBuf);

impl Config {
    fn write(folder: &Path, name: &str, server: &Value) -> Result<Config> {
        // As the proxies that it is compared with: they know of no clients. By default a call
        // without a session opens one at a server of sessions, which is another measure.
        let mut server = server.clone();
        server["session"] = json!("shared");
        let path = folder.join(format!("{name}.json"));
        fs::write(&path, json!({ "mcpServers": { "bare": server } }).to_string())
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Config(path))
    }

    /// The command of the gateway, for clients over stdio.
    fn serve(&self) -> String {
        let home = self.0.parent().unwrap_or(&self.0).display();
        let (carrick, config) = (program("carrick"), self.0.display());
        // Its memory of servers is its own, and not that of whoever measures.
        format!("env HOME={home} XDG_STATE_HOME={home} {carrick} --config {config} serve")
    }
}

/// What each adds to the latency of the way without a gateway, in Markdown.
fn added_latencies(values: &Values) -> String {
    let mut out = format!(
        "\n**added p50 µs over {DIRECT}**\n\n| | gateway | added µs | × {PROXY} |\n|---|---|---|---|\n"
    );
    for scenario in values.scenarios(P50) {
        for server in values.servers(scenario).into_iter().filter(|server| *server != DIRECT) {
            let added = values.paired(scenario, [server, DIRECT], P50, |by, direct| by - direct);
            let ratio = added_ratio(values, scenario, server);
            out += &format!("| {scenario} | {server} | {} | {} |\n", number(added), number(ratio));
        }
    }
    out
}

/// How many times the latency that the proxy adds a gateway does: the median of the rounds.
fn added_ratio(values: &Values, scenario: &str, server: &str) -> Option<f64> {
    let [by, proxy, direct] =
        [server, PROXY, DIRECT].map(|server| values.rounds(scenario, server, P50));
    let (proxy, direct) = proxy.zip(direct)?;
    median(by?.iter().filter_map(|(round, by)| {
        let direct = direct.get(round)?;
        Some((by - direct) / (proxy.get(round)? - direct))
    }))
}

fn add_bars(bars: &mut Bars, values: &Values, which: &str, is_same_era: bool) {
    const SAME: f64 = 1.5;
    const CROSSING: f64 = 3.0;
    let bar = if is_same_era { SAME } else { CROSSING };
    for scenario in values.scenarios(P50) {
        let cpu = values.ratio(scenario, "carrick", PROXY, CPU);
        bars.add(format!("{which}, {scenario}: CPU, × {PROXY}"), cpu, bar);
        let added = added_ratio(values, scenario, "carrick");
        bars.add(format!("{which}, {scenario}: added p50, × {PROXY}"), added, bar);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_is_what_was_added_in_the_same_round() {
        let mut values = Values::default();
        for (server, rounds) in
            [(DIRECT, [100.0, 1000.0]), (PROXY, [150.0, 1100.0]), ("carrick", [200.0, 1200.0])]
        {
            for (round, value) in rounds.into_iter().enumerate() {
                values.add("one", server, P50, round, value);
            }
        }
        assert_eq!(added_ratio(&values, "one", "carrick"), Some(2.0));
        assert_eq!(added_ratio(&values, "one", "other"), None);
        let text = added_latencies(&values);
        assert!(text.contains("| one | carrick | 150 | 2.00 |"), "{text}");
        assert!(!text.contains("| one | direct |"));
    }
}
