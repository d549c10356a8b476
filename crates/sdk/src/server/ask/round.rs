//! One run of a handler, and what earlier runs of it have learnt.
//!
//! On modern requests a handler that asks is run again from the top each
//! round. Its asks are numbered in the order it makes them; the journal holds
//! the answers by number and comes back with the client's retry.

use super::AskError;
use carrick_proto::types::{RawJson, RpcError};
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes that the journal may have before it is sealed.
const LIMIT: usize = 256 << 10;

/// An ask of this round that has no answer yet.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) key: String,
    pub(crate) method: &'static str,
    pub(crate) params: Vec<u8>,
}

/// What is remembered of an ask or a step.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    key: String,
    method: String,
    /// The start of the digest of what was asked, in hexadecimal.
    digest: String,
    answer: RawJson,
}

/// The journal as it is sealed.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Journal {
    /// Seconds since 1970 after which it is worth nothing.
    pub(crate) expires: u64,
    /// How many asks and steps the rounds before have come to.
    #[serde(default)]
    covered: usize,
    entries: BTreeMap<usize, Entry>,
}

/// One run of a handler.
pub(crate) struct Round {
    state: Mutex<State>,
}

struct State {
    journal: Journal,
    /// The client's answers to the round before, by key.
    responses: BTreeMap<String, RawJson>,
    /// The number of the next ask.
    next: usize,
    open: Vec<Open>,
    /// Ends the request whatever the handler does.
    fatal: Option<RpcError>,
}

/// A round that ended with asks.
pub(crate) struct Ended {
    pub(crate) open: Vec<Open>,
    /// What to seal with them.
    pub(crate) journal: Vec<u8>,
}

/// What became of an ask.
pub(crate) enum Asked {
    Answered(RawJson),
    /// The round ends here; the handler is run again with the answer.
    Waiting,
}

impl Round {
    pub(crate) fn new(journal: Journal, responses: BTreeMap<String, RawJson>) -> Self {
        let state = State { journal, responses, next: 0, open: Vec::new(), fatal: None };
        Self { state: Mutex::new(state) }
    }

    /// Whether the handler goes over ground that it has covered before.
    pub(crate) fn is_replay(&self) -> bool {
        let state = self.state();
        state.next < state.journal.covered
    }

    /// Makes the next ask.
    pub(crate) fn ask(
        &self,
        key: Option<&str>,
        method: &'static str,
        params: Vec<u8>,
    ) -> Result<Asked, AskError> {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        let key = key.map_or_else(|| format!("ask_{number}"), str::to_owned);
        if let Some(entry) = state.journal.entries.get(&number) {
            if entry.key == key && entry.method == method && entry.digest == fingerprint(&params) {
                return Ok(Asked::Answered(entry.answer.clone()));
            }
            return Err(state.not_deterministic(number));
        }
        if let Some(answer) = state.responses.remove(&key) {
            let digest = fingerprint(&params);
            let entry = Entry { key, method: method.into(), digest, answer: answer.clone() };
            state.journal.entries.insert(number, entry);
            return Ok(Asked::Answered(answer));
        }
        state.open.push(Open { key, method, params });
        Ok(Asked::Waiting)
    }

    /// Begins a step: its recorded result, or else the number to record it by.
    pub(crate) fn begin_step(&self, key: &str) -> Result<Result<RawJson, usize>, AskError> {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        match state.journal.entries.get(&number) {
            None => Ok(Err(number)),
            Some(entry) if entry.key == key && entry.method == STEP => Ok(Ok(entry.answer.clone())),
            Some(_) => Err(state.not_deterministic(number)),
        }
    }

    /// Records a step's result.
    pub(crate) fn end_step(&self, number: usize, key: &str, answer: RawJson) {
        let entry = Entry { key: key.into(), method: STEP.into(), digest: String::new(), answer };
        self.state().journal.entries.insert(number, entry);
    }

    /// Ends the request with this error.
    pub(crate) fn fail(&self, error: RpcError) {
        self.state().fatal.get_or_insert(error);
    }

    /// What ends the request, if anything does.
    pub(crate) fn take_fatal(&self) -> Option<RpcError> {
        self.state().fatal.take()
    }

    /// The end of this round, when something was asked in it.
    pub(crate) fn take_open(&self, expires: u64) -> Option<Result<Ended, RpcError>> {
        let mut state = self.state();
        if state.open.is_empty() {
            return None;
        }
        let open = std::mem::take(&mut state.open);
        state.journal.expires = expires;
        state.journal.covered = state.journal.covered.max(state.next);
        let journal = match serde_json::to_vec(&state.journal) {
            Ok(journal) => journal,
            Err(error) => return Some(Err(RpcError::internal(error.to_string()))),
        };
        if journal.len() > LIMIT {
            let text = format!("the answers so far have more than {LIMIT} bytes");
            return Some(Err(RpcError::internal(text)));
        }
        Some(Ok(Ended { open, journal }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn not_deterministic(&mut self, number: usize) -> AskError {
        let text = format!(
            "handler is not deterministic: ask {number} is not the one that was answered before"
        );
        self.fatal.get_or_insert(RpcError::internal(text.clone()));
        AskError::NotDeterministic(text)
    }
}

const STEP: &str = "step";

/// The start of a digest: two different asks never share it in practice.
fn fingerprint(params: &[u8]) -> String {
    let digest = digest(&SHA256, params);
    digest.as_ref()[..12].iter().map(|byte| format!("{byte:02x}")).collect()
}
