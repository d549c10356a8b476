//! How the cost grows: with the number of tools, of connections, and of bytes.

use std::fs;
use std::path::Path;
use std::process::Command;

use self::curve::Curve;
use super::bars::Bars;
use super::generator::{CPU, Generator};
use super::lists;
use super::options::Options;
use super::programs::{ADDRESS, MANIFEST, build_release, example, program};
use super::values::{Values, number};
use crate::{Result, process};

mod curve;

/// Where curves are kept for the pages.
const PLOTS: &str = "docs/plots";
/// What no curve's slope should be above: 1 is as much again for each as for the first.
const BAR: f64 = 1.1;

const TOOLS: [usize; 5] = [1, 10, 100, 1000, 10_000];
const CONNECTIONS: [usize; 6] = [1, 4, 16, 64, 256, 1024];
/// Of the echoed text: 1 KiB to 64 MiB.
const KIBIBYTES: [usize; 9] = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536];
/// Below, a message costs what it costs to handle any, and not what its bytes cost.
const SLOPE_FROM_BYTES: f64 = 16.0 * 1024.0;

/// Measures all, prints them, and saves them where that is asked for.
pub(super) fn measure(options: &Options) -> Result<()> {
    let mut curves = tools(options)?;
    curves.push(connections(options)?);
    curves.extend([sizes(options, Generator::Stdio)?, sizes(options, Generator::Http)?]);
    let mut bars = Bars::default();
    for curve in &curves {
        println!("\n**{}**\n\n```csv\n{}```\n", curve.title, curve.csv());
        for server in curve.servers() {
            let slope = curve.slope(server);
            println!("- slope of {server}: {}", number(slope));
            if server == "carrick" {
                bars.add(format!("{}: slope", curve.title), slope, BAR);
            }
        }
    }
    bars.print("curves");
    if options.save { save(&curves) } else { Ok(()) }
}

/// A call of the last of many tools, and the list of them.
fn tools(options: &Options) -> Result<Vec<Curve>> {
    let mut call = Curve::new("tools-call", "A call of the last of many tools", "tools");
    let mut list = Curve::new("tools-list", "The list of many tools", "tools");
    for count in TOOLS {
        let file = lists::answer_in_file(mode(options), count)?;
        let last = last_tool(count);
        let mut servers = vec![
            format!("bare={} --tools {file}", program("bare-stdio")),
            format!("carrick!{last}={} stdio --tools {count}", example("echo")),
        ];
        servers.extend(
            peers(options, "{tools}", "{tools}")
                .map(|peer| peer.replace("{tools}", &count.to_string()).replace("{last}", &last)),
        );
        let defaults = [
            ("mode", mode(options)),
            ("lists", "true"),
            ("sizes", "100"),
            ("window", "0"),
            ("cold", "1"),
            ("secs", "0.2"),
        ];
        let values = Generator::Stdio.run(options, &defaults, &servers)?;
        call.take(&values, "sequential, 100 B", count as f64);
        list.take(&values, "sequential, tools/list", count as f64);
    }
    Ok(vec![call, list])
}

/// The name of the last tool of our echo server when it offers so many.
fn last_tool(count: usize) -> String {
    match count {
        1 => "echo".to_owned(),
        _ => format!("echo_{:05}", count - 1),
    }
}

/// A request on one of many connections. The cost of all of them at once is what may grow as
/// they do, so that of one may not grow at all.
fn connections(options: &Options) -> Result<Curve> {
    let title = "A request on one of many connections";
    let mut curve = Curve::new("connections", title, "connections").times_x();
    let list = joined(&CONNECTIONS);
    let defaults =
        [("mode", mode(options)), ("sizes", "100"), ("conc", list.as_str()), ("secs", "0.2")];
    let values = Generator::Http.run(options, &defaults, &servers(options, Generator::Http))?;
    for count in CONNECTIONS {
        curve.take(&values, &format!("concurrency {count}, 100 B"), count as f64);
    }
    Ok(curve)
}

