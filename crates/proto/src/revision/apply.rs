//! Making the steps of one change, in one pass over the text.

use super::change::{Addition, Op, Rebuilt, Source, Test};
use super::translate::{Losses, Untranslatable};
use crate::rpc::{Cursor, Edits, Json, JsonError, Span, elements, member, push_escaped};
use alloc::vec::Vec;
use bytes::Bytes;

/// For what the steps mostly add, in bytes.
const ROOM: usize = 64;

/// Makes the steps; the same slice when none applies.
pub(super) fn apply(
    ops: &'static [Op],
    json: Json,
    losses: &mut Losses,
) -> Result<Json, Untranslatable> {
    let mut path = Vec::new();
    match rewrite(ops, json.as_bytes(), &mut path, losses)? {
        Some(text) => Ok(Json::scanned(Bytes::from(text))),
        None => Ok(json),
    }
}

/// Whether text may hold something for the steps: no for certain, yes perhaps.
pub(super) fn touches(ops: &'static [Op], text: &[u8]) -> bool {
    // Nothing, which parameters may be, and what is no JSON have nothing to change.
    meets(ops, &mut Cursor::scanned(text)).unwrap_or(false)
}

/// The same of the next value, which is left behind only if the answer is no.
fn meets(ops: &'static [Op], cursor: &mut Cursor<'_>) -> Result<bool, JsonError> {
    let is_for_any = |op: &Op| {
        matches!(op, Op::Swap { .. } | Op::Rebuild(_) | Op::Add(_) | Op::Put(..) | Op::Require(_))
    };
    if ops.iter().any(is_for_any) {
        return Ok(true);
    }
    match cursor.peek() {
        Some(b'{') => match single(ops) {
            Some(inner) => meets(inner, cursor),
            None => meets_member(ops, cursor),
        },
        Some(b'[') => {
            let Some(inner) = of_elements(ops) else { return cursor.value().map(|_| false) };
            let mut more = cursor.open(b'[', b']')?;
            while more {
                if meets(inner, cursor)? {
                    return Ok(true);
                }
                more = cursor.more(b']')?;
            }
            Ok(false)
        }
        _ => cursor.value().map(|_| false),
    }
}

fn meets_member(ops: &'static [Op], cursor: &mut Cursor<'_>) -> Result<bool, JsonError> {
    let mut more = cursor.open(b'{', b'}')?;
    while more {
        let key = cursor.key()?;
        let name = cursor.name(key);
        for op in ops {
            let is_met = match op {
                Op::In(member, inner) => {
                    member.as_bytes() == &*name && meets(inner, &mut cursor.clone())?
                }
                Op::Each(inner) => meets(inner, &mut cursor.clone())?,
                other => other.member().is_some_and(|member| member.as_bytes() == &*name),
            };
            if is_met {
                return Ok(true);
            }
        }
        cursor.value()?;
        more = cursor.more(b'}')?;
    }
    Ok(false)
}

/// The steps for each element of a list.
fn of_elements(ops: &'static [Op]) -> Option<&'static [Op]> {
    ops.iter().find_map(|op| match op {
        Op::Each(inner) | Op::Items(inner) => Some(*inner),
        _ => None,
    })
}

/// The text after the steps, or none when it stays as it is.
fn rewrite(
    ops: &'static [Op],
    source: &[u8],
    path: &mut Vec<&'static str>,
    losses: &mut Losses,
) -> Result<Option<Vec<u8>>, Untranslatable> {
    let mut pass = Pass { source, edits: Edits::new(), path, losses };
    match pass.value(&mut Cursor::scanned(source), ops) {
        Ok(()) if pass.edits.is_empty() => Ok(None),
        Ok(()) => {
            let mut out = Vec::with_capacity(source.len() + ROOM);
            pass.edits.apply(source, &mut out);
            Ok(Some(out))
        }
        Err(Stop::Untranslatable(why)) => Err(why),
        // Scanned text cannot be broken; what is not JSON has nothing to change.
        Err(Stop::Broken) => Ok(None),
    }
}

enum Stop {
    Broken,
    Untranslatable(Untranslatable),
}

impl From<JsonError> for Stop {
    fn from(_: JsonError) -> Self {
        Self::Broken
    }
}

impl From<Untranslatable> for Stop {
    fn from(why: Untranslatable) -> Self {
        Self::Untranslatable(why)
    }
}

struct Pass<'a> {
    source: &'a [u8],
    edits: Edits,
    path: &'a mut Vec<&'static str>,
    losses: &'a mut Losses,
}

