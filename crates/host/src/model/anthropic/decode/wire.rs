//! The JSON of message events.
//!
//! Members that hold JSON to be kept or read later are raw, which rules out an enum tagged by
//! `type` for them: such an enum is read by way of a value tree.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::model::Usage;

/// The counts of a message, which come in several events; later ones replace earlier ones.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Counts {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl Counts {
    pub(super) fn take(&mut self, newer: Option<Self>) {
        let Some(newer) = newer else { return };
        self.input_tokens = newer.input_tokens.or(self.input_tokens);
        self.cache_creation_input_tokens =
            newer.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.cache_read_input_tokens =
            newer.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.output_tokens = newer.output_tokens.or(self.output_tokens);
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        self.input_tokens.or(self.output_tokens)?;
        let input =
            [self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens];
        Some(Usage {
            input_tokens: input.into_iter().flatten().fold(0, u64::saturating_add),
            output_tokens: self.output_tokens.unwrap_or_default(),
        })
    }
}

/// An event of the stream: its members by kind, parsed further where the kind is known.
#[derive(Deserialize)]
pub(super) struct StreamEvent<'a> {
    pub(super) r#type: String,
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) delta: Option<&'a RawValue>,
    pub(super) usage: Option<Counts>,
}

#[derive(Deserialize)]
pub(super) struct Begun {
    pub(super) usage: Option<Counts>,
}

#[derive(Deserialize)]
pub(super) struct Ending {
    pub(super) stop_reason: Option<String>,
}

/// The start of a content block: the members of all kinds.
#[derive(Deserialize)]
pub(super) struct BlockStart {
    pub(super) r#type: String,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) thinking: String,
    #[serde(default)]
    pub(super) signature: String,
    #[serde(default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) name: String,
    pub(super) input: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
pub(super) enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
pub(super) struct Whole {
    pub(super) content: Vec<Box<RawValue>>,
    pub(super) stop_reason: Option<String>,
    pub(super) usage: Option<Counts>,
}

#[derive(Serialize)]
pub(super) struct Thinking {
    pub(super) r#type: &'static str,
    pub(super) thinking: String,
    pub(super) signature: String,
}
