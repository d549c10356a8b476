//! Requests of a server's as rounds of questions, and back.

use crate::method::Method;
use crate::peer::Reply;
use crate::revision::Revision;
use crate::rpc::{self, Id, Json, Limits, Message, ScanError, Scanned, push_escaped};
use crate::text::excerpt;
use crate::types::RawJson;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use bytes::Bytes;
use serde::Deserialize;
use serde::de::Error;

/// A question of a round.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InputAsk {
    /// Its name, which the answer goes back by.
    pub key: String,
    /// What is asked.
    pub method: Method,
    /// The question as a server of a session would have asked it.
    pub message: Message,
}

/// The result that asks a client for input, but for what every result carries:
/// questions by name, method and parameters (an object as JSON), and the state
/// that it is to send back, which needs no escapes.
pub fn input_required<'a>(
    asks: impl IntoIterator<Item = (&'a str, &'a str, &'a [u8])>,
    state: &str,
) -> Vec<u8> {
    let mut body = b"{\"inputRequests\":{".to_vec();
    for (n, (key, method, params)) in asks.into_iter().enumerate() {
        if n > 0 {
            body.push(b',');
        }
        body.push(b'"');
        push_escaped(&mut body, key);
        body.extend_from_slice(b"\":{\"method\":\"");
        push_escaped(&mut body, method);
        body.extend_from_slice(b"\",\"params\":");
        body.extend_from_slice(params);
        body.push(b'}');
    }
    body.extend_from_slice(b"},\"requestState\":\"");
    push_escaped(&mut body, state);
    body.extend_from_slice(b"\"}");
    body
}

/// The questions and the state of a result that asks for input: all of them, or
/// none.
///
/// # Errors
/// When it is not such a result, or one of its questions cannot be read.
pub fn input_asks(reply: &Reply) -> Result<(Vec<InputAsk>, Option<RawJson>), serde_json::Error> {
    #[derive(Deserialize)]
    struct Asked {
        #[serde(default, rename = "inputRequests")]
        requests: BTreeMap<String, Request>,
        #[serde(default, rename = "requestState")]
        state: Option<RawJson>,
    }
    #[derive(Deserialize)]
    struct Request {
        method: String,
        params: Option<RawJson>,
    }
    let Asked { requests, state } = serde_json::from_slice(reply.message().body_bytes())?;
    let asks = requests.into_iter().map(|(key, request)| {
        let params = request.params.as_ref().map_or("{}", |params| params.get());
        let message = ask_message(&request.method, params.as_bytes()).map_err(|error| {
            serde_json::Error::custom(format!("inputRequests.{}: {error}", excerpt(&key, 200)))
        })?;
        Ok(InputAsk { key, method: message.method(), message })
    });
    Ok((asks.collect::<Result<_, serde_json::Error>>()?, state))
}

/// A question as a request; whoever sends it gives it an id of its own.
///
/// # Errors
/// When `params` is not an object.
pub fn ask_message(method: &str, params: &[u8]) -> Result<Message, ScanError> {
    let mut text = Vec::new();
    rpc::request(&mut text, &Id::Number(0), method, params);
    one(text)
}

/// The answers that a client came back with, by name.
///
/// # Errors
/// When they are not an object.
pub fn input_responses(json: Option<&[u8]>) -> Result<BTreeMap<String, Json>, serde_json::Error> {
    let Some(json) = json else { return Ok(BTreeMap::new()) };
    let read: BTreeMap<String, RawJson> = serde_json::from_slice(json)?;
    let json = |raw: RawJson| Json::scanned(Bytes::copy_from_slice(raw.get().as_bytes()));
    Ok(read.into_iter().map(|(key, raw)| (key, json(raw))).collect())
}

/// An answer to a question as the response that a server of a session gets.
///
/// # Errors
/// When the answer nests too deeply.
pub fn as_reply(answer: &Json, revision: Revision) -> Result<Reply, ScanError> {
    let mut text = Vec::new();
    rpc::result_response(&mut text, &Id::Number(0), answer.as_bytes());
    let message = one(text)?;
    let shape = || ScanError::from(rpc::ScanErrorKind::Shape);
    Reply::new(message, revision).ok_or_else(shape)
}

fn one(text: Vec<u8>) -> Result<Message, ScanError> {
    match rpc::scan(text.into(), Limits::default())? {
        Scanned::One(message) => Ok(message),
        Scanned::Batch(_) => Err(rpc::ScanErrorKind::NotAnObject.into()),
    }
}