impl Pass<'_> {
    fn value(&mut self, cursor: &mut Cursor<'_>, ops: &'static [Op]) -> Result<(), Stop> {
        if let [Op::Rebuild(rebuild), rest @ ..] = ops {
            let span = cursor.clone().value()?;
            let text = match (rebuild.make)(&self.source[span.range()]) {
                Rebuilt::Same => return self.value(cursor, rest),
                Rebuilt::Impossible => {
                    return Err(self.impossible(span, "has no older form").into());
                }
                Rebuilt::Exact(text) => text,
                Rebuilt::Less(text) => {
                    self.losses.note(self.path, None, rebuild.says);
                    text
                }
            };
            cursor.value()?;
            let text = rewrite(rest, &text, self.path, self.losses)?.unwrap_or(text);
            self.edits.replace(span, text);
            return Ok(());
        }
        match cursor.peek() {
            Some(b'{') => match single(ops) {
                Some(inner) => self.value(cursor, inner),
                None => self.object(cursor, ops),
            },
            Some(b'[') => self.array(cursor, ops),
            _ => cursor.value().map(|_| ()).map_err(Stop::from),
        }
    }

    fn array(&mut self, cursor: &mut Cursor<'_>, ops: &'static [Op]) -> Result<(), Stop> {
        let Some(inner) = of_elements(ops) else { return Ok(cursor.value().map(|_| ())?) };
        self.path.push("*");
        let mut more = cursor.open(b'[', b']')?;
        while more {
            self.value(cursor, inner)?;
            more = cursor.more(b']')?;
        }
        self.path.pop();
        Ok(())
    }

    fn object(&mut self, cursor: &mut Cursor<'_>, ops: &'static [Op]) -> Result<(), Stop> {
        cursor.peek();
        let start = cursor.at();
        let mut kept = 0;
        let mut met: u64 = 0;
        let mut unstructured = None;
        let mut more = cursor.open(b'{', b'}')?;
        while more {
            let key = cursor.key()?;
            let name = cursor.name(key);
            let about = |op: &Op| op.member().is_some_and(|m| m.as_bytes() == &*name);
            let value = self.inner(cursor, ops, &name)?;
            let whole = Span::new(key.span.start() - 1, value.end());
            let mut removed = false;
            for (at, op) in ops.iter().enumerate().filter(|(_, op)| about(op)) {
                met |= 1 << at;
                removed |= self.step(op, value, start)?;
                if removed && matches!(op, Op::Unstructure(_)) {
                    unstructured = Some(value);
                }
            }
            if removed {
                self.edits.remove_member(whole);
            }
            kept += usize::from(!removed);
            more = cursor.more(b'}')?;
        }
        let object = start..cursor.at();
        let mut added = self.added(ops, met, object.clone())?;
        if let Some(value) = unstructured {
            added.extend(self.content_of(value, object));
        }
        self.insert(start, &added, kept);
        Ok(())
    }

    /// Reads a member's value, with the steps that lie inside it.
    fn inner(
        &mut self,
        cursor: &mut Cursor<'_>,
        ops: &'static [Op],
        name: &[u8],
    ) -> Result<Span, Stop> {
        let inside = ops.iter().find_map(|op| match *op {
            Op::In(member, inner) if member.as_bytes() == name => Some((member, inner)),
            Op::Each(inner) => Some(("*", inner)),
            _ => None,
        });
        let Some((step, inner)) = inside else { return Ok(cursor.value()?) };
        cursor.peek();
        let start = cursor.at();
        self.path.push(step);
        self.value(cursor, inner)?;
        self.path.pop();
        Ok(Span::new(start, cursor.at()))
    }

    /// Makes one step at the member it is about; true to take the member out.
    fn step(&mut self, op: &Op, value: Span, object: usize) -> Result<bool, Stop> {
        let text = &self.source[value.range()];
        let lost = match *op {
            Op::Drop(_) => return Ok(true),
            Op::Forget(name) => Some(name),
            Op::ForgetIf(name, Test { holds, .. }) => holds(text).then_some(name),
            Op::Unstructure(Test { holds, .. }) => holds(text).then_some("structuredContent"),
            Op::RefuseIf(name, Test { says, holds }) if holds(text) => {
                self.path.push(name);
                return Err(self.impossible(value, says).into());
            }
            Op::Swap { from, to, given, .. } => {
                if text == from.as_bytes() && (given.holds)(&self.source[object..]) {
                    self.edits.replace(value, to);
                }
                None
            }
            Op::Put(name, other) if text != other.as_bytes() => {
                self.losses.note(self.path, Some(name), "replaced");
                self.edits.replace(value, other);
                None
            }
            _ => None,
        };
        let Some(name) = lost else { return Ok(false) };
        self.losses.note(self.path, Some(name), "left out");
        Ok(true)
    }

    /// The members that the steps add to an object; `met` tells by its bits
    /// which steps have met theirs.
    fn added(
        &mut self,
        ops: &'static [Op],
        met: u64,
        object: core::ops::Range<usize>,
    ) -> Result<Vec<Vec<u8>>, Stop> {
        let object = &self.source[object];
        let mut added = Vec::new();
        for (_, op) in ops.iter().enumerate().filter(|(at, _)| met & (1 << at) == 0) {
            match *op {
                Op::Add(Addition { name, value, given }) => {
                    if !given.is_empty() && !given.iter().any(|m| member(object, m).is_some()) {
                        continue;
                    }
                    let text = match value {
                        Source::Text(text) => text.as_bytes(),
                        Source::Of(other) => match member(object, other) {
                            Some(found) => &object[found.value.range()],
                            None => continue,
                        },
                    };
                    added.push(pair(name, text));
                }
                Op::Put(name, text) => added.push(pair(name, text.as_bytes())),
                Op::Require(name) => {
                    self.path.push(name);
                    return Err(Untranslatable::Missing(self.path.join(".")).into());
                }
                _ => {}
            }
        }
        Ok(added)
    }

    /// Keeps a structured value as text where `content` says nothing. The
    /// member to add, if `content` is not there at all.
    fn content_of(&mut self, value: Span, object: core::ops::Range<usize>) -> Option<Vec<u8>> {
        let text = core::str::from_utf8(&self.source[value.range()]).unwrap_or_default();
        let mut block = br#"[{"type":"text","text":""#.to_vec();
        push_escaped(&mut block, text);
        block.extend_from_slice(br#""}]"#);
        let start = object.start;
        let Some(content) = member(&self.source[object], "content") else {
            return Some(pair("content", &block));
        };
        let place = Span::new(start + content.value.start(), start + content.value.end());
        let found = &self.source[place.range()];
        if found == b"null" || elements(found).is_some_and(|blocks| blocks.is_empty()) {
            self.edits.replace(place, block);
        }
        None
    }

    /// Puts new members in front of the `kept` others.
    fn insert(&mut self, open: usize, added: &[Vec<u8>], kept: usize) {
        if added.is_empty() {
            return;
        }
        let mut text = added.join(&b',');
        if kept > 0 {
            text.push(b',');
        }
        self.edits.insert(open + 1, text);
    }

    fn impossible(&self, value: Span, why: &'static str) -> Untranslatable {
        let found = &self.source[value.range()];
        let found = crate::text::excerpt_of(found, 120);
        Untranslatable::Value { path: self.path.join("."), why, found }
    }
}

/// The steps for a value that stands for an array of one.
fn single(ops: &'static [Op]) -> Option<&'static [Op]> {
    ops.iter().find_map(|op| match op {
        Op::Items(inner) => Some(*inner),
        _ => None,
    })
}

fn pair(name: &str, text: &[u8]) -> Vec<u8> {
    let mut pair = Vec::with_capacity(name.len() + text.len() + 3);
    pair.push(b'"');
    pair.extend_from_slice(name.as_bytes());
    pair.extend_from_slice(b"\":");
    pair.extend_from_slice(text);
    pair
}
