//! One file a command.

mod ask;
mod call;
mod doctor;
mod read;
mod route;
mod serve;
mod server;
mod servers;
mod tools;
mod trust;
mod trust_tools;

use crate::args::{Arguments, Command};
use crate::exit::Failure;
use std::process::ExitCode;

pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let Arguments { command, .. } = &arguments;
    match command {
        Command::Ask(ask) => ask::run(&arguments, ask).await,
        Command::Route(route) => route::run(&arguments, route).await,
        Command::Servers(servers) => servers::run(&arguments, servers).await,
        Command::Tools(tools) => tools::run(&arguments, tools).await,
        Command::Call(call) => call::run(&arguments, call).await,
        Command::Read(read) => read::run(&arguments, read).await,
        Command::Serve(serve) => serve::run(&arguments, serve).await,
        Command::Server(server) => server::run(server).await,
        Command::Trust(trust) => match &trust.tools {
            Some(server) => trust_tools::run(&arguments, trust, server).await,
            None => trust::run(&arguments, trust).await,
        },
        Command::Doctor => doctor::run(&arguments).await,
    }
}
