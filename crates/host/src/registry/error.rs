//! Why a server cannot be used, always with its name.

use super::held::{HeldTool, Hold};
use crate::config::ConfigError;
use carrick::client::ClientError;
use carrick::transport::http::HttpTransportError;
use carrick_policy::near::most_like;
use carrick_policy::quoted;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Why a server cannot be used.
#[derive(Clone, Debug)]
pub struct ServerError {
    server: String,
    kind: ServerErrorKind,
}

/// What went wrong with a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ServerErrorKind {
    /// No server of that name is configured.
    Unknown {
        /// The names that are.
        known: Vec<String>,
    },
    /// The config says that it is disabled.
    Disabled,
    /// It stands in a project file that nobody has approved.
    Unapproved,
    /// Its entry in the config is broken.
    Config(ConfigError),
    /// A built-in server refused its arguments.
    Builtin(String),
    /// Nothing can be sent to its address, or not with the headers of its entry.
    Address {
        /// Where it is, without what may be secret.
        address: String,
        /// What is wrong with it.
        error: HttpTransportError,
    },
    /// It could not be started or reached.
    Connect(Arc<ClientError>),
    /// It was started and did not answer in time; the program that starts it may
    /// still be downloading it.
    Installing {
        /// How it ended.
        error: Arc<ClientError>,
        /// The program.
        installer: &'static str,
    },
    /// It was reached, and has not listed its tools in the time to connect.
    Unlisted {
        /// How long that was waited for.
        waited: Duration,
        /// The end of its stderr.
        stderr: Option<String>,
    },
    /// The tool is held back until a person agrees to what it says.
    Held(Box<HeldTool>),
    /// What was agreed to of its tools cannot be read or written.
    Pins(String),
    /// The host is closing its connections.
    Closed,
    /// It was reached, and then a request failed.
    Request {
        /// How.
        error: Arc<ClientError>,
        /// The end of its stderr, where the error does not have it already.
        stderr: Option<String>,
    },
}

impl ServerError {
    pub(super) fn new(server: &str, kind: ServerErrorKind) -> Self {
        Self { server: server.into(), kind }
    }

    /// The server's name.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// What went wrong.
    pub fn kind(&self) -> &ServerErrorKind {
        &self.kind
    }

    /// Whether the server could not be reached at all.
    pub fn is_unreachable(&self) -> bool {
        !matches!(
            self.kind,
            ServerErrorKind::Request { .. } | ServerErrorKind::Held(_) | ServerErrorKind::Pins(_)
        )
    }

    /// What went wrong, without the server's name.
    pub fn message(&self) -> String {
        match &self.kind {
            ServerErrorKind::Unknown { known } if known.is_empty() => {
                "no server of that name; none is configured".into()
            }
            ServerErrorKind::Unknown { known } => {
                let near = most_like(&self.server, known.iter().map(|name| (&**name, [&**name])));
                let near = match &near[..] {
                    [] => String::new(),
                    near => format!("; did you mean {}?", near.join(" or ")),
                };
                format!("no server of that name{near}; there are: {}", known.join(", "))
            }
            ServerErrorKind::Disabled => "it is disabled in the config".into(),
            ServerErrorKind::Unapproved => {
                "it stands in a project's config that has not been approved".into()
            }
            ServerErrorKind::Config(error) => error.without_server().to_string(),
            ServerErrorKind::Builtin(error) => error.clone(),
            ServerErrorKind::Address { address, error } => {
                format!("nothing can be sent to {address}: {error}")
            }
            ServerErrorKind::Connect(error) => unconnected(error),
            ServerErrorKind::Installing { error, installer } => {
                format!("{installer} may still be downloading it; {}", unconnected(error))
            }
            ServerErrorKind::Unlisted { waited, stderr } => {
                let text = format!(
                    "it is connected, and has not listed its tools in {} s",
                    waited.as_secs()
                );
                match stderr {
                    Some(tail) => format!("{text}; the end of its stderr:\n{tail}"),
                    None => text,
                }
            }
            ServerErrorKind::Held(held) => {
                let name = quoted(&held.name);
                let what = match held.hold {
                    Hold::New => "is new since the server's tools were agreed to",
                    Hold::Changed => "says something else than what was agreed to",
                    Hold::Unreadable => "has a definition that cannot be compared",
                };
                format!("its tool {name} is held back: it {what}\n  {}", held.lines.join("\n  "))
            }
            ServerErrorKind::Pins(error) => error.clone(),
            ServerErrorKind::Closed => "the connections are being closed".into(),
            ServerErrorKind::Request { error, stderr: None } => error.to_string(),
            ServerErrorKind::Request { error, stderr: Some(tail) } => {
                format!("{error}; the end of its stderr:\n{tail}")
            }
        }
    }
}

fn unconnected(error: &ClientError) -> String {
    let text = error.to_string();
    let said = text.starts_with("cannot connect");
    if said { text } else { format!("cannot connect: {text}") }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server {:?}: {}", self.server, self.message())
    }
}

impl std::error::Error for ServerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            ServerErrorKind::Connect(error)
            | ServerErrorKind::Installing { error, .. }
            | ServerErrorKind::Request { error, .. } => Some(&**error),
            ServerErrorKind::Address { error, .. } => Some(error),
            _ => None,
        }
    }
}
