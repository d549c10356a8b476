//! Carrick's SDK: Model Context Protocol servers and clients for every revision and transport.

pub mod net;
pub mod transport;

pub use carrick_proto as proto;
