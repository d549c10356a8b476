//! From a wanted call to its result: name, permission, call.

use super::content::Received;
use super::{Approval, Event, Frontend, TurnError, Verdict};
use crate::config::Launch;
use crate::registry::{Catalog, Registry, ServerError};
use carrick::client::ProgressHandler;
use carrick::types::Progress;
use carrick_policy::names::ToolRef;
use carrick_policy::{Policy, describe_call};
use futures_util::future::join_all;
use serde_json::value::RawValue;
use std::sync::Mutex;
use std::sync::PoisonError;

/// What a call is of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// A tool.
    Tool(ToolRef),
    /// A resource of a server.
    Resource {
        /// The server.
        server: String,
        /// The address.
        uri: String,
    },
    /// A prompt of a server; the arguments of the call are the prompt's.
    Prompt {
        /// The server.
        server: String,
        /// The prompt.
        name: String,
    },
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tool(tool) => tool.fmt(f),
            Self::Resource { server, uri } => write!(f, "{server}: {uri}"),
            Self::Prompt { server, name } => write!(f, "{server}: prompt {name}"),
        }
    }
}

/// A call that somebody wants made.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Names it within the turn.
    pub id: String,
    /// What it is of, or why it cannot be made, in words for the model.
    pub target: Result<Target, String>,
    /// A JSON object.
    pub arguments: Box<RawValue>,
}

/// What became of it.
#[derive(Clone, Debug)]
pub struct Done {
    /// The call's id.
    pub id: String,
    /// What came back, or why nothing did.
    pub received: Received,
    /// Whether it ran at all.
    pub ran: bool,
    /// Whether it was not permitted.
    pub denied: bool,
    /// The server's error, when it could not be called.
    pub error: Option<ServerError>,
}

/// Makes calls that somebody wants made.
pub struct Calls<'a> {
    /// The servers.
    pub registry: &'a Registry,
    /// What they offer.
    pub catalog: &'a Catalog,
    /// What may run.
    pub policy: &'a Policy,
    /// Who hears and decides.
    pub frontend: &'a dyn Frontend,
}

