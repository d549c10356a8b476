//! Content blocks (`server/tools`, Tool Result).

use super::{RawJson, Resource, ResourceContents};
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Whose a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, or what stands for them.
    User,
    /// The model.
    Assistant,
}

/// Hints about who should see something, and how much it matters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    /// For whom it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// From 0 (optional) to 1 (required).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// When it last changed, ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// A piece of content.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ContentBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// Base64.
        data: String,
        /// Media type.
        mime_type: String,
    },
    /// A sound.
    Audio {
        /// Base64.
        data: String,
        /// Media type.
        mime_type: String,
    },
    /// A resource that can be read.
    ResourceLink(Resource),
    /// A resource with its contents.
    Resource(ResourceContents),
    /// A kind that this version does not know, or one with members that do not
    /// fit its kind: the block as received.
    Other(RawJson),
}

impl ContentBlock {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The text, of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }
}

impl ContentBlock {
    /// The block as the kind its `type` says, if its members fit that kind.
    fn known(json: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Kind {
            r#type: String,
        }
        #[derive(Deserialize)]
        struct Text {
            text: String,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Media {
            data: String,
            mime_type: String,
        }
        #[derive(Deserialize)]
        struct Embedded {
            resource: ResourceContents,
        }
        let kind: Kind = serde_json::from_str(json).ok()?;
        Some(match kind.r#type.as_str() {
            "text" => Self::Text { text: serde_json::from_str::<Text>(json).ok()?.text },
            "image" => {
                let Media { data, mime_type } = serde_json::from_str(json).ok()?;
                Self::Image { data, mime_type }
            }
            "audio" => {
                let Media { data, mime_type } = serde_json::from_str(json).ok()?;
                Self::Audio { data, mime_type }
            }
            "resource_link" => Self::ResourceLink(serde_json::from_str(json).ok()?),
            "resource" => Self::Resource(serde_json::from_str::<Embedded>(json).ok()?.resource),
            _ => return None,
        })
    }
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        Ok(Self::known(raw.get()).unwrap_or(Self::Other(raw)))
    }
}

impl Serialize for ContentBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Borrowed<'a> {
            Text {
                text: &'a str,
            },
            Image {
                data: &'a str,
                #[serde(rename = "mimeType")]
                mime_type: &'a str,
            },
            Audio {
                data: &'a str,
                #[serde(rename = "mimeType")]
                mime_type: &'a str,
            },
            ResourceLink(&'a Resource),
            Resource {
                resource: &'a ResourceContents,
            },
        }
        match self {
            Self::Text { text } => Borrowed::Text { text },
            Self::Image { data, mime_type } => Borrowed::Image { data, mime_type },
            Self::Audio { data, mime_type } => Borrowed::Audio { data, mime_type },
            Self::ResourceLink(resource) => Borrowed::ResourceLink(resource),
            Self::Resource(resource) => Borrowed::Resource { resource },
            Self::Other(raw) => return raw.serialize(serializer),
        }
        .serialize(serializer)
    }
}
