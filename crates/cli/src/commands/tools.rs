//! `carrick tools`

use crate::args::{Arguments, Tools};
use crate::exit::{Code, Failure};
use crate::print;
use crate::setup::Setup;
use carrick::types::Tool;
use carrick_host::permission::visible;
use serde::Serialize;
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
}

/// Lists tools. A server that cannot be reached is told of; the others are
/// listed all the same.
pub(super) async fn run(arguments: &Arguments, tools: &Tools) -> Result<ExitCode, Failure> {
    let setup = Setup::new(arguments, None)?;
    let registry = &setup.registry;
    let mut failed = Vec::new();
    let mut listed = Vec::new();
    if tools.servers.is_empty() {
        let catalog = registry.catalog().await;
        failed = catalog.failed;
        listed.extend(catalog.servers.into_iter().map(|s| (s.server, s.tools)));
    } else {
        for name in &tools.servers {
            match registry.tools(name).await {
                Ok(tools) => listed.push((name.clone(), tools)),
                Err(error) => failed.push(error),
            }
        }
    }
    for (server, tools_of) in &listed {
        for tool in tools_of.iter() {
            show(arguments.json, tools.long, server, tool)?;
        }
    }
    registry.close().await;
    let mut code = ExitCode::SUCCESS;
    for error in failed {
        code = Failure::from(error).report();
    }
    // What was listed is not all there is.
    if code != ExitCode::SUCCESS && !listed.is_empty() && tools.servers.is_empty() {
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
        });
    }
    let first = description.lines().next().unwrap_or_default();
    print::line(&format!("{}/{}  {}", visible(server), visible(&tool.name), visible(first)))?;
    if !long {
        return Ok(());
    }
    let schema: serde_json::Value =
        serde_json::from_str(tool.input_schema.get()).unwrap_or_default();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let kind = property["type"].as_str().unwrap_or("any");
        let mark = if required.iter().any(|r| r == name) { "" } else { "?" };
        let text = property["description"].as_str().unwrap_or_default();
        let line = format!("    {name}{mark}: {kind}  {}", text.lines().next().unwrap_or_default());
        print::line(&visible(&line))?;
    }
    Ok(())
}
