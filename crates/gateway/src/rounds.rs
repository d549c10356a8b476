//! A server asks in rounds, and the client of a session is asked by requests.

use crate::asks;
use crate::call::Passing;
use carrick::client::Reply;
use carrick::proto::flow::{InputAsk, input_asks};
use carrick::proto::peer::{AskPlace, Outcome};
use carrick::types::RpcError;
use futures_util::future::join_all;
use std::sync::Arc;

/// Puts the questions of a round to the client, all of them side by side, and
/// asks the server again with the answers.
pub(crate) async fn answer(passing: Arc<Passing>, reply: Reply) {
    match members(&passing, &reply).await {
        Ok(members) => {
            if let Some(forward) = passing.again() {
                let mut forward = forward.clone();
                forward.extra = members;
                passing.resend(forward);
            }
        }
        Err(outcome) => passing.finish(outcome),
    }
}

/// The members of the retry.
async fn members(passing: &Passing, reply: &Reply) -> Result<Vec<u8>, Outcome> {
    let fail = |error: &dyn std::fmt::Display| {
        Outcome::Error(RpcError::internal(format!("the server's request for input: {error}")))
    };
    let (asks, state) = input_asks(reply).map_err(|error| fail(&error))?;
    let answers = join_all(asks.into_iter().map(|ask| async move {
        let put = asks::pass(
            &*passing.outbox,
            AskPlace::Of(passing.key),
            ask.message.clone(),
            reply.revision(),
        );
        (ask, put.await)
    }));
    let mut members = Vec::new();
    for (ask, answer) in answers.await {
        let answer = match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(Outcome::Error(error)),
            Err(_) => return Err(fail(&"the client cannot be asked")),
        };
        if answer.is_error() {
            // A question that has no answer ends the call, in the client's words.
            return Err(Outcome::Forwarded(answer));
        }
        push_answer(&mut members, &ask, &answer, reply).map_err(|error| fail(&error))?;
    }
    if !members.is_empty() {
        members.push(b'}');
    }
    // Echoed exactly as it came, and only where it came.
    if let Some(state) = state {
        if !members.is_empty() {
            members.push(b',');
        }
        members.extend_from_slice(b"\"requestState\":");
        members.extend_from_slice(state.get().as_bytes());
    }
    Ok(members)
}

fn push_answer(
    members: &mut Vec<u8>,
    ask: &InputAsk,
    answer: &Reply,
    reply: &Reply,
) -> Result<(), String> {
    let (body, _) =
        answer.body_in(ask.method, reply.revision()).map_err(|error| error.to_string())?;
    let start: &[u8] = if members.is_empty() { b"\"inputResponses\":{" } else { b"," };
    members.extend_from_slice(start);
    members.extend(serde_json::to_vec(&ask.key).map_err(|error| error.to_string())?);
    members.push(b':');
    members.extend_from_slice(body.as_bytes());
    Ok(())
}
