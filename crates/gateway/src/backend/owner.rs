//! Whose a connection to the server is.
//!
//! What one client sent, was asked or answered must never reach another, and a
//! server of sessions may remember all of it. So each connection to one has an
//! owner, and carries nothing of anybody else's.

use super::target::number;
use carrick::server::Principal;

/// The owner of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The gateway: what it learns of the server, what the server tells of
    /// changes, and lists that are asked for in no client's words.
    Gateway,
    /// All clients: the server keeps nothing of them (one without sessions), or
    /// the config says that they share what it keeps.
    Everyone,
    /// One downstream connection or session, by its number.
    Downstream(u64),
    /// All clients that act for one principal, where nothing else ties them
    /// together.
    Principal(Principal),
    /// One call of a client that cannot be told from others, by its number.
    Call(u64),
}

impl Owner {
    /// The owner of a downstream connection's things.
    pub(crate) fn downstream() -> Self {
        Self::Downstream(number())
    }

    /// Whether everything on the connection is of one client.
    pub(crate) fn is_one_client(&self) -> bool {
        !matches!(self, Self::Gateway | Self::Everyone)
    }
}
