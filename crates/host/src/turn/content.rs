//! Results: as received, for the model, and as text.

use crate::dialect::{Content, Outcome, Status};
use crate::model::{Image, ResultPart};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use carrick::types::ContentBlock;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What came back from a call, as the server wrote it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Received {
    /// Whether it is a failure.
    pub is_error: bool,
    /// The content blocks.
    pub content: Vec<Box<RawValue>>,
    /// The structured content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Box<RawValue>>,
}

impl Received {
    /// A tool's result.
    ///
    /// # Errors
    /// When it is not one; a resource's contents are not, for example.
    pub fn of_call(json: &[u8]) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Body {
            #[serde(default)]
            content: Option<Vec<Box<RawValue>>>,
            #[serde(default)]
            structured_content: Option<Box<RawValue>>,
            #[serde(default)]
            is_error: Option<bool>,
        }
        let body: Body = serde_json::from_slice(json)?;
        Ok(Self {
            is_error: body.is_error.unwrap_or(false),
            content: body.content.unwrap_or_default(),
            structured_content: body.structured_content,
        })
    }

    /// A resource's contents, each as an embedded resource.
    ///
    /// # Errors
    /// When `json` is no answer to `resources/read`.
    pub fn of_read(json: &[u8]) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Body {
            contents: Vec<Box<RawValue>>,
        }
        let body: Body = serde_json::from_slice(json)?;
        let block = |contents: Box<RawValue>| {
            RawValue::from_string(format!(r#"{{"type":"resource","resource":{contents}}}"#))
        };
        let content = body.contents.into_iter().map(block).collect::<Result<_, _>>()?;
        Ok(Self { is_error: false, content, structured_content: None })
    }

    /// A rendered prompt: each message with whose it is in front.
    ///
    /// # Errors
    /// When `json` is no answer to `prompts/get`.
    pub fn of_prompt(json: &[u8]) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Body {
            messages: Vec<Message>,
        }
        #[derive(Deserialize)]
        struct Message {
            role: String,
            content: Box<RawValue>,
        }
        let body: Body = serde_json::from_slice(json)?;
        let mut content = Vec::new();
        for message in body.messages {
            let who = serde_json::json!({ "type": "text", "text": format!("{}:", message.role) });
            content.push(serde_json::value::to_raw_value(&who)?);
            content.push(message.content);
        }
        Ok(Self { is_error: false, content, structured_content: None })
    }

    /// A failure on this side of the server, said in words for the model.
    pub fn failure(text: &str) -> Self {
        let block = serde_json::json!({ "type": "text", "text": text });
        let block = serde_json::value::to_raw_value(&block);
        Self { is_error: true, content: block.into_iter().collect(), structured_content: None }
    }

    /// Everything as text, for a person.
    pub fn text(&self) -> String {
        let parts: Vec<String> = self.pieces().iter().map(Content::to_text).collect();
        let text = parts.join("\n");
        match &self.structured_content {
            Some(json) if text.trim().is_empty() => json.get().to_owned(),
            _ => text,
        }
    }

    /// The blocks by kind.
    pub(super) fn pieces(&self) -> Vec<Content> {
        self.content.iter().map(|raw| piece(raw)).collect()
    }

    /// What a model with native calls is shown: at most `limit` bytes of text,
    /// and some pictures.
    pub(super) fn parts(&self, limit: usize) -> Vec<ResultPart> {
        let mut pieces = self.pieces();
        if let (true, Some(json)) = (pieces.is_empty(), &self.structured_content) {
            pieces.push(Content::Text(json.get().to_owned()));
        }
        if pieces.is_empty() {
            pieces.push(Content::Text("(the tool gave no content)".into()));
        }
        let part = |content| match content {
            Content::Image { mime, base64 } => ResultPart::Image(Image { mime, base64 }),
            other => ResultPart::Text(other.to_text()),
        };
        within(pieces, limit).into_iter().map(part).collect()
    }
}

/// Pictures of one result that a model is shown.
const PICTURES: usize = 20;

/// Bytes of base64 of the pictures of one result that a model is shown.
const PICTURE_BYTES: usize = 20 << 20;

/// The pieces of one result that fit into `limit` bytes of text in all, the
/// last of them cut, and a note of how many there are besides.
pub(super) fn within(pieces: Vec<Content>, limit: usize) -> Vec<Content> {
    let (mut text_left, mut pictures_left, mut bytes_left) = (limit, PICTURES, PICTURE_BYTES);
    let (mut shown, mut left_out) = (Vec::new(), 0);
    for piece in pieces {
        match piece {
            Content::Image { mime, base64 } => {
                if pictures_left == 0 || base64.len() > bytes_left {
                    left_out += 1;
                    continue;
                }
                pictures_left -= 1;
                bytes_left -= base64.len();
                shown.push(Content::Image { mime, base64 });
            }
            _ if text_left == 0 => left_out += 1,
            other => {
                let text = other.to_text();
                let size = text.len();
                shown.push(match other {
                    fitting if size <= text_left => fitting,
                    _ => Content::Text(bounded(text, text_left)),
                });
                text_left = text_left.saturating_sub(size);
            }
        }
    }
    if left_out > 0 {
        shown.push(Content::Text(format!("[{left_out} more parts are left out]")));
    }
    shown
}

impl Content {
    /// The piece as text; a picture as a note.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Image { mime, base64 } => {
                format!("[a picture, {mime}, about {} bytes]", base64.len() / 4 * 3)
            }
            Self::Other(raw) => raw.get().to_owned(),
        }
    }
}

/// A call's outcome in the form that dialects render.
pub fn outcome(
    id: Option<String>,
    server: Option<String>,
    tool: Option<String>,
    uri: Option<String>,
    status: Status,
    received: Received,
) -> Outcome {
    Outcome {
        id,
        server,
        tool,
        uri,
        status: if received.is_error && status == Status::Success { Status::Error } else { status },
        content: received.pieces(),
        structured: received.structured_content,
    }
}

fn piece(raw: &RawValue) -> Content {
    match serde_json::from_str(raw.get()) {
        Ok(ContentBlock::Text { text, .. }) => Content::Text(text),
        Ok(ContentBlock::Image { data, mime_type, .. }) => image(data, mime_type),
        Ok(ContentBlock::Resource { resource, .. }) => match resource.text {
            Some(text) => Content::Text(text),
            None => Content::Other(raw.to_owned()),
        },
        _ => Content::Other(raw.to_owned()),
    }
}

/// A picture whose data is base64, or else a note that it is not.
fn image(data: String, mime: String) -> Content {
    match decode_base64(&data) {
        Ok(bytes) => Content::Image { mime, base64: STANDARD.encode(bytes) },
        Err(error) => Content::Text(format!("[a picture whose data is not base64: {error}]")),
    }
}

/// The bytes that base64 stands for; line breaks and missing padding do not
/// matter.
///
/// # Errors
/// When it is not base64.
pub fn decode_base64(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    let compact: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    STANDARD.decode(&compact).or_else(|_| STANDARD_NO_PAD.decode(&compact))
}

/// Head and tail of a long text, with a note of what is left out between.
pub(super) fn bounded(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let head = text.floor_char_boundary(limit / 4 * 3);
    let tail = text.ceil_char_boundary(text.len() - limit / 4);
    format!(
        "{}\n[… {} of {} bytes left out; ask for less at a time to see them …]\n{}",
        &text[..head],
        tail - head,
        text.len(),
        &text[tail..]
    )
}
