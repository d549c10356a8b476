//! Requests and their headers.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, InvalidHeaderValue};
use http::{HeaderMap, HeaderValue, Method as Verb, Request, Uri};

use carrick_proto::http::encode_value;
use carrick_proto::peer::{Head, LaneEnd};
use carrick_proto::revision::Revision;

use super::super::header;
use super::Link;

const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// Room for what the transport and hyper add.
const OWN_HEADERS: usize = 8;

/// Why a transport cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpTransportError {
    /// The URL is not an absolute `http` or `https` URL.
    #[error("the URL of the server must start with http:// or https:// and name a host")]
    Url,
    /// The name or the value of a header has characters that no header may have.
    #[error("header {0:?} cannot be sent: its name or value has a character that is not allowed")]
    Header(String),
    /// The transport itself sets this header.
    #[error("header {0:?} is set by the transport")]
    OwnHeader(String),
}

/// Reads the URL of an endpoint.
pub(super) fn endpoint(url: &str) -> Result<Uri, HttpTransportError> {
    let url: Uri = url.parse().map_err(|_| HttpTransportError::Url)?;
    let http = matches!(url.scheme_str(), Some("http" | "https"));
    if http && url.host().is_some_and(|host| !host.is_empty()) {
        Ok(url)
    } else {
        Err(HttpTransportError::Url)
    }
}

/// Reads further headers; refuses those that would contradict the transport's own.
pub(super) fn extra<N: AsRef<str>, V: AsRef<str>>(
    headers: impl IntoIterator<Item = (N, V)>,
) -> Result<HeaderMap, HttpTransportError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name = name.as_ref();
        let bad = || HttpTransportError::Header(name.to_owned());
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        if is_own(&key) {
            return Err(HttpTransportError::OwnHeader(name.to_owned()));
        }
        let mut value = HeaderValue::from_str(value.as_ref()).map_err(|_| bad())?;
        // What a user adds is mostly a secret: it stays out of logs.
        value.set_sensitive(true);
        map.append(key, value);
    }
    Ok(map)
}

fn is_own(name: &HeaderName) -> bool {
    const OWN: [&str; 8] = [
        "accept",
        "connection",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "transfer-encoding",
        "upgrade",
    ];
    OWN.contains(&name.as_str()) || name.as_str().starts_with("mcp-")
}

impl Link {
    /// A POST of one message.
    ///
    /// # Errors
    ///
    /// A method or revision that cannot stand in a header.
    pub(super) fn post(
        &self,
        bytes: Bytes,
        head: &Head,
    ) -> Result<Request<Bytes>, InvalidHeaderValue> {
        let mut request = self.request(Verb::POST, bytes.clone(), head.revision);
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, BOTH);
        if !head.revision.is_some_and(|revision| revision.rules().mirrored_headers) {
            return Ok(request);
        }
        match &head.method_name {
            // Of the protocol's own names there is none that could not stand in a header.
            none if none.is_empty() => {}
            Cow::Borrowed(known) => {
                headers.insert(&header::METHOD, HeaderValue::from_static(known));
            }
            Cow::Owned(name) => {
                headers.insert(&header::METHOD, HeaderValue::from_str(name)?);
            }
        }
        if let Some(target) = &head.name {
            headers.insert(&header::NAME, HeaderValue::from_str(&encode_value(target))?);
            // What cannot be mirrored was refused before: see `refuse_params`.
            let mirrored = self.params().headers_of(target, head.method, &bytes);
            for (header, value) in mirrored.unwrap_or_default() {
                let Ok(header) = HeaderName::try_from(header) else { continue };
                headers.insert(header, HeaderValue::from_str(&value)?);
            }
        }
        Ok(request)
    }

    /// Refuses a call whose arguments cannot be mirrored into the headers that its tool
    /// asks for.
    pub(super) fn refuse_params(&self, bytes: &Bytes, head: &Head) -> Result<(), LaneEnd> {
        let is_mirrored = head.revision.is_some_and(|revision| revision.rules().mirrored_headers);
        let Some(target) = head.name.as_ref().filter(|_| is_mirrored) else { return Ok(()) };
        let mirrored = self.params().headers_of(target, head.method, bytes);
        mirrored.map(drop).map_err(LaneEnd::Params)
    }

    /// A GET of an event stream, from the start or after an event.
    pub(super) fn get(&self, last_event_id: Option<HeaderValue>) -> Request<Bytes> {
        let mut request = self.bare(Verb::GET);
        request.headers_mut().insert(ACCEPT, EVENTS);
        if let Some(id) = last_event_id {
            request.headers_mut().insert(&header::LAST_EVENT_ID, id);
        }
        request
    }

    /// A request without a body, in the session.
    pub(super) fn bare(&self, verb: Verb) -> Request<Bytes> {
        let revision = self.session().revision;
        self.request(verb, Bytes::new(), revision)
    }

    /// `revision` is none only for `initialize`, which also belongs to no session.
    fn request(&self, verb: Verb, body: Bytes, revision: Option<Revision>) -> Request<Bytes> {
        let mut request = Request::new(body);
        *request.method_mut() = verb;
        *request.uri_mut() = self.url.clone();
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        headers.reserve(OWN_HEADERS);
        if let Some(revision) = revision {
            if revision.rules().version_header {
                headers
                    .insert(&header::PROTOCOL_VERSION, HeaderValue::from_static(revision.date()));
            }
            if revision.rules().http_sessions
                && let Some(id) = self.session().id.clone()
            {
                headers.insert(&header::SESSION_ID, id);
            }
        }
        request
    }
}

