//! Where a managed connection stands.

use super::breaker::Breaker;
use super::error::ManagedError;
use crate::client::{Client, Era};
use carrick_proto::peer::ServerDescription;
use futures_util::future::{BoxFuture, Shared};
use std::sync::Arc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// Where a managed connection stands, for whoever looks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ConnectionState {
    /// Not open: not tried yet, idle, ended without fault, or closed for good.
    Stopped,
    /// An attempt is under way.
    Starting {
        /// Since when.
        since: Instant,
    },
    /// Open.
    Connected {
        /// Since when.
        since: Instant,
        /// What the server said of itself.
        server: Arc<ServerDescription>,
    },
    /// The last attempt failed, or the last connection ended too soon. The error
    /// says when the next attempt is due.
    Failed(ManagedError),
}

/// An open connection.
#[derive(Debug)]
#[non_exhaustive]
pub struct Connected<T = ()> {
    /// The client. To be taken anew for each use: this one does not come back
    /// after it has ended.
    pub client: Client,
    /// What is kept with this connection.
    pub data: Arc<T>,
    /// When the attempt began that opened it.
    pub began: Instant,
}

impl<T> Clone for Connected<T> {
    fn clone(&self) -> Self {
        Self { client: self.client.clone(), data: self.data.clone(), began: self.began }
    }
}

impl<T> Connected<T> {
    pub(super) fn new(client: Client, data: Arc<T>, began: Instant) -> Self {
        Self { client, data, began }
    }
}

/// What comes of an attempt; none when it was given up for a new one.
pub(super) type Outcome<T> = Option<Result<Connected<T>, ManagedError>>;

/// An attempt, for all who wait for it.
pub(super) type Waiting<T> = Shared<BoxFuture<'static, Outcome<T>>>;

#[derive(Debug)]
pub(super) struct State<T> {
    pub(super) phase: Phase<T>,
    /// Numbers the attempts, so that the end of one connection is not taken for
    /// that of another.
    pub(super) turn: u64,
    pub(super) memory: Memory,
    pub(super) breaker: Breaker,
    pub(super) closed: bool,
}

#[derive(Debug)]
pub(super) enum Phase<T> {
    Down,
    Opening(Opening<T>),
    Up(Up<T>),
}

#[derive(Debug)]
pub(super) struct Opening<T> {
    pub(super) began: Instant,
    pub(super) done: Waiting<T>,
    pub(super) task: AbortHandle,
    /// How the connection ended, when it did so before it was taken over.
    pub(super) ended: Option<String>,
}

#[derive(Debug)]
pub(super) struct Up<T> {
    pub(super) connected: Connected<T>,
    pub(super) since: Instant,
    /// When it was last handed out.
    pub(super) used: Instant,
}

/// What is known of the server's era.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) era: Option<Era>,
    /// What the store has.
    pub(super) stored: Option<Era>,
    pub(super) loaded: bool,
}

impl<T> Default for State<T> {
    fn default() -> Self {
        Self {
            phase: Phase::Down,
            turn: 0,
            memory: Memory::default(),
            breaker: Breaker::default(),
            closed: false,
        }
    }
}
