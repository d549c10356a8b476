//! `carrick`: joins any language model to any tool.
//!
//! This crate reads the command line and the environment, prints, and exits;
//! all else is the host's.

mod args;
mod commands;
mod environment;
mod exit;
mod frontend;
mod input;
mod print;
mod setup;
mod signals;
mod values;

use clap::Parser;
use exit::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Must come first: this very program is also the guard of child servers.
    carrick::transport::child::guard_main();
    // Without it all works but for servers that kill their guards.
    let _ = carrick::transport::child::adopt_orphans();
    let arguments = args::Arguments::parse();
    environment::start_log(arguments.verbose);
    if let Err(error) = carrick::raise_open_file_limit() {
        tracing::debug!(%error, "the limit of open files stays what it is");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Failure::failed(format!("cannot start: {error}")).report(),
    };
    if let Err(error) = signals::listen() {
        return Failure::failed(format!("cannot listen to signals: {error}")).report();
    }
    let json = arguments.json;
    let outcome = runtime.block_on(commands::run(arguments));
    // Whatever still runs (a file being read, say) is not waited for.
    runtime.shutdown_background();
    match outcome {
        Ok(code) => code,
        Err(failure) if json => failure.report_json(),
        Err(failure) => failure.report(),
    }
}
