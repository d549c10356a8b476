//! What another server says, on its way to the client.

use super::ask::Open;
use super::batch::Place;
use super::opening::log_level;
use super::{Active, AskKey, CallKey, Sent, ServerOutput, ServerPeer};
use crate::method::Method;
use crate::peer::pass::{self, Reply};
use crate::peer::{Lane, read_error};
use crate::revision::{Part, Revision, Untranslatable, method_row};
use crate::rpc::{self, Edits, Field, Id, Json, Message};
use crate::types::RpcError;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use serde::Deserialize;

/// Where a request of another server's is put to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskPlace {
    /// With this call, whose end takes it back.
    Of(CallKey),
    /// On the exchange of this call, which is known to be open; whose the
    /// request is cannot be told.
    Beside(CallKey),
    /// On the connection's own stream.
    Connection,
}

impl ServerPeer {
    /// Answers a call with the response of another server.
    pub(super) fn pass_reply(&mut self, call: &Active, reply: &Reply) {
        let (place, id) = (call.place, &call.id);
        match reply.body_in(call.method, call.revision) {
            Ok((body, losses)) => {
                if !losses.is_empty() {
                    self.ignore(pass::describe(&losses, call.method.name()));
                }
                if reply.is_error() {
                    return self.pass_error(place, id, &body);
                }
                let from = reply.revision().rules();
                let unsaid = call.revision.rules().server_info_in_meta
                    && !from.server_info_in_meta
                    && reply.message().field(Field::Meta).is_none();
                let members: &[u8] = if unsaid { &self.identity.server_info } else { b"" };
                let len = body.as_bytes().len() + members.len() + 64;
                let mut out = self.spares.buffer(len);
                rpc::result_response_with(&mut out, id, body.as_bytes(), members);
                self.send(place, out);
            }
            Err(error) => {
                let error = match error {
                    Untranslatable::Method(_) => {
                        RpcError::new(RpcError::METHOD_NOT_FOUND, error.to_string())
                    }
                    _ => RpcError::internal(format!("the answer cannot be passed on: {error}")),
                };
                self.fail(place, Some(id), &error);
            }
        }
    }

    /// Answers with an error object, in its sender's words.
    fn pass_error(&mut self, place: Place, id: &Id, error: &Json) {
        #[derive(Deserialize)]
        struct Error {
            code: i64,
        }
        let Ok(Error { code }) = error.read() else {
            // Not one that the client could read.
            return self.fail(place, Some(id), &read_error(error.as_bytes()));
        };
        let mut out = Vec::new();
        rpc::error_response_of(&mut out, id, error.as_bytes());
        self.answer(place, out, Some(code));
    }

    /// Passes on a notification that another server wrote in `from`: about a
    /// call, or about nothing in particular, which only a session hears.
    ///
    /// Progress carries the token of the call's sender and must grow, and log
    /// messages have to be of a level that was asked for.
    pub fn pass_notice(&mut self, to: Option<CallKey>, message: &Message, from: Revision) {
        let method = message.method();
        let (lane, revision, log) = match (to, &self.session) {
            (Some(key), _) => match self.active(key) {
                Some(call) => (call.place.lane, call.revision, call.log),
                None => return,
            },
            (None, Some(session)) if session.ready => {
                (Lane::Connection, session.revision, Some(session.log))
            }
            (None, _) => return,
        };
        let level = log_level(message, Field::Level);
        let unwanted = log.is_none_or(|least| level.is_some_and(|level| level < least));
        if method == Method::Message && unwanted {
            return;
        }
        let (body, losses) = match pass::body_in(message, Part::Params(method), from, revision) {
            Ok(body) => body,
            Err(error) => return self.ignore(format!("a notification has no other form: {error}")),
        };
        if !losses.is_empty() {
            self.ignore(pass::describe(&losses, method.name()));
        }
        let body = match (method, to) {
            (Method::Progress, Some(key)) => match self.own_progress(key, &body) {
                Some(body) => body,
                None => return,
            },
            _ => body.as_bytes().to_vec(),
        };
        let mut bytes = Vec::with_capacity(body.len() + 80);
        rpc::notification(&mut bytes, &message.method_name(), &body);
        let sent = Sent::Notification;
        self.out.push_back(ServerOutput::Send { lane, bytes, sent, error: None });
    }

    /// Progress with the token that the call's sender gave; none when there is
    /// none, or when it does not grow.
    fn own_progress(&mut self, key: CallKey, body: &Json) -> Option<Vec<u8>> {
        #[derive(Deserialize)]
        struct Body {
            progress: f64,
        }
        let call = self.active_mut(key)?;
        let token = call.progress_token.as_ref()?;
        let Body { progress } = body.read().ok()?;
        if progress <= call.progress {
            return None;
        }
        call.progress = progress;
        let mut text = Vec::new();
        token.write(&mut text);
        let place = rpc::member(body.as_bytes(), "progressToken")?;
        let mut edits = Edits::new();
        edits.replace(place.value, text);
        let mut out = Vec::new();
        edits.apply(body.as_bytes(), &mut out);
        Some(out)
    }

    /// Puts a request that another server wrote in `from` to the client; the
    /// answer comes as [`ServerOutput::AskReplied`].
    ///
    /// # Errors
    /// When there is nobody to ask, or the client's revision has no such request
    /// or no form for it.
    pub fn pass_ask(
        &mut self,
        place: AskPlace,
        message: &Message,
        from: Revision,
    ) -> Result<AskKey, RpcError> {
        let (call, lane, revision) = match place {
            AskPlace::Of(key) | AskPlace::Beside(key) => {
                let gone = || RpcError::internal("the call has ended");
                let active = self.active(key).ok_or_else(gone)?;
                let call = matches!(place, AskPlace::Of(_)).then_some(key);
                (call, active.place.lane, active.revision)
            }
            AskPlace::Connection => {
                let none = || RpcError::internal("the client has no session");
                let session = self.session.as_ref().filter(|s| s.ready).ok_or_else(none)?;
                (None, Lane::Connection, session.revision)
            }
        };
        let method = message.method();
        let there = method_row(method).is_some_and(|row| row.exists_in(revision));
        if !revision.rules().server_requests || !there {
            let text = format!("the client's revision {revision} has no {}", method.name());
            return Err(RpcError::new(RpcError::METHOD_NOT_FOUND, text));
        }
        let (params, losses) = pass::body_in(message, Part::Params(method), from, revision)
            .map_err(|error| RpcError::invalid_params(error.to_string()))?;
        if !losses.is_empty() {
            self.ignore(pass::describe(&losses, method.name()));
        }
        let open = Open { call, lane, method, revision, raw: true };
        Ok(self.send_ask(open, params.as_bytes()))
    }
}
