//! Results in the providers' own JSON.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::{Content, Outcome, Status};
use super::disarm::{disarm_json, disarm_requests};

/// The pictures that Anthropic's models take.
const ANTHROPIC_IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

#[derive(Serialize)]
struct ToolMessage<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    /// Pairs a result with its call where calls have no ids (Ollama).
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    content: String,
}

pub(super) fn openai(outcomes: &[Outcome]) -> String {
    lines(outcomes.iter().map(|outcome| ToolMessage {
        role: "tool",
        tool_call_id: outcome.id.as_deref(),
        tool_name: outcome.tool.as_deref().filter(|_| outcome.id.is_none()),
        content: told(outcome),
    }))
}

#[derive(Serialize)]
struct FunctionCallOutput<'a> {
    r#type: &'static str,
    call_id: Option<&'a str>,
    output: Output,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Part {
    #[serde(rename = "input_text")]
    Text { text: String },
    #[serde(rename = "input_image")]
    Image { image_url: String },
}

pub(super) fn responses(outcomes: &[Outcome]) -> String {
    lines(outcomes.iter().map(|outcome| FunctionCallOutput {
        r#type: "function_call_output",
        call_id: outcome.id.as_deref(),
        output: response_output(outcome),
    }))
}

fn response_output(outcome: &Outcome) -> Output {
    if !outcome.content.iter().any(|content| matches!(content, Content::Image { .. })) {
        return Output::Text(told(outcome));
    }
    let text = |text: &str| Part::Text { text: text.to_owned() };
    let mut parts: Vec<Part> = Vec::new();
    parts.extend(prefix(outcome).map(text));
    parts.extend(outcome.content.iter().map(|content| match content {
        Content::Image { mime, base64 } => {
            Part::Image { image_url: format!("data:{mime};base64,{base64}") }
        }
        other => text(&other.plain_text()),
    }));
    parts.extend(outcome.untold_structured().as_deref().map(text));
    Output::Parts(parts)
}

#[derive(Serialize)]
struct UserMessage<'a> {
    role: &'static str,
    content: Vec<ToolResult<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ToolResult<'a> {
    ToolResult {
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        content: Vec<Block<'a>>,
    },
    /// For a request without an id, which no result can be paired with.
    Text { text: String },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text { text: String },
    Image { source: Source<'a> },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

pub(super) fn anthropic(outcomes: &[Outcome]) -> String {
    lines([UserMessage { role: "user", content: outcomes.iter().map(ToolResult::new).collect() }])
}

impl<'a> ToolResult<'a> {
    fn new(outcome: &'a Outcome) -> Self {
        match &outcome.id {
            Some(tool_use_id) => Self::ToolResult {
                tool_use_id,
                is_error: outcome.status.is_error(),
                content: anthropic_content(outcome),
            },
            None => Self::Text { text: told(outcome) },
        }
    }
}

fn anthropic_content(outcome: &Outcome) -> Vec<Block<'_>> {
    let blocks = outcome.content.iter().map(|content| match content {
        Content::Image { mime, base64 } if ANTHROPIC_IMAGES.contains(&mime.as_str()) => {
            Block::Image { source: Source { r#type: "base64", media_type: mime, data: base64 } }
        }
        other => Block::Text { text: other.plain_text().into_owned() },
    });
    let structured =
        outcome.untold_structured().map(|json| Block::Text { text: json.into_owned() });
    // An empty text block is refused by the provider.
    let filled =
        |block: &Block<'_>| !matches!(block, Block::Text { text } if text.trim().is_empty());
    blocks.chain(structured).filter(filled).collect()
}

#[derive(Serialize)]
struct Plain<'a> {
    tool_results: Vec<PlainResult<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlainResult<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    is_error: bool,
    content: Vec<PlainContent<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<Cow<'a, RawValue>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum PlainContent<'a> {
    Known(KnownContent<'a>),
    Other(Cow<'a, RawValue>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum KnownContent<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        data: &'a str,
        #[serde(rename = "mimeType")]
        mime_type: &'a str,
    },
}

pub(super) fn plain(outcomes: &[Outcome]) -> String {
    lines([Plain { tool_results: outcomes.iter().map(PlainResult::new).collect() }])
}

impl<'a> PlainResult<'a> {
    fn new(outcome: &'a Outcome) -> Self {
        Self {
            id: outcome.id.as_deref(),
            server: outcome.server.as_deref(),
            name: outcome.tool.as_deref(),
            uri: outcome.uri.as_deref(),
            is_error: outcome.status.is_error(),
            content: outcome.content.iter().map(PlainContent::new).collect(),
            structured_content: outcome.structured.as_deref().map(disarm_json),
        }
    }
}

impl<'a> PlainContent<'a> {
    fn new(content: &'a Content) -> Self {
        match content {
            Content::Text(text) => Self::Known(KnownContent::Text { text: disarm_requests(text) }),
            Content::Image { mime, base64 } => {
                Self::Known(KnownContent::Image { data: base64, mime_type: mime })
            }
            Content::Other(raw) => Self::Other(disarm_json(raw)),
        }
    }
}

/// What a result says, where its form cannot mark an error.
fn told(outcome: &Outcome) -> String {
    let text = outcome.plain_text();
    match prefix(outcome) {
        // Said already.
        Some(prefix) if says(&text, prefix) => text,
        Some(prefix) => format!("{prefix} {text}"),
        None => text,
    }
}

fn says(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn prefix(outcome: &Outcome) -> Option<&'static str> {
    match outcome.status {
        Status::Success => None,
        Status::Error => Some("Error:"),
        Status::NotRun => Some("Not run:"),
    }
}

fn lines<T: Serialize>(items: impl IntoIterator<Item = T>) -> String {
    let mut out = String::new();
    for item in items {
        // Strings and JSON always serialize.
        if let Ok(line) = serde_json::to_string(&item) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}
