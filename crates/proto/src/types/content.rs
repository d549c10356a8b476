//! Content blocks (`server/tools`, Tool Result).

use super::{RawJson, Resource, ResourceContents};
use crate::rpc::{RawText, read_str};
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use serde::de::Error as _;
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

/// What any block may carry besides its content.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BlockExtra {
    /// Hints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

impl BlockExtra {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.annotations.is_none() && self.meta.is_none()
    }
}

/// A piece of content.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ContentBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// Hints and metadata.
        extra: BlockExtra,
    },
    /// A picture.
    Image {
        /// Base64.
        data: String,
        /// Media type.
        mime_type: String,
        /// Hints and metadata.
        extra: BlockExtra,
    },
    /// A sound.
    Audio {
        /// Base64.
        data: String,
        /// Media type.
        mime_type: String,
        /// Hints and metadata.
        extra: BlockExtra,
    },
    /// A resource that can be read.
    ResourceLink(alloc::boxed::Box<Resource>),
    /// A resource with its contents.
    Resource {
        /// The contents.
        resource: ResourceContents,
        /// Hints and metadata.
        extra: BlockExtra,
    },
    /// A kind that this version does not know, or one with members that do not
    /// fit its kind: the block as received.
    Other(RawJson),
}

impl ContentBlock {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), extra: BlockExtra::default() }
    }

    /// A picture, already in base64.
    pub fn image(base64: impl Into<String>, mime_type: impl Into<String>) -> Self {
        let (data, mime_type) = (base64.into(), mime_type.into());
        Self::Image { data, mime_type, extra: BlockExtra::default() }
    }

    /// A sound, already in base64.
    pub fn audio(base64: impl Into<String>, mime_type: impl Into<String>) -> Self {
        let (data, mime_type) = (base64.into(), mime_type.into());
        Self::Audio { data, mime_type, extra: BlockExtra::default() }
    }

    /// A resource with its contents.
    pub fn resource(resource: ResourceContents) -> Self {
        Self::Resource { resource, extra: BlockExtra::default() }
    }

    /// The text, of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            _ => None,
        }
    }
}

impl ContentBlock {
    /// The block as the kind its `type` says, if its members fit that kind.
    fn known(json: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Kind<'a> {
            #[serde(borrow)]
            r#type: Cow<'a, str>,
        }
        // With its kind and what any block may carry, since most blocks are text: those are
        // read once.
        #[derive(Deserialize)]
        struct Text<'a> {
            #[serde(borrow)]
            r#type: Cow<'a, str>,
            text: String,
            #[serde(default)]
            annotations: Option<Annotations>,
            #[serde(rename = "_meta", default)]
            meta: Option<RawJson>,
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
        if let Ok(Text { r#type, text, annotations, meta }) = read_str(json)
            && r#type == "text"
        {
            return Some(Self::Text { text, extra: BlockExtra { annotations, meta } });
        }
        let kind: Kind<'_> = read_str(json).ok()?;
        let extra = || serde_json::from_str::<BlockExtra>(json).ok();
        Some(match &*kind.r#type {
            "image" => {
                let Media { data, mime_type } = serde_json::from_str(json).ok()?;
                Self::Image { data, mime_type, extra: extra()? }
            }
            "audio" => {
                let Media { data, mime_type } = serde_json::from_str(json).ok()?;
                Self::Audio { data, mime_type, extra: extra()? }
            }
            "resource_link" => Self::ResourceLink(serde_json::from_str(json).ok()?),
            "resource" => {
                let Embedded { resource } = serde_json::from_str(json).ok()?;
                Self::Resource { resource, extra: extra()? }
            }
            _ => return None,
        })
    }
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let RawText(text) = RawText::deserialize(deserializer)?;
        if let Some(known) = Self::known(&text) {
            return Ok(known);
        }
        serde_json::from_str(&text).map(Self::Other).map_err(D::Error::custom)
    }
}

impl Serialize for ContentBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
        enum Borrowed<'a> {
            Text {
                text: &'a str,
                #[serde(flatten)]
                extra: &'a BlockExtra,
            },
            Image {
                data: &'a str,
                mime_type: &'a str,
                #[serde(flatten)]
                extra: &'a BlockExtra,
            },
            Audio {
                data: &'a str,
                mime_type: &'a str,
                #[serde(flatten)]
                extra: &'a BlockExtra,
            },
            ResourceLink(&'a Resource),
            Resource {
                resource: &'a ResourceContents,
                #[serde(flatten)]
                extra: &'a BlockExtra,
            },
        }
        match self {
            Self::Text { text, extra } => Borrowed::Text { text, extra },
            Self::Image { data, mime_type, extra } => Borrowed::Image { data, mime_type, extra },
            Self::Audio { data, mime_type, extra } => Borrowed::Audio { data, mime_type, extra },
            Self::ResourceLink(resource) => Borrowed::ResourceLink(resource),
            Self::Resource { resource, extra } => Borrowed::Resource { resource, extra },
            Self::Other(raw) => return raw.serialize(serializer),
        }
        .serialize(serializer)
    }
}
