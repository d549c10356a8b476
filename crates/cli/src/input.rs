//! Reading stdin, or a file, to its end.

use crate::exit::Failure;
use crate::print;
use crate::signals::unless_told;
use std::fs::File;
use std::io::{IsTerminal, Read, stdin};
use std::path::Path;

/// As much as one message to a server may have.
const MOST: u64 = 64 << 20;

/// All of stdin as text. A person at a terminal is told that it is being read;
/// `what` is what is to be typed.
pub(crate) async fn all_of_stdin(what: &str) -> Result<String, Failure> {
    if stdin().is_terminal() {
        print::say(format_args!("reading {what} from stdin, end with Ctrl-D"));
    }
    let reading = tokio::task::spawn_blocking(|| {
        let mut bytes = Vec::new();
        stdin().lock().take(MOST + 1).read_to_end(&mut bytes).map(|_| bytes)
    });
    let read = unless_told(async { reading.await.map_err(Failure::failed) }).await?;
    let bytes = read.map_err(|error| Failure::usage(format!("cannot read stdin: {error}")))?;
    text(bytes, what, "stdin")
}

/// All of a file as text, within the same bound; it may be a pipe.
pub(crate) async fn file(path: &Path, what: &str) -> Result<String, Failure> {
    let from = path.display().to_string();
    let wrong = |error| Failure::usage(format!("cannot read {from}: {error}"));
    let path = path.to_owned();
    let reading = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        File::open(path)?.take(MOST + 1).read_to_end(&mut bytes).map(|_| bytes)
    });
    let read = unless_told(async { reading.await.map_err(Failure::failed) }).await?;
    text(read.map_err(wrong)?, what, &from)
}

/// Bytes as text; `from` is where they come from.
fn text(bytes: Vec<u8>, what: &str, from: &str) -> Result<String, Failure> {
    if bytes.len() as u64 > MOST {
        let most = MOST >> 20;
        return Err(Failure::usage(format!("{what} in {from} is larger than {most} MiB")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::usage(format!("{what} in {from} is not UTF-8: byte {at} fits no character"))
    })
}
