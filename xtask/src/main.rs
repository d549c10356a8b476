//! The checks and chores of the workspace: `cargo xtask <task>`.
//!
//! Every check that decides over a change is a step of `cargo xtask ci`, so that a
//! person runs exactly what the build machine runs.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool talks to its user"
)]

use std::process::ExitCode;

mod bench;
mod ci;
mod conformance;
mod interop;
mod licences;
mod metadata;
mod npm;
mod pinned;
mod process;
mod python;
mod served;
mod setup;
mod size;
mod soak;
mod spec;
mod tidy;

/// What a task gives: a value, or a message for the person who ran it.
pub(crate) type Result<T> = std::result::Result<T, String>;

const USAGE: &str = "\
usage: cargo xtask <task>

  ci [--list] [step…]             every check, or only the named steps
  tidy [--notes]                  what the compiler and clippy do not check: sizes, layers, words
  licences                        licences, sources and versions of the dependencies
  interop [filter…]               the official clients and servers against `carrick`
  conformance [filter…]           the official conformance suite against our test servers
  size                            the size of the release binary, which takes minutes to build
  spec                            fetch the public protocol schemas that tests compare with
  bench [part…] [--option value]… servers, clients and gateways beside others and beside the least
                                  that any can do (bench/README.md has the parts)
  soak [name…] [--minutes N]      very many sessions, streams and parked calls, and the fuzz targets
                                  (sessions, streams, parked, isolation, fuzz, or a target's name)
  setup                           install what the checks need (as root on Debian)
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(task) = arguments.next() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    let arguments: Vec<String> = arguments.collect();
    let outcome = match task.as_str() {
        "ci" => ci::run(&arguments),
        "tidy" => tidy::run(&arguments),
        "licences" => licences::run(&arguments),
        "interop" => interop::run(&arguments),
        "conformance" => conformance::run(&arguments),
        // Only for the suite, which starts it as a client.
        "conformance-relay" => conformance::relay(&arguments),
        "spec" => spec::run(&arguments),
        "bench" => bench::run(&arguments),
        "setup" => setup::run(&arguments),
        "soak" => soak::run(&arguments),
        "size" => size::run(&arguments),
        _ => Err(format!("no task named {task:?}\n\n{USAGE}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // A task that has said all there is to say fails with an empty message.
        Err(message) if message.is_empty() => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Refuses the arguments of a task that takes none.
pub(crate) fn no_arguments(task: &str, arguments: &[String]) -> Result<()> {
    match arguments.first() {
        None => Ok(()),
        Some(first) => Err(format!("{task} takes no arguments, got {first:?}")),
    }
}
