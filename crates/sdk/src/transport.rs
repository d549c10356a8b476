//! Transports: how messages travel between a client and a server.

pub mod child;
pub mod http;
pub mod stdio;
