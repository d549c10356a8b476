//! Messages that only pass through: read as far as routing needs, translated
//! where the two sides speak different revisions, and otherwise the very bytes
//! that came.

use super::Name;
use crate::method::Method;
use crate::revision::{Losses, Part, Revision, Untranslatable, translate};
use crate::rpc::{Cursor, Edits, Field, Id, Json, Kind, Message, Span};
use crate::types::LogLevel;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use bytes::Bytes;

/// A response as its sender wrote it.
#[derive(Clone, Debug)]
pub struct Reply {
    message: Message,
    revision: Revision,
}

impl Reply {
    /// A response that was written in `revision`. None for any other message.
    pub fn new(message: Message, revision: Revision) -> Option<Self> {
        matches!(message.kind(), Kind::Result | Kind::Error).then_some(Self { message, revision })
    }

    /// The revision that it is written in.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.message.kind() == Kind::Error
    }

    /// Whether it asks for input before it answers (`basic/patterns/mrtr`).
    pub fn is_input_required(&self) -> bool {
        let kind = self.message.text(Field::ResultType);
        !self.is_error() && kind.is_some_and(|kind| kind == "input_required")
    }

    /// The response itself.
    pub fn message(&self) -> &Message {
        &self.message
    }

    pub(super) fn into_message(self) -> Message {
        self.message
    }

    /// Its result or error in the shape of `to`; `method` is what it answers.
    ///
    /// # Errors
    /// When that revision has no form for it.
    pub fn body_in(&self, method: Method, to: Revision) -> Result<(Json, Losses), Untranslatable> {
        let part = if self.is_error() { Part::Error(method) } else { Part::Result(method) };
        body_in(&self.message, part, self.revision, to)
    }
}

/// What a client said of itself, for servers to which each request says it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Caller {
    /// `Implementation` as JSON, where it said that.
    pub info: Option<Arc<str>>,
    /// `ClientCapabilities` as JSON, in the shape of the server's revision.
    pub capabilities: Option<Arc<str>>,
    /// The least severe log level that it wants, if it wants any.
    pub log: Option<LogLevel>,
}

/// The body of a message in another revision's shape: the very same slice when
/// there is nothing to change.
pub(super) fn body_in(
    message: &Message,
    part: Part,
    from: Revision,
    to: Revision,
) -> Result<(Json, Losses), Untranslatable> {
    translate(unshadowed(message), part, from, to)
}

/// The body without the members that another reader might take for known ones.
fn unshadowed(message: &Message) -> Json {
    let Some(body) = message.body_span() else {
        return Json::scanned(Bytes::from_static(b"{}"));
    };
    let whole = Json::scanned(message.bytes().slice(body.range()));
    let mut edits = Edits::new();
    let inside = |span: &&Span| body.start() <= span.start() && span.end() <= body.end();
    for span in message.shadows().iter().filter(inside) {
        edits.remove_member(moved(*span, body.start()));
    }
    if edits.is_empty() {
        return whole;
    }
    let mut text = Vec::new();
    edits.apply(whole.as_bytes(), &mut text);
    Json::scanned(text.into())
}

/// A span as it lies in the part of its message that begins at `start`.
fn moved(span: Span, start: usize) -> Span {
    Span::new(span.start() - start, span.end() - start)
}

/// The members of `_meta` that belong to one hop.
const HOP: [(Field, &str); 5] = [
    (Field::MetaProgressToken, "progressToken"),
    (Field::MetaProtocolVersion, "io.modelcontextprotocol/protocolVersion"),
    (Field::MetaClientInfo, "io.modelcontextprotocol/clientInfo"),
    (Field::MetaClientCapabilities, "io.modelcontextprotocol/clientCapabilities"),
    (Field::MetaLogLevel, "io.modelcontextprotocol/logLevel"),
];

/// Where `_meta` lies in parameters, and the values in it that belong to one hop.
#[derive(Default)]
pub(super) struct MetaAt {
    meta: Option<Span>,
    members: [Option<Span>; HOP.len()],
}

impl MetaAt {
    /// In the body of a message that was not changed.
    pub(super) fn of_message(message: &Message) -> Self {
        let start = message.body_span().map_or(0, Span::start);
        let at = |field| message.span(field).map(|span| moved(span, start));
        Self { meta: at(Field::Meta), members: HOP.map(|(field, _)| at(field)) }
    }

    /// In parameters that have no message any more.
    pub(super) fn of_text(params: &[u8]) -> Self {
        let mut found = Self::default();
        let Some(meta) = crate::rpc::member(params, "_meta") else { return found };
        found.meta = Some(meta.value);
        // What is not an object has no members.
        let _ = found.read(params, meta.value);
        found
    }

