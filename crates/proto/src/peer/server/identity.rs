//! What a server says of itself.

use crate::revision::Revision;
use crate::types::{Implementation, ListCapability, ServerCapabilities};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;
use serde_json::value::RawValue;

/// Who the server is, with the parts of its answers that never change rendered.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Members of a result after `protocolVersion`.
    pub(super) initialize: Vec<u8>,
    /// The result of `server/discover`, but for what every result carries and
    /// for the revisions.
    discover: Vec<u8>,
    /// The revisions that the server speaks, newest first.
    spoken: Vec<Revision>,
    /// What every modern result carries in front.
    pub(super) complete: Vec<u8>,
    /// The same when the result has a `_meta` of its own.
    pub(super) complete_bare: &'static [u8],
    /// The same of a request for input.
    pub(super) input_required: Vec<u8>,
    /// The member that names the server in results that lack it.
    pub(super) server_info: Vec<u8>,
    pub(super) logging: bool,
    pub(super) changes: Announced,
}

/// Which changes the server says that it tells of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Announced {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) subscribe: bool,
}

impl Identity {
    /// Renders what the server says of itself.
    ///
    /// # Errors
    /// When a capability cannot be written as JSON.
    pub fn new(
        info: &Implementation,
        capabilities: &ServerCapabilities,
        instructions: Option<&str>,
    ) -> Result<Self, serde_json::Error> {
        let capabilities_json = serde_json::value::to_raw_value(capabilities)?;
        let info_json = serde_json::value::to_raw_value(info)?;
        Self::of_json(&info_json, &capabilities_json, instructions)
    }

    /// Renders what another server says of itself: its name and its capabilities
    /// as JSON objects in the newest revision's shape.
    ///
    /// # Errors
    /// When the capabilities are of another shape.
    pub fn of_json(
        info: &RawValue,
        capabilities: &RawValue,
        instructions: Option<&str>,
    ) -> Result<Self, serde_json::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Initialize<'a> {
            capabilities: &'a RawValue,
            server_info: &'a RawValue,
            #[serde(skip_serializing_if = "Option::is_none")]
            instructions: Option<&'a str>,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Discover<'a> {
            capabilities: &'a RawValue,
            #[serde(skip_serializing_if = "Option::is_none")]
            instructions: Option<&'a str>,
            ttl_ms: u64,
            cache_scope: &'static str,
        }
        let initialize = Initialize { capabilities, server_info: info, instructions };
        let discover = Discover { capabilities, instructions, ttl_ms: 0, cache_scope: "private" };
        let info_json = info.get();
        let read: ServerCapabilities = serde_json::from_str(capabilities.get())?;
        let server_info =
            format!("\"_meta\":{{\"io.modelcontextprotocol/serverInfo\":{info_json}}}");
        let typed = |kind: &str| {
            format!(
                "\"resultType\":\"{kind}\",\
                 \"_meta\":{{\"io.modelcontextprotocol/serverInfo\":{info_json}}}"
            )
            .into_bytes()
        };
        Ok(Self {
            initialize: serde_json::to_vec(&initialize)?,
            discover: serde_json::to_vec(&discover)?,
            spoken: Revision::ALL.iter().rev().copied().collect(),
            complete: typed("complete"),
            input_required: typed("input_required"),
            complete_bare: br#""resultType":"complete""#,
            server_info: server_info.into_bytes(),
            logging: read.logging.is_some(),
            changes: Announced::of(&read),
        })
    }

    /// The same server, speaking these revisions only.
    #[must_use]
    pub fn speaking(mut self, revisions: &[Revision]) -> Self {
        self.spoken.retain(|revision| revisions.contains(revision));
        self
    }

    /// The names of the revisions that it speaks, newest first.
    pub(super) fn supported(&self) -> Vec<&'static str> {
        self.spoken.iter().map(|revision| revision.date()).collect()
    }

    /// Whether it speaks `revision`.
    pub(super) fn speaks(&self, revision: Revision) -> bool {
        self.spoken.contains(&revision)
    }

    /// The newest revision of a lifecycle that it speaks.
    pub(super) fn newest(&self, legacy: bool) -> Option<Revision> {
        self.spoken.iter().copied().find(|revision| revision.is_legacy() == legacy)
    }

    /// The result of `server/discover`, but for what every result carries.
    pub(super) fn discover(&self) -> Vec<u8> {
        let names = self.supported();
        // Dates need no escapes.
        let names: Vec<String> = names.iter().map(|date| format!("\"{date}\"")).collect();
        let mut body = format!("{{\"supportedVersions\":[{}],", names.join(",")).into_bytes();
        body.extend_from_slice(&self.discover[1..]);
        body
    }

    /// What the result of a listen carries; `member` goes into its `_meta`.
    pub(super) fn complete_listen(&self, member: &[u8]) -> Vec<u8> {
        let mut members = self.complete.clone();
        // `_meta` is last, and has a member.
        members.pop();
        members.push(b',');
        members.extend_from_slice(member);
        members.push(b'}');
        members
    }
}

impl Announced {
    fn of(capabilities: &ServerCapabilities) -> Self {
        let resources = capabilities.resources.as_ref();
        let list = |list: &Option<ListCapability>| list.as_ref().is_some_and(|l| l.list_changed);
        Self {
            tools: list(&capabilities.tools),
            prompts: list(&capabilities.prompts),
            resources: resources.is_some_and(|resources| resources.list_changed),
            subscribe: resources.is_some_and(|resources| resources.subscribe),
        }
    }
}
