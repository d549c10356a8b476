//! Running a handler again with what earlier rounds have learnt.

use super::round::{Ended, Journal, Open, Round};
use super::seal::{StateKeys, Unsealable};
use crate::server::{Answering, Principal};
use carrick_proto::flow;
use carrick_proto::peer::{Call, Outcome};
use carrick_proto::rpc::{Field, Message, canonical};
use carrick_proto::types::{RawJson, RpcError};
use futures_util::future::FutureExt;
use ring::digest::{SHA256, digest};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a client may take between two rounds.
const LIFETIME: Duration = Duration::from_secs(30 * 60);

/// What a handler's run on a request without a session needs besides the handler.
pub(crate) struct Rerun {
    pub(crate) round: Arc<Round>,
    keys: Arc<StateKeys>,
    /// What its state is bound to: made when there is something to seal, since
    /// it goes over all arguments, and most handlers ask nothing.
    request: Message,
    principal: Option<Principal>,
}

impl Rerun {
    /// Takes up a request: a first round, or a retry with its state and answers.
    pub(crate) fn begin(
        call: &Call,
        principal: Option<&Principal>,
        keys: &Arc<StateKeys>,
    ) -> Result<Self, RpcError> {
        let journal = match call.message.field(Field::RequestState) {
            None => Journal::default(),
            Some(_) => journal(call, principal, keys)?,
        };
        let responses = match call.message.field(Field::InputResponses) {
            None => BTreeMap::new(),
            Some(json) => serde_json::from_slice::<BTreeMap<String, RawJson>>(json)
                .map_err(|e| RpcError::invalid_params(format!("params.inputResponses: {e}")))?,
        };
        let round = Arc::new(Round::new(journal, responses));
        let (request, principal) = (call.message.clone(), principal.cloned());
        Ok(Self { round, keys: keys.clone(), request, principal })
    }

    /// Drives a handler to its end, or to the end of this round.
    pub(crate) fn drive(self, handler: Answering) -> impl Future<Output = Outcome> + Send {
        Driven { handler, rerun: self }
    }

    /// What ends the request before the handler does, if anything.
    fn interruption(&self) -> Option<Outcome> {
        if let Some(error) = self.round.take_fatal() {
            return Some(Outcome::Error(error));
        }
        let expires = now() + LIFETIME.as_secs();
        match self.round.take_open(expires)? {
            Ok(Ended { open, journal }) => {
                let binding = match binding(&self.request, self.principal.as_ref()) {
                    Ok(binding) => binding,
                    Err(error) => return Some(Outcome::Error(error)),
                };
                match self.keys.seal(&binding, &journal) {
                    Ok(state) => Some(Outcome::InputRequired(input_required(&open, &state))),
                    Err(Unsealable) => Some(Outcome::Error(RpcError::internal(
                        "the request's state cannot be sealed",
                    ))),
                }
            }
            Err(error) => Some(Outcome::Error(error)),
        }
    }
}

struct Driven {
    handler: Answering,
    rerun: Rerun,
}

impl Future for Driven {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let polled = self.handler.poll_unpin(cx);
        if let Some(error) = self.rerun.round.take_fatal() {
            return Poll::Ready(Outcome::Error(error));
        }
        match polled {
            Poll::Ready(outcome) => Poll::Ready(outcome),
            // All that was asked in this poll goes out as one round.
            Poll::Pending => match self.rerun.interruption() {
                Some(outcome) => Poll::Ready(outcome),
                None => Poll::Pending,
            },
        }
    }
}

fn journal(
    call: &Call,
    principal: Option<&Principal>,
    keys: &StateKeys,
) -> Result<Journal, RpcError> {
    let invalid = || RpcError::invalid_params(Unsealable.to_string());
    let sealed = call.message.text(Field::RequestState).ok_or_else(invalid)?;
    let opened = keys.open(&state_binding(call, principal)?, &sealed).map_err(|_| invalid())?;
    let journal: Journal = serde_json::from_slice(&opened).map_err(|_| invalid())?;
    if journal.expires < now() {
        return Err(RpcError::invalid_params("requestState has expired; begin the request anew"));
    }
    Ok(journal)
}

fn input_required(open: &[Open], state: &str) -> Vec<u8> {
    flow::input_required(open.iter().map(|ask| (&*ask.key, ask.method, &*ask.params)), state)
}

/// What the state of a request is bound to: the method, and a digest of what it is about that
/// does not depend on how the client writes it ([`canonical`]; numbers count as they are
/// written), and on whose behalf it is made.
///
/// # Errors
/// -32602 when the arguments hold what readers would take for different things: half of a
/// surrogate pair, or a number that no double holds.
pub fn state_binding(call: &Call, principal: Option<&Principal>) -> Result<Vec<u8>, RpcError> {
    binding(&call.message, principal)
}

fn binding(message: &Message, principal: Option<&Principal>) -> Result<Vec<u8>, RpcError> {
    let mut text = message.method_name().into_owned().into_bytes();
    for (field, name) in
        [(Field::Name, "name"), (Field::Uri, "uri"), (Field::Arguments, "arguments")]
    {
        text.push(0);
        if let Some(json) = message.field(field) {
            let json = canonical(json).map_err(|error| {
                let what = "a request that waits for input cannot be bound to that";
                RpcError::invalid_params(format!("params.{name}: {error}; {what}"))
            })?;
            text.extend_from_slice(&json);
        }
    }
    if let Some(principal) = principal {
        // JSON texts have no such byte, so that nothing else ends like this.
        text.push(0);
        principal.write_to(&mut text);
    }
    Ok(digest(&SHA256, &text).as_ref().to_vec())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