/// A call with a text of so many bytes.
fn sizes(options: &Options, generator: Generator) -> Result<Curve> {
    let (name, title, scenario) = match generator {
        Generator::Stdio => ("sizes-stdio", "A large message over stdio", "sequential"),
        Generator::Http => ("sizes-http", "A large message over HTTP", "concurrency 1"),
    };
    let mut curve = Curve::new(name, title, "bytes").slope_above(SLOPE_FROM_BYTES);
    let list = joined(&KIBIBYTES.map(|kibibytes| kibibytes * 1024));
    let defaults = [
        ("mode", mode(options)),
        ("sizes", list.as_str()),
        ("conc", "1"),
        ("window", "0"),
        ("cold", "1"),
        ("secs", "0.2"),
    ];
    // The two generators refuse nothing that only the other one knows.
    let values: Values = generator.run(options, &defaults, &servers(options, generator))?;
    for kibibytes in KIBIBYTES {
        let scenario = format!("{scenario}, {}", size_name(kibibytes));
        curve.take(&values, &scenario, kibibytes as f64 * 1024.0);
    }
    Ok(curve)
}

/// As the generators name it.
fn size_name(kibibytes: usize) -> String {
    match kibibytes {
        large if large >= 1024 => format!("{} MiB", large / 1024),
        small => format!("{small} KiB"),
    }
}

fn servers(options: &Options, generator: Generator) -> Vec<String> {
    let echo = example("echo");
    match generator {
        Generator::Stdio => {
            let own = [format!("bare={}", program("bare-stdio")), format!("carrick={echo} stdio")];
            own.into_iter().chain(peers(options, "", "{").map(str::to_owned)).collect()
        }
        Generator::Http => {
            let bare = program("bare-http");
            let own = [format!("bare={bare} {ADDRESS}"), format!("carrick={echo} http {ADDRESS}")];
            own.into_iter().chain(peers(options, "{port}", "{tools}").map(str::to_owned)).collect()
        }
    }
}

/// The servers of `--peer` whose commands hold `with`, and do not hold `without` unless that
/// is the same.
fn peers<'a>(
    options: &'a Options,
    with: &'a str,
    without: &'a str,
) -> impl Iterator<Item = &'a str> {
    let peers = options.peers.iter().map(String::as_str);
    peers.filter(move |peer| peer.contains(with) && (with == without || !peer.contains(without)))
}

/// The generators' own default, which has a handshake.
fn mode(options: &Options) -> &str {
    options.value("mode").unwrap_or("legacy")
}

fn joined(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Writes each as CSV and draws it.
fn save(curves: &[Curve]) -> Result<()> {
    build_release(&["--manifest-path", MANIFEST, "--package", "plot"])?;
    let folder = process::root().join(PLOTS);
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
    for curve in curves {
        let csv = folder.join(format!("{}.csv", curve.name));
        fs::write(&csv, curve.csv()).map_err(|error| failed(&csv, error))?;
        let mut plot = Command::new(program("plot"));
        plot.arg(&csv).arg(csv.with_extension("svg")).args([curve.title, CPU]);
        process::run(&mut plot)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_go_where_their_commands_say() {
        let arguments = ["a=x stdio", "b=x {port}", "c!{last}=x {tools}"];
        let arguments = arguments.iter().flat_map(|peer| ["--peer", peer]).map(str::to_owned);
        let options = Options::parse(&arguments.collect::<Vec<_>>()).unwrap();
        let of = |with, without| peers(&options, with, without).collect::<Vec<_>>();
        assert_eq!(of("", "{"), ["a=x stdio"]);
        assert_eq!(of("{port}", "{tools}"), ["b=x {port}"]);
        assert_eq!(of("{tools}", "{tools}"), ["c!{last}=x {tools}"]);
    }

    #[test]
    fn sizes_and_tools_have_the_names_that_others_give_them() {
        assert_eq!([16, 1024, 65_536].map(size_name), ["16 KiB", "1 MiB", "64 MiB"]);
        assert_eq!([1, 2, 10_000].map(last_tool), ["echo", "echo_00001", "echo_09999"]);
    }
}
