//! Why a call, or an exchange, came to nothing.

use crate::types::{RawJson, RpcError};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::time::Duration;
use serde::Deserialize;

/// Why a call has no result.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The server answered with an error.
    Rpc(RpcError),
    /// No answer within this time; the server was told to stop.
    Timeout(Duration),
    /// The connection ended first; the text says how.
    Closed(String),
    /// The connection is not open yet.
    NotConnected,
    /// The caller's parameters are not a JSON object, or say what the server's
    /// revision has no form for; the text says where.
    Params(String),
    /// The server does not offer this, by what it says of itself or by its
    /// answer.
    NotOffered(&'static str),
    /// The answer is not one the protocol allows.
    Protocol(String),
    /// The server wants input before it answers: ask again with it
    /// (`basic/patterns/mrtr`).
    InputRequired(Box<InputRequired>),
    /// The server does not read: so many bytes wait for it already, and so many may
    /// (`ClientConfig::max_queued_bytes`). Nothing of the call was sent.
    Backlog {
        /// Bytes that wait.
        waiting: usize,
        /// Bytes that may.
        limit: usize,
    },
    /// The exchange failed before an answer; asking again may work.
    Exchange(LaneEnd),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rpc(error) => error.fmt(f),
            Self::Timeout(after) => write!(f, "no answer within {}", seconds(*after)),
            Self::Closed(how) => write!(f, "the connection ended: {how}"),
            Self::NotConnected => f.write_str("the connection is not open yet"),
            Self::Params(what) => write!(f, "the parameters cannot be sent: {what}"),
            Self::NotOffered(what) => write!(f, "the server does not offer {what}"),
            Self::Protocol(what) => write!(f, "the answer breaks the protocol: {what}"),
            Self::InputRequired(_) => f.write_str("the server wants input before it answers"),
            Self::Backlog { waiting, limit } => write!(
                f,
                "the server does not read: {waiting} bytes wait for it, and {limit} may \
                 (max_queued_bytes); try again later"
            ),
            Self::Exchange(end) => end.fmt(f),
        }
    }
}

impl core::error::Error for CallError {}

/// A time to a tenth of a second, for people.
fn seconds(time: Duration) -> String {
    let tenths = (time.as_millis() + 50) / 100;
    match tenths % 10 {
        0 => format!("{} s", tenths / 10),
        rest => format!("{}.{rest} s", tenths / 10),
    }
}

/// What a server wants before it answers a call.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InputRequired {
    /// Its questions, by the names it gives them.
    #[serde(default, rename = "inputRequests")]
    pub requests: BTreeMap<String, InputRequest>,
    /// What must come back exactly as it is, as JSON.
    #[serde(default, rename = "requestState")]
    pub state: Option<RawJson>,
}

/// One of its questions.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct InputRequest {
    /// What is asked: a method that a server of a session would call.
    pub method: String,
    /// With what.
    #[serde(default)]
    pub params: Option<RawJson>,
}

/// How an exchange ended without the response it was opened for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaneEnd {
    /// The stream closed early, or the network failed.
    Lost(String),
    /// The message was not sent, as its parameters cannot be: the text says which.
    Params(String),
    /// An HTTP status other than success, and the start of the body.
    Status {
        /// The status.
        status: u16,
        /// `WWW-Authenticate`, of a 401 or 403.
        challenge: Option<String>,
        /// The body, cut at some KiB.
        body: String,
        /// Whether a client that probes should fall back to the handshake.
        fall_back: bool,
    },
}

impl fmt::Display for LaneEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(how) => f.write_str(how),
            Self::Params(what) => write!(f, "the parameters cannot be sent: {what}"),
            Self::Status { status, body, .. } if body.trim().is_empty() => {
                write!(f, "HTTP status {status}")
            }
            Self::Status { status, body, .. } => write!(f, "HTTP status {status}: {}", body.trim()),
        }
    }
}
