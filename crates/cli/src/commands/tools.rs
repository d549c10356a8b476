//! `carrick tools`

mod long;

use crate::args::{Arguments, Tools};
use crate::exit::{Code, Failure};
use crate::frontend::still_starting;
use crate::print;
use crate::setup::{self, Setup};
use carrick::types::{Tool, ToolAnnotations};
use carrick_host::permission::visible;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::process::ExitCode;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    server: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    description: &'a str,
    input_schema: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a ToolAnnotations>,
}

/// Lists tools. A server that cannot be reached is told of; the others are
/// listed all the same.
pub(super) async fn run(arguments: &Arguments, tools: &Tools) -> Result<ExitCode, Failure> {
    let setup = Setup::new(arguments, None).await?;
    setup.finish(list(&setup, arguments, tools)).await
}

async fn list(setup: &Setup, arguments: &Arguments, tools: &Tools) -> Result<ExitCode, Failure> {
    let registry = &setup.registry;
    let (mut failed, mut listed, mut held) = (Vec::new(), Vec::new(), Vec::new());
    let mut starting = None;
    if tools.servers.is_empty() {
        let catalog = registry.catalog().await;
        starting = still_starting(&catalog);
        failed = catalog.failed;
        for server in catalog.servers {
            held.push((server.server.clone(), server.held));
            listed.push((server.server, server.tools));
        }
    } else {
        for name in &tools.servers {
            match registry.tools(name).await {
                Ok(tools) => {
                    listed.push((name.clone(), tools));
                    held.push((name.clone(), registry.held(name).await?));
                }
                Err(error) => failed.push(error),
            }
        }
    }
    for (server, tools_of) in &listed {
        for tool in tools_of.iter() {
            show(arguments.json, tools.long, server, tool)?;
        }
    }
    held.retain(|(_, held)| !held.is_empty());
    if failed.is_empty()
        && starting.is_none()
        && held.is_empty()
        && listed.iter().all(|(_, tools)| tools.is_empty())
    {
        print::say("no server offers a tool");
    }
    let mut code = ExitCode::SUCCESS;
    for (server, held) in &held {
        let remark = setup::remark(server, held);
        let failure = Failure::new(Code::Permission, remark).server(server);
        code = if arguments.json { failure.report_json() } else { failure.report() };
    }
    let failures = !failed.is_empty();
    for error in failed {
        let failure = Failure::from(error);
        code = if arguments.json { failure.report_json() } else { failure.report() };
    }
    if let Some(text) = starting {
        let failure = Failure::new(Code::Unreachable, text).hint(
            "`carrick tools SERVER` waits for it; \"startupWait\" in \"limits\" sets how long \
             `carrick tools` waits (milliseconds)",
        );
        code = if arguments.json { failure.report_json() } else { failure.report() };
    }
    // What was listed is not all there is.
    if failures && code != ExitCode::SUCCESS && !listed.is_empty() && tools.servers.is_empty() {
        code = Code::Unreachable.into();
    }
    Ok(code)
}

fn show(json: bool, long: bool, server: &str, tool: &Tool) -> Result<(), Failure> {
    let description = tool.description.as_deref().unwrap_or_default();
    if json {
        return print::json(&Line {
            server,
            name: &tool.name,
            title: tool.title.as_deref(),
            description,
            input_schema: &tool.input_schema,
            output_schema: tool.output_schema.as_deref(),
            annotations: tool.annotations.as_ref(),
        });
    }
    let about = first_paragraph(description);
    print::line(&format!("{}/{}  {}", visible(server), visible(&tool.name), visible(&about)))?;
    if !long {
        return Ok(());
    }
    let hints = long::hints(tool.annotations.as_ref());
    hints.iter().try_for_each(|line| print::line(line))?;
    let schema: Value = serde_json::from_str(tool.input_schema.get()).unwrap_or_default();
    long::arguments(&schema).iter().try_for_each(|line| print::line(line))
}

/// A text up to its first empty line, as one line.
fn first_paragraph(text: &str) -> String {
    let lines = text.trim_start().lines().map(str::trim);
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_one_line() {
        assert_eq!(
            first_paragraph("\n Finds files in\n  a folder.\n\nMore."),
            "Finds files in a folder."
        );
        assert_eq!(first_paragraph(""), "");
    }
}
