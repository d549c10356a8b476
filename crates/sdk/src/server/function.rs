//! Functions that answer with something else than a tool's result.

use super::{FromRequest, Request};
use carrick_proto::types::RpcError;
use futures_util::future::{BoxFuture, FutureExt, ready};
use std::future::Future;

/// An async function whose arguments are extractors ([`FromRequest`]) and whose
/// result becomes a `T`: a prompt's messages, or what a resource holds.
///
/// `M` only tells the implementations apart and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot answer with a `{T}`",
    note = "it has to be an async function of up to eight extractors"
)]
pub trait Function<T, M>: Send + Sync + 'static {
    /// Answers a request.
    fn call(&self, request: Request) -> BoxFuture<'static, Result<T, RpcError>>;

    /// Whether it may ask the client.
    fn may_ask() -> bool
    where
        Self: Sized;
}

/// What a [`Function`] may return for it to become a `T`.
#[diagnostic::on_unimplemented(message = "`{Self}` is nothing that a `{T}` can be made of")]
pub trait Becomes<T> {
    /// The whole answer.
    ///
    /// # Errors
    /// When there is none.
    fn become_answer(self) -> Result<T, RpcError>;
}

impl<T, U: Becomes<T>> Becomes<T> for Result<U, super::ToolError> {
    fn become_answer(self) -> Result<T, RpcError> {
        self.map_err(super::ToolError::into_rpc)?.become_answer()
    }
}

impl<T, U: Becomes<T>> Becomes<T> for Result<U, RpcError> {
    fn become_answer(self) -> Result<T, RpcError> {
        self?.become_answer()
    }
}

macro_rules! functions {
    ($(($($extractor:ident),*);)*) => {$(
        impl<F, Fut, T, $($extractor,)*> Function<T, ($($extractor,)*)> for F
        where
            T: Send + 'static,
            F: Fn($($extractor),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output: Becomes<T>> + Send + 'static,
            $($extractor: FromRequest,)*
        {
            #[allow(
                non_snake_case,
                unused_variables,
                reason = "the types' names serve as variables, and a function may take nothing"
            )]
            fn call(&self, request: Request) -> BoxFuture<'static, Result<T, RpcError>> {
                $(let $extractor = match $extractor::from_request(&request) {
                    Ok(value) => value,
                    Err(error) => return ready(Err(error.into_rpc())).boxed(),
                };)*
                // The message's bytes are not held while the function runs.
                drop(request);
                self($($extractor),*).map(Becomes::become_answer).boxed()
            }

            fn may_ask() -> bool {
                false $(|| $extractor::MAY_ASK)*
            }
        }
    )*};
}

functions! {
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
