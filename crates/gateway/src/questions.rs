//! What a server asks in the middle of a call, put to the client of a session.

use carrick::client::ServerAsk;
use carrick::proto::peer::{AskPlace, Reply};
use carrick::proto::revision::Revision;
use carrick::proto::rpc::Message;
use carrick::server::{Outbox, PassedAsk};
use carrick::types::RpcError;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Puts a request of the server's to the client, and its answer back. Whichever
/// side gives it up takes it from the other.
pub(crate) fn put(outbox: Arc<dyn Outbox>, place: AskPlace, mut ask: ServerAsk) {
    let answer = pass(&*outbox, place, ask.message().clone(), ask.revision());
    tokio::spawn(async move {
        let answered = tokio::select! {
            answered = answer => answered,
            () = ask.withdrawn() => {
                // The answer's receiver is gone with the other branch.
                outbox.sweep_asks();
                return;
            }
        };
        match answered {
            Ok(Ok(reply)) => ask.answer(reply),
            Ok(Err(error)) => ask.refuse(error),
            Err(_) => ask.refuse(RpcError::internal("the client cannot be asked: it is gone")),
        }
    });
}

/// Sends a question to the client of a session.
pub(crate) fn pass(
    outbox: &dyn Outbox,
    place: AskPlace,
    message: Message,
    from: Revision,
) -> oneshot::Receiver<Result<Reply, RpcError>> {
    let (answer, answered) = oneshot::channel();
    outbox.pass_ask(PassedAsk { place, message, from, answer });
    answered
}
