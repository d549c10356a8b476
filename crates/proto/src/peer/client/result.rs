//! What a response says, judged by the method that it answers.

use super::{CallError, InputRequired};
use crate::method::Method;
use crate::peer::brief;
use crate::revision::{Part, Revision, translate};
use crate::rpc::{Field, Json, Kind, Message};
use crate::types::{RawJson, RpcError};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use serde::Deserialize;

/// The result in the newest revision's shape, or why there is none.
pub(super) fn read(
    method: Method,
    revision: Revision,
    message: &Message,
) -> Result<Json, CallError> {
    if message.kind() == Kind::Error {
        return Err(CallError::Rpc(read_error(message.body_bytes())));
    }
    let kind = message.text(Field::ResultType);
    match kind.as_deref() {
        None if message.field(Field::ResultType).is_some() => {
            return Err(CallError::Protocol("resultType is not a string".into()));
        }
        None => foreign(method, message)?,
        Some("complete") => {}
        Some("input_required") => return Err(input_required(message)),
        Some(other) => {
            let other = brief(other.as_bytes());
            return Err(CallError::Protocol(format!("unknown resultType {other:?}")));
        }
    }
    let body = message.body().filter(|json| json.as_bytes().first() == Some(&b'{'));
    let Some(body) = body else {
        return Err(CallError::Protocol("the result is not an object".into()));
    };
    if method == Method::Initialize {
        // Its revision is in it: whoever reads that translates it.
        return Ok(body);
    }
    newest(body, Part::Result(method), revision)
}

/// In the newest revision's shape.
pub(super) fn newest(json: Json, part: Part, revision: Revision) -> Result<Json, CallError> {
    translate(json, part, revision, Revision::NEWEST)
        .map(|(json, _)| json)
        .map_err(|e| CallError::Protocol(e.to_string()))
}

/// A tool's result may lack all its members. One that has those of another
/// family instead is that, and not a tool that had nothing to say.
fn foreign(method: Method, message: &Message) -> Result<(), CallError> {
    let there = |field| message.field(field).is_some();
    if method != Method::ToolsCall || there(Field::Content) || there(Field::StructuredContent) {
        return Ok(());
    }
    if there(Field::InputRequests) || there(Field::RequestState) {
        return Err(input_required(message));
    }
    if there(Field::Task) {
        let text = "a task in answer to a call that did not ask for one";
        return Err(CallError::Protocol(text.into()));
    }
    Ok(())
}

fn input_required(message: &Message) -> CallError {
    match serde_json::from_slice::<InputRequired>(message.body_bytes()) {
        Ok(asked) if asked.requests.is_empty() && asked.state.is_none() => {
            CallError::Protocol("input_required without inputRequests and requestState".into())
        }
        Ok(asked) => CallError::InputRequired(Box::new(asked)),
        Err(error) => CallError::Protocol(format!("input_required: {error}")),
    }
}

/// An error object, however badly it was written.
pub(in crate::peer) fn read_error(json: &[u8]) -> RpcError {
    #[derive(Deserialize)]
    struct Loose {
        code: serde_json::Value,
        #[serde(default)]
        message: serde_json::Value,
        #[serde(default)]
        data: Option<RawJson>,
    }
    let broken = || RpcError::internal(format!("an error without a code: {}", brief(json)));
    let Ok(Loose { code, message, data }) = serde_json::from_slice(json) else { return broken() };
    let whole = |float: f64| (float as i64 as f64 == float).then_some(float as i64);
    let Some(code) = code.as_i64().or_else(|| code.as_f64().and_then(whole)) else {
        return broken();
    };
    let message = message.as_str().map(String::from).unwrap_or_default();
    RpcError { code, message, data }
}
