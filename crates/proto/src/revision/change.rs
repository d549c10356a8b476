//! One change of shape between two neighbouring revisions, as data.

use super::translate::{Losses, Part, Untranslatable};
use crate::rpc::{Edits, Json, Span};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use bytes::Bytes;

/// What changed for one part of the protocol, each way.
pub(super) struct Change {
    pub(super) on: Part,
    /// From the revision before to this one.
    pub(super) up: &'static [Op],
    /// From this revision to the one before.
    pub(super) down: &'static [Op],
}

/// One step of a change. Paths go from the part's root; `*` is any element.
#[derive(Clone, Copy)]
pub(super) enum Op {
    /// Adds a member at the root with this JSON text, unless it is there.
    Default(&'static str, &'static str),
    /// Takes a member out whose content the target says in another way.
    Drop(&'static [&'static str]),
    /// Takes a member out that the target has no place for: a loss.
    Forget(&'static [&'static str]),
    /// Takes `resultType` out, and refuses when it is not `complete`.
    Untype,
}

/// Makes the steps in one pass over `json`; the same slice when none applies.
pub(super) fn apply(ops: &[Op], json: Json, losses: &mut Losses) -> Result<Json, Untranslatable> {
    let mut edits = Edits::new();
    let source = json.as_bytes();
    let mut added = Vec::new();
    for op in ops {
        match *op {
            Op::Default(name, text) => add(source, name, text, &mut added),
            Op::Drop(path) => find(source, path, &mut |member, _| edits.remove_member(member)),
            Op::Forget(path) => find(source, path, &mut |member, _| {
                edits.remove_member(member);
                losses.note(&path.join("."));
            }),
            Op::Untype => {
                let mut other = None;
                find(source, &["resultType"], &mut |member, value| {
                    if &source[value.range()] == b"\"complete\"" {
                        edits.remove_member(member);
                    } else {
                        other = Some(value);
                    }
                });
                if let Some(value) = other {
                    let found = core::str::from_utf8(&source[value.range()]).unwrap_or_default();
                    return Err(Untranslatable::ResultType(found.to_string()));
                }
            }
        }
    }
    insert(source, &added, &mut edits);
    if edits.is_empty() {
        return Ok(json);
    }
    let mut out = Vec::new();
    edits.apply(source, &mut out);
    Ok(Json::scanned(Bytes::from(out)))
}

fn add(source: &[u8], name: &'static str, text: &'static str, added: &mut Vec<String>) {
    let mut there = false;
    find(source, &[name], &mut |_, _| there = true);
    if !there {
        added.push(format!("\"{name}\":{text}"));
    }
}

/// Puts the new members in front of the others.
fn insert(source: &[u8], added: &[String], edits: &mut Edits) {
    let Some(open) = source.iter().position(|&b| b == b'{') else { return };
    if added.is_empty() {
        return;
    }
    let mut text = added.join(",");
    if source[open + 1..].trim_ascii_start().first() != Some(&b'}') {
        text.push(',');
    }
    edits.insert(open + 1, text.into_bytes());
}

/// Calls `found` with the member and its value for every place `path` leads to.
fn find(source: &[u8], path: &[&str], found: &mut dyn FnMut(Span, Span)) {
    crate::rpc::walk(source, path, found);
}
