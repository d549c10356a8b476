//! From a request to the body of a chat completion.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;

use super::Dialect;
use crate::model::history::{self, AssistantPart, CallResult, Turn, UserPart};
use crate::model::{Image, Request, ToolSpec, narrow};

/// Writes the body.
pub(super) fn body(
    request: &Request,
    model: &str,
    dialect: Dialect,
) -> Result<Bytes, serde_json::Error> {
    let schema = |tool| match dialect.narrow {
        true => parameters_narrowed(tool),
        false => with_properties(tool),
    };
    let schemas = request.tools.iter().map(schema).collect::<Result<Vec<_>, _>>()?;
    let tools = request.tools.iter().zip(&schemas).map(|(tool, parameters)| Tool {
        r#type: "function",
        function: Function { name: &tool.name, description: &tool.description, parameters },
    });
    let limit = Some(request.max_tokens);
    let tools: Vec<_> = tools.collect();
    let body = Body {
        model,
        messages: messages(request),
        stream: true,
        stream_options: (!dialect.no_stream_options)
            .then_some(StreamOptions { include_usage: true }),
        max_tokens: limit.filter(|_| !dialect.new_limit),
        max_completion_tokens: limit.filter(|_| dialect.new_limit),
        temperature: request.temperature,
        reasoning_effort: (dialect.no_effort && !tools.is_empty()).then_some("none"),
        tools,
    };
    serde_json::to_vec(&body).map(Bytes::from)
}

fn messages(request: &Request) -> Vec<Message<'_>> {
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(Message::System { content: &request.system });
    }
    // This API has no block of its own to return.
    for turn in history::strict(&request.messages, None) {
        match turn {
            Turn::Assistant(parts) => messages.push(assistant(parts)),
            Turn::User { results, parts } => user(results, parts, &mut messages),
        }
    }
    messages
}

fn assistant(parts: Vec<AssistantPart<'_>>) -> Message<'_> {
    let mut texts = Vec::new();
    let mut tool_calls = Vec::new();
    for part in parts {
        match part {
            AssistantPart::Text(text) => texts.push(text),
            AssistantPart::Call { id, name, arguments } => tool_calls.push(Call {
                id,
                r#type: "function",
                function: CalledFunction { name, arguments: arguments.get().to_owned() },
            }),
            AssistantPart::Opaque(_) => {}
        }
    }
    let content = (!texts.is_empty()).then(|| texts.concat());
    Message::Assistant { content, tool_calls }
}

/// Results become `tool` messages, which hold text only; their pictures follow in a message of
/// the user, after all results, since nothing may stand between a call and its result.
fn user<'a>(
    results: Vec<CallResult<'a>>,
    parts: Vec<UserPart<'a>>,
    messages: &mut Vec<Message<'a>>,
) {
    let mut following = Vec::new();
    for result in results {
        let mut texts = Vec::new();
        let mut pictures = Vec::new();
        for part in result.content {
            match part {
                UserPart::Text(text) => texts.push(text),
                UserPart::Image(image) => pictures.push(Part::image(image)),
            }
        }
        if !pictures.is_empty() {
            let label = format!("[pictures from {}, call {}]", result.name, result.id);
            texts.push(Cow::Borrowed("[pictures follow in the next message]"));
            following.push(Part::Text { text: label.into() });
            following.append(&mut pictures);
        }
        let text = if texts.is_empty() { "(empty result)".to_owned() } else { texts.join("\n") };
        let content = if result.is_error { format!("Error: {text}") } else { text };
        messages.push(Message::Tool { tool_call_id: result.id, content });
    }
    following.extend(parts.into_iter().map(|part| match part {
        UserPart::Text(text) => Part::Text { text },
        UserPart::Image(image) => Part::image(image),
    }));
    if !following.is_empty() {
        messages.push(Message::User { content: Content::from(following) });
    }
}

/// The schema for a server that knows only a part of JSON Schema.
fn parameters_narrowed(tool: &ToolSpec) -> Result<Cow<'_, RawValue>, serde_json::Error> {
    narrow::narrow(&tool.input_schema).map(Cow::Owned)
}

/// OpenAI refuses an object schema without `properties`.
fn with_properties(tool: &ToolSpec) -> Result<Cow<'_, RawValue>, serde_json::Error> {
    let mut schema: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(tool.input_schema.get())?;
    if schema.contains_key("properties") {
        return Ok(Cow::Borrowed(&tool.input_schema));
    }
    schema.entry("type").or_insert_with(|| "object".into());
    schema.insert("properties".to_owned(), serde_json::Map::new().into());
    serde_json::value::to_raw_value(&schema).map(Cow::Owned)
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: String,
        content: String,
    },
}

/// Plain text where there is nothing else: some servers take no list.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(String),
    Parts(Vec<Part<'a>>),
}

impl<'a> From<Vec<Part<'a>>> for Content<'a> {
    fn from(parts: Vec<Part<'a>>) -> Self {
        let texts: Option<Vec<&str>> = parts.iter().map(Part::text).collect();
        match texts {
            Some(texts) => Self::Text(texts.join("\n\n")),
            None => Self::Parts(parts),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

impl Part<'_> {
    fn image(image: &Image) -> Self {
        let url = format!("data:{};base64,{}", image.mime, image.base64);
        Self::ImageUrl { image_url: ImageUrl { url } }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::ImageUrl { .. } => None,
        }
    }
}

#[derive(Serialize)]
struct Call<'a> {
    id: String,
    r#type: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: String,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: &'a RawValue,
}
