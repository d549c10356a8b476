//! What a handler can take as arguments.

mod info;

pub use info::Extension;

use super::ask::Round;
use super::checks::Checks;
use super::{CallInfo, Context, Inner, Outbox, Server, Texts, ToolError, schema};
use carrick_proto::peer::Call;
use carrick_proto::rpc::Field;
use carrick_proto::types::RawJson;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::any::{TypeId, type_name};
use std::ops::Deref;
use std::sync::Arc;

/// A call of a tool, a prompt or a resource, from which extractors take what
/// they need.
pub struct Request {
    pub(super) call: Call,
    pub(super) info: CallInfo,
    pub(super) outbox: Arc<dyn Outbox>,
    pub(super) server: Arc<Inner>,
    /// What the arguments are checked against, of a tool.
    pub(super) checks: Option<Arc<Checks>>,
    /// The arguments of a prompt, or the variables of a template.
    pub(super) texts: Texts,
    /// This run of the handler, on a request without a session.
    pub(super) round: Option<Arc<Round>>,
}

impl Request {
    /// The JSON text of the arguments; absent and null count as none.
    pub fn arguments(&self) -> &[u8] {
        match self.call.message.field(Field::Arguments) {
            None | Some(b"null") => b"{}",
            Some(json) => json,
        }
    }

    /// What a handler can do besides returning.
    pub(super) fn context(&self) -> Context {
        let (info, outbox) = (self.info.clone(), self.outbox.clone());
        Context::new(&self.call, info, outbox, self.round.clone())
    }

    /// Who sent it, and by which way.
    pub fn info(&self) -> &CallInfo {
        &self.info
    }
}

/// Something a handler can take.
#[diagnostic::on_unimplemented(
    message = "a handler cannot take `{Self}`",
    note = "handlers take `Args<T>`, `State<T>`, `Texts`, `Context`, `Server`, `Principal`, \
            `Extension<T>`, `CallInfo` and `Arc<ConnectionInfo>`; a function marked #[tool] also takes plain parameters whose types implement Deserialize and \
            JsonSchema"
)]
pub trait FromRequest: Sized {
    /// Takes it from a call.
    ///
    /// # Errors
    /// When the call does not have it; the text goes to the model.
    fn from_request(request: &Request) -> Result<Self, ToolError>;

    /// Whether a handler that takes it may ask the client.
    const MAY_ASK: bool = false;

    /// The schema of the arguments, from the extractor that reads them.
    fn input_schema() -> Option<RawJson> {
        None
    }
}

/// The arguments of the call as a type; its schema is the tool's input schema.
pub struct Args<T>(pub T);

impl<T: DeserializeOwned + JsonSchema> FromRequest for Args<T> {
    fn from_request(request: &Request) -> Result<Self, ToolError> {
        let given = request.call.message.field(Field::Arguments).filter(|json| *json != b"null");
        let read = match given.and_then(|_| request.call.message.read(Field::Arguments)) {
            Some(read) => read,
            None => serde_json::from_slice(b"{}"),
        };
        read.map(Args).map_err(|error| {
            let explained = request.checks.as_ref().and_then(|c| c.explain(request.arguments()));
            let text = || format!("these arguments do not fit the schema: {error}");
            ToolError::of_arguments(explained.unwrap_or_else(text))
        })
    }

    fn input_schema() -> Option<RawJson> {
        Some(schema::of_arguments::<T>())
    }
}

/// A value shared by all calls: see [`super::ServerBuilder::state`].
pub struct State<T>(pub Arc<T>);

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + Sync + 'static> FromRequest for State<T> {
    fn from_request(request: &Request) -> Result<Self, ToolError> {
        let state = request.server.state.get(&TypeId::of::<T>()).cloned();
        state
            .and_then(|any| any.downcast().ok())
            .map(State)
            .ok_or_else(|| ToolError::new(format!("the server has no state {}", type_name::<T>())))
    }
}

/// The server itself, to change what it offers.
impl FromRequest for Server {
    fn from_request(request: &Request) -> Result<Self, ToolError> {
        Ok(Self { inner: request.server.clone() })
    }
}

impl FromRequest for Context {
    const MAY_ASK: bool = true;

    fn from_request(request: &Request) -> Result<Self, ToolError> {
        Ok(request.context())
    }
}
