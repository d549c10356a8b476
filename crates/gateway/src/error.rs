//! What a client is told when its call did not reach the server, or came to
//! nothing there.

use carrick::client::CallError;
use carrick::client::managed::ManagedError;
use carrick::types::RpcError;

/// An error of a call that was passed on, naming the server.
pub(crate) fn of_call(server: &str, error: CallError) -> RpcError {
    match error {
        CallError::Rpc(error) => error,
        CallError::Params(what) => {
            let text = format!("server {server:?} cannot be asked this: {what}");
            RpcError::invalid_params(text)
        }
        CallError::NotOffered(what) => {
            let text = format!("server {server:?} does not offer {what}");
            RpcError::new(RpcError::METHOD_NOT_FOUND, text)
        }
        error @ CallError::Backlog { .. } => {
            RpcError::overloaded(format!("server {server:?}: {error}"))
        }
        other => RpcError::internal(format!("server {server:?}: {other}")),
    }
}

/// The server cannot be reached.
pub(crate) fn unreachable(server: &str, error: &ManagedError) -> RpcError {
    RpcError::internal(match error {
        ManagedError::Closed => "the gateway is about to end".to_owned(),
        ManagedError::Ended { how, .. } => format!("server {server:?}: {how}"),
        _ => format!("server {server:?} cannot be reached: {error}"),
    })
}
