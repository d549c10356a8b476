//! What a client does when a server asks: its user, its model, its roots.

use super::{CallError, ClientError};
use carrick_proto::method::Method;
use carrick_proto::peer::InputRequired;
use carrick_proto::types::{
    CreateMessage, CreateMessageResult, Elicit, ElicitResult, ListRootsResult, Root, RpcError,
};
use futures_util::future::{BoxFuture, FutureExt, try_join_all};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::sync::Arc;

/// Rounds of questions that one call may lead to.
const ROUNDS: usize = 20;

/// Questions that one call may lead to, over all rounds.
const QUESTIONS: usize = 100;

type Answer<Q, A> = Arc<dyn Fn(Q) -> BoxFuture<'static, Result<A, RpcError>> + Send + Sync>;

/// What answers a server's questions. A client declares the capabilities that
/// it has handlers for, and no others.
#[derive(Clone, Default)]
pub struct Handlers {
    elicit: Option<Answer<Elicit, ElicitResult>>,
    urls: bool,
    sample: Option<Answer<CreateMessage, CreateMessageResult>>,
    roots: Option<Answer<(), Vec<Root>>>,
}

impl Handlers {
    /// No handlers: the server may ask nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the user (`client/elicitation`): forms only, unless
    /// [`Handlers::urls`] is called too.
    #[must_use]
    pub fn elicit<F>(mut self, handler: impl Fn(Elicit) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<ElicitResult, RpcError>> + Send + 'static,
    {
        self.elicit = Some(Arc::new(move |ask| handler(ask).boxed()));
        self
    }

    /// Says that the user can be sent to pages as well.
    #[must_use]
    pub fn urls(mut self) -> Self {
        self.urls = true;
        self
    }

    /// Asks the model (`client/sampling`).
    #[must_use]
    pub fn sample<F>(mut self, handler: impl Fn(CreateMessage) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<CreateMessageResult, RpcError>> + Send + 'static,
    {
        self.sample = Some(Arc::new(move |ask| handler(ask).boxed()));
        self
    }

    /// Tells the folders the client works in (`client/roots`).
    #[must_use]
    pub fn roots<F>(mut self, handler: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Vec<Root>, RpcError>> + Send + 'static,
    {
        self.roots = Some(Arc::new(move |()| handler().boxed()));
        self
    }

    /// The `ClientCapabilities` that these handlers make, as JSON.
    pub fn capabilities(&self) -> String {
        let mut capabilities = serde_json::Map::new();
        if self.elicit.is_some() {
            let modes = if self.urls {
                serde_json::json!({ "form": {}, "url": {} })
            } else {
                serde_json::json!({ "form": {} })
            };
            capabilities.insert("elicitation".into(), modes);
        }
        if self.sample.is_some() {
            capabilities.insert("sampling".into(), serde_json::json!({}));
        }
        if self.roots.is_some() {
            capabilities.insert("roots".into(), serde_json::json!({}));
        }
        serde_json::Value::Object(capabilities).to_string()
    }

    /// Answers one question; the result is JSON.
    pub(super) async fn answer(&self, method: Method, params: &[u8]) -> Result<Vec<u8>, RpcError> {
        match method {
            Method::ElicitationCreate => run(&self.elicit, read(params)?).await,
            Method::SamplingCreateMessage => run(&self.sample, read(params)?).await,
            Method::RootsList => {
                let handler = self.roots.as_ref().ok_or_else(|| not_offered(method))?;
                write(&ListRootsResult::from(handler(()).await?))
            }
            _ => Err(not_offered(method)),
        }
        .map_err(|error| match error.code {
            // Which handler was missing is known only here.
            RpcError::METHOD_NOT_FOUND => not_offered(method),
            _ => error,
        })
    }

    /// Answers a round of questions: the members for the retry.
    pub(super) async fn round(&self, asked: &InputRequired) -> Result<Vec<u8>, ClientError> {
        let answers = try_join_all(asked.requests.iter().map(|(key, request)| async move {
            let method = Method::from_name(request.method.as_bytes());
            let params = request.params.as_ref().map_or("{}", |params| params.get());
            let answer = self.answer(method, params.as_bytes()).await?;
            Ok::<_, RpcError>((key, answer))
        }));
        // A question that cannot be answered ends the call on this side.
        let answers = answers.await.map_err(CallError::Rpc)?;
        let mut members = Vec::new();
        if !answers.is_empty() {
            members.extend_from_slice(b"\"inputResponses\":{");
            for (n, (key, answer)) in answers.iter().enumerate() {
                if n > 0 {
                    members.push(b',');
                }
                members.extend(serde_json::to_vec(key).map_err(ClientError::params)?);
                members.push(b':');
                members.extend_from_slice(answer);
            }
            members.push(b'}');
        }
        // Echoed exactly as it came, and only where it came.
        if let Some(state) = &asked.state {
            if !members.is_empty() {
                members.push(b',');
            }
            members.extend_from_slice(b"\"requestState\":");
            members.extend_from_slice(state.get().as_bytes());
        }
        Ok(members)
    }

    pub(super) fn rounds() -> usize {
        ROUNDS
    }

    pub(super) fn questions() -> usize {
        QUESTIONS
    }
}

async fn run<Q, A: Serialize>(handler: &Option<Answer<Q, A>>, ask: Q) -> Result<Vec<u8>, RpcError> {
    let missing = || RpcError::new(RpcError::METHOD_NOT_FOUND, "not offered");
    let handler = handler.as_ref().ok_or_else(missing)?;
    write(&handler(ask).await?)
}

fn read<T: DeserializeOwned>(params: &[u8]) -> Result<T, RpcError> {
    serde_json::from_slice(params).map_err(|e| RpcError::invalid_params(e.to_string()))
}

fn write(answer: &impl Serialize) -> Result<Vec<u8>, RpcError> {
    serde_json::to_vec(answer).map_err(|e| RpcError::internal(e.to_string()))
}

fn not_offered(method: Method) -> RpcError {
    let text = format!("this client does not offer {}", method.name());
    RpcError::new(RpcError::METHOD_NOT_FOUND, text)
}

/// Puts members in front of those of a parameter object.
pub(super) fn with_members(params: &[u8], members: &[u8]) -> Vec<u8> {
    let rest = match params.trim_ascii() {
        [b'{', rest @ ..] => rest,
        _ => b"}",
    };
    let mut out = vec![b'{'];
    out.extend_from_slice(members);
    if rest.trim_ascii_start() != b"}" && !members.is_empty() {
        out.push(b',');
    }
    out.extend_from_slice(rest);
    out
}
