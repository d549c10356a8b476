//! `carrick serve` in front of the least server, beside a proxy that reads no JSON.
//!
//! Four tables: clients and servers of the same era, and of different ones. No proxy that
//! reads nothing can stand between eras; there it goes to a server of its client's.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::bars::Bars;
use super::generator::{CPU, Generator, P50};
use super::options::Options;
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
            let values = Generator::Http.run(options, &defaults, &rig.servers())?;
            print!("{}", added_latencies(&values));
            add_bars(
                &mut bars,
                &values,
                &format!("{client_name} to {server_name}"),
                client == server,
            );
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
    /// A server of the era that the table is about; the config knows where.
    _upstream: Upstream,
    config: PathBuf,
}

impl Rig {
    fn start(folder: &Path, client: Era, server: Era) -> Result<Rig> {
        let same = Upstream::start(&["--only", client.name()])?;
        let upstream = Upstream::start(&["--only", server.name()])?;
        let config = folder.join("config.json");
        let url = format!("{}/mcp", upstream.url());
        let servers = json!({ "mcpServers": { "bare": { "url": url } } });
        fs::write(&config, servers.to_string())
            .map_err(|error| format!("{}: {error}", config.display()))?;
        Ok(Rig { client, same, _upstream: upstream, config })
    }

    /// `NAME=COMMAND` of all that clients go through.
    fn servers(&self) -> Vec<String> {
        let only = self.client.name();
        vec![
            format!("{DIRECT}={} {ADDRESS} --only {only}", program("bare-http")),
            format!("{PROXY}={} {ADDRESS} {}", program("bare-proxy"), self.same.url()),
            self.carrick(),
        ]
    }

    fn carrick(&self) -> String {
        let home = self.config.parent().unwrap_or(&self.config).display();
        let (carrick, config) = (program("carrick"), self.config.display());
        // Its memory of servers is its own, and not that of whoever measures.
        format!(
            "carrick=env HOME={home} XDG_STATE_HOME={home} {carrick} --config {config} serve --http {ADDRESS}"
        )
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
