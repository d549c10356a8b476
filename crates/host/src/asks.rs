//! What servers ask of this host while they work: input of its person, a message
//! of its model, its folders.
//!
//! [`Asks`] makes the handlers of a connection, and so what the host declares. That
//! is the same whatever a run is for, since servers offer tools by it: a model and
//! a person are declared where there is none as well, and what is asked of them is
//! refused then. Folders are declared where the config tells of some. A person
//! decides about all but the folders, through the [`Frontend`].

mod form;
mod page;
mod root;
mod sampling;
#[cfg(test)]
mod tests;

pub use form::{Choice, Field, Form, FormError, Kind};
pub use page::{Page, PageError};
pub use root::folder;

use crate::model::Model;
use crate::turn::{Event, Frontend, Verdict};
use carrick::client::Handlers;
use carrick::types::{
    CreateMessage, CreateMessageResult, Elicit, ElicitAction, ElicitResult, Root, RpcError,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What the protocol says when a person refuses that a model is asked.
const REFUSED: i64 = -1;

/// How often the servers of one host may have the model together.
const SAMPLES: u64 = 100;

/// A server's question to the person.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Question {
    /// Names it within the run.
    pub id: String,
    /// The server that asks.
    pub server: String,
    /// What it asks.
    pub ask: Elicit,
    /// The fields, where it is a form.
    pub form: Option<Arc<Form>>,
    /// Where it leads, where it is a page.
    pub page: Option<Page>,
}

/// A server's wish to have the model answer something.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sampling {
    /// Names it within the run.
    pub id: String,
    /// The server that asks.
    pub server: String,
    /// The model that would answer.
    pub model: String,
    /// What it asks.
    pub ask: CreateMessage,
    /// Exactly what the model would be sent, with control characters made visible.
    pub description: String,
}

/// Answers what servers ask.
pub struct Asks {
    frontend: Arc<dyn Frontend>,
    roots: Vec<Root>,
    model: OnceLock<Arc<dyn Model>>,
    asked: AtomicU64,
    sampled: AtomicU64,
}

impl Asks {
    /// Asks the person through `frontend`, and tells of `roots`, of which there may
    /// be none.
    pub fn new(frontend: Arc<dyn Frontend>, roots: Vec<Root>) -> Arc<Self> {
        Arc::new(Self {
            frontend,
            roots,
            model: OnceLock::new(),
            asked: AtomicU64::new(0),
            sampled: AtomicU64::new(0),
        })
    }

    /// Has this model answer servers from now on. The first one that is named
    /// stays.
    pub fn use_model(&self, model: Arc<dyn Model>) {
        // There is one model in a run.
        let _ = self.model.set(model);
    }

    /// What answers the server of this name.
    pub fn handlers(self: &Arc<Self>, server: &str) -> Handlers {
        let server: Arc<str> = server.into();
        let (asks, name) = (self.clone(), server.clone());
        let mut handlers = Handlers::new().urls().elicit(move |ask| {
            let (asks, server) = (asks.clone(), name.clone());
            async move { asks.elicit(&server, ask).await }
        });
        let asks = self.clone();
        handlers = handlers.sample(move |ask| {
            let (asks, server) = (asks.clone(), server.clone());
            async move { asks.sample(&server, ask).await }
        });
        if !self.roots.is_empty() {
            let roots = self.roots.clone();
            handlers = handlers.roots(move || std::future::ready(Ok(roots.clone())));
        }
        handlers
    }

    async fn elicit(&self, server: &str, ask: Elicit) -> Result<ElicitResult, RpcError> {
        let form = match &ask {
            Elicit::Form { requested_schema, .. } => Some(Arc::new(
                Form::read(requested_schema)
                    .map_err(|error| RpcError::invalid_params(error.to_string()))?,
            )),
            _ => None,
        };
        let page = match &ask {
            Elicit::Url { url, .. } => {
                Some(Page::read(url).map_err(|error| RpcError::invalid_params(error.to_string()))?)
            }
            _ => None,
        };
        let question = Question { id: self.id(), server: server.into(), ask, form, page };
        let answer = self.frontend.elicit(&question).await;
        let content = match (answer.action, &question.form) {
            (ElicitAction::Accept, Some(form)) => {
                let content = answer.content.unwrap_or_default();
                // Whoever filled it in should have looked; what does not fit never leaves.
                form.check(content.get()).map_err(RpcError::internal)?;
                Some(content)
            }
            // A page has no fields, and what is not accepted has none either.
            _ => None,
        };
        Ok(match content {
            Some(content) => ElicitResult::accept(content),
            None => ElicitResult::without_content(answer.action),
        })
    }

    async fn sample(
        &self,
        server: &str,
        ask: CreateMessage,
    ) -> Result<CreateMessageResult, RpcError> {
        let Some(model) = self.model.get() else {
            return Err(RpcError::internal("no model is set up at the host that could answer"));
        };
        let request = sampling::request(&ask)?;
        let sampling = Sampling {
            id: self.id(),
            server: server.into(),
            model: model.name().into(),
            description: sampling::describe(&ask),
            ask,
        };
        if self.sampled.load(Ordering::Relaxed) >= SAMPLES {
            let text = format!("servers have asked the model {SAMPLES} times already");
            return Err(RpcError::new(REFUSED, text));
        }
        if self.frontend.permit_sampling(&sampling).await != Verdict::Allow {
            return Err(RpcError::new(REFUSED, "the user did not permit it"));
        }
        self.sampled.fetch_add(1, Ordering::Relaxed);
        let answer = sampling::answer(&**model, &request, &sampling.ask.stop_sequences).await;
        answer.map_err(|error| {
            // What a provider says may name accounts and addresses: not for servers.
            let message = format!("the model that it asked for failed: {error}");
            self.frontend.event(&Event::Error { server: Some(server.into()), message });
            RpcError::internal("the model could not answer")
        })
    }

    fn id(&self) -> String {
        format!("ask_{}", self.asked.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
