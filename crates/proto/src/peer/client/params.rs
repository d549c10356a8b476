//! The parameters of a request: checked, and joined with the protocol's `_meta`.

use super::CallError;
use crate::method::Method;
use crate::revision::{Part, Revision, is_touched, translate};
use crate::rpc::{Json, Limits};
use crate::types::RawJson;
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use bytes::Bytes;

/// Whether `params` can be sent: nothing at all, or one JSON object.
pub(super) fn check(params: &[u8]) -> Result<(), String> {
    let text = params.trim_ascii();
    match text.first() {
        None => Ok(()),
        Some(b'{') => Json::parse(Bytes::copy_from_slice(text), Limits::default())
            .map(|_| ())
            .map_err(|error| error.to_string()),
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

/// Adds members to `_meta` of a parameter object that [`check`] has passed.
/// What the caller wrote under a name of the protocol's own gives way.
pub(super) fn with_meta(params: &[u8], ours: &[(&str, String)]) -> Vec<u8> {
    let params = params.trim_ascii();
    if ours.is_empty() {
        return params.to_vec();
    }
    if memchr::memmem::find(params, b"\"_meta\"").is_some()
        && let Some(joined) = join(params, ours)
    {
        return joined;
    }
    let mut out = b"{\"_meta\":{".to_vec();
    push_members(&mut out, ours.iter().map(|(name, value)| (*name, value.as_str())));
    out.push(b'}');
    match params {
        [b'{', rest @ ..] if rest.trim_ascii_start() != b"}" => {
            out.push(b',');
            out.extend_from_slice(rest);
        }
        _ => out.push(b'}'),
    }
    out
}

/// The same for parameters that have a `_meta` already; none if they do not.
fn join(params: &[u8], ours: &[(&str, String)]) -> Option<Vec<u8>> {
    let mut members: BTreeMap<String, RawJson> = serde_json::from_slice(params).ok()?;
    let theirs = members.remove("_meta")?;
    let mut meta: BTreeMap<String, RawJson> =
        serde_json::from_str(theirs.get()).unwrap_or_default();
    meta.retain(|name, _| !ours.iter().any(|(own, _)| own == name));
    let kept = meta.iter().map(|(name, value)| (name.as_str(), value.get()));
    let mut out = b"{\"_meta\":{".to_vec();
    push_members(&mut out, ours.iter().map(|(name, value)| (*name, value.as_str())).chain(kept));
    out.push(b'}');
    for (name, value) in &members {
        out.push(b',');
        push_members(&mut out, [(name.as_str(), value.get())].into_iter());
    }
    out.push(b'}');
    Some(out)
}

fn push_members<'a>(out: &mut Vec<u8>, members: impl Iterator<Item = (&'a str, &'a str)>) {
    for (at, (name, value)) in members.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.push(b'"');
        crate::rpc::push_escaped(out, name);
        out.extend_from_slice(b"\":");
        out.extend_from_slice(value.as_bytes());
    }
}
