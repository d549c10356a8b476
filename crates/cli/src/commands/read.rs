//! `carrick read`

use crate::args::{Arguments, Read};
use crate::exit::Failure;
use crate::print;
use crate::setup::Setup;
use carrick::types::ReadResourceResult;
use std::io::IsTerminal;
use std::process::ExitCode;

/// Reads one resource.
pub(super) async fn run(arguments: &Arguments, read: &Read) -> Result<ExitCode, Failure> {
    let setup = Setup::new(arguments, None)?;
    let result = setup.registry.read(&read.server, &read.uri).await;
    setup.registry.close().await;
    let result = result?;
    if arguments.json {
        print::line(&String::from_utf8_lossy(result.as_bytes()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let contents: ReadResourceResult = result
        .read()
        .map_err(|error| Failure::failed(format!("the result is no resource: {error}")))?;
    for entry in &contents.contents {
        match (&entry.text, &entry.blob) {
            (Some(text), _) => write_text(text)?,
            (None, Some(blob)) => write_binary(blob)?,
            (None, None) => {}
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// As it is into a file or a pipe; made safe, and with its last line ended, on
/// a terminal.
fn write_text(text: &str) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() {
        return print::foreign(text.strip_suffix('\n').unwrap_or(text));
    }
    print::bytes(text.as_bytes())
}

fn write_binary(blob: &str) -> Result<(), Failure> {
    let bytes = carrick_host::turn::decode_base64(blob)
        .map_err(|error| Failure::failed(format!("the resource is not base64: {error}")))?;
    if std::io::stdout().is_terminal() {
        print::say(format_args!(
            "{} bytes of binary data: send stdout into a file to have them",
            bytes.len()
        ));
        return Ok(());
    }
    print::bytes(&bytes)
}
