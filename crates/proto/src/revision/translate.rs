//! Translation of shapes between revisions: a fold over the changes.

use super::change::{Change, Op};
use super::{Revision, apply, method_row};
use crate::method::Method;
use crate::rpc::Json;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Which part of a message a piece of JSON is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The `params` of a request or notification of this method. In revisions
    /// where the server sends no requests, also those of an entry of
    /// `inputRequests`.
    Params(Method),
    /// The `result` that answers this method, or an entry of `inputResponses`.
    Result(Method),
    /// The `error` that answers this method.
    Error(Method),
    /// What a client can do: `capabilities` of `initialize`, or
    /// `io.modelcontextprotocol/clientCapabilities`.
    ClientCapabilities,
    /// What a server can do: `capabilities` of its answer to `initialize` or
    /// `server/discover`.
    ServerCapabilities,
    /// Who a party is: `clientInfo` or `serverInfo`.
    Implementation,
}

/// Something the target revision had no place for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// Where, with `*` for any element or member: `tools.*.icons`.
    pub path: String,
    /// What happened to it.
    pub how: &'static str,
}

/// What the target revision had no place for: each place once, in the order met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses(Vec<Loss>);

impl Losses {
    /// Whether nothing was lost.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Loss> {
        self.0.iter()
    }

    /// Notes a loss at `path`, or at a member of what is there.
    pub(super) fn note(&mut self, path: &[&str], member: Option<&str>, how: &'static str) {
        let steps: Vec<&str> = path.iter().copied().chain(member).collect();
        let loss = Loss { path: steps.join("."), how };
        if !self.0.contains(&loss) {
            self.0.push(loss);
        }
    }
}

/// What has no meaning in the target revision.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Untranslatable {
    /// The target has no such method.
    Method(Method),
    /// A value that the target has no form for.
    Value {
        /// Where it stands.
        path: String,
        /// What is the matter with it; ends the sentence "it …".
        why: &'static str,
        /// Its text, cut at some length.
        found: String,
    },
    /// A member that the target cannot do without, by path.
    Missing(String),
}

impl fmt::Display for Untranslatable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method(method) => {
                write!(f, "the other revision has no method {:?}", method.name())
            }
            Self::Value { path, why, found } => {
                write!(f, "{path} {why}; the other revision cannot say that: {found}")
            }
            Self::Missing(path) => write!(f, "the other revision needs {path}, which is absent"),
        }
    }
}

impl core::error::Error for Untranslatable {}

/// Turns `json` from one revision's shape into another's.
///
/// What no change names comes back as the very same slice; what one does is
/// edited in place, so that unknown members, their order and the text of
/// numbers survive.
///
/// Only shapes are translated. What belongs to a conversation is left to it:
/// going down, the protocol's own keys of a request's `_meta` are dropped
/// without a word (in a session the handshake said it); going up, they are
/// never made up. Results of methods that the target does not have pass with
/// whatever the changes name in them.
///
/// # Errors
/// When the target has no form for what `json` says.
pub fn translate(
    json: Json,
    part: Part,
    from: Revision,
    to: Revision,
) -> Result<(Json, Losses), Untranslatable> {
    if let Part::Params(method) = part
        && from != to
        && method_row(method).is_some_and(|row| !row.exists_in(to))
    {
        return Err(Untranslatable::Method(method));
    }
    let mut losses = Losses::default();
    let mut json = json;
    for ops in steps(part, from, to) {
        json = apply::apply(ops, json, &mut losses)?;
    }
    Ok((json, losses))
}

/// Whether [`translate`] may change `text`: no for certain, yes perhaps.
///
/// A quick look, for text whose member names were written without escapes, as
/// all are that this crate and serde write.
pub fn is_touched(text: &[u8], part: Part, from: Revision, to: Revision) -> bool {
    steps(part, from, to).any(|ops| apply::touches(ops, text))
}

/// The lists of steps that lead from one revision to another, in their order.
fn steps(part: Part, from: Revision, to: Revision) -> impl Iterator<Item = &'static [Op]> {
    let of = move |revision: &Revision| revision.changes().iter().filter(move |c| c.on == part);
    let climbs = move |r: &&Revision| from < **r && **r <= to;
    let falls = move |r: &&Revision| to < **r && **r <= from;
    let up = Revision::ALL.iter().filter(climbs).flat_map(of).map(|c: &Change| c.up);
    let down = Revision::ALL.iter().rev().filter(falls).flat_map(of).map(|c: &Change| c.down);
    up.chain(down).filter(|ops| !ops.is_empty())
}
