//! What a call of a client without a session needs of a connection.

use super::super::may_ask;
use crate::backend::{Backend, Level, Owner};
use carrick::proto::method::Method;
use carrick::proto::peer::Call;
use carrick::types::{LogLevel, RpcError};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a call needs of a connection.
pub(super) struct Needs {
    /// Whose it has to be.
    pub(super) owner: Owner,
    pub(super) capabilities: Arc<str>,
    /// Whether the server may ask its client something in its middle.
    pub(super) asks: bool,
    level: Option<LogLevel>,
}

impl Needs {
    /// What a call of a client needs whose things are `client`'s.
    pub(super) fn of(call: &Call, client: &Owner, backend: &Backend) -> Result<Self, RpcError> {
        let level = call.log;
        let owner = match client {
            Owner::Call(_) if says_nothing(call, backend) => Owner::Gateway,
            own => own.clone(),
        };
        if owner == Owner::Everyone {
            // Whom the server would ask could not be told.
            return Ok(Self { owner, capabilities: "{}".into(), asks: false, level });
        }
        let capabilities = backend.legacy_capabilities(call)?;
        let asks =
            may_ask(call.message.method()) && owner.is_one_client() && can_be_asked(&capabilities);
        Ok(Self { owner, capabilities, asks, level })
    }

    pub(super) fn level(&self) -> Level {
        self.level.map_or(Level::Any, Level::AtLeast)
    }
}

/// The members of `_meta` that do not reach a server of sessions in the client's
/// words.
const OF_THE_HOP: [&str; 5] = [
    "progressToken",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel",
];

/// Whether a request has nothing in it that a client made up: the start of a
/// list, or another page of one that was asked for in the gateway's name, as this
/// is then too. Any other cursor may be made up.
pub(super) fn says_nothing(call: &Call, backend: &Backend) -> bool {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, rename = "_meta", default)]
        meta: BTreeMap<&'a str, IgnoredAny>,
        #[serde(borrow, default)]
        cursor: Option<Cow<'a, str>>,
        #[serde(borrow, flatten)]
        others: BTreeMap<&'a str, IgnoredAny>,
    }
    let lists = matches!(
        call.message.method(),
        Method::ToolsList
            | Method::PromptsList
            | Method::ResourcesList
            | Method::ResourcesTemplatesList
    );
    // What cannot be read like this has something unusual in it.
    lists
        && serde_json::from_slice(call.message.body_bytes()).is_ok_and(|params: Params<'_>| {
            params.others.is_empty()
                && params.meta.keys().all(|name| OF_THE_HOP.contains(name))
                && params.cursor.is_none_or(|cursor| backend.cursors.has(&cursor))
        })
}

/// Whether a server may ask a client with these capabilities anything.
fn can_be_asked(capabilities: &str) -> bool {
    let read: carrick::types::ClientCapabilities =
        serde_json::from_str(capabilities).unwrap_or_default();
    read.elicitation.is_some() || read.sampling.is_some() || read.roots.is_some()
}
