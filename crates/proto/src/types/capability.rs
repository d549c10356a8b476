//! Who a party is and what it can do.

use super::{CreateMessage, Elicit, RawJson, RpcError};
use crate::method::Method;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Name and version of a client or a server. Self-reported: for display only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Implementation {
    /// Programmatic name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where to read about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// Pictures for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}

/// A picture for people, by address. Whoever shows it decides what it fetches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Icon {
    /// Address: `https:` or `data:`.
    pub src: String,
    /// Media type, where the address does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Sizes it is made for, as `48x48` or `any`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<String>,
    /// `light` or `dark`, when it is made for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theme: Option<String>,
}

impl Implementation {
    /// Just a name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }
}

/// A capability with lists that may change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListCapability {
    /// Whether changes of the list are announced.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub list_changed: bool,
}

/// What a server can do with resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceCapability {
    /// Whether changes of the list are announced.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub list_changed: bool,
    /// Whether changes of one resource can be asked for.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub subscribe: bool,
}

/// What a server offers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerCapabilities {
    /// Tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<ListCapability>,
    /// Resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceCapability>,
    /// Prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<ListCapability>,
    /// Log messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logging: Option<RawJson>,
    /// Argument completion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completions: Option<RawJson>,
    /// Extensions, by identifier.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extensions: BTreeMap<String, RawJson>,
    /// Anything not standard.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub experimental: BTreeMap<String, RawJson>,
}

/// What a client offers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientCapabilities {
    /// Folders the server may work in (deprecated since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<RawJson>,
    /// The client's model (deprecated since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<RawJson>,
    /// The client's user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<RawJson>,
    /// Extensions, by identifier.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extensions: BTreeMap<String, RawJson>,
    /// Anything not standard.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub experimental: BTreeMap<String, RawJson>,
}

impl ClientCapabilities {
    /// Whether the user can be asked to fill in a form: an elicitation capability
    /// without members means that alone (`client/elicitation`, Capabilities).
    pub fn has_forms(&self) -> bool {
        has(&self.elicitation, "form") || self.elicitation.as_deref().is_some_and(is_empty)
    }

    /// Whether the user can be sent to a page.
    pub fn has_pages(&self) -> bool {
        has(&self.elicitation, "url")
    }

    /// Whether the model can be offered tools (`client/sampling`, Capabilities).
    pub fn has_sampling_tools(&self) -> bool {
        has(&self.sampling, "tools")
    }

    /// Whether it has the capability that a request of a server's needs.
    pub fn offers(&self, method: Method) -> bool {
        match method {
            Method::ElicitationCreate => self.elicitation.is_some(),
            Method::SamplingCreateMessage => self.sampling.is_some(),
            Method::RootsList => self.roots.is_some(),
            _ => false,
        }
    }

    /// Whether the client may be asked this; `params` are those of the question, in
    /// the newest revision's shape.
    ///
    /// # Errors
    /// The error that answers a question that it may not be asked: -32601 for a
    /// capability that is not declared, -32602 for parameters that cannot be read, or
    /// that use a part of a capability that is not declared.
    pub fn admit(&self, method: Method, params: &[u8]) -> Result<(), RpcError> {
        if !self.offers(method) {
            let text = format!("this client does not offer {:?}", method.name());
            return Err(RpcError::new(RpcError::METHOD_NOT_FOUND, text));
        }
        let part = match method {
            Method::ElicitationCreate => match read(params)? {
                Elicit::Form { .. } if !self.has_forms() => "forms",
                Elicit::Url { .. } if !self.has_pages() => "elicitation by URL",
                _ => return Ok(()),
            },
            Method::SamplingCreateMessage => {
                let ask: CreateMessage = read(params)?;
                match ask.uses_tools() && !self.has_sampling_tools() {
                    true => "sampling with tools",
                    false => return Ok(()),
                }
            }
            _ => return read::<Map>(params).map(|_| ()),
        };
        Err(RpcError::invalid_params(format!("this client does not offer {part}")))
    }
}

type Map = BTreeMap<String, RawJson>;

fn read<T: DeserializeOwned>(params: &[u8]) -> Result<T, RpcError> {
    if params.first() != Some(&b'{') {
        return Err(RpcError::invalid_params("params must be an object"));
    }
    serde_json::from_slice(params).map_err(|error| RpcError::invalid_params(error.to_string()))
}

/// Whether a capability is an object with this member.
fn has(capability: &Option<RawJson>, name: &str) -> bool {
    let members = capability.as_deref().and_then(members);
    members.is_some_and(|members| members.contains_key(name))
}

fn is_empty(capability: &RawValue) -> bool {
    members(capability).is_some_and(|members| members.is_empty())
}

fn members(capability: &RawValue) -> Option<Map> {
    // An array would be read as an object, too.
    capability.get().strip_prefix('{')?;
    serde_json::from_str(capability.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(capabilities: &str, method: Method, params: &str) -> Result<(), i64> {
        let capabilities: ClientCapabilities = serde_json::from_str(capabilities).unwrap();
        capabilities.admit(method, params.as_bytes()).map_err(|error| error.code)
    }

    const FORM: &str = r#"{"message":"m","requestedSchema":{}}"#;
    const PAGE: &str = r#"{"mode":"url","message":"m","url":"https://e.example"}"#;

    #[test]
    fn f40_a_question_is_admitted_by_what_is_declared() {
        let elicit = Method::ElicitationCreate;
        assert_eq!(admits("{}", elicit, FORM), Err(-32601));
        for forms in [r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#] {
            assert_eq!(admits(forms, elicit, FORM), Ok(()));
            assert_eq!(admits(forms, elicit, PAGE), Err(-32602));
        }
        assert_eq!(admits(r#"{"elicitation":{"url":{}}}"#, elicit, FORM), Err(-32602));
        assert_eq!(admits(r#"{"elicitation":{"url":{}}}"#, elicit, PAGE), Ok(()));
        for broken in ["{}", "[]", "7", r#"{"message":1}"#, r#"{"mode":"voice","message":"m"}"#] {
            assert_eq!(admits(r#"{"elicitation":{}}"#, elicit, broken), Err(-32602), "{broken}");
        }
        assert_eq!(admits(r#"{"roots":{}}"#, Method::RootsList, "{}"), Ok(()));
        assert_eq!(admits(r#"{"roots":{}}"#, Method::RootsList, "[]"), Err(-32602));
        assert_eq!(admits(r#"{"roots":{}}"#, Method::ToolsList, "{}"), Err(-32601));
        assert_eq!(admits(r#"{"roots":{}}"#, Method::Unknown, "{}"), Err(-32601));
    }

    #[test]
    fn f46_sampling_with_tools_is_for_those_who_declare_it() {
        let ask = |more: &str| format!(r#"{{"messages":[],"maxTokens":1{more}}}"#);
        let sample = Method::SamplingCreateMessage;
        assert_eq!(admits(r#"{"sampling":{}}"#, sample, &ask("")), Ok(()));
        for more in [
            r#","tools":[]"#,
            r#","toolChoice":{}"#,
            r#","toolChoice":{"mode":"required"}"#,
            r#","tools":[{"name":"x","inputSchema":{}}]"#,
        ] {
            assert_eq!(admits(r#"{"sampling":{}}"#, sample, &ask(more)), Err(-32602), "{more}");
            assert_eq!(admits(r#"{"sampling":{"tools":{}}}"#, sample, &ask(more)), Ok(()));
        }
    }
}
