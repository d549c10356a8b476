//! Our echo server, client and gateway beside others and beside the least that any can do.
//!
//! The rounds are interleaved: every server has its turn in each, so that what else happens
//! on the machine falls on all alike. `bench/README.md` says how to read the tables.

use crate::Result;
use options::Options;
use peers::Role;

mod bars;
#[cfg(target_os = "linux")]
mod call;
mod client;
mod curves;
mod gateway;
mod generator;
mod instructions;
mod lists;
mod micro;
mod options;
mod peers;
mod programs;
mod servers;
mod sizes;
mod upstream;
mod values;

/// A part, what runs it, and which peers take part.
struct Part {
    name: &'static str,
    with: &'static [Role],
    measure: fn(&Options) -> Result<()>,
}

const fn part(
    name: &'static str,
    with: &'static [Role],
    measure: fn(&Options) -> Result<()>,
) -> Part {
    Part { name, with, measure }
}

const PARTS: [Part; 12] = [
    part("stdio", &[Role::Server], servers::stdio),
    part("cold", &[Role::Server], servers::cold),
    part("instructions", &[Role::Server], instructions::measure),
    part("http", &[Role::Server], servers::http),
    part("sse", &[], servers::sse),
    part("list", &[], lists::measure),
    part("sessions", &[Role::Server], servers::sessions),
    part("client", &[Role::Client], client::measure),
    part("gateway", &[Role::Gateway], gateway::measure),
    part("curves", &[], curves::measure),
    part("call", &[], |_| call()),
    part("sizes", &[Role::Server], |_| sizes::measure()),
];

/// `cargo xtask bench`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(done) = micro::run(arguments) {
        return done;
    }
    let (names, options) = split(arguments);
    let is_known = |name: &String| PARTS.iter().any(|part| part.name == name);
    if let Some(name) = names.iter().find(|name| !is_known(name)) {
        return Err(format!("no benchmark named {name:?}\n{}", usage()));
    }
    let mut options = Options::parse(options).map_err(|why| format!("{why}\n{}", usage()))?;
    let is_chosen = |part: &&Part| names.is_empty() || names.iter().any(|name| name == part.name);
    let chosen: Vec<&Part> = PARTS.iter().filter(is_chosen).collect();
    if chosen.iter().any(|part| part.name != "call") {
        programs::build()?;
        options.others.prepare(|role| chosen.iter().any(|part| part.with.contains(&role)));
    }
    chosen.into_iter().try_for_each(|part| (part.measure)(&options))
}

fn usage() -> String {
    let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
    format!(
        "usage: cargo xtask bench [{}]… [--only NAME,NAME] [--save] [--peer NAME=COMMAND]… [--count N] [--option value]…\n\
         \x20      cargo xtask bench micro [FILTER] | allocations\n\
         Other options go to the load generators, such as `--rounds 3 --secs 0.2 --mode stateless`.",
        names.join("|")
    )
}

/// The names of benchmarks, and the options behind them.
fn split(arguments: &[String]) -> (&[String], &[String]) {
    let parts = arguments.iter().take_while(|argument| !argument.starts_with("--")).count();
    arguments.split_at(parts)
}

#[cfg(target_os = "linux")]
fn call() -> Result<()> {
    call::measure()
}

/// Who has orphans is a question that only Linux answers.
#[cfg(not(target_os = "linux"))]
fn call() -> Result<()> {
    Err("this benchmark runs on Linux only".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_begin_at_the_first_flag() {
        let arguments = ["stdio", "http", "--rounds", "2"].map(str::to_owned);
        let (parts, options) = split(&arguments);
        assert_eq!((parts.len(), options.len()), (2, 2));
    }

    #[test]
    fn unknown_benchmarks_are_refused_before_anything_is_built() {
        assert!(run(&["nothing".to_owned()]).unwrap_err().contains("no benchmark named"));
        assert!(run(&["stdio".to_owned(), "--rounds".to_owned()]).is_err());
    }
}
