//! One call to a server that asks its client by requests, made by a client that
//! is asked in rounds.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

/// What such a call has come to: `A` is a question that the server waits for an
/// answer to, `R` the call's end.
#[derive(Debug)]
pub struct Bridged<A, R> {
    /// By the names that the client knows them by.
    asks: BTreeMap<String, A>,
    /// Numbers them, over all rounds.
    asked: u32,
    end: Option<R>,
}

/// What the client is told next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<R> {
    /// Nothing yet.
    Wait,
    /// What the server asks: another round.
    Round,
    /// The end.
    End(R),
}

impl<A, R> Default for Bridged<A, R> {
    fn default() -> Self {
        Self { asks: BTreeMap::new(), asked: 0, end: None }
    }
}

impl<A, R> Bridged<A, R> {
    /// The server asks something.
    pub fn ask(&mut self, ask: A) {
        let key = format!("ask_{}", self.asked);
        self.asked += 1;
        self.asks.insert(key, ask);
    }

    /// Drops the questions to which the server no longer wants an answer, or
    /// which cannot be put to the client.
    pub fn retain(&mut self, mut wanted: impl FnMut(&mut A) -> bool) {
        self.asks.retain(|_, ask| wanted(ask));
    }

    /// The call has ended; what is still asked is of no use.
    pub fn end(&mut self, end: R) {
        self.asks.clear();
        self.end = Some(end);
    }

    /// The client is back: the questions that `answers` names, with their
    /// answers. What it names besides is none of this round and is ignored.
    pub fn answered<T>(&mut self, answers: BTreeMap<String, T>) -> impl Iterator<Item = (A, T)> {
        answers.into_iter().filter_map(|(key, answer)| Some((self.asks.remove(&key)?, answer)))
    }

    /// The questions that wait for an answer, by name.
    pub fn asks(&self) -> impl Iterator<Item = (&str, &A)> {
        self.asks.iter().map(|(key, ask)| (key.as_str(), ask))
    }

    /// What the client is told next. The end is told once.
    pub fn step(&mut self) -> Next<R> {
        match self.end.take() {
            Some(end) => Next::End(end),
            None if self.asks.is_empty() => Next::Wait,
            None => Next::Round,
        }
    }

    /// Gives the call up: its questions, for somebody to refuse.
    pub fn give_up(&mut self) -> impl Iterator<Item = A> + use<A, R> {
        self.end = None;
        core::mem::take(&mut self.asks).into_values()
    }
}
