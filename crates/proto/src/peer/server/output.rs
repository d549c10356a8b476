//! What passes between the engine, its driver and the application.

use crate::peer::Lane;
use crate::revision::Revision;
use crate::rpc::Message;
use crate::types::RpcError;
use alloc::string::String;
use alloc::vec::Vec;

/// Names a request that the application is to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallKey {
    pub(super) slot: u32,
    /// Tells a slot's calls apart, so that a late answer meets no other call.
    pub(super) turn: u32,
}

/// A request for the application.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Call {
    /// What to answer it by.
    pub key: CallKey,
    /// The exchange that waits for the answer.
    pub lane: Lane,
    /// The revision it is made in.
    pub revision: Revision,
    /// The request itself.
    pub message: Message,
    /// Whether progress was asked for.
    pub wants_progress: bool,
}

/// What the application answers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// A result in the newest revision's shape, without `resultType`.
    Result {
        /// A JSON object.
        body: Vec<u8>,
        /// Whether it has a `_meta` of its own.
        has_meta: bool,
    },
    /// An error.
    Error(RpcError),
}

/// What the driver has to do.
#[derive(Debug)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "a box would be an allocation for every call")]
pub enum ServerOutput {
    /// Send this message.
    Send {
        /// Where.
        lane: Lane,
        /// The message, without a line end.
        bytes: Vec<u8>,
        /// Whether it is the response that its exchange waits for.
        last: bool,
        /// The code, of an error response.
        error: Option<i64>,
    },
    /// Let the application answer this.
    Call(Call),
    /// Stop working on this; its answer will not be sent.
    Cancel(CallKey),
    /// Something came that has no answer and no effect: worth a log line.
    Ignored(String),
}
