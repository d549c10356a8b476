//! What a response says, judged by the method that it answers.

use super::{CallError, InputRequired};
use crate::method::Method;
use crate::peer::brief;
use crate::revision::{Part, Revision, translate};
use crate::rpc::{Field, Json, Kind, Message};
use crate::types::{ClientCapabilities, RawJson, RpcError};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use serde::Deserialize;

/// Most questions of one round; more is a server that has lost count.
const MAX_ASKED: usize = 100;

/// The result in the newest revision's shape, or why there is none. `offered` is what
/// the client may be asked.
pub(super) fn read(
    method: Method,
    revision: Revision,
    offered: &ClientCapabilities,
    message: &Message,
) -> Result<Json, CallError> {
    if message.kind() == Kind::Error {
        return Err(CallError::Rpc(read_error(message.body_bytes())));
    }
    if revision.rules().result_type && method != Method::Initialize {
        match kind(method, message)? {
            ResultKind::Complete => {}
            ResultKind::InputRequired => return Err(input_required(method, offered, message)),
        }
    } else if method == Method::ToolsCall && is_request_for_input(message) {
        // A member of this name means nothing here; but a result of nothing else is
        // no tool's that had nothing to say.
        let text = "a request for input in place of a result, in a session";
        return Err(CallError::Protocol(text.into()));
    } else {
        no_task(method, message)?;
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

enum ResultKind {
    Complete,
    InputRequired,
}

/// What a result says that it is, where results say so.
fn kind(method: Method, message: &Message) -> Result<ResultKind, CallError> {
    let kind = message.text(Field::ResultType);
    match kind.as_deref() {
        None if message.field(Field::ResultType).is_some() => {
            Err(CallError::Protocol("resultType is not a string".into()))
        }
        None if method == Method::ToolsCall && is_request_for_input(message) => {
            Ok(ResultKind::InputRequired)
        }
        None => no_task(method, message).map(|()| ResultKind::Complete),
        Some("complete") => Ok(ResultKind::Complete),
        Some("input_required") => Ok(ResultKind::InputRequired),
        Some(other) => {
            let other = brief(other.as_bytes());
            Err(CallError::Protocol(format!("unknown resultType {other:?}")))
        }
    }
}

/// In the newest revision's shape.
pub(super) fn newest(json: Json, part: Part, revision: Revision) -> Result<Json, CallError> {
    translate(json, part, revision, Revision::NEWEST)
        .map(|(json, _)| json)
        .map_err(|e| CallError::Protocol(e.to_string()))
}

/// A tool's result may lack all its members. One that has those of another
/// family instead is that, and not a tool that had nothing to say.
fn is_request_for_input(message: &Message) -> bool {
    let there = |field| message.field(field).is_some();
    let is_result = there(Field::Content) || there(Field::StructuredContent);
    !is_result && (there(Field::InputRequests) || there(Field::RequestState))
}

fn no_task(method: Method, message: &Message) -> Result<(), CallError> {
    let there = |field| message.field(field).is_some();
    let is_result = there(Field::Content) || there(Field::StructuredContent);
    if method == Method::ToolsCall && !is_result && there(Field::Task) {
        let text = "a task in answer to a call that did not ask for one";
        return Err(CallError::Protocol(text.into()));
    }
    Ok(())
}

/// A round of questions, which is looked at as a whole: nobody is asked one when
/// another may not be asked.
fn input_required(method: Method, offered: &ClientCapabilities, message: &Message) -> CallError {
    let bad =
        |what: &dyn core::fmt::Display| CallError::Protocol(format!("a request for input: {what}"));
    if !method.has_rounds() {
        return bad(&format_args!("{:?} has no such answer", method.name()));
    }
    let asked: InputRequired = match serde_json::from_slice(message.body_bytes()) {
        Ok(asked) => asked,
        Err(error) => return bad(&error),
    };
    if asked.requests.is_empty() && asked.state.is_none() {
        return bad(&"it has neither inputRequests nor requestState");
    }
    if asked.requests.len() > MAX_ASKED {
        return bad(&format_args!("it has more than {MAX_ASKED} questions"));
    }
    for (key, request) in &asked.requests {
        let method = Method::from_name(request.method.as_bytes());
        let params = request.params.as_ref().map_or("{}", |params| params.get());
        if let Err(error) = offered.admit(method, params.as_bytes()) {
            let (key, name) = (brief(key.as_bytes()), brief(request.method.as_bytes()));
            return bad(&format_args!("question {key:?}, {name:?}: {}", error.message));
        }
    }
    CallError::InputRequired(Box::new(asked))
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
