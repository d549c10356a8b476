//! What a client is told before it connects, and what it learns then.

use crate::revision::Revision;
use crate::rpc::{Json, Limits};
use crate::types::{Implementation, ServerCapabilities};
use alloc::string::String;
use core::time::Duration;

/// What a client says of itself, and how it finds out what the server speaks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientConfig {
    /// Name and version.
    pub info: Implementation,
    /// `ClientCapabilities` as JSON. Default `{}`.
    pub capabilities: String,
    /// What is known of the server from an earlier run: [`ServerDescription::era`]
    /// of then. It saves time where it still holds, and costs some where it
    /// does not. Default: nothing.
    pub era: Option<Era>,
    /// The one revision to offer and to accept; it also settles the era.
    /// Default: all that there are, newest first.
    pub revision: Option<Revision>,
    /// The revision to begin a handshake with, where the server may answer with
    /// another one. Default: the newest that has sessions.
    pub offer: Option<Revision>,
    /// How long the server may be silent on the probe before the handshake is
    /// tried. Default 3 s.
    pub probe_timeout: Duration,
    /// How long connecting may take in all. Default 10 s.
    pub connect_timeout: Duration,
    /// How long it may take in all while the transport shows that the server is at
    /// work, as installers are ([`ClientPeer::extend_opening`]). Default 10 min.
    ///
    /// [`ClientPeer::extend_opening`]: crate::peer::ClientPeer::extend_opening
    pub max_connect_timeout: Duration,
    /// Whether to listen to the changes of lists that a server without sessions
    /// announces (`basic/patterns/subscriptions`). Default: true.
    pub listen: bool,
    /// Chance, from 0 to 255: lengthens the waits of this client before it comes
    /// back by up to a quarter, so that the clients of a restarted server do not
    /// all come at once. Default: 0.
    pub spread: u8,
    /// Bounds on a message that is given as bytes; a transport that has to look at
    /// messages itself, as that of HTTP, has its own.
    pub limits: Limits,
    /// Requests of the server's own that may wait for an answer at once; more are
    /// refused. Default 256.
    pub max_asks: usize,
    /// Bytes of messages that may wait for the server to read them. Beyond that calls
    /// are refused, and notifications and answers are left out and counted. A message
    /// for which nothing has to wait may be larger. Default 32 MiB.
    pub max_queued_bytes: usize,
    /// Whether what the server says outside of answers is handed out as it
    /// comes, for somebody to pass on, and not read here. Default: false.
    pub forwarding: bool,
}

impl ClientConfig {
    /// The defaults for a client of this name.
    pub fn new(info: Implementation) -> Self {
        Self {
            info,
            capabilities: "{}".into(),
            era: None,
            revision: None,
            offer: None,
            probe_timeout: Duration::from_secs(3),
            connect_timeout: Duration::from_secs(10),
            max_connect_timeout: Duration::from_secs(600),
            listen: true,
            spread: 0,
            limits: Limits::default(),
            max_asks: 256,
            max_queued_bytes: 32 << 20,
            forwarding: false,
        }
    }

    /// Whether this client speaks `revision`.
    pub(super) fn speaks(&self, revision: Revision) -> bool {
        self.revision.is_none_or(|only| only == revision)
    }

    /// The revisions that this client speaks, oldest first.
    pub(super) fn spoken(&self) -> impl DoubleEndedIterator<Item = Revision> {
        Revision::ALL.iter().copied().filter(|revision| self.speaks(*revision))
    }
}

/// Which lifecycle a server has (`basic/versioning`, Terminology).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize` and a session.
    Legacy,
    /// Metadata on every request.
    Modern,
}

impl Era {
    /// The lifecycle that a revision has.
    pub fn of(revision: Revision) -> Self {
        if revision.is_legacy() { Self::Legacy } else { Self::Modern }
    }
}

/// What the server said of itself when the connection opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerDescription {
    /// The revision spoken from now on.
    pub revision: Revision,
    /// What it offers.
    pub capabilities: ServerCapabilities,
    /// Name and version, where it gave them.
    pub info: Option<Implementation>,
    /// What it wants a model to know.
    pub instructions: Option<String>,
    /// All of it as the server wrote it: the result of `initialize` or of
    /// `server/discover`.
    pub said: Json,
}

impl ServerDescription {
    /// The lifecycle of the revision spoken.
    pub fn era(&self) -> Era {
        Era::of(self.revision)
    }
}

/// How long a call may take.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CallOptions {
    /// Without a sign of life; it does not run out while the server waits for an
    /// answer of ours. Default 60 s.
    pub timeout: Duration,
    /// Whether progress starts `timeout` anew. Default true.
    pub reset_on_progress: bool,
    /// In all, whatever progress there is. Default 10 min.
    pub max_total: Duration,
    /// Whether to ask for progress. Default true.
    pub progress: bool,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            reset_on_progress: true,
            max_total: Duration::from_secs(600),
            progress: true,
        }
    }
}
