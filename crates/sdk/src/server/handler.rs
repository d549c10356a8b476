//! Functions as handlers.

use super::{FromRequest, IntoToolResult, Request, ToolError, schema};
use carrick_proto::types::{CallToolResult, RawJson};
use futures_util::future::{BoxFuture, FutureExt, ready};
use std::future::Future;

/// An async function whose arguments are extractors ([`FromRequest`]) and whose
/// result a tool can answer with ([`IntoToolResult`]).
///
/// `M` only tells the implementations apart and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool handler",
    note = "a handler is an async function of up to eight extractors"
)]
pub trait Handler<M>: Send + Sync + 'static {
    /// Answers a call.
    fn call(&self, request: Request) -> BoxFuture<'static, Result<CallToolResult, ToolError>>;

    /// Whether a call has all that it takes, without answering it.
    ///
    /// # Errors
    /// As [`FromRequest::from_request`].
    fn takes(request: &Request) -> Result<(), ToolError>
    where
        Self: Sized;

    /// Whether it may ask the client.
    fn may_ask() -> bool
    where
        Self: Sized;

    /// The schema of the arguments.
    fn input_schema() -> RawJson
    where
        Self: Sized;

    /// The schema of structured results.
    fn output_schema() -> Option<RawJson>
    where
        Self: Sized;
}

macro_rules! handlers {
    ($(($($extractor:ident),*);)*) => {$(
        impl<F, Fut, M, $($extractor,)*> Handler<(M, $($extractor,)*)> for F
        where
            M: 'static,
            F: Fn($($extractor),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output: IntoToolResult<M>> + Send + 'static,
            $($extractor: FromRequest,)*
        {
            #[allow(
                non_snake_case,
                unused_variables,
                reason = "the types' names serve as variables, and a handler may take nothing"
            )]
            fn call(&self, request: Request) -> BoxFuture<'static, Result<CallToolResult, ToolError>> {
                $(let $extractor = match $extractor::from_request(&request) {
                    Ok(value) => value,
                    Err(error) => return ready(Err(error)).boxed(),
                };)*
                // The message's bytes are not held while the handler runs.
                drop(request);
                self($($extractor),*).map(IntoToolResult::into_tool_result).boxed()
            }

            #[allow(unused_variables, reason = "a handler may take nothing")]
            fn takes(request: &Request) -> Result<(), ToolError> {
                $($extractor::from_request(request)?;)*
                Ok(())
            }

            fn may_ask() -> bool {
                false $(|| $extractor::MAY_ASK)*
            }

            fn input_schema() -> RawJson {
                None::<RawJson>$(.or_else($extractor::input_schema))*
                    .unwrap_or_else(schema::of_nothing)
            }

            fn output_schema() -> Option<RawJson> {
                <Fut::Output as IntoToolResult<M>>::output_schema()
            }
        }
    )*};
}

handlers! {
    ();
    (A);
    (A, B);
    (A, B, C);
    (A, B, C, D);
    (A, B, C, D, E);
    (A, B, C, D, E, G);
    (A, B, C, D, E, G, H);
    (A, B, C, D, E, G, H, I);
}
