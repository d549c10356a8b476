//! What the gateway says of itself: what the server behind it does.

use carrick::proto::peer::{Identity, ServerDescription};
use carrick::proto::revision::{Part, Revision, translate};
use carrick::proto::rpc::{Json, Limits};
use carrick::types::{Implementation, RawJson};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The identity of a server, unknown members and all.
///
/// # Errors
/// When what it said is not of the form that the protocol has.
pub(crate) fn of(name: &str, server: &ServerDescription) -> Result<Identity, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Said {
        capabilities: Option<RawJson>,
        server_info: Option<RawJson>,
        instructions: Option<String>,
        #[serde(rename = "_meta")]
        meta: Option<RawJson>,
    }
    let said: Said = server.said.read().map_err(|error| error.to_string())?;
    let capabilities = match &said.capabilities {
        Some(raw) => newest(raw, server.revision)?,
        None => raw("{}")?,
    };
    let named = |meta: RawJson| {
        let mut meta: BTreeMap<String, RawJson> = serde_json::from_str(meta.get()).ok()?;
        meta.remove("io.modelcontextprotocol/serverInfo")
    };
    let object = |raw: &RawJson| raw.get().starts_with('{');
    let info = said.server_info.or_else(|| named(said.meta?)).filter(object);
    let info = match info {
        Some(info) => info,
        None => {
            let unnamed = serde_json::value::to_raw_value(&Implementation::new(name, ""));
            unnamed.map_err(|error| error.to_string())?
        }
    };
    Identity::of_json(&info, &capabilities, said.instructions.as_deref())
        .map_err(|error| error.to_string())
}

fn newest(capabilities: &RawJson, from: Revision) -> Result<RawJson, String> {
    let bytes = capabilities.get().to_owned().into_bytes();
    let json = Json::parse(bytes.into(), Limits::default()).map_err(|error| error.to_string())?;
    let (json, _) = translate(json, Part::ServerCapabilities, from, Revision::NEWEST)
        .map_err(|error| error.to_string())?;
    raw(&String::from_utf8_lossy(json.as_bytes()))
}

fn raw(text: &str) -> Result<RawJson, String> {
    serde_json::value::RawValue::from_string(text.into()).map_err(|error| error.to_string())
}
