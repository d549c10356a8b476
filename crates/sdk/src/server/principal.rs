//! Who a client acts for.

use std::fmt;
use std::sync::Arc;

/// Who a client acts for, once somebody has made sure of that: an issuer, and a
/// subject that is unique with it (as `iss` and `sub` of RFC 9068 are). Cheap to
/// clone; two are equal only when both parts are.
///
/// There is none where nobody checks: see
/// [`HttpServerOptions::identify`](crate::transport::http::HttpServerOptions::identify)
/// and [`ConnectionInfo::with_principal`](super::ConnectionInfo::with_principal).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal {
    /// The issuer, and the subject after it.
    text: Arc<str>,
    /// How long the issuer is.
    issuer: usize,
}

impl Principal {
    /// This subject of this issuer.
    #[must_use]
    pub fn new(issuer: &str, subject: &str) -> Self {
        Self { text: [issuer, subject].concat().into(), issuer: issuer.len() }
    }

    /// Who vouches for the subject.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.text[..self.issuer]
    }

    /// Whom it is about, in the issuer's words.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.text[self.issuer..]
    }

    /// Adds bytes that no other principal has, whatever follows from the same function.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        for part in [self.issuer(), self.subject()] {
            out.extend_from_slice(&(part.len() as u64).to_be_bytes());
            out.extend_from_slice(part.as_bytes());
        }
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Principal").field(&self.issuer()).field(&self.subject()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_parts_count() {
        let one = Principal::new("ab", "c");
        assert_eq!((one.issuer(), one.subject()), ("ab", "c"));
        assert_eq!(one, Principal::new("ab", "c"));
        assert_ne!(one, Principal::new("a", "bc"));
        assert_eq!(format!("{one:?}"), r#"Principal("ab", "c")"#);
        let bytes = |principal: Principal| {
            let mut out = Vec::new();
            principal.write_to(&mut out);
            out
        };
        assert_ne!(bytes(one), bytes(Principal::new("a", "bc")));
    }
}
