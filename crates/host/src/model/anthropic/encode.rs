//! From a request to the body of a message.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::model::history::{self, AssistantPart, CallResult, Turn, UserPart};
use crate::model::{Image, Request};

/// Writes the body. Opaque blocks go back if they are those of the model `opaque_of`.
pub(super) fn body(
    request: &Request,
    model: &str,
    opaque_of: Option<&str>,
) -> Result<Bytes, serde_json::Error> {
    let mut messages: Vec<_> =
        history::strict(&request.messages, opaque_of).into_iter().map(message).collect();
    // The API wants the user to begin, and to have the last word.
    if !matches!(messages.first(), Some(Message::User { .. })) {
        messages.insert(0, aside("(The conversation goes on.)"));
    }
    if !matches!(messages.last(), Some(Message::User { .. })) {
        messages.push(aside("(Go on.)"));
    }
    let tools = request.tools.iter().map(|tool| Tool {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.input_schema,
    });
    let body = Body {
        model,
        max_tokens: request.max_tokens,
        system: Some(request.system.as_str()).filter(|system| !system.trim().is_empty()),
        messages,
        tools: tools.collect(),
        temperature: request.temperature,
        stream: true,
    };
    serde_json::to_vec(&body).map(Bytes::from)
}

fn aside(text: &str) -> Message<'_> {
    Message::User { content: vec![Block::Typed(Typed::Text { text: text.into() })] }
}

fn message(turn: Turn<'_>) -> Message<'_> {
    match turn {
        Turn::User { results, parts } => Message::User {
            content: results.into_iter().map(result).chain(parts.into_iter().map(part)).collect(),
        },
        Turn::Assistant(parts) => {
            let content = parts.into_iter().map(|part| match part {
                AssistantPart::Text(text) => Block::Typed(Typed::Text { text: text.into() }),
                AssistantPart::Call { id, name, arguments } => {
                    Block::Typed(Typed::ToolUse { id, name, input: arguments })
                }
                AssistantPart::Opaque(opaque) => Block::Raw(&opaque.raw),
            });
            Message::Assistant { content: content.collect() }
        }
    }
}

fn part(part: UserPart<'_>) -> Block<'_> {
    Block::Typed(typed(part))
}

fn typed(part: UserPart<'_>) -> Typed<'_> {
    match part {
        UserPart::Text(text) => Typed::Text { text },
        UserPart::Image(image) => Typed::Image { source: Source::from(image) },
    }
}

fn result(result: CallResult<'_>) -> Block<'_> {
    Block::Typed(Typed::ToolResult {
        tool_use_id: result.id,
        content: result.content.into_iter().map(typed).collect(),
        is_error: result.is_error,
    })
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a str>,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    stream: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    User { content: Vec<Block<'a>> },
    Assistant { content: Vec<Block<'a>> },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    Typed(Typed<'a>),
    /// A block returned as it came.
    Raw(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Typed<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Source<'a>,
    },
    ToolUse {
        id: String,
        name: &'a str,
        input: Cow<'a, RawValue>,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Typed<'a>>,
        #[serde(skip_serializing_if = "core::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

impl<'a> From<&'a Image> for Source<'a> {
    fn from(image: &'a Image) -> Self {
        Self { r#type: "base64", media_type: &image.mime, data: &image.base64 }
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: &'a RawValue,
}
