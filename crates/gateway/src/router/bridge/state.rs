//! What a bridged call has come to.

use crate::backend::Lease;
use carrick::client::{CallError, Forwarded, Reply, ServerAsk};
use carrick::proto::flow::{Bridged, Next, input_required};
use carrick::proto::peer::CallKey;
use carrick::proto::revision::{Part, Revision, translate};
use carrick::proto::rpc::Json;
use carrick::server::Outbox;
use carrick::types::RpcError;
use std::sync::Arc;
use tokio::task::AbortHandle;

/// Its state.
pub(super) struct State {
    pub(super) call: Bridged<ServerAsk, End>,
    /// The request of the client that waits for the end, or for a question.
    pub(super) waiting: Option<Waiting>,
    pub(super) lease: Option<Lease>,
    /// Whether it is about to be parked.
    pub(super) parking: bool,
    work: Work,
}

/// A request of the client.
pub(super) struct Waiting {
    pub(super) outbox: Arc<dyn Outbox>,
    pub(super) key: CallKey,
    /// Tells it from all others.
    pub(super) turn: u64,
}

/// How a call has ended.
pub(super) enum End {
    Answered(Reply),
    Failed(CallError),
    Refused(RpcError),
}

impl End {
    /// The memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Answered(reply) => reply.message().bytes().len(),
            Self::Failed(_) | Self::Refused(_) => 0,
        }
    }
}

/// What is being done for a call.
pub(super) enum Work {
    Nothing,
    Passed(#[expect(dead_code, reason = "dropping it gives the call up")] Forwarded),
    Task(AbortHandle),
    Over,
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Self::Task(task) = self {
            task.abort();
        }
    }
}

/// What is left of a call that has ended.
pub(super) struct Ended {
    pub(super) asks: Vec<ServerAsk>,
    pub(super) lease: Option<Lease>,
    pub(super) work: Work,
}

impl State {
    pub(super) fn new(waiting: Waiting) -> Self {
        Self {
            call: Bridged::default(),
            waiting: Some(waiting),
            lease: None,
            parking: false,
            work: Work::Nothing,
        }
    }

    /// The server asks something.
    pub(super) fn ask(&mut self, ask: ServerAsk) {
        // Dropping it refuses it.
        if !matches!(self.work, Work::Over) {
            self.call.ask(ask);
        }
    }

    pub(super) fn begin(&mut self, task: AbortHandle) {
        match self.work {
            Work::Nothing => self.work = Work::Task(task),
            // The task has come further already.
            Work::Passed(_) | Work::Task(_) => {}
            Work::Over => task.abort(),
        }
    }

    /// Keeps the connection; it comes back when the call has ended.
    pub(super) fn lease(&mut self, lease: Lease) -> Result<(), Lease> {
        if matches!(self.work, Work::Over) {
            return Err(lease);
        }
        self.lease = Some(lease);
        Ok(())
    }

    pub(super) fn passed(&mut self, forwarded: Forwarded) {
        if !matches!(self.work, Work::Over) {
            self.work = Work::Passed(forwarded);
        }
    }

    /// Keeps the end for a client that is not there. What it leaves behind.
    pub(super) fn keep(&mut self, end: End) -> (Option<Lease>, Work) {
        self.call.end(end);
        (self.lease.take(), std::mem::replace(&mut self.work, Work::Nothing))
    }

    /// The round that is due: its body and the memory of its questions. None
    /// when there is nothing to ask any more.
    pub(super) fn round(&mut self, to: Revision, sealed: &str) -> Option<(Vec<u8>, usize)> {
        self.call.retain(|ask| !ask.is_withdrawn());
        let mut questions = Vec::new();
        let mut unsayable = Vec::new();
        for (key, ask) in self.call.asks() {
            match question(ask, to) {
                Some(params) => questions.push((key.to_owned(), ask.message().method(), params)),
                None => unsayable.push(key.to_owned()),
            }
        }
        let unsayable = unsayable.into_iter().map(|key| (key, ())).collect();
        for (ask, ()) in self.call.answered(unsayable) {
            let text = "the client's revision has no form for this";
            ask.refuse(RpcError::invalid_params(text));
        }
        if !matches!(self.call.step(), Next::Round) {
            return None;
        }
        let bytes = self.call.asks().map(|(_, ask)| ask.message().bytes().len()).sum();
        let asks = questions
            .iter()
            .map(|(key, method, params)| (key.as_str(), method.name(), params.as_bytes()));
        Some((input_required(asks, sealed), bytes))
    }

    /// Takes apart what is left.
    pub(super) fn end(&mut self) -> Ended {
        Ended {
            asks: self.call.give_up().collect(),
            lease: self.lease.take(),
            work: std::mem::replace(&mut self.work, Work::Over),
        }
    }
}

/// A question's parameters in the client's revision.
fn question(ask: &ServerAsk, to: Revision) -> Option<Json> {
    let method = ask.message().method();
    let params = ask.message().body().or_else(empty)?;
    let (params, _) = translate(params, Part::Params(method), ask.revision(), to).ok()?;
    Some(params)
}

fn empty() -> Option<Json> {
    Json::parse(bytes::Bytes::from_static(b"{}"), Default::default()).ok()
}
