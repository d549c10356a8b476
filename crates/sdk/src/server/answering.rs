//! Answers that handlers are at.

use super::ToolError;
use carrick_proto::peer::{Envelope, Outcome};
use carrick_proto::types::{CallToolResult, RpcError};
use futures_util::future::{BoxFuture, FutureExt};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// An answer that a handler is at.
pub struct Answering(Handler);

enum Handler {
    Any(BoxFuture<'static, Outcome>),
    /// With what its result is wrapped in.
    Tool(BoxFuture<'static, Result<CallToolResult, ToolError>>, Envelope),
}

impl Answering {
    /// What a future makes.
    pub fn new(future: impl Future<Output = Outcome> + Send + 'static) -> Self {
        Self(Handler::Any(future.boxed()))
    }

    pub(super) fn tool(
        handler: BoxFuture<'static, Result<CallToolResult, ToolError>>,
        envelope: Envelope,
    ) -> Self {
        Self(Handler::Tool(handler, envelope))
    }

    /// Polls the handler where the engine is: a result is left for it to write.
    pub(crate) fn poll_here(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        match &mut self.0 {
            Handler::Any(future) => future.poll_unpin(cx),
            Handler::Tool(handler, _) => handler.poll_unpin(cx).map(|result| match told(result) {
                Ok(result) => Outcome::Called(result),
                Err(error) => Outcome::Error(error),
            }),
        }
    }
}

impl Future for Answering {
    type Output = Outcome;

    /// A result is written here, so that the engine does not have to.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        match &mut self.0 {
            Handler::Any(future) => future.poll_unpin(cx),
            Handler::Tool(handler, envelope) => {
                handler.poll_unpin(cx).map(|result| written(envelope, result))
            }
        }
    }
}

fn written(envelope: &Envelope, result: Result<CallToolResult, ToolError>) -> Outcome {
    let result = match told(result) {
        Ok(result) => result,
        Err(error) => return Outcome::Error(error),
    };
    if let Some(response) = envelope.wrap(&result) {
        return Outcome::Response(response);
    }
    let mut body = Vec::new();
    match result.write(&mut body) {
        Ok(()) => Outcome::Result { body, has_meta: result.meta.is_some() },
        Err(error) => Outcome::Error(RpcError::internal(error.to_string())),
    }
}

/// Most failures of a tool are results as well.
fn told(result: Result<CallToolResult, ToolError>) -> Result<CallToolResult, RpcError> {
    result.or_else(ToolError::into_result)
}
