//! Runs a load generator and takes its values.

use std::fs;
use std::process::Command;

use super::options::Options;
use super::programs::{program, scratch};
use super::values::Values;
use crate::{Result, process};

/// Which of the two generators.
#[derive(Clone, Copy)]
pub(super) enum Generator {
    /// `load-stdio`.
    Stdio,
    /// `load-http`.
    Http,
}

/// The name that a round's time on the processor has in the values.
pub(super) const CPU: &str = "cpu µs";
/// The median of the single requests.
pub(super) const P50: &str = "p50 µs";

impl Generator {
    fn program(self) -> String {
        program(match self {
            Generator::Stdio => "load-stdio",
            Generator::Http => "load-http",
        })
    }

    /// Puts load on `servers` with the options that were given, and `defaults` for the
    /// others; shows the report.
    pub(super) fn run(
        self,
        options: &Options,
        defaults: &[(&str, &str)],
        servers: &[String],
    ) -> Result<Values> {
        let file = scratch("values.tsv")?;
        let mut command = Command::new(self.program());
        command.args(options.or(defaults)).arg("--values").arg(&file).args(servers);
        process::run(&mut command)?;
        let text =
            fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        Values::parse(&text)
    }
}