/// Where a redirect leads, if it may be followed: 307 and 308 keep the method
/// and body, and the same origin keeps the credentials where they belong.
pub(super) fn redirect(from: &Uri, status: u16, headers: &HeaderMap) -> Option<Uri> {
    if !matches!(status, 307 | 308) {
        return None;
    }
    let location = headers.get(http::header::LOCATION)?.to_str().ok()?;
    resolve(from, location).filter(|target| same_origin(target, from))
}

/// What a reference means where `base` is (RFC 3986, section 5.2; without dot
/// segments, which are left to the server).
pub(super) fn resolve(base: &Uri, reference: &str) -> Option<Uri> {
    let scheme = reference.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    if !scheme.is_empty() && scheme.chars().all(is_scheme) {
        return reference.parse().ok();
    }
    if let Some(rest) = reference.strip_prefix("//") {
        return format!("{}://{rest}", base.scheme_str()?).parse().ok();
    }
    let path = base.path();
    let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
    let target = match reference.chars().next() {
        Some('/') => reference.to_owned(),
        Some('?') => format!("{path}{reference}"),
        Some(_) => format!("{folder}{reference}"),
        None => return None,
    };
    let mut parts = base.clone().into_parts();
    parts.path_and_query = Some(target.parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// Whether credentials for one are credentials for the other.
pub(super) fn same_origin(one: &Uri, other: &Uri) -> bool {
    let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    one.scheme() == other.scheme() && host(one) == host(other) && port(one) == port(other)
}

fn port(uri: &Uri) -> Option<u16> {
    uri.port_u16().or(match uri.scheme_str() {
        Some("http") => Some(80),
        Some("https") => Some(443),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_resolved_where_it_stands() {
        let base: Uri = "https://h.example:8443/a/sse?x=1".parse().unwrap();
        for (reference, resolved) in [
            ("/messages?id=1", Some("https://h.example:8443/messages?id=1")),
            ("messages?id=a:b", Some("https://h.example:8443/a/messages?id=a:b")),
            ("?id=1", Some("https://h.example:8443/a/sse?id=1")),
            ("//other.example/m", Some("https://other.example/m")),
            ("http://h.example/m", Some("http://h.example/m")),
            ("", None),
            ("/a b", None),
        ] {
            let found = resolve(&base, reference).map(|uri| uri.to_string());
            assert_eq!(found.as_deref(), resolved, "{reference}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let same = |one: &str, other: &str| {
            same_origin(&one.parse::<Uri>().unwrap(), &other.parse::<Uri>().unwrap())
        };
        assert!(same("http://h.example/a", "http://H.example:80/b"));
        assert!(same("https://h.example:443/a", "https://h.example"));
        for other in ["https://h.example/", "http://h.example:81/", "http://g.example/", "/a"] {
            assert!(!same("http://h.example/a", other), "{other}");
        }
    }
}
