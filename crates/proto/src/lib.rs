//! The Model Context Protocol as pure functions and state machines.
//!
//! This crate asks the machine for nothing: no sockets, no files, no clock, no
//! environment. Bytes and times go in, bytes and decisions come out.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod flow;
pub mod http;
pub mod method;
pub mod peer;
pub mod revision;
pub mod rpc;
pub mod sse;
pub mod text;
pub mod types;
pub mod xml;
