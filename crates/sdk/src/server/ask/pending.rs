//! Asks on their way to a session's client, and back.

use super::AskError;
use crate::server::PassedAsk;
use carrick_proto::method::Method;
use carrick_proto::peer::{AskKey, CallKey, Reply, ServerPeer};
use carrick_proto::rpc::Json;
use carrick_proto::types::RpcError;
use std::collections::BTreeMap;
use tokio::sync::oneshot;

/// A question of a handler's to the client, and where its answer goes.
///
/// Whoever drives a connection hands it to [`Asks`]; dropping it tells the
/// handler that the client cannot be asked.
#[derive(Debug)]
pub struct Question {
    pub(super) method: Method,
    pub(super) params: Vec<u8>,
    pub(super) answer: oneshot::Sender<Result<Json, AskError>>,
}

/// The asks of one connection that wait for their answers.
#[derive(Debug, Default)]
pub struct Asks {
    waiting: BTreeMap<AskKey, Waiting>,
}

/// Where an answer goes.
#[derive(Debug)]
enum Waiting {
    Read(oneshot::Sender<Result<Json, AskError>>),
    PassedOn(oneshot::Sender<Result<Reply, RpcError>>),
}

impl Waiting {
    fn is_gone(&self) -> bool {
        match self {
            Self::Read(answer) => answer.is_closed(),
            Self::PassedOn(answer) => answer.is_closed(),
        }
    }
}

impl Asks {
    /// Sends a question on behalf of a call.
    pub fn ask(&mut self, peer: &mut ServerPeer, key: CallKey, question: Question) {
        self.sweep(peer);
        match peer.ask(key, question.method, &question.params) {
            Ok(ask) => {
                self.waiting.insert(ask, Waiting::Read(question.answer));
            }
            Err(error) => {
                // The handler may have gone with its call.
                let _ = question.answer.send(Err(AskError::NoWay(error.message)));
            }
        }
    }

    /// Sends what another server asks.
    pub fn pass(&mut self, peer: &mut ServerPeer, ask: PassedAsk) {
        self.sweep(peer);
        match peer.pass_ask(ask.place, &ask.message, ask.from) {
            Ok(key) => {
                self.waiting.insert(key, Waiting::PassedOn(ask.answer));
            }
            // Whoever waited may have gone.
            Err(error) => drop(ask.answer.send(Err(error))),
        }
    }

    /// Takes back what nobody waits for any more.
    pub fn sweep(&mut self, peer: &mut ServerPeer) {
        let gone: Vec<AskKey> =
            self.waiting.iter().filter(|(_, w)| w.is_gone()).map(|(ask, _)| *ask).collect();
        for ask in gone {
            self.waiting.remove(&ask);
            peer.drop_ask(ask);
        }
    }

    /// A question did not reach the client; `why` goes to whoever asked.
    pub fn unreachable(&mut self, peer: &mut ServerPeer, ask: AskKey, why: &str) {
        peer.forget_ask(ask);
        // Whoever waited may have gone.
        match self.waiting.remove(&ask) {
            Some(Waiting::Read(waiting)) => drop(waiting.send(Err(AskError::NoWay(why.into())))),
            Some(Waiting::PassedOn(waiting)) => {
                let text = format!("the client cannot be asked: {why}");
                drop(waiting.send(Err(RpcError::internal(text))));
            }
            None => {}
        }
    }

    /// Passes an answer on, in the client's own words.
    pub fn replied(&mut self, ask: AskKey, reply: Reply) {
        if let Some(Waiting::PassedOn(answer)) = self.waiting.remove(&ask) {
            // Whoever waited may have gone.
            let _ = answer.send(Ok(reply));
        }
    }

    /// Passes an answer on.
    pub fn answered(&mut self, ask: AskKey, answer: Result<Json, RpcError>) {
        match self.waiting.remove(&ask) {
            // The handler may have given up meanwhile.
            Some(Waiting::Read(waiting)) => drop(waiting.send(answer.map_err(AskError::Refused))),
            Some(Waiting::PassedOn(waiting)) => {
                if let Err(error) = answer {
                    // Whoever waited may have gone.
                    let _ = waiting.send(Err(error));
                }
            }
            None => {}
        }
    }
}
