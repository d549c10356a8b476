//! A server asks in rounds, and the client of a session is asked by requests.

use crate::questions;
use carrick::client::Reply;
use carrick::proto::flow::{InputAsk, input_asks};
use carrick::proto::method::Method;
use carrick::proto::peer::{AskPlace, CallKey, Outcome};
use carrick::server::Outbox;
use carrick::types::{ClientCapabilities, RpcError};
use futures_util::future::join_all;

/// Puts the questions of a round to the client, all of them side by side. The
/// members of the retry, with the answers.
///
/// A round of which one question cannot be put is not put at all.
pub(super) async fn answers(
    outbox: &dyn Outbox,
    key: CallKey,
    can: &ClientCapabilities,
    reply: &Reply,
) -> Result<Vec<u8>, Outcome> {
    let fail = |error: &dyn std::fmt::Display| {
        Outcome::Error(RpcError::internal(format!("the server's request for input: {error}")))
    };
    let (asks, state) = input_asks(reply).map_err(|error| fail(&error))?;
    for ask in &asks {
        check(ask, can).map_err(|error| fail(&error))?;
    }
    let answers = join_all(asks.into_iter().map(|ask| async move {
        let (place, message) = (AskPlace::Of(key), ask.message.clone());
        let put = questions::pass(outbox, place, message, reply.revision());
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

/// Whether the client may be asked this, as far as it has said what it can do.
fn check(ask: &InputAsk, can: &ClientCapabilities) -> Result<(), String> {
    let may = match ask.method {
        Method::ElicitationCreate => can.elicitation.is_some(),
        Method::SamplingCreateMessage => can.sampling.is_some(),
        Method::RootsList => can.roots.is_some(),
        _ => {
            let name = ask.message.method_name();
            let brief = carrick::proto::text::excerpt(&name, 200);
            return Err(format!("{brief:?} is no question"));
        }
    };
    let name = ask.method.name();
    if may { Ok(()) } else { Err(format!("{name}, which the client did not declare")) }
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
