//! What a bridge between the eras has to remember, without IO.
//!
//! A server of a session asks its client in the middle of a call; a client
//! without one is told what is asked in place of an answer and comes back with
//! the call (`basic/patterns/mrtr`). [`Parked`] keeps the calls that wait for
//! that, [`Bridged`] is one of them, and [`rounds`](input_required) turns
//! requests into rounds and back.

mod bridged;
mod parked;
mod rounds;
#[cfg(test)]
mod tests;

pub use bridged::{Bridged, Next};
pub use parked::{Full, ParkLimits, Parked, Token};
pub use rounds::{InputAsk, as_reply, ask_message, input_asks, input_required, input_responses};
