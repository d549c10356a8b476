//! Streamable HTTP over real sockets.
#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test fails the test; the lint only knows test functions"
)]

mod client;
mod legacy;
mod listen;
mod modern;
mod old;
mod pair;
mod raw;
mod scripted;
mod session;
mod shutdown;
mod stores;
