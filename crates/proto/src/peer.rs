//! Client and server engines: conversations without IO.
//!
//! Both have the same surface. Bytes that arrived go in by `handle_input`,
//! what to do comes out of `poll_output` until it returns none; only then
//! [`ClientPeer::poll_timeout`] is worth asking. Time is an argument: the
//! driver passes how long ago it started.

mod changed;
mod client;
mod pass;
mod server;
#[cfg(test)]
mod tests;

pub use changed::{Changed, Changes};
use client::read_error;
pub use client::{
    CallError, CallOptions, ClientConfig, ClientOutput, ClientPeer, Era, Forward, Head,
    InputRequest, InputRequired, LaneEnd, Name, ServerDescription,
};
pub use pass::{Caller, Reply};
pub use server::{
    AskKey, AskPlace, Call, CallKey, Envelope, Identity, KnownClient, Outcome, Sent, ServerOutput,
    ServerPeer, SubscriptionLimits,
};

/// The start of some text, for a log or an error.
fn brief(text: &[u8]) -> alloc::string::String {
    crate::text::excerpt_of(text, 200)
}

/// Which exchange of the transport a message belongs to.
///
/// Over stdio there is one: the connection. Over HTTP each POST is an exchange
/// of its own, and the standalone GET stream is the connection's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// The connection itself.
    Connection,
    /// One exchange, numbered by whoever opened it.
    Exchange(u64),
}
