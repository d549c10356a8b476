//! Headers that mirror members of the body (modern).

use super::{
    error::{HeaderMismatch, MismatchReason},
    field::{Field, decode_value},
    name,
};

/// The mirroring headers of a POST.
#[derive(Debug, Clone, Copy)]
pub struct MirroredHeaders<'a> {
    /// `MCP-Protocol-Version`.
    pub version: Field<'a>,
    /// `Mcp-Method`.
    pub method: Field<'a>,
    /// `Mcp-Name`.
    pub name: Field<'a>,
}

/// What the body of a POST says about itself.
#[derive(Debug, Clone, Copy)]
pub struct MirroredBody<'a> {
    /// The revision in the body's `_meta`.
    pub version: Option<&'a str>,
    /// The method.
    pub method: &'a str,
    /// The member that `Mcp-Name` mirrors.
    pub name: MirroredName<'a>,
}

/// What `Mcp-Name` has to mirror.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MirroredName<'a> {
    /// The method names nothing; a header is not looked at.
    NotMirrored,
    /// The method names something, but the body does not say what. The body is
    /// malformed; a header all the same contradicts it.
    Missing,
    /// The tool or prompt name, the resource URI, or the task id.
    Is(&'a str),
}

impl MirroredHeaders<'_> {
    /// Compares the headers with the body of a modern request.
    ///
    /// A body without a revision in its `_meta` is malformed (-32602), which
    /// is for the body's reader to say; the header is then not compared.
    ///
    /// # Errors
    ///
    /// [`HeaderMismatch`] for the first header that is missing, repeated,
    /// unreadable or different.
    pub fn check(&self, body: &MirroredBody<'_>) -> Result<(), HeaderMismatch> {
        self.check_version(body.version)?;
        require(name::METHOD, self.method, body.method)?;
        match body.name {
            MirroredName::NotMirrored => Ok(()),
            MirroredName::Missing => match self.name {
                Field::Absent => Ok(()),
                Field::One(value) => Err(HeaderMismatch::differs(name::NAME, value, None)),
                Field::Repeated => Err(repeated(name::NAME)),
            },
            MirroredName::Is(expected) => require_encoded(name::NAME, self.name, expected),
        }
    }

    /// Compares only the revision: also for a notification, whose other headers
    /// are not defined, and for a legacy `initialize`, whose header (if it has
    /// one) must name the revision the body asks for.
    ///
    /// # Errors
    ///
    /// [`HeaderMismatch`] when the header is repeated or differs from the body,
    /// or is missing although the body names a revision.
    pub fn check_version(&self, body: Option<&str>) -> Result<(), HeaderMismatch> {
        match (self.version, body) {
            (Field::Repeated, _) => Err(repeated(name::PROTOCOL_VERSION)),
            (version, Some(expected)) => require(name::PROTOCOL_VERSION, version, expected),
            (_, None) => Ok(()),
        }
    }
}

fn require(name: &str, field: Field<'_>, expected: &str) -> Result<(), HeaderMismatch> {
    match field {
        Field::Absent => Err(HeaderMismatch::new(name, MismatchReason::Missing)),
        Field::Repeated => Err(repeated(name)),
        Field::One(value) if value == expected.as_bytes() => Ok(()),
        Field::One(value) => Err(HeaderMismatch::differs(name, value, Some(expected))),
    }
}

fn require_encoded(name: &str, field: Field<'_>, expected: &str) -> Result<(), HeaderMismatch> {
    let value = match field {
        Field::Absent => return Err(HeaderMismatch::new(name, MismatchReason::Missing)),
        Field::Repeated => return Err(repeated(name)),
        Field::One(value) => value,
    };
    match decode_value(value) {
        Ok(text) if text == expected => Ok(()),
        Ok(text) => Err(HeaderMismatch::differs(name, text.as_bytes(), Some(expected))),
        Err(why) => Err(HeaderMismatch::new(name, MismatchReason::Unreadable(why))),
    }
}

fn repeated(name: &str) -> HeaderMismatch {
    HeaderMismatch::new(name, MismatchReason::Repeated)
}
