//! Tools (`server/tools`).

use super::{ContentBlock, Icon, RawJson};
use crate::rpc::push_escaped;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Deserializer, Serialize};

/// A tool that can be called.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tool {
    /// Programmatic name.
    pub name: String,
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of the arguments, an object.
    pub input_schema: RawJson,
    /// JSON Schema of the structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<RawJson>,
    /// Hints about what it does; not to be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// Pictures for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

impl Tool {
    /// A tool with the two things each has.
    pub fn new(name: impl Into<String>, input_schema: RawJson) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema,
            output_schema: None,
            annotations: None,
            icons: Vec::new(),
            meta: None,
        }
    }
}

/// What a server says of a tool's effects. Hints only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// Name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// May destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling it twice is as calling it once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// Reaches beyond a closed set of things.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// The answer to `tools/call`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallToolResult {
    /// What the tool says; absent and null count as nothing.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub content: Vec<ContentBlock>,
    /// The result as data, by the output schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<RawJson>,
    /// Whether the tool failed.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_error: bool,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

impl CallToolResult {
    /// A result of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: alloc::vec![ContentBlock::text(text)], ..Self::default() }
    }

    /// A failure, said in one text that the model can act on.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Appends the result as JSON. Writes the same as `Serialize`, and text,
    /// which most results are, without going through a serializer.
    ///
    /// # Errors
    /// When a block cannot be written, which only a broken [`RawJson`] causes.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        let text = match &self.content[..] {
            [ContentBlock::Text { text, extra }] if extra.is_empty() => text,
            _ => {
                out.extend(serde_json::to_vec(self)?);
                return Ok(());
            }
        };
        out.reserve(text.len() + text.len() / 16 + 64);
        out.extend_from_slice(br#"{"content":[{"type":"text","text":""#);
        push_escaped(out, text);
        out.extend_from_slice(br#""}]"#);
        if let Some(structured) = &self.structured_content {
            out.extend_from_slice(br#","structuredContent":"#);
            out.extend_from_slice(structured.get().as_bytes());
        }
        if self.is_error {
            out.extend_from_slice(br#","isError":true"#);
        }
        if let Some(meta) = &self.meta {
            out.extend_from_slice(br#","_meta":"#);
            out.extend_from_slice(meta.get().as_bytes());
        }
        out.push(b'}');
        Ok(())
    }

    /// Whether it holds nothing but text and the error flag, which every
    /// revision writes alike.
    pub fn is_plain(&self) -> bool {
        let is_text = |block: &ContentBlock| match block {
            ContentBlock::Text { extra, .. } => extra.is_empty(),
            _ => false,
        };
        self.structured_content.is_none() && self.meta.is_none() && self.content.iter().all(is_text)
    }

    /// About how much [`write_plain`](Self::write_plain) writes.
    pub(crate) fn plain_len(&self) -> usize {
        self.texts().map(|text| text.len() + text.len() / 16 + 32).sum::<usize>() + 32
    }

    /// Appends the members of a plain result.
    pub(crate) fn write_plain(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(br#""content":["#);
        for (at, text) in self.texts().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(br#"{"type":"text","text":""#);
            push_escaped(out, text);
            out.extend_from_slice(br#""}"#);
        }
        out.push(b']');
        if self.is_error {
            out.extend_from_slice(br#","isError":true"#);
        }
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::Text { text, .. } => Some(&**text),
            _ => None,
        })
    }

    /// A result of these blocks.
    pub fn content(content: Vec<ContentBlock>) -> Self {
        Self { content, ..Self::default() }
    }
}

fn null_is_empty<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<ContentBlock>, D::Error> {
    Ok(Option::deserialize(d)?.unwrap_or_default())
}

/// The answer to `tools/list`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListToolsResult {
    /// One page.
    pub tools: Vec<Tool>,
    /// Where the next page starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_result_is_written_as_it_serializes() {
        let raw = |text: &str| serde_json::value::RawValue::from_string(text.to_string()).unwrap();
        let mut full = CallToolResult::error("a \"quoted\"\n line \u{1} 中 \u{7f}");
        full.structured_content = Some(raw(r#"{"x":[1]}"#));
        full.meta = Some(raw("{}"));
        let two =
            CallToolResult::content(alloc::vec![ContentBlock::text("a"), ContentBlock::text("b")]);
        for result in [full, two, CallToolResult::text(""), CallToolResult::default()] {
            let mut out = Vec::new();
            result.write(&mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&result).unwrap());
        }
    }
}
