//! What a server can ask of a client: input of its user, a message of its
//! model, its roots (`client/elicitation`, `client/sampling`, `client/roots`).

use super::{ContentBlock, RawJson, Role};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// Asks the user for input: `params` of `elicitation/create`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "mode", rename_all = "lowercase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Elicit {
    /// A form with the fields of a flat JSON Schema.
    Form {
        /// What the user reads.
        message: String,
        /// `{"type":"object","properties":{…}}` of primitive types.
        requested_schema: RawJson,
    },
    /// A page that the user opens; what happens there stays between the two.
    Url {
        /// What the user reads.
        message: String,
        /// Where to go.
        url: String,
        /// Names the elicitation, in the revisions that do.
        #[serde(skip_serializing_if = "Option::is_none")]
        elicitation_id: Option<String>,
    },
}

impl Elicit {
    /// A form filled with the defaults of its fields, as a JSON object, in the
    /// words of the schema. None where that is no answer: for a page, a schema
    /// that cannot be read, or a required field without a default.
    pub fn defaults(&self) -> Option<RawJson> {
        #[derive(Deserialize)]
        struct Schema {
            #[serde(default)]
            properties: BTreeMap<String, RawJson>,
            #[serde(default)]
            required: Vec<String>,
        }
        #[derive(Deserialize)]
        struct Field {
            #[serde(default, deserialize_with = "some")]
            default: Option<RawJson>,
        }
        let Self::Form { requested_schema, .. } = self else { return None };
        // An array would be read as one, too.
        requested_schema.get().strip_prefix('{')?;
        let Schema { properties, required } = serde_json::from_str(requested_schema.get()).ok()?;
        let default = |(name, field): (String, RawJson)| {
            let Field { default } = serde_json::from_str(field.get()).ok()?;
            Some((name, default?))
        };
        let filled: BTreeMap<String, RawJson> =
            properties.into_iter().filter_map(default).collect();
        if required.iter().any(|name| !filled.contains_key(name)) {
            return None;
        }
        serde_json::value::to_raw_value(&filled).ok()
    }
}

/// A value that is there, even if it is null.
fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

// By hand: the mode may be absent (a form then), and a tagged enum cannot hold
// members as they were written.
impl<'de> Deserialize<'de> for Elicit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Any {
            mode: Option<String>,
            message: String,
            requested_schema: Option<RawJson>,
            url: Option<String>,
            elicitation_id: Option<String>,
        }
        let any = Any::deserialize(deserializer)?;
        match any.mode.as_deref() {
            None | Some("form") => {
                let missing = || D::Error::missing_field("requestedSchema");
                let requested_schema = any.requested_schema.ok_or_else(missing)?;
                Ok(Self::Form { message: any.message, requested_schema })
            }
            Some("url") => {
                let url = any.url.ok_or_else(|| D::Error::missing_field("url"))?;
                let elicitation_id = any.elicitation_id;
                Ok(Self::Url { message: any.message, url, elicitation_id })
            }
            Some(other) => Err(D::Error::unknown_variant(other, &["form", "url"])),
        }
    }
}

/// What the user did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// Gave the input, or agreed to open the page.
    Accept,
    /// Said no.
    Decline,
    /// Went away without saying.
    Cancel,
}

/// The answer to [`Elicit`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitResult {
    /// What the user did.
    pub action: ElicitAction,
    /// The fields, of an accepted form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<RawJson>,
}

impl ElicitResult {
    /// An accepted form with these fields, a JSON object.
    pub fn accept(content: RawJson) -> Self {
        Self { action: ElicitAction::Accept, content: Some(content) }
    }

    /// Anything but acceptance.
    pub fn without_content(action: ElicitAction) -> Self {
        Self { action, content: None }
    }
}

/// Asks the client's model for a message: `params` of `sampling/createMessage`.
/// (Deprecated by the protocol since 2026-07-28.)
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessage {
    /// The conversation.
    pub messages: Vec<SamplingMessage>,
    /// The longest answer, in tokens.
    pub max_tokens: u64,
    /// What stands before the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Randomness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Texts that end the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// Which model is wished for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<RawJson>,
    /// Which context of servers to add.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_context: Option<String>,
    /// Tools that the model may use; only for clients that declare
    /// `sampling.tools`, as is an empty list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<super::Tool>>,
    /// Whether it must use one; only for clients that declare `sampling.tools`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<RawJson>,
    /// For the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
}

impl CreateMessage {
    /// One question to the model.
    pub fn question(text: impl Into<String>, max_tokens: u64) -> Self {
        let content = Contents::One(ContentBlock::text(text));
        Self {
            messages: alloc::vec![SamplingMessage { role: Role::User, content }],
            max_tokens,
            system_prompt: None,
            temperature: None,
            stop_sequences: Vec::new(),
            model_preferences: None,
            include_context: None,
            tools: None,
            tool_choice: None,
            metadata: None,
        }
    }

