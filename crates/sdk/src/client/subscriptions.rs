//! What a client asks to be told of.

use super::call::once;
use super::drive::What;
use super::{Client, ClientError};
use carrick_proto::types::LogLevel;

impl Client {
    /// Asks to be told when a resource changes, as [`ClientEvent::Changed`]. It
    /// holds for the whole connection, sessions that take the place of lost ones
    /// included, until [`Client::unsubscribe`]; the URI is known to all clones.
    ///
    /// [`ClientEvent::Changed`]: super::ClientEvent::Changed
    ///
    /// # Errors
    /// [`NotOffered`](super::CallError::NotOffered) when the server does not tell
    /// of changes, or not of this resource's; or why it could not be asked.
    pub async fn subscribe(&self, uri: &str) -> Result<(), ClientError> {
        let what = What::Subscribe(uri.into());
        once(&self.commands, self.options, what, None).await.map(drop)
    }

    /// Asks for log messages of this level and above, which come as
    /// [`ClientEvent::Log`], from now on and for all clones. (Deprecated by the
    /// protocol since 2026-07-28, where only logs of requests come, and only to
    /// who has asked.)
    ///
    /// [`ClientEvent::Log`]: super::ClientEvent::Log
    ///
    /// # Errors
    /// [`NotOffered`](super::CallError::NotOffered) when the server does not log, or
    /// why it could not be asked.
    pub async fn set_log_level(&self, level: LogLevel) -> Result<(), ClientError> {
        once(&self.commands, self.options, What::LogLevel(level), None).await.map(drop)
    }

    /// No longer asks to be told when a resource changes.
    ///
    /// # Errors
    /// When a server with sessions does not agree.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), ClientError> {
        let what = What::Unsubscribe(uri.into());
        once(&self.commands, self.options, what, None).await.map(drop)
    }
}
