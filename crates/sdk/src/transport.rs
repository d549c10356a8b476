//! Transports: how messages travel between a client and a server.
//!
//! A transport of your own implements [`Transport`] and nothing else; the
//! protocol on top of it is driven by [`crate::serve`] and [`crate::Client`].

pub mod child;
pub mod http;
mod lines;
mod memory;
pub mod stdio;
pub(crate) mod wire;

pub use lines::LineTransport;
pub use memory::{MemoryTransport, memory};

use crate::server::TransportKind;
use bytes::Bytes;
use carrick_proto::peer::{Head, Lane, LaneEnd};
use carrick_proto::rpc::Message;
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

/// A message to send.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outgoing {
    /// The exchange it belongs to; a transport with one stream may ignore it.
    pub lane: Lane,
    /// The message: one line of JSON without the line end.
    pub bytes: Vec<u8>,
    /// What a client's message is, for transports that mirror it in headers.
    /// A server's messages have none.
    pub head: Option<Head>,
}

impl Outgoing {
    /// A client's message.
    pub fn from_client(lane: Lane, bytes: Vec<u8>, head: Head) -> Self {
        Self { lane, bytes, head: Some(head) }
    }

    /// A server's message.
    pub fn from_server(lane: Lane, bytes: Vec<u8>) -> Self {
        Self { lane, bytes, head: None }
    }
}

/// What a transport reports.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A message arrived.
    Message {
        /// The exchange it came on.
        lane: Lane,
        /// The message.
        bytes: Bytes,
    },
    /// A message arrived that the transport has had to look at itself.
    Scanned {
        /// The exchange it came on.
        lane: Lane,
        /// The message.
        message: Message,
    },
    /// An exchange has ended without more messages to come.
    LaneEnd {
        /// Which.
        lane: Lane,
        /// How.
        end: LaneEnd,
    },
    /// The server closed the stream of an exchange before its answer (HTTP,
    /// 2025-11-25 `basic/transports`, Sending Messages to the Server). The
    /// transport comes back for the rest by itself.
    StreamClosed {
        /// Which exchange.
        lane: Lane,
        /// When the server wants its client back, if it has said so.
        retry: Option<Duration>,
    },
    /// The server knows the session no more (HTTP). What it refused for that
    /// reason, and what is sent from now on, the transport keeps for the session
    /// that a new `initialize` opens.
    SessionLost,
    /// The stream of the server's own messages has ended for good (HTTP). Requests
    /// go on, but what the server says of itself, of changes say, is heard no more.
    /// The text says why.
    ListenEnded(String),
    /// A message larger than this many bytes arrived and was skipped.
    Oversize {
        /// The limit.
        limit: usize,
    },
    /// The connection is over; nothing follows. The text says how it ended.
    Closed(String),
}

/// A way for messages to travel, as one end of a connection sees it.
///
/// All methods are called by one task. [`Transport::send`] only queues, so
/// that a slow peer never keeps the reader waiting.
pub trait Transport: Send {
    /// The next thing that happened.
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Event>;

    /// Queues a message.
    fn send(&mut self, message: Outgoing);

    /// An answer on this lane is no longer wanted.
    fn abandon(&mut self, lane: Lane) {
        let _ = lane;
    }

    /// Writes what is queued, as far as it goes.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Bytes that are queued and not yet written.
    fn queued(&self) -> usize;

    /// The memory of a message that has been written, for the next one. Some
    /// transports never have any, and none needs to be asked.
    fn spent(&mut self) -> Option<Vec<u8>> {
        None
    }

    /// What a server that is driven over it says of it to its handlers.
    fn kind(&self) -> TransportKind {
        TransportKind::Other("custom")
    }

    /// Whether the other side has shown, since this was last asked, that it is at
    /// work without saying anything, as a program does that is still being
    /// installed. Connecting may then take longer. Default: it has not.
    fn is_active(&mut self) -> bool {
        false
    }

    /// Ends the connection in good order after the queue is written.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()>;
}

impl<T: Transport + ?Sized> Transport for Box<T> {
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        (**self).poll_recv(cx)
    }

    fn send(&mut self, message: Outgoing) {
        (**self).send(message);
    }

    fn abandon(&mut self, lane: Lane) {
        (**self).abandon(lane);
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        (**self).poll_flush(cx)
    }

    fn queued(&self) -> usize {
        (**self).queued()
    }

    fn spent(&mut self) -> Option<Vec<u8>> {
        (**self).spent()
    }

    fn is_active(&mut self) -> bool {
        (**self).is_active()
    }

    fn kind(&self) -> TransportKind {
        (**self).kind()
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        (**self).poll_close(cx)
    }
}
