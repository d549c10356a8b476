//! `carrick read`

use crate::args::{Arguments, Read};
use crate::exit::Failure;
use crate::print;
use crate::setup::Setup;
use carrick::types::{ReadResourceResult, Resource, ResourceTemplate};
use carrick_host::permission::{quoted, visible};
use carrick_host::registry::ServerErrorKind;
use std::io::IsTerminal;
use std::process::ExitCode;

/// Reads one resource, or lists those that there are.
pub(super) async fn run(arguments: &Arguments, read: &Read) -> Result<ExitCode, Failure> {
    let setup = Setup::new(arguments, None).await?;
    let registry = &setup.registry;
    let Some(uri) = &read.uri else {
        let listing = async { Ok(registry.resources(&read.server).await?) };
        let (resources, templates) = setup.finish(listing).await?;
        return list(arguments.json, &read.server, &resources, &templates);
    };
    let reading = async {
        registry.read(&read.server, uri).await.map_err(|error| match error.kind() {
            ServerErrorKind::Request { .. } => {
                let hint = format!("`carrick read {}` lists its resources", visible(&read.server));
                Failure::from(error).hint(hint)
            }
            _ => error.into(),
        })
    };
    let result = setup.finish(reading).await?;
    if arguments.json {
        print::raw_json(&String::from_utf8_lossy(result.as_bytes()))?;
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

fn list(
    json: bool,
    server: &str,
    resources: &[Resource],
    templates: &[ResourceTemplate],
) -> Result<ExitCode, Failure> {
    if json {
        resources.iter().try_for_each(print::json)?;
        templates.iter().try_for_each(print::json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let resources = resources.iter().map(|r| (&r.uri, &r.title, &r.name));
    let templates = templates.iter().map(|t| (&t.uri_template, &t.title, &t.name));
    let mut any = false;
    for (address, title, name) in resources.chain(templates) {
        any = true;
        let title = title.as_ref().unwrap_or(name);
        print::line(&format!("{}  {}", visible(address), visible(title)))?;
    }
    if !any {
        print::say(format_args!("server {} lists no resource", quoted(server)));
    }
    Ok(ExitCode::SUCCESS)
}

/// As it is into a file or a pipe; made safe, and with its last line ended, on
/// a terminal.
fn write_text(text: &str) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() {
        return print::foreign(text);
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
