//! Messages that only pass through: read as far as routing needs, translated
//! where the two sides speak different revisions, and otherwise the very bytes
//! that came.

mod hop;

pub(super) use hop::{HopMeta, MetaAt};

use super::Name;
use crate::method::Method;
use crate::revision::{Losses, Part, Revision, Untranslatable, translate};
use crate::rpc::{Edits, Field, Json, Kind, Message, Span};
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

    /// Whether it asks for input before it answers (`basic/patterns/mrtr`). Where
    /// results have no type, none does.
    pub fn is_input_required(&self) -> bool {
        let kind = self.message.text(Field::ResultType);
        let is_typed = self.revision.rules().result_type;
        is_typed && !self.is_error() && kind.is_some_and(|kind| kind == "input_required")
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
