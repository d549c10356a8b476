//! Connections to servers that are child processes.

use super::{CallError, Client, ClientConfig, ClientError, Era, Hooks};
use crate::transport::child::{ChildTransport, Command, spawn};
use std::time::Duration;

impl Client {
    /// Starts a server and connects to it. It ends when the connection closes,
    /// with `grace` to do so by itself.
    ///
    /// A server that dies on the probe, as some of the handshake era do on a
    /// message they do not know, is started once more with `initialize`; one
    /// that dies on an `initialize` to which a memory ([`ClientConfig::era`])
    /// led is started once more with the probe.
    ///
    /// # Errors
    /// When the program cannot be started, ends at once, or speaks no revision
    /// that we do; the text has the exit status and the end of its stderr.
    pub async fn spawn(
        command: &Command,
        config: ClientConfig,
        hooks: impl Into<Hooks>,
        grace: Duration,
    ) -> Result<Self, ClientError> {
        let hooks = hooks.into();
        let first = Self::spawn_once(command, config.clone(), hooks.clone(), grace).await;
        let died = matches!(&first, Err(ClientError::Call(CallError::Closed(_))));
        if config.revision.is_some() || !died {
            return first;
        }
        let mut config = config;
        config.era = match config.era {
            Some(Era::Legacy) => None,
            Some(Era::Modern) | None => Some(Era::Legacy),
        };
        tracing::debug!(era = ?config.era, "the server ended while connecting; once more");
        Self::spawn_once(command, config, hooks, grace).await
    }

    async fn spawn_once(
        command: &Command,
        config: ClientConfig,
        hooks: Hooks,
        grace: Duration,
    ) -> Result<Self, ClientError> {
        let transport =
            ChildTransport::new(spawn(command).await?, grace).limit(command.message_limit);
        let process = transport.process();
        match Self::connect(transport, config, hooks).await {
            Ok(mut client) => {
                client.process = Some(process);
                Ok(client)
            }
            Err(error) => {
                // It is being ended in order. Whoever starts it once more, or exits, must not cut
                // that short: installers leave things half done.
                process.ended(grace).await;
                Err(with_tail(error, &process.stderr_tail()))
            }
        }
    }
}

/// Adds what the server wrote to stderr to an error that lacks it.
fn with_tail(error: ClientError, tail: &str) -> ClientError {
    match (error, crate::transport::child::last_lines(tail)) {
        // The end of the connection tells it already.
        (error @ ClientError::Call(CallError::Closed(_)), _) => error,
        (ClientError::Call(error), Some(stderr)) => ClientError::Child { error, stderr },
        (error, _) => error,
    }
}
