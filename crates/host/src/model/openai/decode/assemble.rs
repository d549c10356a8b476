//! Putting streamed tool calls together.
//!
//! OpenAI numbers the calls of an answer and cuts their arguments; others number all calls 0,
//! leave the number or the id out, repeat the name in every chunk, send the arguments whole or
//! as an object, or send them twice.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Fault;
use crate::model::Event;
use crate::model::calls::Draft;

/// The most calls in one answer.
const MAX_CALLS: usize = 512;

/// The calls of one answer, in the order of their beginnings.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    turn: usize,
    calls: Vec<Slot>,
}

#[derive(Debug)]
struct Slot {
    index: Option<u64>,
    draft: Draft,
}

impl Assembly {
    pub(super) fn new(turn: usize) -> Self {
        Self { turn, calls: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds a piece to the call it belongs to, or begins a call.
    pub(super) fn add(&mut self, delta: CallDelta<'_>) -> Result<(), Fault> {
        let function = delta.function.unwrap_or_default();
        let piece = Piece {
            index: delta.index,
            id: delta.id.unwrap_or_default(),
            name: function.name.unwrap_or_default(),
            arguments: function.arguments.map(arguments_text).transpose()?.unwrap_or_default(),
        };
        let place = match piece.place(&self.calls) {
            Some(place) => place,
            None if self.calls.len() == MAX_CALLS => {
                return Err(Fault::protocol(format!("more than {MAX_CALLS} tool calls at once")));
            }
            None => {
                self.calls.push(Slot { index: piece.index, draft: Draft::default() });
                self.calls.len() - 1
            }
        };
        piece.join(&mut self.calls[place].draft);
        Ok(())
    }

    /// Ends all calls. Ids that are missing or not unique are made up from the turn and the
    /// place, so that the same answer always gets the same ids.
    pub(super) fn finish(self, cut: bool) -> impl Iterator<Item = Event> {
        let turn = self.turn;
        let mut used = HashSet::new();
        self.calls.into_iter().enumerate().map(move |(place, slot)| {
            let mut draft = slot.draft;
            if draft.id.is_empty() || !used.insert(draft.id.clone()) {
                draft.id = format!("call_{turn}_{place}");
                used.insert(draft.id.clone());
            }
            draft.finish(cut)
        })
    }
}

/// A delta with absent members made empty.
struct Piece {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Piece {
    /// The call this piece continues; `None` if it begins one.
    fn place(&self, calls: &[Slot]) -> Option<usize> {
        if self.index.is_some() {
            let place = calls.iter().rposition(|slot| slot.index == self.index)?;
            return (!self.begins_after(&calls[place].draft)).then_some(place);
        }
        if !self.id.is_empty() {
            let place = calls.iter().rposition(|slot| slot.draft.id == self.id);
            // A piece with an id of its own continues a call that has none yet only if it
            // brings no name.
            let last = calls.len().checked_sub(1)?;
            let adopts = self.name.is_empty() && calls[last].draft.id.is_empty();
            return place.or(adopts.then_some(last));
        }
        let last = calls.len().checked_sub(1)?;
        let draft = &calls[last].draft;
        let continues = self.name.is_empty() || (self.name == draft.name && !draft.is_whole());
        continues.then_some(last)
    }

    /// Whether this begins a new call although it bears the number of `draft`: it has another
    /// id, or a name after the arguments are whole.
    fn begins_after(&self, draft: &Draft) -> bool {
        if !self.id.is_empty() && !draft.id.is_empty() {
            return self.id != draft.id && !self.name.is_empty();
        }
        let names = !self.name.is_empty();
        names && (self.name != draft.name || !self.arguments.is_empty()) && draft.is_whole()
    }

    fn join(self, draft: &mut Draft) {
        if draft.id.is_empty() {
            draft.id = self.id;
        }
        if self.name != draft.name {
            draft.name.push_str(&self.name);
        }
        // Some servers send the whole arguments again at the end.
        let repeated = self.arguments == draft.arguments && draft.is_whole();
        if !repeated {
            draft.arguments.push_str(&self.arguments);
        }
    }
}

/// Arguments come as JSON in a string, or as the object itself.
fn arguments_text(raw: &RawValue) -> Result<String, Fault> {
    match raw.get() {
        text if text.starts_with('"') => serde_json::from_str(text)
            .map_err(|error| Fault::protocol(format!("arguments of a call: {error}"))),
        text => Ok(text.to_owned()),
    }
}

#[derive(Default, Deserialize)]
pub(super) struct CallDelta<'a> {
    index: Option<u64>,
    id: Option<String>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
}

impl<'a> CallDelta<'a> {
    pub(super) fn of_function(function: Function<'a>) -> Self {
        Self { index: Some(0), id: None, function: Some(function) }
    }
}

#[derive(Default, Deserialize)]
pub(super) struct Function<'a> {
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}