impl Calls<'_> {
    /// Asks for permission one by one, then runs side by side what may run.
    /// The results are in the order of the calls.
    ///
    /// # Errors
    /// When a permission is needed that nobody can be asked for; then none has
    /// run.
    pub async fn run(&self, wanted: Vec<Wanted>) -> Result<Vec<Done>, TurnError> {
        let mut decided = Vec::new();
        for wanted in wanted {
            let permitted = match &wanted.target {
                Ok(target) => self.permit(&wanted, target).await?,
                Err(_) => true,
            };
            decided.push((wanted, permitted));
        }
        let run = decided.into_iter().map(|(wanted, permitted)| async move {
            match wanted.target {
                Err(text) => self.refused(wanted.id, &text, false),
                Ok(_) if !permitted => {
                    self.refused(wanted.id, "not run: permission was denied", true)
                }
                Ok(target) => self.call(wanted.id, &target, &wanted.arguments).await,
            }
        });
        Ok(join_all(run).await)
    }

    async fn permit(&self, wanted: &Wanted, target: &Target) -> Result<bool, TurnError> {
        let (server, tool, arguments) = match target {
            Target::Tool(tool) => {
                (tool.server.as_str(), tool.tool.as_str(), wanted.arguments.get().to_owned())
            }
            Target::Resource { server, uri } => {
                let arguments = serde_json::json!({ "uri": uri }).to_string();
                (server.as_str(), "resources/read", arguments)
            }
            Target::Prompt { server, name } => {
                let arguments = format!(
                    "{{\"name\":{},\"arguments\":{}}}",
                    serde_json::Value::from(name.as_str()),
                    wanted.arguments.get()
                );
                (server.as_str(), "prompts/get", arguments)
            }
        };
        self.frontend.event(&Event::Call {
            id: wanted.id.clone(),
            server: server.into(),
            tool: tool.into(),
            arguments: RawValue::from_string(arguments.clone())
                .unwrap_or_else(|_| wanted.arguments.clone()),
        });
        let decision = self.policy.decide(&carrick_policy::Call {
            server,
            tool,
            arguments: &arguments,
            builtin_read: self.is_builtin_read(server, target),
        });
        match decision.verdict {
            carrick_policy::Verdict::Allow => return Ok(true),
            carrick_policy::Verdict::Deny => {
                self.frontend.event(&Event::Error {
                    server: Some(server.into()),
                    message: format!("{tool} was not run: {}", decision.reason),
                });
                return Ok(false);
            }
            carrick_policy::Verdict::Ask => {}
        }
        let approval = Approval {
            id: wanted.id.clone(),
            server: server.into(),
            tool: tool.into(),
            description: describe_call(server, tool, &arguments),
            arguments,
            reason: decision.reason.to_string(),
            may_be_denied: decision.may_be_denied(),
        };
        match self.frontend.approve(&approval).await {
            Verdict::Allow => Ok(true),
            Verdict::Deny => Ok(false),
            Verdict::Unavailable => Err(TurnError::PermissionNeeded(approval.description)),
        }
    }

    fn is_builtin_read(&self, server: &str, target: &Target) -> bool {
        let launch = self.registry.configured(server).and_then(|server| server.launch());
        if !matches!(launch, Some(Launch::Builtin { .. })) {
            return false;
        }
        let Target::Tool(tool) = target else { return true };
        let annotations =
            self.catalog.find(server, &tool.tool).and_then(|tool| tool.annotations.as_ref());
        annotations.is_some_and(|hints| hints.read_only_hint == Some(true))
    }

    async fn call(&self, id: String, target: &Target, arguments: &RawValue) -> Done {
        let result = match target {
            Target::Tool(tool) => {
                let arguments = arguments.get().as_bytes();
                self.with_progress(&id, &tool.server, &tool.tool, arguments).await
            }
            Target::Resource { server, uri } => self.registry.read(server, uri).await,
            Target::Prompt { server, name } => {
                self.registry.prompt(server, name, arguments.get().as_bytes()).await
            }
        };
        let done = match (result, target) {
            (Ok(json), Target::Tool(_)) => received(id, Received::of_call(json.as_bytes())),
            (Ok(json), Target::Resource { .. }) => received(id, Received::of_read(json.as_bytes())),
            (Ok(json), Target::Prompt { .. }) => received(id, Received::of_prompt(json.as_bytes())),
            (Err(error), _) => {
                self.frontend.event(&Event::Error {
                    server: Some(error.server().into()),
                    message: error.message(),
                });
                let received = Received::failure(&error.to_string());
                Done { id, received, ran: true, denied: false, error: Some(error) }
            }
        };
        self.tell(&done);
        done
    }

    /// Calls a tool and passes its progress on while it runs.
    async fn with_progress(
        &self,
        id: &str,
        server: &str,
        tool: &str,
        arguments: &[u8],
    ) -> Result<carrick::proto::rpc::Json, ServerError> {
        let (handler, mut reports) = reports();
        let call = self.registry.call(server, tool, arguments, Some(handler));
        tokio::pin!(call);
        loop {
            tokio::select! {
                biased;
                Some(progress) = reports.recv() => self.frontend.event(&Event::Progress {
                    id: id.into(),
                    progress: progress.progress,
                    total: progress.total,
                    message: progress.message,
                }),
                result = &mut call => return result,
            }
        }
    }

    fn refused(&self, id: String, text: &str, denied: bool) -> Done {
        let received = Received::failure(text);
        let done = Done { id, received, ran: false, denied, error: None };
        self.tell(&done);
        done
    }

    fn tell(&self, done: &Done) {
        self.frontend.event(&Event::Result { id: done.id.clone(), result: done.received.clone() });
    }
}

fn received(id: String, result: Result<Received, serde_json::Error>) -> Done {
    let received = result.unwrap_or_else(|error| {
        Received::failure(&format!("the server's result is not what the protocol says: {error}"))
    });
    Done { id, received, ran: true, denied: false, error: None }
}

/// A handler that passes on the latest progress when there is time for it.
fn reports() -> (ProgressHandler, tokio::sync::mpsc::Receiver<Progress>) {
    let (sender, receiver) = tokio::sync::mpsc::channel(16);
    // Without room, a later report says more than this one.
    let sender = Mutex::new(sender);
    let handler = move |progress| {
        let _ = sender.lock().unwrap_or_else(PoisonError::into_inner).try_send(progress);
    };
    (std::sync::Arc::new(handler), receiver)
}
