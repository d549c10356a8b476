//! A scanned message: what kind it is and where its parts lie.

use super::{Id, Json, Span};
use crate::method::Method;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use bytes::Bytes;

/// What a JSON-RPC message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Has a method and an id.
    Request,
    /// Has a method and no id.
    Notification,
    /// Has a result.
    Result,
    /// Has an error.
    Error,
}

/// The members of `params`, `result` and `_meta` that routing needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// `params.name`
    Name,
    /// `params.arguments`
    Arguments,
    /// `params.uri`
    Uri,
    /// `params.cursor`
    Cursor,
    /// `params.level`
    Level,
    /// `params.ref`
    Reference,
    /// `params.taskId`
    TaskId,
    /// `params.requestId`, of a cancellation
    RequestId,
    /// `params.requestState`, or `result.requestState`
    RequestState,
    /// `params.inputResponses`
    InputResponses,
    /// `params.protocolVersion`, of `initialize`
    ProtocolVersion,
    /// `params.progressToken`, of a progress notification
    ProgressToken,
    /// `result.resultType`
    ResultType,
    /// `result.content`
    Content,
    /// `result.structuredContent`
    StructuredContent,
    /// `result.inputRequests`
    InputRequests,
    /// `result.task`
    Task,
    /// `_meta` of `params` or `result`
    Meta,
    /// `_meta.progressToken`
    MetaProgressToken,
    /// `_meta["io.modelcontextprotocol/protocolVersion"]`
    MetaProtocolVersion,
    /// `_meta["io.modelcontextprotocol/clientInfo"]`
    MetaClientInfo,
    /// `_meta["io.modelcontextprotocol/clientCapabilities"]`
    MetaClientCapabilities,
    /// `_meta["io.modelcontextprotocol/logLevel"]`
    MetaLogLevel,
    /// `_meta["io.modelcontextprotocol/subscriptionId"]`
    MetaSubscriptionId,
}

pub(crate) const FIELDS: usize = 24;

/// What a member's name is to a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// A member whose place a scan notes.
    Field(Field),
    /// A member that others read by its name.
    Known,
    /// The name of one of these but for the case of its letters.
    Shadow,
    /// Nothing that is known.
    Other,
}

