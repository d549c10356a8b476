//! Asks on their way to a session's client, and back.

use super::AskError;
use carrick_proto::method::Method;
use carrick_proto::peer::{AskKey, CallKey, ServerPeer};
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
    waiting: BTreeMap<AskKey, oneshot::Sender<Result<Json, AskError>>>,
}

impl Asks {
    /// Sends a question on behalf of a call.
    pub fn ask(&mut self, peer: &mut ServerPeer, key: CallKey, question: Question) {
        // Those whose handlers have gone are of no use to anybody.
        let gone: Vec<AskKey> = self
            .waiting
            .iter()
            .filter(|(_, answer)| answer.is_closed())
            .map(|(ask, _)| *ask)
            .collect();
        for ask in gone {
            self.waiting.remove(&ask);
            peer.drop_ask(ask);
        }
        match peer.ask(key, question.method, &question.params) {
            Ok(ask) => {
                self.waiting.insert(ask, question.answer);
            }
            Err(error) => {
                // The handler may have gone with its call.
                let _ = question.answer.send(Err(AskError::NoWay(error.message)));
            }
        }
    }

    /// Passes an answer on.
    pub fn answered(&mut self, ask: AskKey, answer: Result<Json, RpcError>) {
        if let Some(waiting) = self.waiting.remove(&ask) {
            // The handler may have given up meanwhile.
            let _ = waiting.send(answer.map_err(AskError::Refused));
        }
    }
}
