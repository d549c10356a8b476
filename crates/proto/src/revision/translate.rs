//! Translation of shapes between revisions: a fold over the changes.

use super::{Revision, change};
use crate::method::Method;
use crate::rpc::Json;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Which part of a message a piece of JSON is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The `result` that answers this method.
    Result(Method),
}

/// What the target revision had no place for, by path (`tools.*.execution`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses(Vec<String>);

impl Losses {
    /// Each path once, in the order met.
    pub fn paths(&self) -> &[String] {
        &self.0
    }

    pub(super) fn note(&mut self, path: &str) {
        if !self.0.iter().any(|p| p == path) {
            self.0.push(path.into());
        }
    }
}

/// What has no meaning in the target revision.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Untranslatable {
    /// A result of a type that the target does not know.
    ResultType(String),
}

impl fmt::Display for Untranslatable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ResultType(found) => {
                write!(f, "a result of type {found} has no form in the other revision")
            }
        }
    }
}

impl core::error::Error for Untranslatable {}

/// Turns `json` from one revision's shape into another's.
///
/// What no change names comes back as the very same slice.
///
/// # Errors
/// When the target has no form for what `json` says.
pub fn translate(
    json: Json,
    part: Part,
    from: Revision,
    to: Revision,
) -> Result<(Json, Losses), Untranslatable> {
    let mut losses = Losses::default();
    let mut json = json;
    let steps = Revision::ALL.iter().filter(|r| {
        let (low, high) = if from < to { (from, to) } else { (to, from) };
        **r > low && **r <= high
    });
    let mut fold = |revision: &Revision| -> Result<(), Untranslatable> {
        for change in revision.changes().iter().filter(|c| c.on == part) {
            let ops = if from < to { change.up } else { change.down };
            let taken = core::mem::replace(&mut json, Json::scanned(bytes::Bytes::new()));
            json = change::apply(ops, taken, &mut losses)?;
        }
        Ok(())
    };
    if from < to {
        steps.into_iter().try_for_each(&mut fold)?;
    } else {
        steps.rev().try_for_each(&mut fold)?;
    }
    Ok((json, losses))
}
