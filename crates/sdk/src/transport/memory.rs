//! Two ends in one process.

use super::LineTransport;
use crate::server::TransportKind;
use tokio::io::{DuplexStream, ReadHalf, WriteHalf};

/// One end of [`memory`].
pub type MemoryTransport = LineTransport<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

/// A connected pair of transports without a socket or a process in between.
///
/// Each direction holds up to 256 KiB that the other side has not read yet.
pub fn memory() -> (MemoryTransport, MemoryTransport) {
    let (a, b) = tokio::io::duplex(256 << 10);
    let end = |stream| {
        let (reader, writer) = tokio::io::split(stream);
        LineTransport::new(reader, writer).of_kind(TransportKind::InMemory)
    };
    (end(a), end(b))
}