    /// Whether it has what a client must have declared `sampling.tools` for.
    pub fn uses_tools(&self) -> bool {
        self.tools.is_some() || self.tool_choice.is_some()
    }
}

/// One message of a conversation with a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SamplingMessage {
    /// Whose it is.
    pub role: Role,
    /// What it says.
    pub content: Contents,
}

/// One block, or several.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Contents {
    /// Several blocks.
    Many(Vec<ContentBlock>),
    /// One block.
    One(ContentBlock),
}

impl Contents {
    /// The blocks.
    pub fn blocks(&self) -> &[ContentBlock] {
        match self {
            Self::Many(blocks) => blocks,
            Self::One(block) => core::slice::from_ref(block),
        }
    }
}

impl<'de> Deserialize<'de> for Contents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let read = if raw.get().starts_with('[') {
            serde_json::from_str(raw.get()).map(Self::Many)
        } else {
            serde_json::from_str(raw.get()).map(Self::One)
        };
        read.map_err(D::Error::custom)
    }
}

/// The answer to [`CreateMessage`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageResult {
    /// Whose it is: the assistant's.
    pub role: Role,
    /// What it says.
    pub content: Contents,
    /// Which model said it.
    pub model: String,
    /// Why it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

impl CreateMessageResult {
    /// A text said by `model`.
    pub fn text(text: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            role: Role::Assistant,
            content: Contents::One(ContentBlock::text(text)),
            model: model.into(),
            stop_reason: Some("endTurn".into()),
        }
    }
}

/// A folder that a server may work in. (Deprecated by the protocol since 2026-07-28.)
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Root {
    /// Its address, `file://…`.
    pub uri: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Root {
    /// A root without a name.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: None }
    }
}

/// The answer to `roots/list`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListRootsResult {
    /// The roots.
    pub roots: Vec<Root>,
}

impl From<Vec<Root>> for ListRootsResult {
    fn from(roots: Vec<Root>) -> Self {
        Self { roots }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same<T: Serialize + for<'de> Deserialize<'de>>(json: &str) {
        let read: T = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
    }

    #[test]
    fn both_modes_of_elicitation_are_read_and_written() {
        let form = r#"{"message":"m","requestedSchema":{"type":"object","properties":{"n":{"type":"number","maximum":1.50}}}}"#;
        let read: Elicit = serde_json::from_str(form).unwrap();
        assert!(matches!(&read, Elicit::Form { requested_schema, .. }
            if requested_schema.get().contains("1.50")));
        same::<Elicit>(r#"{"mode":"url","message":"m","url":"https://e.example/x"}"#);
        assert!(serde_json::from_str::<Elicit>(r#"{"mode":"form","message":"m"}"#).is_err());
        assert!(serde_json::from_str::<Elicit>(r#"{"mode":"voice","message":"m"}"#).is_err());
    }

    #[test]
    fn a_form_is_filled_with_its_defaults() {
        let form = |schema: &str| {
            let requested_schema = serde_json::value::RawValue::from_string(schema.into()).unwrap();
            Elicit::Form { message: "m".into(), requested_schema }.defaults()
        };
        let filled = form(
            r#"{"type":"object","required":["a","n"],"properties":{"a":{"type":"number","default":1.50},
               "b":{"type":"string"},"n":{"default":null},"l":{"default":["x"]}}}"#,
        );
        assert_eq!(filled.unwrap().get(), r#"{"a":1.50,"l":["x"],"n":null}"#);
        assert_eq!(form(r#"{"type":"object"}"#).unwrap().get(), "{}");
        assert!(form(r#"{"required":["a"],"properties":{"a":{"type":"string"}}}"#).is_none());
        assert!(form("[]").is_none());
        let page = r#"{"mode":"url","message":"m","url":"https://e.example/x"}"#;
        assert!(serde_json::from_str::<Elicit>(page).unwrap().defaults().is_none());
    }

    #[test]
    fn contents_are_one_block_or_several() {
        same::<SamplingMessage>(r#"{"role":"user","content":{"type":"text","text":"a"}}"#);
        same::<SamplingMessage>(
            r#"{"role":"user","content":[{"type":"tool_use","id":"1","name":"n","input":{"x":1.0}}]}"#,
        );
        assert!(serde_json::from_str::<SamplingMessage>(r#"{"role":"user","content":[1"#).is_err());
    }

    #[test]
    fn results_are_read_and_written() {
        same::<ElicitResult>(r#"{"action":"accept","content":{"name":"x"}}"#);
        same::<ElicitResult>(r#"{"action":"decline"}"#);
        same::<CreateMessageResult>(
            r#"{"role":"assistant","content":{"type":"text","text":"a"},"model":"m","stopReason":"endTurn"}"#,
        );
        same::<ListRootsResult>(
            r#"{"roots":[{"uri":"file:///a","name":"a"},{"uri":"file:///b"}]}"#,
        );
    }
}
