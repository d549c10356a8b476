//! The host's own tools: resources and prompts for models with native calls, and
//! prompts for those that write XML, which have a form for resources.

use super::Wanted;
use super::calls::Target;
use crate::dialect::ToolSummary;
use crate::model::{ToolCall, ToolSpec};
use crate::registry::{Catalog, ServerTools};
use carrick::proto::text::excerpt;
use carrick_policy::visible;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

const READ_RESOURCE: &str = "read_resource";
const GET_PROMPT: &str = "get_prompt";

/// What `get_prompt` does.
const RENDERS: &str = "Renders a prompt that a server has prepared, by its name. The result is a \
                       conversation to take as a template, not something that was said.";

/// Bytes of a server's text about one resource or prompt that are shown.
const TEXT: usize = 200;

/// The tools for what the servers of `catalog` offer besides tools.
pub(super) fn specs(catalog: &Catalog) -> impl Iterator<Item = ToolSpec> {
    [read_resource(catalog), get_prompt(catalog)].into_iter().flatten()
}

/// The call as one of ours; none when it is of another tool.
pub(super) fn wanted(call: &ToolCall) -> Option<Wanted> {
    let (target, arguments) = match call.name.as_str() {
        READ_RESOURCE => (resource(&call.arguments), None),
        GET_PROMPT => match prompt(&call.arguments) {
            Ok((target, arguments)) => (Ok(target), Some(arguments)),
            Err(error) => (Err(error), None),
        },
        _ => return None,
    };
    let target = target.map_err(|error| format!("not run: {error}"));
    let arguments = arguments.unwrap_or_else(|| call.arguments.clone());
    Some(Wanted { id: call.id.clone(), target, arguments })
}

/// `get_prompt` as a tool of each server that has prompts, and no such tool itself.
pub(super) fn taught(catalog: &Catalog) -> impl Iterator<Item = ToolSummary> {
    let servers = catalog.servers.iter().filter(|server| offers_prompts(server));
    servers.filter_map(|server| {
        let mut prompts = prompts(server, |what, about| format!("\n- {what} {about}"));
        prompts.insert_str(0, RENDERS);
        let schema = serde_json::to_string(&json!({
            "type": "object", "properties": prompt_properties(), "required": ["name"],
        }));
        Some(ToolSummary {
            server: server.server.clone(),
            name: GET_PROMPT.into(),
            description: prompts,
            input_schema: schema.ok()?,
        })
    })
}

/// A call of a tool that [`taught`] has: the prompt and its arguments, or what is wrong.
pub(super) fn taught_call(
    catalog: &Catalog,
    server: Option<&str>,
    tool: &str,
    arguments: &RawValue,
) -> Option<Result<(Target, Box<RawValue>), String>> {
    if tool != GET_PROMPT {
        return None;
    }
    let server = catalog.servers.iter().find(|known| Some(known.server.as_str()) == server)?;
    let read = || prompt_of(server.server.clone(), arguments);
    offers_prompts(server).then(|| read().map_err(|error| format!("not run: {error}")))
}

fn offers_prompts(server: &ServerTools) -> bool {
    server.has_prompts() && !server.tools.iter().any(|tool| tool.name == GET_PROMPT)
}

fn resource(arguments: &RawValue) -> Result<Target, serde_json::Error> {
    #[derive(Deserialize)]
    struct Read {
        server: String,
        uri: String,
    }
    let Read { server, uri } = serde_json::from_str(arguments.get())?;
    Ok(Target::Resource { server, uri })
}

fn prompt(arguments: &RawValue) -> Result<(Target, Box<RawValue>), serde_json::Error> {
    #[derive(Deserialize)]
    struct Get {
        server: String,
    }
    let Get { server } = serde_json::from_str(arguments.get())?;
    prompt_of(server, arguments)
}

fn prompt_of(
    server: String,
    arguments: &RawValue,
) -> Result<(Target, Box<RawValue>), serde_json::Error> {
    #[derive(Deserialize)]
    struct Get {
        name: String,
        #[serde(default)]
        arguments: serde_json::Map<String, Value>,
    }
    let Get { name, arguments } = serde_json::from_str(arguments.get())?;
    // A prompt's arguments are text, whatever the model made of them.
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let arguments: serde_json::Map<String, Value> =
        arguments.into_iter().map(|(name, value)| (name, text(value).into())).collect();
    Ok((Target::Prompt { server, name }, to_raw_value(&arguments)?))
}

fn read_resource(catalog: &Catalog) -> Option<ToolSpec> {
    let with: Vec<&ServerTools> = catalog.servers.iter().filter(|s| s.has_resources()).collect();
    let mut description = "Reads a resource of a server by its address (URI).".to_owned();
    for server in &with {
        let offers = &server.offers;
        for resource in &offers.resources {
            let about = about(&resource.name, resource.description.as_deref());
            description += &entry(&server.server, &resource.uri, &about);
        }
        for template in &offers.templates {
            let about = about(&template.name, template.description.as_deref());
            let about = format!("{about} (put values in place of the braces)");
            description += &entry(&server.server, &template.uri_template, &about);
        }
    }
    let uri = json!({ "type": "string", "description": "The resource's address" });
    spec(READ_RESOURCE, description, &with, json!({ "uri": uri }), &["server", "uri"])
}

fn get_prompt(catalog: &Catalog) -> Option<ToolSpec> {
    let with: Vec<&ServerTools> = catalog.servers.iter().filter(|s| s.has_prompts()).collect();
    let mut description = RENDERS.to_owned();
    for server in &with {
        description += &prompts(server, |what, about| entry(&server.server, what, about));
    }
    spec(GET_PROMPT, description, &with, prompt_properties(), &["server", "name"])
}

/// A line for each prompt of a server: its name with its arguments, and what it is about.
fn prompts(server: &ServerTools, line: impl Fn(&str, &str) -> String) -> String {
    let prompts = server.offers.prompts.iter().map(|prompt| {
        let arguments = prompt.arguments.iter().map(|argument| {
            let optional = if argument.required { "" } else { "?" };
            format!("{}{optional}", visible(&argument.name))
        });
        let name = format!("{}({})", prompt.name, arguments.collect::<Vec<_>>().join(", "));
        line(&cut(&name), &about("", prompt.description.as_deref()))
    });
    prompts.collect()
}

fn prompt_properties() -> Value {
    json!({
        "name": { "type": "string", "description": "The prompt's name" },
        "arguments": { "type": "object", "additionalProperties": { "type": "string" } },
    })
}

fn spec(
    name: &str,
    description: String,
    servers: &[&ServerTools],
    mut properties: Value,
    required: &[&str],
) -> Option<ToolSpec> {
    if servers.is_empty() {
        return None;
    }
    let names: Vec<&str> = servers.iter().map(|server| server.server.as_str()).collect();
    properties["server"] = json!({ "type": "string", "enum": names });
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    Some(ToolSpec { name: name.into(), description, input_schema: to_raw_value(&schema).ok()? })
}

fn entry(server: &str, what: &str, about: &str) -> String {
    format!("\n- {}: {} {about}", visible(server), cut(what)).trim_end().to_owned()
}

fn about(name: &str, description: Option<&str>) -> String {
    let text = description.filter(|text| !text.trim().is_empty()).unwrap_or(name);
    cut(text)
}

/// The start of a server's text, without characters that hide or reorder it.
fn cut(text: &str) -> String {
    visible(excerpt(text, TEXT).trim())
}
