//! The event-stream format (server-sent events), incremental and without IO.
//!
//! The grammar is the one of the HTML standard, section "Server-sent events".
//! [`Decoder`] turns bytes into [`Event`]s however the bytes are cut;
//! [`encode_event`] writes one event. What an event means (which names carry
//! MCP messages, when to resume) is decided elsewhere.

mod decode;
mod encode;
mod lines;
#[cfg(test)]
mod tests;

pub use decode::{Decoder, Event, Limits, SseError};
pub use encode::{EncodeError, KEEP_ALIVE, encode_event};
