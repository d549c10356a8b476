//! Being told when a resource changes.

use super::call::once;
use super::drive::What;
use super::{Client, ClientError};

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

    /// No longer asks to be told when a resource changes.
    ///
    /// # Errors
    /// When a server with sessions does not agree.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), ClientError> {
        let what = What::Unsubscribe(uri.into());
        once(&self.commands, self.options, what, None).await.map(drop)
    }
}
