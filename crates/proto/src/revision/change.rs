//! One change of shape between two neighbouring revisions, as data.

use super::translate::Part;
use alloc::vec::Vec;

/// What changed for one part of the protocol, each way.
///
/// Several changes of one part are made in the order they stand.
pub(super) struct Change {
    pub(super) on: Part,
    /// From the revision before to this one.
    pub(super) up: &'static [Op],
    /// From this revision to the one before.
    pub(super) down: &'static [Op],
}

impl Change {
    /// What going down changes where going up changes nothing.
    pub(super) const fn down(on: Part, down: &'static [Op]) -> Self {
        Self { on, up: &[], down }
    }

    /// What going up changes where going down changes nothing.
    pub(super) const fn up(on: Part, up: &'static [Op]) -> Self {
        Self { on, up, down: &[] }
    }
}

/// One step, at the value that the steps around it lead to.
#[derive(Clone, Copy)]
pub(super) enum Op {
    /// Goes to the member of this name.
    In(&'static str, &'static [Op]),
    /// Goes to every element of an array, or every member of an object.
    Each(&'static [Op]),
    /// Goes to every element of an array, or stays at the value that stands
    /// for an array of one.
    Items(&'static [Op]),
    /// Puts another value in the place of this one. Comes before the other
    /// steps of its list, which then meet the new value.
    Rebuild(Rebuild),
    /// Adds a member in front of the others, unless it is there.
    Add(Addition),
    /// Makes this JSON text the member's value, whatever is there.
    Put(&'static str, &'static str),
    /// Takes a member out whose content the target says in another way.
    Drop(&'static str),
    /// Takes a member out that the target has no place for: a loss.
    Forget(&'static str),
    /// The same, when the value is one that the target has no place for.
    ForgetIf(&'static str, Test),
    /// As [`Op::ForgetIf`] for `structuredContent`; when `content` says
    /// nothing, the value stays there as text.
    Unstructure(Test),
    /// Puts one value in the place of another, if the object is such a one.
    Swap { name: &'static str, from: &'static str, to: &'static str, given: Test },
    /// Nothing can be said without this member.
    Require(&'static str),
    /// The target has no form for this value of the member.
    RefuseIf(&'static str, Test),
}

impl Op {
    /// The member that the step is about.
    pub(super) fn member(&self) -> Option<&'static str> {
        match *self {
            Self::In(name, _)
            | Self::Drop(name)
            | Self::Forget(name)
            | Self::ForgetIf(name, _)
            | Self::Swap { name, .. }
            | Self::Put(name, _)
            | Self::Require(name)
            | Self::RefuseIf(name, _)
            | Self::Add(Addition { name, .. }) => Some(name),
            Self::Unstructure(_) => Some("structuredContent"),
            Self::Each(_) | Self::Items(_) | Self::Rebuild(_) => None,
        }
    }
}

/// A member to add.
#[derive(Clone, Copy)]
pub(super) struct Addition {
    pub(super) name: &'static str,
    pub(super) value: Source,
    /// Only when the object has one of these members; always when empty.
    pub(super) given: &'static [&'static str],
}

/// Where the value of an added member comes from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// This JSON text.
    Text(&'static str),
    /// The member of this name, which is one of those in `given`.
    Of(&'static str),
}

/// Adds a member that the target wants, with this JSON text.
pub(super) const fn default(name: &'static str, text: &'static str) -> Op {
    Op::Add(Addition { name, value: Source::Text(text), given: &[] })
}

/// Refuses whatever stands in the member.
pub(super) const fn refuse(name: &'static str) -> Op {
    Op::RefuseIf(name, ANY)
}

/// A question about a value's text.
#[derive(Clone, Copy)]
pub(super) struct Test {
    /// Ends the sentence "it …".
    pub(super) says: &'static str,
    pub(super) holds: fn(&[u8]) -> bool,
}

/// Every value.
pub(super) const ANY: Test = Test { says: "is there", holds: |_| true };

/// A value to make anew from its text.
#[derive(Clone, Copy)]
pub(super) struct Rebuild {
    /// What happens to it, and when.
    pub(super) says: &'static str,
    pub(super) make: fn(&[u8]) -> Rebuilt,
}

/// What became of a value.
pub(super) enum Rebuilt {
    /// It stays as it is.
    Same,
    /// This JSON text takes its place and says the same.
    Exact(Vec<u8>),
    /// This JSON text takes its place, and something is lost.
    Less(Vec<u8>),
    /// It has no form in the target.
    Impossible,
}