/// The members that are read of one object of the envelope, wherever they are read:
/// `fields` are those whose places a scan notes, `known` the others. What is looked
/// up, and what counts as the same name in other letters, follows from one list.
macro_rules! members {
    (
        $(#[$doc:meta])* $object:ident, $tested:ident;
        fields { $($field_name:literal => $field:ident,)* }
        known { $($known:literal)* }
    ) => {
        $(#[$doc])*
        pub(crate) fn $object(name: &[u8]) -> Named {
            const NAMES: &[&[u8]] = &[$($field_name,)* $($known,)*];
            match name {
                $($field_name => Named::Field(Field::$field),)*
                $($known => Named::Known,)*
                _ if NAMES.iter().any(|known| known.eq_ignore_ascii_case(name)) => Named::Shadow,
                _ => Named::Other,
            }
        }

        #[cfg(test)]
        pub(crate) const $tested: &[&[u8]] = &[$($field_name,)* $($known,)*];
    };
}

members! {
    /// Members of a message.
    of_envelope, OF_ENVELOPE;
    fields {}
    known { b"jsonrpc" b"id" b"method" b"params" b"result" b"error" }
}

members! {
    /// Members of `params`.
    of_params, OF_PARAMS;
    fields {
        b"name" => Name,
        b"arguments" => Arguments,
        b"_meta" => Meta,
        b"uri" => Uri,
        b"cursor" => Cursor,
        b"level" => Level,
        b"ref" => Reference,
        b"taskId" => TaskId,
        b"requestId" => RequestId,
        b"requestState" => RequestState,
        b"inputResponses" => InputResponses,
        b"protocolVersion" => ProtocolVersion,
        b"progressToken" => ProgressToken,
    }
    known {
        b"argument" b"capabilities" b"clientInfo" b"context" b"createdAt" b"data" b"elicitationId"
        b"includeContext" b"lastUpdatedAt" b"logger" b"maxTokens" b"message" b"messages"
        b"metadata" b"mode" b"modelPreferences" b"notifications" b"pollInterval" b"progress"
        b"reason" b"requestedSchema" b"status" b"statusMessage" b"stopSequences" b"systemPrompt"
        b"task" b"temperature" b"toolChoice" b"tools" b"total" b"ttl" b"url"
    }
}

members! {
    /// Members of `result`.
    of_result, OF_RESULT;
    fields {
        b"content" => Content,
        b"structuredContent" => StructuredContent,
        b"resultType" => ResultType,
        b"_meta" => Meta,
        b"inputRequests" => InputRequests,
        b"requestState" => RequestState,
        b"task" => Task,
    }
    known {
        b"action" b"cacheScope" b"capabilities" b"completion" b"contents" b"createdAt"
        b"description" b"instructions" b"isError" b"lastUpdatedAt" b"messages" b"model"
        b"nextCursor" b"pollInterval" b"prompts" b"protocolVersion" b"resourceTemplates"
        b"resources" b"role" b"roots" b"serverInfo" b"status" b"statusMessage" b"stopReason"
        b"supportedVersions" b"taskId" b"tasks" b"tools" b"ttl" b"ttlMs"
    }
}

members! {
    /// Members of `error`.
    of_error, OF_ERROR;
    fields {}
    known { b"code" b"message" b"data" }
}

members! {
    /// Members of `_meta`.
    of_meta, OF_META;
    fields {
        b"progressToken" => MetaProgressToken,
        b"io.modelcontextprotocol/protocolVersion" => MetaProtocolVersion,
        b"io.modelcontextprotocol/clientInfo" => MetaClientInfo,
        b"io.modelcontextprotocol/clientCapabilities" => MetaClientCapabilities,
        b"io.modelcontextprotocol/logLevel" => MetaLogLevel,
        b"io.modelcontextprotocol/subscriptionId" => MetaSubscriptionId,
    }
    known {
        b"io.modelcontextprotocol/related-task" b"io.modelcontextprotocol/serverInfo"
    }
}

/// What one frame from the transport holds.
#[derive(Clone, Debug)]
pub enum Scanned {
    /// One message.
    One(Message),
    /// A batch, element by element; only some revisions allow it.
    Batch(Vec<Result<Message, super::ScanError>>),
}

/// One message: the bytes as received and where its parts lie in them.
///
/// Behind one pointer, as it changes hands many times on its way.
#[derive(Clone, Debug)]
pub struct Message(pub(super) Box<Parts>);

#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) bytes: Bytes,
    pub(super) kind: Kind,
    pub(super) id: Option<Id>,
    pub(super) method: Method,
    pub(super) method_span: Span,
    /// `params`, `result` or `error`, by kind.
    pub(super) body: Option<Span>,
    pub(super) fields: [Option<Span>; FIELDS],
    pub(super) shadows: Vec<Span>,
}

impl Message {
    /// What kind of message it is.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The id, of a request or a response.
    pub fn id(&self) -> Option<&Id> {
        self.0.id.as_ref()
    }

    /// The method, of a request or a notification.
    pub fn method(&self) -> Method {
        self.0.method
    }

    /// The method as it was written, escapes resolved; empty for responses.
    pub fn method_name(&self) -> Cow<'_, str> {
        self.text_at(self.0.method_span)
    }

    /// The whole message as received.
    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    /// `params`, `result` or `error`. An absent or null `params` is `None`.
    pub fn body(&self) -> Option<Json> {
        self.0.body.map(|span| self.json(span))
    }

    /// The text of `params`, `result` or `error`, or `{}` when there is none.
    pub fn body_bytes(&self) -> &[u8] {
        self.0.body.map_or(b"{}", |span| &self.0.bytes[span.range()])
    }

    /// One of the members that the scan looks for, unless absent.
    pub fn field(&self, field: Field) -> Option<&[u8]> {
        self.0.fields[field as usize].map(|span| &self.0.bytes[span.range()])
    }

    /// Where such a member's value lies.
    pub fn span(&self, field: Field) -> Option<Span> {
        self.0.fields[field as usize]
    }

    /// Where `params`, `result` or `error` lies.
    pub fn body_span(&self) -> Option<Span> {
        self.0.body
    }

    /// Such a member as a type; none when it is absent.
    ///
    /// # Errors
    /// When it has another shape than `T`.
    pub fn read<'a, T: serde::Deserialize<'a>>(
        &'a self,
        field: Field,
    ) -> Option<Result<T, serde_json::Error>> {
        self.field(field).map(super::de::read)
    }

    /// Such a member as a value of its own that shares the message's bytes.
    pub fn field_json(&self, field: Field) -> Option<Json> {
        self.span(field).map(|span| self.json(span))
    }

    /// Such a member when it is a string, escapes resolved.
    pub fn text(&self, field: Field) -> Option<Cow<'_, str>> {
        let raw = self.field(field)?;
        (raw.first() == Some(&b'"')).then(|| unquote(raw)).flatten()
    }

    /// Such a member when it is an id (progress tokens are ids too).
    pub fn id_at(&self, field: Field) -> Option<Id> {
        Id::read(self.field(field)?)
    }

    /// Members whose names differ from a known one only by case: they have no
    /// effect here, and a forwarder must leave them out, so that the next hop
    /// cannot read the message differently.
    pub fn shadows(&self) -> &[Span] {
        &self.0.shadows
    }

    /// Lets go of whatever the message was read together with. For those that
    /// are kept: a slice holds on to all of the buffer it was cut from.
    pub fn detach(&mut self) {
        self.0.bytes = Bytes::copy_from_slice(&self.0.bytes);
    }

    fn json(&self, span: Span) -> Json {
        Json::scanned(self.0.bytes.slice(span.range()))
    }

    fn text_at(&self, span: Span) -> Cow<'_, str> {
        unquote(&self.0.bytes[span.range()]).unwrap_or_default()
    }
}

pub(super) fn unquote(quoted: &[u8]) -> Option<Cow<'_, str>> {
    let inner = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr(b'\\', inner).is_none() {
        return core::str::from_utf8(inner).ok().map(Cow::Borrowed);
    }
    serde_json::from_slice::<String>(quoted).ok().map(Cow::Owned)
}
