//! Asking the client: its user, its model, its roots.
//!
//! The author writes `context.elicit(…)` once. In a session the question
//! travels as a request of the server's own; on a stateless request the
//! handler ends with the question, and is run again from the top when the
//! client comes back with the answer. Code before the last ask therefore runs
//! again: it has no effects, or stands in [`Context::step`].

mod pending;
mod rerun;
mod round;
mod seal;
#[cfg(test)]
mod tests;

pub use pending::{Asks, Question};
pub(crate) use rerun::Rerun;
pub use rerun::state_binding;
pub(crate) use round::{Asked, Round};
pub use seal::{StateKeys, Unsealable};

use super::{Context, checks};
use carrick_proto::method::Method;
use carrick_proto::types::{
    ClientCapabilities, CreateMessage, CreateMessageResult, Elicit, ElicitResult, ListRootsResult,
    RawJson, Root, RpcError,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt;
use std::future::Future;
use tokio::sync::oneshot;

/// Why an ask has no answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AskError {
    /// The client did not declare the capability that the ask needs.
    NotOffered(String),
    /// No request of the server's can reach the client on this connection now.
    NoWay(String),
    /// The client answered with an error.
    Refused(RpcError),
    /// The answer is not what the protocol says.
    Malformed(String),
    /// A handler that was run again asked something else than the time before.
    NotDeterministic(String),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOffered(capability) => write!(f, "the client does not offer {capability}"),
            Self::NoWay(why) => write!(f, "the client cannot be asked: {why}"),
            Self::Refused(error) => write!(f, "the client refused: {error}"),
            Self::Malformed(what) => write!(f, "the client's answer cannot be used: {what}"),
            Self::NotDeterministic(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for AskError {}

impl Context {
    /// Asks the user for input.
    ///
    /// # Errors
    /// When the client cannot be asked, or answers with an error. What the user
    /// did, refusing included, is in the result.
    pub async fn elicit(&self, ask: &Elicit) -> Result<ElicitResult, AskError> {
        self.elicit_as(None, ask).await
    }

    /// The same under a key of the author's choice, which the client sees.
    ///
    /// # Errors
    /// As [`Context::elicit`].
    pub async fn elicit_as(
        &self,
        key: Option<&str>,
        ask: &Elicit,
    ) -> Result<ElicitResult, AskError> {
        let form = matches!(ask, Elicit::Form { .. });
        self.require(&["elicitation"], |can| offers_elicitation(can, form))?;
        let answer: ElicitResult = self.ask(key, Method::ElicitationCreate, ask).await?;
        match checks::form_misfit(ask, &answer) {
            None => Ok(answer),
            Some(what) => Err(self.unusable(what)),
        }
    }

    /// Asks the client's model for a message. (Deprecated by the protocol
    /// since 2026-07-28, and in daily use in the revisions before.)
    ///
    /// # Errors
    /// When the client cannot be asked, or answers with an error. Tools, a list of none
    /// included, and a choice of them are only for clients that declare
    /// `sampling.tools`.
    pub async fn sample(&self, ask: &CreateMessage) -> Result<CreateMessageResult, AskError> {
        self.sample_as(None, ask).await
    }

    /// The same under a key of the author's choice.
    ///
    /// # Errors
    /// As [`Context::sample`].
    pub async fn sample_as(
        &self,
        key: Option<&str>,
        ask: &CreateMessage,
    ) -> Result<CreateMessageResult, AskError> {
        self.require(&["sampling"], |can| can.sampling.is_some())?;
        if ask.uses_tools() {
            self.require(&["sampling", "tools"], ClientCapabilities::has_sampling_tools)?;
        }
        self.ask(key, Method::SamplingCreateMessage, ask).await
    }

    /// Asks for the folders the client works in. (Deprecated by the protocol
    /// since 2026-07-28.)
    ///
    /// # Errors
    /// When the client cannot be asked, or answers with an error.
    pub async fn roots(&self) -> Result<Vec<Root>, AskError> {
        self.roots_as(None).await
    }

    /// The same under a key of the author's choice.
    ///
    /// # Errors
    /// As [`Context::roots`].
    pub async fn roots_as(&self, key: Option<&str>) -> Result<Vec<Root>, AskError> {
        #[derive(Serialize)]
        struct Nothing {}
        self.require(&["roots"], |can| can.roots.is_some())?;
        let result: ListRootsResult = self.ask(key, Method::RootsList, &Nothing {}).await?;
        Ok(result.roots)
    }

    /// Does something with an effect, at least once: when the handler is run
    /// again after an ask, a step that has ended gives its recorded result.
    /// Something that must happen at most once needs an idempotency key too.
    ///
    /// # Errors
    /// When the result cannot be recorded, or the handler does not do the same
    /// steps each time.
    pub async fn step<T, F>(&self, key: &str, work: impl FnOnce() -> F) -> Result<T, AskError>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = T>,
    {
        let Some(round) = self.round() else { return Ok(work().await) };
        let malformed = |e: serde_json::Error| AskError::Malformed(e.to_string());
        match round.begin_step(key)? {
            Ok(recorded) => serde_json::from_str(recorded.get()).map_err(malformed),
            Err(number) => {
                let result = work().await;
                let record = serde_json::value::to_raw_value(&result).map_err(malformed)?;
                round.end_step(number, key, record);
                Ok(result)
            }
        }
    }

    /// Sees that the client declares a capability, named by the way to it.
    fn require(
        &self,
        way: &'static [&'static str],
        offered: impl Fn(&ClientCapabilities) -> bool,
    ) -> Result<(), AskError> {
        if self.client_capabilities().is_some_and(|can| offered(&can)) {
            return Ok(());
        }
        let name = way.join(".");
        if let Some(round) = self.round() {
            // A client of this kind is told what the request needs.
            let required = way.iter().rev().fold(json!({}), |inner, name| json!({ *name: inner }));
            let data = json!({ "requiredCapabilities": required });
            let text = format!("this request needs the client capability {name}");
            round.fail(RpcError::new(RpcError::MISSING_CAPABILITY, text).with_data(&data));
        }
        Err(AskError::NotOffered(name))
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        key: Option<&str>,
        method: Method,
        params: &impl Serialize,
    ) -> Result<T, AskError> {
        let malformed = |e: serde_json::Error| AskError::Malformed(e.to_string());
        let params = serde_json::to_vec(params).map_err(malformed)?;
        let answer: RawJson = match self.round() {
            Some(round) => match round.ask(key, method.name(), params)? {
                Asked::Answered(answer) => answer,
                // The round ends; this future is dropped with the handler.
                Asked::Waiting => std::future::pending().await,
            },
            None => self.request(method, params).await?,
        };
        serde_json::from_str(answer.get()).map_err(|error| self.unusable(error.to_string()))
    }

    /// An answer that is not what was asked for.
    fn unusable(&self, what: String) -> AskError {
        if let Some(round) = self.round() {
            // The answer came as an argument of the request, which is then wrong.
            let text = format!("params.inputResponses: an answer cannot be used: {what}");
            round.fail(RpcError::invalid_params(text));
        }
        AskError::Malformed(what)
    }
}

impl Context {
    /// Sends a request to a session's client.
    async fn request(&self, method: Method, params: Vec<u8>) -> Result<RawJson, AskError> {
        let (answer, answered) = oneshot::channel();
        self.outbox().ask(self.key(), Question { method, params, answer }).await;
        let gone = |_| AskError::NoWay("the connection has ended".into());
        let json = answered.await.map_err(gone)??;
        json.read().map_err(|e| AskError::Malformed(e.to_string()))
    }
}

/// Whether a client can be asked for input in this way.
pub(super) fn offers_elicitation(can: &ClientCapabilities, form: bool) -> bool {
    if form { can.has_forms() } else { can.has_pages() }
}
