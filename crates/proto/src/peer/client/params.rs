//! The parameters of a request: checked, and joined with the protocol's `_meta`.

use super::{CallError, ClientConfig};
use crate::method::Method;
use crate::revision::{Part, Revision, is_touched, translate};
use crate::rpc::{self, Id, Json, Limits};
use crate::types::{LogLevel, RawJson};
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use bytes::Bytes;

/// Whether `params` can be sent: nothing at all, or one JSON object.
pub(super) fn check(params: &[u8]) -> Result<(), String> {
    let text = params.trim_ascii();
    match text.first() {
        None => Ok(()),
        Some(b'{') => rpc::check(text, Limits::default()).map_err(|error| error.to_string()),
        Some(_) => Err("not a JSON object".into()),
    }
}

/// Parameters in the newest revision's shape, in that of the connection.
pub(super) fn older(
    params: &[u8],
    method: Method,
    revision: Revision,
) -> Result<Cow<'_, [u8]>, CallError> {
    let part = Part::Params(method);
    if !is_touched(params, part, Revision::NEWEST, revision) {
        return Ok(Cow::Borrowed(params));
    }
    let refused = |error: &dyn core::fmt::Display| CallError::Params(error.to_string());
    let json = Json::parse(Bytes::copy_from_slice(params), Limits::default());
    let json = json.map_err(|error| refused(&error))?;
    translate(json, part, Revision::NEWEST, revision)
        .map(|(json, _)| Cow::Owned(json.as_bytes().to_vec()))
        .map_err(|error| refused(&error))
}

/// The members of `_meta` that are the protocol's own: those that stay the same
/// for a connection, written once.
#[derive(Default)]
pub(super) struct OwnMeta {
    of: Option<(Revision, Option<LogLevel>)>,
    members: String,
}

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const INFO: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LEVEL: &str = "io.modelcontextprotocol/logLevel";
const PROGRESS: &str = "progressToken";

impl OwnMeta {
    /// Those that a revision asks for.
    pub(super) fn of(
        &mut self,
        config: &ClientConfig,
        revision: Revision,
        level: Option<LogLevel>,
    ) -> &Self {
        if self.of != Some((revision, level)) {
            self.members = match revision.is_legacy() {
                true => String::new(),
                false => Self::write(config, revision, level),
            };
            self.of = Some((revision, level));
        }
        self
    }

    /// How many bytes they take.
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    fn has(&self, name: &str) -> bool {
        let has_level = || self.of.is_some_and(|(_, level)| level.is_some());
        match name {
            VERSION | INFO | CAPABILITIES => !self.is_empty(),
            LEVEL => !self.is_empty() && has_level(),
            _ => false,
        }
    }

    fn write(config: &ClientConfig, revision: Revision, level: Option<LogLevel>) -> String {
        let info = serde_json::to_string(&config.info).unwrap_or_default();
        let capabilities = &config.capabilities;
        let mut members =
            format!(r#""{VERSION}":"{revision}","{INFO}":{info},"{CAPABILITIES}":{capabilities}"#);
        if let Some(level) = level {
            members += &format!(r#","{LEVEL}":"{}""#, level.name());
        }
        members
    }
}

/// Appends a parameter object that [`check`] has passed, with the protocol's own
/// members added to its `_meta`: `own` are those that [`OwnMeta`] has. What the
/// caller wrote under their names gives way.
pub(super) fn write_with_meta(
    out: &mut Vec<u8>,
    params: &[u8],
    own: &OwnMeta,
    progress: Option<u64>,
) {
    let params = params.trim_ascii();
    if own.is_empty() && progress.is_none() {
        return out.extend_from_slice(params);
    }
    if memchr::memmem::find(params, b"\"_meta\"").is_some()
        && join(out, params, own, progress).is_some()
    {
        return;
    }
    open_meta(out, own, progress);
    out.push(b'}');
    match params {
        [b'{', rest @ ..] if rest.trim_ascii_start() != b"}" => {
            out.push(b',');
            out.extend_from_slice(rest);
        }
        _ => out.push(b'}'),
    }
}

/// Appends the start of parameters, up to the protocol's own metadata.
fn open_meta(out: &mut Vec<u8>, own: &OwnMeta, progress: Option<u64>) {
    out.extend_from_slice(b"{\"_meta\":{");
    out.extend_from_slice(own.members.as_bytes());
    if let Some(token) = progress {
        if !own.is_empty() {
            out.push(b',');
        }
        out.extend_from_slice(b"\"");
        out.extend_from_slice(PROGRESS.as_bytes());
        out.extend_from_slice(b"\":");
        Id::Number(token as i64).write(out);
    }
}

/// The same for parameters that have a `_meta` already; none if they do not.
fn join(out: &mut Vec<u8>, params: &[u8], own: &OwnMeta, progress: Option<u64>) -> Option<()> {
    let mut members: BTreeMap<String, RawJson> = serde_json::from_slice(params).ok()?;
    let theirs = members.remove("_meta")?;
    let mut meta: BTreeMap<String, RawJson> =
        serde_json::from_str(theirs.get()).unwrap_or_default();
    meta.retain(|name, _| !own.has(name) && (name != PROGRESS || progress.is_none()));
    open_meta(out, own, progress);
    for (name, value) in &meta {
        push_member(out, name, value);
    }
    out.push(b'}');
    for (name, value) in &members {
        push_member(out, name, value);
    }
    out.push(b'}');
    Some(())
}

/// Appends a member behind others.
fn push_member(out: &mut Vec<u8>, name: &str, value: &RawJson) {
    out.extend_from_slice(b",\"");
    crate::rpc::push_escaped(out, name);
    out.extend_from_slice(b"\":");
    out.extend_from_slice(value.get().as_bytes());
}
