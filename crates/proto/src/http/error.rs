//! A header that does not agree with the body.

use alloc::{borrow::ToOwned, string::String};
use core::fmt;

use super::argument::ArgumentError;
use super::field::ValueError;
use crate::text::{excerpt, excerpt_of};

/// Longest part of a value that an error message repeats, in bytes.
const SHOWN: usize = 120;

/// A header is missing, unreadable, or says something else than the body.
///
/// On the wire: status 400 and JSON-RPC error -32020 with the request's id
/// (`basic/transports/streamable-http`, Server Validation). The text of this error is
/// the message to send; it repeats only a bounded part of any value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeaderMismatch {
    /// The header's name.
    pub header: String,
    /// What is wrong with it.
    pub reason: MismatchReason,
}

/// What is wrong with a header.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MismatchReason {
    /// The body calls for the header, which is not there.
    Missing,
    /// The header is there more than once.
    Repeated,
    /// The header's value cannot be read.
    Unreadable(ValueError),
    /// The header and the body differ.
    Differs {
        /// The header's value, cut.
        header: String,
        /// The body's value, cut; `None` when the body has none.
        body: Option<String>,
    },
    /// The argument that the header mirrors cannot be mirrored.
    Argument(ArgumentError),
}

impl HeaderMismatch {
    /// The JSON-RPC error code of this error.
    pub const CODE: i64 = -32020;

    pub(super) fn new(header: &str, reason: MismatchReason) -> Self {
        Self { header: header.to_owned(), reason }
    }

    pub(super) fn differs(name: &str, header: &[u8], body: Option<&str>) -> Self {
        let header = excerpt_of(header, SHOWN);
        Self::new(
            name,
            MismatchReason::Differs {
                header,
                body: body.map(|body| excerpt(body, SHOWN).into_owned()),
            },
        )
    }
}

impl fmt::Display for HeaderMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.header;
        match &self.reason {
            MismatchReason::Missing => write!(f, "header {name} is missing"),
            MismatchReason::Repeated => write!(f, "header {name} stands more than once"),
            MismatchReason::Argument(why) => {
                write!(f, "the argument of header {name} cannot be used: {why}")
            }
            MismatchReason::Unreadable(why) => write!(f, "header {name} is unreadable: {why}"),
            MismatchReason::Differs { header, body: Some(body) } => {
                write!(f, "header {name} says {header:?} but the body says {body:?}")
            }
            MismatchReason::Differs { header, body: None } => {
                write!(f, "header {name} says {header:?} but the body has no such value")
            }
        }
    }
}

impl core::error::Error for HeaderMismatch {}
