//! Every environment variable that `carrick` reads.
//!
//! | variable | what for |
//! |---|---|
//! | `CARRICK_CONFIG` | the config file, as `--config` |
//! | `CARRICK_MODEL` | the model, as `--model` |
//! | `CARRICK_LOG` | what is logged to stderr, in the form of `tracing` filters |
//! | `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` | Anthropic |
//! | `OPENAI_API_KEY`, `OPENAI_BASE_URL` | OpenAI and what speaks like it |
//! | `OLLAMA_HOST` | a local Ollama |
//! | `HOME`, `XDG_CONFIG_HOME`, `XDG_STATE_HOME` | where the user's files are |
//! | `NO_COLOR` | no colours |
//!
//! Variables named in a config file as `${NAME}` are read for that file.

use crate::print;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use tracing_subscriber::EnvFilter;

/// A variable that is set to something.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A variable as the config expands it: empty counts as set.
pub(crate) fn raw_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The folder for what `carrick` remembers.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let base = variable("XDG_STATE_HOME").map(PathBuf::from).and_then(absolute);
    let base = base.or_else(|| Some(home()?.join(".local").join("state")))?;
    Some(base.join("carrick"))
}

/// The user's own folder.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// Whether to write colours to stderr.
pub(crate) fn colours() -> bool {
    std::io::stderr().is_terminal() && variable("NO_COLOR").is_none()
}

/// One event of the log, which goes to stderr when it is whole: what is in it comes
/// from anywhere.
#[derive(Default)]
struct Said(Vec<u8>);

impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.0);
        if !text.is_empty() {
            print::say(text.trim_end());
        }
    }
}

/// Starts logging to stderr.
pub(crate) fn start_log(verbose: u8) {
    let standard = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let filter = variable("CARRICK_LOG")
        .and_then(|text| match EnvFilter::try_new(&text) {
            Ok(filter) => Some(filter),
            Err(error) => {
                print::say(format_args!(
                    "warning: CARRICK_LOG={text:?} is not understood ({error}); write a level \
                     such as debug, or carrick=trace"
                ));
                None
            }
        })
        .unwrap_or_else(|| EnvFilter::new(standard));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(Said::default)
        // Colours would be made visible as all that steers.
        .with_ansi(false)
        .without_time()
        .with_target(verbose > 1)
        // It would panic when nobody reads stderr.
        .log_internal_errors(false)
        .init();
}
