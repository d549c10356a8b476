//! `carrick-soak [NAME…] [--minutes N]`: scenarios and fuzz targets for as long as
//! one likes; `cargo xtask soak` builds it and runs it.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool talks to its user"
)]

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use carrick_soak::fuzz::{self, Extent};
use carrick_soak::{scenario, targets};

const USAGE: &str = "\
usage: soak [sessions|streams|parked|fuzz|<fuzz target>]… [--minutes N] [--seed N]
Each runs once, or for N minutes; `fuzz` shares them among its targets.";

/// What was asked for.
#[derive(Default)]
struct Asked {
    names: Vec<String>,
    time: Duration,
    seed: Option<u64>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("serve") => serve(),
        _ => read(arguments).and_then(|asked| run(&asked)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("soak: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The server of a scenario, in a process of its own.
fn serve() -> Result<(), String> {
    let served = scenario::serve(|address| println!("{address}"));
    runtime()?.block_on(served).map_err(|error| error.to_string())
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
}

fn read(arguments: Vec<String>) -> Result<Asked, String> {
    let mut asked = Asked::default();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let mut number = |name: &str| {
            let value = arguments.next().and_then(|value| value.parse::<u64>().ok());
            value.ok_or_else(|| format!("{name} needs a number\n{USAGE}"))
        };
        match argument.as_str() {
            "--minutes" => asked.time = Duration::from_secs(60 * number("--minutes")?),
            "--seed" => asked.seed = Some(number("--seed")?),
            name if is_known(name) => asked.names.push(argument),
            name => return Err(format!("there is no {name:?}\n{USAGE}")),
        }
    }
    if asked.names.is_empty() {
        asked.names.extend(scenario::NAMES.map(str::to_owned));
        asked.names.push("fuzz".into());
    }
    Ok(asked)
}

fn is_known(name: &str) -> bool {
    let is_target = targets::ALL.iter().any(|target| target.name == name);
    name == "fuzz" || is_target || scenario::NAMES.contains(&name)
}

/// Everything is run, so that one run shows all that does not hold.
fn run(asked: &Asked) -> Result<(), String> {
    let mut failed = Vec::new();
    for name in &asked.names {
        println!("== {name}");
        if let Err(why) = run_one(name, asked) {
            println!("{why}");
            failed.push(name.as_str());
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

fn run_one(name: &str, asked: &Asked) -> Result<(), String> {
    if let Some(outcome) = runtime()?.block_on(scenario::run(name, asked.time)) {
        let lines = outcome.map_err(|error| error.to_string())?;
        lines.iter().for_each(|line| println!("{line}"));
        return Ok(());
    }
    let chosen: Vec<_> =
        targets::ALL.iter().filter(|target| name == "fuzz" || name == target.name).collect();
    let time =
        asked.time.max(Duration::from_secs(chosen.len() as u64)) / chosen.len().max(1) as u32;
    let seed = asked.seed.unwrap_or_else(clock);
    println!("seed {seed}");
    for target in chosen {
        let cases = fuzz::run(target, seed, Extent::Time(time)).map_err(|e| e.to_string())?;
        println!("{}: holds for {cases} inputs", target.name);
    }
    Ok(())
}

/// Another seed at every time.
fn clock() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_nanos() as u64
}
