//! Results, in the form the model that asked expects them.

mod disarm;
mod native;
#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;

use serde_json::value::RawValue;

use disarm::{disarm_json, disarm_requests};

use super::{Content, Dialect, Outcome};

pub(super) use disarm::disarm;

/// Writes `outcomes` for a model that asked in `dialect`:
///
/// - [`Dialect::Xml`]: a `<tool_result>` block each, with server, tool or address,
///   status and content. Tags of this form inside a result lose their `<`, JSON that
///   asks for tools its first quote or bracket, so that a result cannot pass for another
///   block, nor be a request when the model repeats it; all other text stays byte for
///   byte.
/// - [`Dialect::OpenAi`]: a `tool` message each, one a line.
/// - [`Dialect::Responses`]: a `function_call_output` item each, one a line.
/// - [`Dialect::Anthropic`]: one `user` message with a `tool_result` block each.
/// - [`Dialect::Plain`]: one object, `{"tool_results":[…]}`.
///
/// In the forms of JSON, tags of requests lose their `<`, because the text of such
/// messages is searched for requests too.
///
/// Where a form has no place for pictures, a note with media type and size stands for
/// them. The text ends with a line break unless it is empty.
pub fn render(dialect: Dialect, outcomes: &[Outcome]) -> String {
    if outcomes.is_empty() {
        return String::new();
    }
    match dialect {
        Dialect::Xml => text::blocks(outcomes),
        Dialect::OpenAi => native::openai(outcomes),
        Dialect::Responses => native::responses(outcomes),
        Dialect::Anthropic => native::anthropic(outcomes),
        Dialect::Plain => native::plain(outcomes),
    }
}

impl Outcome {
    /// The structured content, unless one of the texts already says the same.
    fn untold_structured(&self) -> Option<Cow<'_, str>> {
        let structured = self.structured.as_deref()?;
        let value = serde_json::from_str::<serde_json::Value>(structured.get()).ok();
        let told = self.content.iter().any(|content| match content {
            Content::Text(text) => {
                text == structured.get()
                    || (value.is_some() && serde_json::from_str(text).ok() == value)
            }
            _ => false,
        });
        (!told).then(|| json_text(structured))
    }

    /// Everything as text.
    fn plain_text(&self) -> String {
        let mut parts: Vec<Cow<'_, str>> = self.content.iter().map(Content::plain_text).collect();
        parts.extend(self.untold_structured());
        parts.join("\n")
    }
}

impl Content {
    fn plain_text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => disarm_requests(text),
            Self::Image { mime, base64 } => Cow::Owned(image_note(mime, base64)),
            Self::Other(raw) => json_text(raw),
        }
    }
}

fn json_text(raw: &RawValue) -> Cow<'_, str> {
    match disarm_json(raw) {
        Cow::Borrowed(raw) => Cow::Borrowed(raw.get()),
        Cow::Owned(raw) => Cow::Owned(raw.get().to_owned()),
    }
}

/// What stands for a picture that cannot be shown.
fn image_note(mime: &str, base64: &str) -> String {
    let padding = base64.bytes().rev().take_while(|b| *b == b'=').count();
    let bytes = (base64.len() / 4 * 3).saturating_sub(padding);
    format!("[a picture, {mime}, {bytes} bytes, not shown]")
}
