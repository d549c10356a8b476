//! The test servers as a program, which the tests of `carrick` configure as child servers.
//!
//! An example, since examples are built with the tests and are no part of what is installed.

use std::error::Error;
use std::process::ExitCode;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    carrick_testkit::peer::main(&arguments)
}