    fn read(&mut self, params: &[u8], meta: Span) -> Result<(), crate::rpc::JsonError> {
        let mut cursor = Cursor::scanned(&params[meta.range()]);
        let mut more = cursor.open(b'{', b'}')?;
        while more {
            let key = cursor.key()?;
            let name = cursor.name(key);
            let value = cursor.value()?;
            let known = HOP.iter().position(|(field, _)| Field::of_meta(&name) == Some(*field));
            if let Some(at) = known {
                self.members[at] =
                    Some(Span::new(meta.start() + value.start(), meta.start() + value.end()));
            }
            more = cursor.more(b'}')?;
        }
        Ok(())
    }
}

/// What the next hop is told in `_meta`; none leaves what is there.
#[derive(Default)]
pub(super) struct HopMeta {
    token: Option<u64>,
    /// The other members, in the order of [`HOP`].
    said: [Option<String>; HOP.len() - 1],
}

/// What a request says on the way to a server of `revision`; `token` is ours,
/// for a call whose sender gave one.
pub(super) fn hop_meta(
    token: Option<u64>,
    from: Revision,
    to: Revision,
    caller: &Caller,
) -> HopMeta {
    if to.is_legacy() || from == to {
        return HopMeta { token, ..HopMeta::default() };
    }
    let version = Some(format!("\"{to}\""));
    if !from.is_legacy() {
        return HopMeta { token, said: [version, None, None, None] };
    }
    let said = |text: &Option<Arc<str>>| text.as_ref().map(|text| String::from(&**text));
    let capabilities = said(&caller.capabilities).or_else(|| Some("{}".into()));
    let log = caller.log.map(|level| format!("\"{}\"", level.name()));
    HopMeta { token, said: [version, said(&caller.info), capabilities, log] }
}

/// Appends `params` with `hop` in their `_meta` and more members in front.
///
/// `extra` is `"name":value` pairs joined by commas, or empty.
pub(super) fn write_params(
    params: &[u8],
    at: &MetaAt,
    hop: &HopMeta,
    extra: &[u8],
    out: &mut Vec<u8>,
) {
    let unsaid = extra.is_empty() && hop.said.iter().all(Option::is_none);
    if let (true, Some(token), [Some(place), ..]) = (unsaid, hop.token, &at.members) {
        // All that changes within one revision.
        out.extend_from_slice(&params[..place.start()]);
        Id::Number(token as i64).write(out);
        return out.extend_from_slice(&params[place.end()..]);
    }
    let mut edits = Edits::new();
    let mut fresh = Vec::new();
    let token = hop.token.map(|token| format!("{token}"));
    let values = core::iter::once(&token).chain(&hop.said);
    for ((place, value), (_, name)) in at.members.iter().zip(values).zip(HOP) {
        match (place, value) {
            (Some(span), Some(value)) => edits.replace(*span, Bytes::from(value.clone())),
            (None, Some(value)) => push_member(&mut fresh, name, value.as_bytes()),
            (_, None) => {}
        }
    }
    let mut front = extra.to_vec();
    if !fresh.is_empty() {
        match at.meta {
            Some(meta) if params.get(meta.start()) == Some(&b'{') => {
                insert_members(&mut edits, params, meta.start(), fresh);
            }
            // A `_meta` that is no object says nothing that could be kept.
            Some(meta) => edits.replace(meta, [b"{", &*fresh, b"}"].concat()),
            None => push_member(&mut front, "_meta", &[b"{", &*fresh, b"}"].concat()),
        }
    }
    if !front.is_empty() {
        let open = params.iter().position(|byte| *byte == b'{').unwrap_or_default();
        insert_members(&mut edits, params, open, front);
    }
    if edits.is_empty() {
        return out.extend_from_slice(params);
    }
    edits.apply(params, out);
}

fn push_member(members: &mut Vec<u8>, name: &str, value: &[u8]) {
    if !members.is_empty() {
        members.push(b',');
    }
    members.push(b'"');
    members.extend_from_slice(name.as_bytes());
    members.extend_from_slice(b"\":");
    members.extend_from_slice(value);
}

/// Puts members in front of those of the object that opens at `open`.
fn insert_members(edits: &mut Edits, text: &[u8], open: usize, mut members: Vec<u8>) {
    if text[open + 1..].trim_ascii_start().first() != Some(&b'}') {
        members.push(b',');
    }
    edits.insert(open + 1, members);
}

/// What a request is about: the tool, the prompt, the URI.
pub(super) fn target(message: &Message) -> Option<Name> {
    let field = match message.method() {
        Method::ToolsCall | Method::PromptsGet => Field::Name,
        Method::ResourcesRead => Field::Uri,
        Method::TasksGet | Method::TasksCancel => Field::TaskId,
        _ => return None,
    };
    Name::of(message, field)
}

/// A line for the log on what a translation had to leave out.
pub(super) fn describe(losses: &Losses, what: &str) -> String {
    let lost: Vec<String> =
        losses.iter().map(|loss| format!("{} {}", loss.path, loss.how)).collect();
    format!("{what}, told in another revision: {}", lost.join("; "))
}
