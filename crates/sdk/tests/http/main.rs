//! Streamable HTTP over real sockets.

mod client;
mod legacy;
mod modern;
mod pair;
mod raw;
mod scripted;
mod shutdown;
