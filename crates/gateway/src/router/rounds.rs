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

/// Whether the client may be asked this, as far as it has said what it can do: the method, and
/// what the parameters use of it.
fn check(ask: &InputAsk, can: &ClientCapabilities) -> Result<(), String> {
    let refused = match can.admit(ask.method, ask.message.body_bytes()) {
        Ok(()) => return Ok(()),
        Err(error) => error.message,
    };
    let key = carrick::proto::text::excerpt(&ask.key, 200);
    Err(match ask.method {
        Method::ElicitationCreate | Method::SamplingCreateMessage | Method::RootsList => {
            format!("inputRequests.{key}, {}: {refused}", ask.method.name())
        }
        _ => {
            let name = ask.message.method_name();
            let brief = carrick::proto::text::excerpt(&name, 200);
            format!("inputRequests.{key}: {brief:?} is no question")
        }
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use carrick::proto::revision::Revision;
    use carrick::proto::rpc::{Limits, Scanned, scan};

    fn checked(method: &str, params: &str, can: &str) -> Result<(), String> {
        let round = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"input_required",
            "inputRequests":{{"q":{{"method":"{method}","params":{params}}}}}}}}}"#
        );
        let Ok(Scanned::One(message)) = scan(round.into(), Limits::default()) else { panic!() };
        let reply = Reply::new(message, Revision::NEWEST).unwrap();
        let (asks, _) = input_asks(&reply).unwrap();
        check(&asks[0], &serde_json::from_str(can).unwrap())
    }

    const FORM: &str = r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#;
    const PAGE: &str = r#"{"mode":"url","message":"m","url":"https://e.example"}"#;
    const SAMPLE: &str = r#"{"messages":[],"maxTokens":1}"#;
    const WITH_TOOLS: &str = r#"{"messages":[],"maxTokens":1,"tools":[]}"#;

    #[test]
    fn f40_a_question_of_a_round_is_checked_with_its_parameters() {
        let (elicit, sample) = ("elicitation/create", "sampling/createMessage");
        for (method, params, can) in [
            (elicit, FORM, r#"{"elicitation":{}}"#),
            (elicit, PAGE, r#"{"elicitation":{"url":{}}}"#),
            (sample, SAMPLE, r#"{"sampling":{}}"#),
            (sample, WITH_TOOLS, r#"{"sampling":{"tools":{}}}"#),
            ("roots/list", "{}", r#"{"roots":{}}"#),
        ] {
            assert_eq!(checked(method, params, can), Ok(()), "{params} {can}");
        }
        for (method, params, can, says) in [
            (elicit, FORM, "{}", "does not offer \"elicitation/create\""),
            (elicit, PAGE, r#"{"elicitation":{}}"#, "does not offer elicitation by URL"),
            (elicit, FORM, r#"{"elicitation":{"url":{}}}"#, "does not offer forms"),
            (elicit, r#"{"mode":"voice"}"#, r#"{"elicitation":{}}"#, "elicitation/create: "),
            (sample, WITH_TOOLS, r#"{"sampling":{}}"#, "does not offer sampling with tools"),
            (sample, r#"{"messages":7}"#, r#"{"sampling":{}}"#, "sampling/createMessage: "),
            ("tools/call", "{}", r#"{"roots":{}}"#, "\"tools/call\" is no question"),
            ("x/y", "{}", r#"{"roots":{}}"#, "\"x/y\" is no question"),
        ] {
            let text = checked(method, params, can).unwrap_err();
            assert!(text.starts_with("inputRequests.q") && text.contains(says), "{text}");
        }
    }
}
