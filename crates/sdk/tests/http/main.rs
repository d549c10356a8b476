//! Streamable HTTP over real sockets.
#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test fails the test; the lint only knows test functions"
)]

mod asking;
mod client;
mod crowd;
mod held;
mod legacy;
mod listen;
mod modern;
mod old;
mod pair;
mod polling;
mod principals;
mod raw;
mod refused;
mod scripted;
mod session;
mod shutdown;
mod slow;
mod smuggled;
mod stores;
mod text;
