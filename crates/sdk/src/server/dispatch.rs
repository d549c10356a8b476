//! From a request to its handler.

use super::ask::Rerun;
use super::{Outbox, Request, ResourceSource, Server, ToolError, resources};
use carrick_proto::method::Method;
use carrick_proto::peer::{Call, Envelope, Outcome};
use carrick_proto::rpc::Field;
use carrick_proto::types::{CallToolResult, RpcError};
use futures_util::future::{BoxFuture, FutureExt};
use serde::Serialize;
use std::sync::Arc;

/// What became of a request.
pub enum Dispatch {
    /// It is answered.
    Ready(Outcome),
    /// A handler is at it.
    Pending(BoxFuture<'static, Outcome>),
    /// Somebody else is, and will say so by [`Outbox::answer`]. What is in here
    /// is kept until then; dropping it before gives the work up.
    Later(Box<dyn Send>),
}

impl Server {
    /// Hands a request to what answers it.
    pub fn dispatch(&self, call: Call, outbox: &Arc<dyn Outbox>) -> Dispatch {
        match call.message.method() {
            Method::ToolsCall if self.has_tools() => self.call_tool(call, outbox),
            Method::ToolsList if self.has_tools() => Dispatch::Ready(self.list_tools(&call)),
            method => match (&self.inner.resources, method) {
                (Some(source), Method::ResourcesList) => list_resources(source.clone(), call),
                (Some(source), Method::ResourcesRead) => read_resource(source.clone(), call),
                (Some(source), Method::ResourcesTemplatesList) => {
                    Dispatch::Ready(list_templates(&**source, &call))
                }
                _ => {
                    let name = call.message.method_name();
                    let text = format!("this server does not offer {}", brief(&name));
                    fail(RpcError::new(RpcError::METHOD_NOT_FOUND, text))
                }
            },
        }
    }

    fn has_tools(&self) -> bool {
        !self.inner.tools.is_empty()
    }

    fn call_tool(&self, call: Call, outbox: &Arc<dyn Outbox>) -> Dispatch {
        let Some(name) = call.message.text(Field::Name) else {
            return fail(RpcError::invalid_params("tools/call needs params.name, a string"));
        };
        let Some(tool) = self.inner.tools.get(&*name) else {
            return fail(RpcError::invalid_params(format!("unknown tool {:?}", brief(&name))));
        };
        let arguments = call.message.field(Field::Arguments);
        if arguments.is_some_and(|json| json[0] != b'{' && json != b"null") {
            return fail(RpcError::invalid_params("params.arguments must be an object"));
        }
        let stateless = !call.revision.rules().server_requests;
        let rerun = if stateless && tool.may_ask() {
            match Rerun::begin(&call, &self.inner.keys) {
                Ok(rerun) => Some(rerun),
                Err(error) => return fail(error),
            }
        } else {
            None
        };
        let round = rerun.as_ref().map(|rerun| rerun.round.clone());
        let (server, envelope) = (self.inner.clone(), call.envelope());
        let handler = tool.call(Request { call, outbox: outbox.clone(), server, round });
        let outcome = handler.map(move |result| called(&envelope, result)).boxed();
        Dispatch::Pending(match rerun {
            Some(rerun) => rerun.drive(outcome),
            None => outcome,
        })
    }

    fn list_tools(&self, call: &Call) -> Outcome {
        match cursor(call) {
            Ok(None) => complete(self.inner.tools_list.clone()),
            Ok(Some(cursor)) => Outcome::Error(unknown_cursor(&cursor)),
            Err(error) => Outcome::Error(error),
        }
    }
}

fn called(envelope: &Envelope, result: Result<CallToolResult, ToolError>) -> Outcome {
    let result = result.unwrap_or_else(|error| CallToolResult::error(error.into_text()));
    if let Some(response) = envelope.wrap(&result) {
        return Outcome::Response(response);
    }
    let mut body = Vec::new();
    match result.write(&mut body) {
        Ok(()) => Outcome::Result { body, has_meta: result.meta.is_some() },
        Err(error) => Outcome::Error(RpcError::internal(error.to_string())),
    }
}

/// The cursor of a list request; null counts as none.
fn cursor(call: &Call) -> Result<Option<String>, RpcError> {
    match call.message.field(Field::Cursor) {
        None | Some(b"null") => Ok(None),
        Some(_) => match call.message.text(Field::Cursor) {
            Some(cursor) => Ok(Some(cursor.into_owned())),
            None => Err(RpcError::invalid_params("params.cursor must be a string")),
        },
    }
}

fn list_templates(source: &dyn ResourceSource, call: &Call) -> Outcome {
    match cursor(call) {
        Ok(None) => cacheable(&resources::templates_page(source)),
        Ok(Some(cursor)) => Outcome::Error(unknown_cursor(&cursor)),
        Err(error) => Outcome::Error(error),
    }
}

fn list_resources(source: Arc<dyn ResourceSource>, call: Call) -> Dispatch {
    let cursor = match cursor(&call) {
        Ok(cursor) => cursor,
        Err(error) => return fail(error),
    };
    Dispatch::Pending(
        async move {
            match source.list(cursor.as_deref()).await {
                Ok(page) => cacheable(&page),
                Err(error) => Outcome::Error(error),
            }
        }
        .boxed(),
    )
}

fn read_resource(source: Arc<dyn ResourceSource>, call: Call) -> Dispatch {
    let Some(uri) = call.message.text(Field::Uri).map(|uri| uri.into_owned()) else {
        return fail(RpcError::invalid_params("resources/read needs params.uri, a string"));
    };
    let not_found = call.revision.rules().resource_not_found;
    Dispatch::Pending(
        async move {
            match source.read(&uri).await {
                Ok(contents) => cacheable(&contents),
                Err(mut error) => {
                    if error.code == RpcError::INVALID_PARAMS {
                        error.code = not_found;
                    }
                    Outcome::Error(error)
                }
            }
        }
        .boxed(),
    )
}

/// -32602 for a cursor that this server never gave out.
pub(crate) fn unknown_cursor(cursor: &str) -> RpcError {
    RpcError::invalid_params(format!("unknown cursor {:?}", brief(cursor)))
}

/// The start of a name, for an error.
fn brief(name: &str) -> &str {
    &name[..name.floor_char_boundary(200)]
}

/// A list or a resource with the hint that it may change at any time.
pub(super) fn cacheable_body(result: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Hinted<'a, T> {
        #[serde(flatten)]
        result: &'a T,
        ttl_ms: u64,
        cache_scope: &'static str,
    }
    let hinted = Hinted { result, ttl_ms: 0, cache_scope: "private" };
    serde_json::to_vec(&hinted)
}

/// The answer that lists or reads something.
fn cacheable(result: &impl Serialize) -> Outcome {
    match cacheable_body(result) {
        Ok(body) => complete(body),
        Err(error) => Outcome::Error(RpcError::internal(error.to_string())),
    }
}

fn complete(body: Vec<u8>) -> Outcome {
    Outcome::Result { body, has_meta: false }
}

fn fail(error: RpcError) -> Dispatch {
    Dispatch::Ready(Outcome::Error(error))
}
