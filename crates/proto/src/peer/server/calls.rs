//! The calls that wait for the application.

use super::{Active, CallKey};
use crate::peer::Lane;
use crate::rpc::Id;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// As long as there are no more slots, an id is looked for in all of them.
const FEW: usize = 16;

/// Calls by their keys, and by the ids that the client gave them.
///
/// An engine for one exchange has one call, and should pay for no more.
#[derive(Default)]
pub(super) struct Calls {
    slots: Vec<Slot>,
    /// The first of the free slots, which are a list.
    free: Option<u32>,
    len: u32,
    /// The turn that new slots begin with: no key was ever given out twice.
    first_turn: u32,
    /// The slot of each id, once there have been more than a [`FEW`].
    ids: BTreeMap<Id, u32>,
}

struct Slot {
    turn: u32,
    content: Content,
}

enum Content {
    Call(Active),
    /// The next free slot.
    Free(Option<u32>),
}

impl Slot {
    fn call(&self) -> Option<&Active> {
        match &self.content {
            Content::Call(call) => Some(call),
            Content::Free(_) => None,
        }
    }
}

impl Calls {
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    #[cfg(test)]
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Gives back all memory, if there is no call.
    pub(super) fn shrink(&mut self) {
        if self.len == 0 {
            let turns = self.slots.iter().map(|slot| slot.turn);
            let first_turn = turns.max().unwrap_or(self.first_turn);
            *self = Self { first_turn, ..Self::default() };
        }
    }

    /// Adds a call, whose id must not be that of another.
    pub(super) fn insert(&mut self, call: Active) -> CallKey {
        if self.is_indexed() {
            self.ids.insert(call.id.clone(), self.free.unwrap_or(self.slots.len() as u32));
        }
        self.len += 1;
        let at = self.free;
        if let Some((at, slot)) = at.and_then(|at| Some((at, self.slots.get_mut(at as usize)?))) {
            let content = core::mem::replace(&mut slot.content, Content::Call(call));
            self.free = match content {
                Content::Free(next) => next,
                // No slot of the list has a call.
                Content::Call(_) => None,
            };
            return CallKey { slot: at, turn: slot.turn };
        }
        self.push(call)
    }

    fn push(&mut self, call: Active) -> CallKey {
        let key = CallKey { slot: self.slots.len() as u32, turn: self.first_turn };
        if self.slots.is_empty() {
            self.slots.reserve_exact(1);
        }
        self.slots.push(Slot { turn: key.turn, content: Content::Call(call) });
        if self.slots.len() == FEW + 1 {
            let calls = (0u32..).zip(&self.slots);
            let ids = calls.filter_map(|(at, slot)| Some((slot.call()?.id.clone(), at)));
            self.ids = ids.collect();
        }
        key
    }

    /// Whether the index is kept.
    fn is_indexed(&self) -> bool {
        self.slots.len() > FEW
    }

    pub(super) fn get(&self, key: CallKey) -> Option<&Active> {
        self.slots.get(key.slot as usize).filter(|slot| slot.turn == key.turn)?.call()
    }

    pub(super) fn get_mut(&mut self, key: CallKey) -> Option<&mut Active> {
        let slot = self.slots.get_mut(key.slot as usize).filter(|slot| slot.turn == key.turn)?;
        match &mut slot.content {
            Content::Call(call) => Some(call),
            Content::Free(_) => None,
        }
    }

    /// The call of this id.
    pub(super) fn find(&self, id: &Id) -> Option<CallKey> {
        let at = match self.is_indexed() {
            true => *self.ids.get(id)?,
            false => {
                let has_id = |slot: &Slot| slot.call().is_some_and(|call| call.id == *id);
                self.slots.iter().position(has_id)? as u32
            }
        };
        Some(CallKey { slot: at, turn: self.slots.get(at as usize)?.turn })
    }

    /// The calls of a lane.
    pub(super) fn of_lane(&self, lane: Lane) -> impl Iterator<Item = CallKey> {
        let slots = (0u32..).zip(&self.slots);
        slots
            .filter(move |(_, slot)| slot.call().is_some_and(|call| call.place.lane == lane))
            .map(|(at, slot)| CallKey { slot: at, turn: slot.turn })
    }

    /// Takes a call out, after which its key is nobody's.
    pub(super) fn remove(&mut self, key: CallKey) -> Option<Active> {
        self.get(key)?;
        let slot = self.slots.get_mut(key.slot as usize)?;
        let Content::Call(call) = core::mem::replace(&mut slot.content, Content::Free(self.free))
        else {
            return None;
        };
        slot.turn = slot.turn.wrapping_add(1);
        self.free = Some(key.slot);
        self.len -= 1;
        self.ids.remove(&call.id);
        Some(call)
    }
}
