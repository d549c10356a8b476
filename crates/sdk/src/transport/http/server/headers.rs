//! The headers that a request is understood by, found in one pass over all of them: to look up
//! each by its name costs more than the rest of what is done with it.

use http::header::{
    ACCEPT, AsHeaderName, CONTENT_ENCODING, CONTENT_TYPE, HOST, ORIGIN, TRANSFER_ENCODING,
};
use http::{HeaderMap, HeaderValue};

use carrick_proto::http::{Accept, Field, MirroredHeaders};

use super::super::header;

/// The headers of one request.
pub(super) struct Headers<'a> {
    all: &'a HeaderMap,
    pub(super) host: Field<'a>,
    pub(super) origin: Field<'a>,
    pub(super) content_type: Field<'a>,
    /// `Transfer-Encoding`.
    pub(super) transfer_coding: Field<'a>,
    /// Whether the body is written in a way that only its reader could undo.
    pub(super) encoded: bool,
    pub(super) protocol_version: Field<'a>,
    pub(super) session_id: Field<'a>,
    pub(super) method: Field<'a>,
    pub(super) name: Field<'a>,
    pub(super) last_event_id: Field<'a>,
}

impl<'a> Headers<'a> {
    pub(super) fn of(all: &'a HeaderMap) -> Self {
        let mut found = Self {
            all,
            host: Field::Absent,
            origin: Field::Absent,
            content_type: Field::Absent,
            transfer_coding: Field::Absent,
            encoded: false,
            protocol_version: Field::Absent,
            session_id: Field::Absent,
            method: Field::Absent,
            name: Field::Absent,
            last_event_id: Field::Absent,
        };
        for (name, value) in all {
            let field = if *name == HOST {
                &mut found.host
            } else if *name == CONTENT_TYPE {
                &mut found.content_type
            } else if *name == TRANSFER_ENCODING {
                &mut found.transfer_coding
            } else if *name == ORIGIN {
                &mut found.origin
            } else if *name == CONTENT_ENCODING {
                found.encoded |= !value.as_bytes().eq_ignore_ascii_case(b"identity");
                continue;
            } else if *name == header::PROTOCOL_VERSION {
                &mut found.protocol_version
            } else if *name == header::SESSION_ID {
                &mut found.session_id
            } else if *name == header::METHOD {
                &mut found.method
            } else if *name == header::NAME {
                &mut found.name
            } else if *name == header::LAST_EVENT_ID {
                &mut found.last_event_id
            } else {
                continue;
            };
            *field = match field {
                Field::Absent => Field::from_values([value.as_bytes()]),
                Field::One(_) | Field::Repeated => Field::Repeated,
            };
        }
        found
    }

    /// Any other header that may stand only once.
    pub(super) fn field(&self, name: impl AsHeaderName) -> Field<'a> {
        Field::from_values(self.all.get_all(name).iter().map(HeaderValue::as_bytes))
    }

    /// All values of `Transfer-Encoding`.
    pub(super) fn transfer_codings(&self) -> impl Iterator<Item = &'a [u8]> {
        self.all.get_all(TRANSFER_ENCODING).iter().map(HeaderValue::as_bytes)
    }

    /// The media types that the client takes.
    pub(super) fn accept(&self) -> Accept {
        Accept::from_values(self.all.get_all(ACCEPT).iter().map(HeaderValue::as_bytes))
    }

    /// What stands in the message as well.
    pub(super) fn mirrored(&self) -> MirroredHeaders<'a> {
        MirroredHeaders { version: self.protocol_version, method: self.method, name: self.name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderName;

    #[test]
    fn each_header_is_found_once_or_is_repeated() {
        type Read = for<'a, 'b> fn(&'b Headers<'a>) -> Field<'a>;
        let known: [(&str, Read); 9] = [
            ("host", |h| h.host),
            ("origin", |h| h.origin),
            ("content-type", |h| h.content_type),
            ("transfer-encoding", |h| h.transfer_coding),
            ("mcp-protocol-version", |h| h.protocol_version),
            ("mcp-session-id", |h| h.session_id),
            ("mcp-method", |h| h.method),
            ("mcp-name", |h| h.name),
            ("last-event-id", |h| h.last_event_id),
        ];
        for (name, read) in known {
            let mut map = HeaderMap::new();
            let name = HeaderName::from_static(name);
            map.insert("x-other", HeaderValue::from_static("1"));
            assert_eq!(read(&Headers::of(&map)), Field::Absent, "{name}");
            map.append(name.clone(), HeaderValue::from_static(" a\t"));
            assert_eq!(read(&Headers::of(&map)), Field::One(b"a"), "{name}");
            assert_eq!(Headers::of(&map).field(&name), Field::One(b"a"));
            map.append(name.clone(), HeaderValue::from_static("a"));
            assert_eq!(read(&Headers::of(&map)), Field::Repeated, "{name}");
        }
    }

    #[test]
    fn any_encoding_but_none_is_one() {
        let mut map = HeaderMap::new();
        assert!(!Headers::of(&map).encoded);
        map.append(CONTENT_ENCODING, HeaderValue::from_static("Identity"));
        assert!(!Headers::of(&map).encoded);
        map.append(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert!(Headers::of(&map).encoded);
    }
}
