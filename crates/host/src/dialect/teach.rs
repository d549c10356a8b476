//! The part of the system prompt that teaches the XML form.

#[cfg(test)]
mod tests;

use carrick::proto::text::excerpt;
use carrick::proto::xml::escape;

use super::render::disarm;

/// Bytes of one text by a server. What is longer is cut, and says so.
const LONGEST_TEXT: usize = 8 << 10;

/// A tool, as far as a model needs to know it.
#[derive(Clone, Debug)]
pub struct ToolSummary {
    /// The server's name in this host.
    pub server: String,
    /// The tool's name.
    pub name: String,
    /// The server's description of it; may be empty.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: String,
}

/// What a server says about itself.
#[derive(Clone, Debug)]
pub struct ServerSummary {
    /// Its name in this host.
    pub name: String,
    /// Its `instructions`; may be empty.
    pub instructions: String,
    /// Whether it has resources.
    pub has_resources: bool,
    /// Some of them, where it has any.
    pub resources: Vec<ResourceSummary>,
}

/// A resource or, with a template as address, many.
#[derive(Clone, Debug)]
pub struct ResourceSummary {
    /// The address, or a template for addresses (RFC 6570).
    pub uri: String,
    /// The server's name for it; may be empty.
    pub name: String,
    /// The server's description of it; may be empty.
    pub description: String,
}

const HOW_TO_CALL: &str = include_str!("teach/tools.md");
const HOW_TO_READ: &str = include_str!("teach/resources.md");
const WHAT_THERE_IS: &str = include_str!("teach/listing.md");

/// Teaches a model the XML form and lists what it can ask for, in the given order; tools
/// of a server that `servers` does not name come after the others. Empty when there is
/// nothing to ask for.
///
/// What a server wrote stands in elements that are introduced as the server's, cannot
/// hold a tag of this form, and is cut at 8 KiB a text.
pub fn teach(servers: &[ServerSummary], tools: &[ToolSummary]) -> String {
    let resources = servers.iter().any(|server| server.has_resources);
    if tools.is_empty() && !resources {
        return String::new();
    }
    let mut out = String::from(HOW_TO_CALL);
    if resources {
        out.push('\n');
        out.push_str(HOW_TO_READ);
    }
    out.push('\n');
    out.push_str(WHAT_THERE_IS);
    let mut names: Vec<&str> = Vec::new();
    let all = servers.iter().map(|server| server.name.as_str());
    for name in all.chain(tools.iter().map(|tool| tool.server.as_str())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        let summary = servers.iter().find(|server| server.name == name);
        let tools: Vec<_> = tools.iter().filter(|tool| tool.server == name).collect();
        if !tools.is_empty() || summary.is_some_and(|summary| summary.has_resources) {
            server(name, summary, &tools, &mut out);
        }
    }
    out
}

fn server(name: &str, summary: Option<&ServerSummary>, tools: &[&ToolSummary], out: &mut String) {
    let (instructions, has_resources) =
        summary.map_or(("", false), |summary| (&summary.instructions, summary.has_resources));
    let resources = if has_resources { " resources=\"yes\"" } else { "" };
    out.push_str(&format!("\n<server name=\"{}\"{resources}>\n", escape(name)));
    text("instructions", instructions, out);
    for tool in tools {
        out.push_str(&format!("<tool name=\"{}\">\n", escape(&tool.name)));
        text("description", &tool.description, out);
        let schema = one_line(&tool.input_schema);
        out.push_str(&format!("<input_schema>{schema}</input_schema>\n</tool>\n"));
    }
    for resource in summary.into_iter().flat_map(|summary| &summary.resources) {
        let (uri, name) = (escape(&resource.uri), escape(&resource.name));
        out.push_str(&format!("<resource uri=\"{uri}\" name=\"{name}\">\n"));
        text("description", &resource.description, out);
        out.push_str("</resource>\n");
    }
    out.push_str("</server>\n");
}

/// A text by a server, if there is one.
fn text(element: &str, text: &str, out: &mut String) {
    let text = text.trim();
    if text.is_empty() {
        return;
    }
    let rest = if text.len() > LONGEST_TEXT { " [cut here]" } else { "" };
    let start = disarm(&excerpt(text, LONGEST_TEXT));
    out.push_str(&format!("<{element}>\n{start}{rest}\n</{element}>\n"));
}

/// The same JSON without blanks between its parts, and without any `<`. A schema is not
/// cut: part of one would be wrong.
fn one_line(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            _ if in_string || !c.is_whitespace() => out.push(c),
            _ => {}
        }
        in_string = (c == '"' && !escaped) != in_string;
        escaped = c == '\\' && !escaped;
    }
    out
}
