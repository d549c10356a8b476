//! What the engine sends: answers, progress, logs.

use super::batch::Place;
use super::output::{plain_len, write_plain};
use super::{Active, CallKey, Sent, ServerOutput, ServerPeer};
use crate::method::Method;
use crate::peer::Lane;
use crate::revision::{Part, Revision, is_touched, translate};
use crate::rpc::{self, Id, Json};
use crate::types::{CallToolResult, LogLevel, RpcError};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use bytes::Bytes;
use serde::Serialize;

impl ServerPeer {
    /// Reports how far a call is, if its sender asked for that. What does not
    /// grow is no progress and is not sent (`basic/patterns/progress`).
    pub fn progress(&mut self, key: CallKey, done: f64, total: Option<f64>, text: Option<&str>) {
        #[derive(Serialize)]
        struct Body<'a> {
            progress: Number,
            #[serde(skip_serializing_if = "Option::is_none")]
            total: Option<Number>,
            #[serde(skip_serializing_if = "Option::is_none")]
            message: Option<&'a str>,
        }
        let Some(call) = self.active_mut(key) else { return };
        let Some(token) = &call.progress_token else { return };
        if !done.is_finite() || done <= call.progress {
            return;
        }
        call.progress = done;
        let total = total.filter(|total| total.is_finite()).map(Number);
        let body = Body { progress: Number(done), total, message: text };
        let Ok(body) = serde_json::to_vec(&body) else { return };
        let mut params = br#"{"progressToken":"#.to_vec();
        token.write(&mut params);
        params.push(b',');
        params.extend_from_slice(&body[1..]);
        let (lane, revision) = (call.place.lane, call.revision);
        self.notify(lane, revision, Method::Progress, params);
    }

    /// Sends a log message on behalf of a call, if its sender wants that level.
    pub fn log(&mut self, key: CallKey, level: LogLevel, logger: Option<&str>, data: &[u8]) {
        let Some(call) = self.active(key) else { return };
        if call.log.is_none_or(|least| level < least) {
            return;
        }
        let (lane, revision) = (call.place.lane, call.revision);
        let mut params = format!("{{\"level\":\"{}\"", level.name()).into_bytes();
        if let Some(logger) = logger {
            params.extend_from_slice(br#","logger":""#);
            rpc::push_escaped(&mut params, logger);
            params.push(b'"');
        }
        params.extend_from_slice(br#","data":"#);
        params.extend_from_slice(data);
        params.push(b'}');
        self.notify(lane, revision, Method::Message, params);
    }

    /// A response with the result of a tool.
    pub(super) fn called(
        &mut self,
        call: &Active,
        result: &CallToolResult,
    ) -> Result<Vec<u8>, RpcError> {
        if result.is_plain() {
            let typed = call.revision.rules().result_type;
            let members: &[u8] = if typed { &self.identity.complete } else { b"" };
            let mut out = self.spares.buffer(plain_len(result, members));
            write_plain(&mut out, &call.id, members, result);
            return Ok(out);
        }
        let mut body = Vec::new();
        result.write(&mut body).map_err(|error| RpcError::internal(error.to_string()))?;
        self.shape(call.revision, call.method, body, result.meta.is_some(), &call.id)
    }

    /// Wraps a result in the shape of its revision.
    pub(super) fn shape(
        &mut self,
        revision: Revision,
        method: Method,
        body: Vec<u8>,
        has_meta: bool,
        id: &Id,
    ) -> Result<Vec<u8>, RpcError> {
        let mut body = Bytes::from(body);
        if !revision.rules().result_type {
            body = self.older(body, Part::Result(method), revision)?;
        }
        Ok(self.wrapped(revision, &body, has_meta, id))
    }

    /// A response with a result that has the shape of its revision.
    pub(super) fn wrapped(
        &mut self,
        revision: Revision,
        body: &[u8],
        has_meta: bool,
        id: &Id,
    ) -> Vec<u8> {
        let rules = revision.rules();
        let mut out = self.spares.buffer(body.len() + self.identity.complete.len() + 64);
        if rules.result_type {
            let members = if has_meta || !rules.server_info_in_meta {
                self.identity.complete_bare
            } else {
                &self.identity.complete
            };
            rpc::result_response_with(&mut out, id, body, members);
        } else {
            rpc::result_response(&mut out, id, body);
        }
        out
    }

    /// What the application said in the newest shape, in that of `revision`.
    pub(super) fn older(
        &self,
        body: Bytes,
        part: Part,
        revision: Revision,
    ) -> Result<Bytes, RpcError> {
        if !is_touched(&body, part, Revision::NEWEST, revision) {
            return Ok(body);
        }
        let internal = |e: &dyn core::fmt::Display| RpcError::internal(e.to_string());
        let json = Json::parse(body, self.limits).map_err(|e| internal(&e))?;
        let (json, _) =
            translate(json, part, Revision::NEWEST, revision).map_err(|e| internal(&e))?;
        Ok(json.into_bytes())
    }

    pub(super) fn ignore(&mut self, what: String) {
        self.out.push_back(ServerOutput::Ignored(what));
    }

    pub(super) fn reply(&mut self, place: Place, id: &Id, result: &[u8]) {
        let mut out = Vec::new();
        rpc::result_response(&mut out, id, result);
        self.send(place, out);
    }

    pub(super) fn send(&mut self, place: Place, bytes: Vec<u8>) {
        self.answer(place, bytes, None);
    }

    pub(super) fn answer(&mut self, place: Place, bytes: Vec<u8>, error: Option<i64>) {
        match place {
            Place { lane, batch: None } => {
                self.out.push_back(ServerOutput::Send { lane, bytes, sent: Sent::Response, error });
            }
            Place { batch: Some(batch), .. } => self.batches.add(batch, &bytes),
        }
    }

    /// Nothing more comes of this part of a batch.
    pub(super) fn placed(&mut self, place: Place) {
        let done = place.batch.and_then(|batch| self.batches.done(batch));
        if let Some((lane, bytes)) = done {
            self.out.push_back(ServerOutput::Send {
                lane,
                bytes,
                sent: Sent::Response,
                error: None,
            });
        }
    }

    pub(super) fn notify(
        &mut self,
        lane: Lane,
        revision: Revision,
        method: Method,
        params: Vec<u8>,
    ) {
        self.notify_as(lane, revision, method, params, Sent::Notification);
    }

    /// Sends a notification; `params` is a JSON object, or empty.
    pub(super) fn notify_as(
        &mut self,
        lane: Lane,
        revision: Revision,
        method: Method,
        params: Vec<u8>,
        sent: Sent,
    ) {
        // A notification that its revision has no form for is nothing to fail over.
        let Ok(params) = self.older(params.into(), Part::Params(method), revision) else { return };
        let mut bytes = Vec::new();
        rpc::notification(&mut bytes, method.name(), &params);
        self.out.push_back(ServerOutput::Send { lane, bytes, sent, error: None });
    }

    pub(super) fn fail(&mut self, place: Place, id: Option<&Id>, error: &RpcError) {
        let mut bytes = Vec::new();
        let data = error.data.as_ref().map(|raw| raw.get().as_bytes());
        rpc::error_response(&mut bytes, id, error.code, &error.message, data);
        self.answer(place, bytes, Some(error.code));
    }
}

/// A number that is written without a fraction when it has none.
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = self.0 as i64;
        if whole as f64 == self.0 && whole.unsigned_abs() < 1 << 53 {
            serializer.serialize_i64(whole)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}
