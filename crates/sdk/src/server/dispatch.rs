//! From a request to what answers it.

mod completes;
mod lists;
mod reads;

use super::ask::Rerun;
use super::{Answering, CallInfo, Outbox, Request, Server, Texts};
use carrick_proto::method::Method;
use carrick_proto::peer::{Call, Outcome};
use carrick_proto::rpc::Field;
use carrick_proto::text::excerpt;
use carrick_proto::types::RpcError;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What became of a request.
pub enum Dispatch {
    /// It is answered.
    Ready(Outcome),
    /// A handler is at it.
    Pending(Answering),
    /// Somebody else is, and will say so by [`Outbox::answer`].
    Later(Arc<dyn Elsewhere>),
}

/// Where a call comes from, and where what is said of it goes.
#[derive(Clone, Copy)]
struct Origin<'a> {
    info: &'a CallInfo,
    outbox: &'a Arc<dyn Outbox>,
}

/// Work on a call that goes on outside of its connection.
pub trait Elsewhere: Send + Sync {
    /// Nobody waits for it any more: the call was cancelled, its connection is
    /// gone, or it is answered. Called once.
    fn give_up(&self);
}

impl Server {
    /// Hands a request to what answers it. Requests to hear of changes are for
    /// [`super::Service::connect`]: they last longer than an answer.
    pub fn dispatch(&self, call: Call, info: &CallInfo, outbox: &Arc<dyn Outbox>) -> Dispatch {
        let from = Origin { info, outbox };
        match call.message.method() {
            Method::ToolsCall if self.has_tools() => self.call_tool(call, from),
            Method::ToolsList if self.has_tools() => self.list(&call, &self.inner.tools),
            Method::PromptsGet if self.has_prompts() => self.get_prompt(call, from),
            Method::PromptsList if self.has_prompts() => self.list(&call, &self.inner.prompts),
            Method::ResourcesRead if self.has_resources() => self.read_resource(call, from),
            Method::ResourcesList if self.has_resources() => self.list_resources(&call, info),
            Method::ResourcesTemplatesList if self.has_resources() => self.list_templates(&call),
            Method::CompletionComplete if self.inner.declared.completions => {
                self.complete(&call, info)
            }
            _ => {
                let name = call.message.method_name();
                let text = format!("this server does not offer {}", brief(&name));
                fail(RpcError::new(RpcError::METHOD_NOT_FOUND, text))
            }
        }
    }

    fn has_tools(&self) -> bool {
        self.inner.declared.tools || !self.inner.tools.now().is_empty()
    }

    fn has_prompts(&self) -> bool {
        self.inner.declared.prompts || !self.inner.prompts.now().is_empty()
    }

    fn has_resources(&self) -> bool {
        self.inner.declared.resources
            || !self.inner.resources.now().is_empty()
            || !self.inner.families.now().is_empty()
    }

    fn call_tool(&self, call: Call, from: Origin<'_>) -> Dispatch {
        let Some(name) = call.message.text(Field::Name) else {
            return fail(RpcError::invalid_params("tools/call needs params.name, a string"));
        };
        let tools = self.inner.tools.now();
        let Some(tool) = tools.get(&name) else {
            return fail(RpcError::invalid_params(format!("unknown tool {:?}", brief(&name))));
        };
        if let Err(error) = check_arguments(&call) {
            return fail(error);
        }
        self.run(call, from, Texts::default(), tool.may_ask(), |mut request| {
            request.checks = Some(tool.checks());
            let envelope = request.call.envelope();
            Answering::tool(tool.call(request), envelope)
        })
    }

    fn get_prompt(&self, call: Call, from: Origin<'_>) -> Dispatch {
        let Some(name) = call.message.text(Field::Name) else {
            return fail(RpcError::invalid_params("prompts/get needs params.name, a string"));
        };
        let prompts = self.inner.prompts.now();
        let Some(prompt) = prompts.get(&name) else {
            return fail(RpcError::invalid_params(format!("unknown prompt {:?}", brief(&name))));
        };
        let texts = match texts(&call) {
            Ok(texts) => texts,
            Err(error) => return fail(error),
        };
        if let Err(error) = prompt.check(&texts) {
            return fail(error);
        }
        self.run(call, from, texts, prompt.may_ask(), |request| {
            let rendered = prompt.get(request);
            Answering::new(async move {
                match rendered.await {
                    Ok(result) => answer(&result, result.meta.is_some()),
                    Err(error) => Outcome::Error(error),
                }
            })
        })
    }

    /// Runs a handler. One that may ask a client that has no session is run
    /// again in each round of its asking.
    fn run(
        &self,
        call: Call,
        from: Origin<'_>,
        texts: Texts,
        may_ask: bool,
        start: impl FnOnce(Request) -> Answering,
    ) -> Dispatch {
        let stateless = !call.revision.rules().server_requests;
        let rerun = if stateless && may_ask {
            match Rerun::begin(&call, from.info.principal(), &self.inner.keys) {
                Ok(rerun) => Some(rerun),
                Err(error) => return fail(error),
            }
        } else {
            None
        };
        let round = rerun.as_ref().map(|rerun| rerun.round.clone());
        let (outbox, server) = (from.outbox.clone(), self.inner.clone());
        let info = from.info.clone();
        let outcome = start(Request { call, info, outbox, server, texts, checks: None, round });
        Dispatch::Pending(match rerun {
            Some(rerun) => Answering::new(rerun.drive(outcome)),
            None => outcome,
        })
    }
}

/// Refuses arguments that are no object; null counts as none.
fn check_arguments(call: &Call) -> Result<(), RpcError> {
    let arguments = call.message.field(Field::Arguments);
    if arguments.is_some_and(|json| json[0] != b'{' && json != b"null") {
        return Err(RpcError::invalid_params("params.arguments must be an object"));
    }
    Ok(())
}

/// The arguments of a prompt, which are texts.
fn texts(call: &Call) -> Result<Texts, RpcError> {
    check_arguments(call)?;
    let arguments = call.message.field(Field::Arguments).unwrap_or(b"null");
    let texts: Option<BTreeMap<String, String>> =
        serde_json::from_slice(arguments).map_err(|e| {
            RpcError::invalid_params(format!("params.arguments must hold strings: {e}"))
        })?;
    Ok(Texts(texts.unwrap_or_default()))
}

/// The start of a name, for an error.
fn brief(name: &str) -> Cow<'_, str> {
    excerpt(name, 200)
}

/// An error about a resource that is not there, with the code that the revision
/// has for it.
pub(super) fn recoded(mut error: RpcError, not_found: i64) -> RpcError {
    if error.code == RpcError::INVALID_PARAMS {
        error.code = not_found;
    }
    error
}

/// The answer that is this, as JSON.
fn answer(result: &impl serde::Serialize, has_meta: bool) -> Outcome {
    match serde_json::to_vec(result) {
        Ok(body) => Outcome::Result { body, has_meta },
        Err(error) => Outcome::Error(RpcError::internal(error.to_string())),
    }
}

pub(super) fn complete(body: Vec<u8>) -> Outcome {
    Outcome::Result { body, has_meta: false }
}

fn fail(error: RpcError) -> Dispatch {
    Dispatch::Ready(Outcome::Error(error))
}
