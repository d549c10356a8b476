//! From a request to whoever answers it.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::header::{CONNECTION, HOST, HeaderName, ORIGIN};
use http::request::Parts;
use http::{HeaderValue, Method as Verb, Request, Response, StatusCode, Uri};
use hyper::body::{Body as _, Incoming};

use carrick_proto::http::{AccessRules, Field};
use carrick_proto::revision::Revision;

use crate::server::Service;

use super::HttpServerOptions;
use super::body::{Answer, EventId, Events, Source};
use super::budget::Budget;
use super::headers::Headers;
use super::listeners::Listeners;
use super::old::Streams;
use super::origin::{Origin, Socket};
use super::refusal::{Refusal, empty, method_not_allowed};
use super::session::{InUse, Sessions};
use super::store::ReplayError;

/// What all connections share.
pub(super) struct Endpoint {
    pub(super) service: Arc<dyn Service>,
    pub(super) options: HttpServerOptions,
    pub(super) sessions: Sessions,
    pub(super) listeners: Listeners,
    /// Sessions of HTTP+SSE.
    pub(super) old: Streams,
    /// What large messages take.
    pub(super) budget: Arc<Budget>,
    access: AccessRules,
    /// Whether a refused host or origin was reported.
    reported: AtomicBool,
}

impl Endpoint {
    pub(super) fn new(
        service: Arc<dyn Service>,
        access: AccessRules,
        options: HttpServerOptions,
    ) -> Self {
        let sessions = Sessions::new(&options);
        let budget = Budget::new(options.max_held_bytes);
        Self {
            service,
            options,
            sessions,
            listeners: Listeners::default(),
            old: Streams::default(),
            budget,
            access,
            reported: AtomicBool::new(false),
        }
    }

    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        socket: &Socket,
    ) -> Result<Response<Answer>, Infallible> {
        let coded = request.body().size_hint().exact().is_none();
        let answer = self.route(request, socket).await;
        let mut answer = answer.unwrap_or_else(|refusal| {
            tracing::debug!(?refusal, "a request is refused");
            refusal.into()
        });
        if coded {
            // hyper keeps silent about a `Content-Length` beside `Transfer-Encoding`, and
            // something in between may have taken that for the length: what seems to be the
            // next request may be a part of this one (RFC 9112, 6.1 and 11.2).
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(answer)
    }

    /// Host and origin come first, on every path and for every method, and then who
    /// sends it.
    async fn route(
        &self,
        request: Request<Incoming>,
        socket: &Socket,
    ) -> Result<Response<Answer>, Refusal> {
        let (head, body) = request.into_parts();
        let mut head = Arc::new(head);
        let mut headers = Headers::of(&head.headers);
        self.check_access(&head, &headers)?;
        check_coding(&headers)?;
        if let Some(identify) = &self.options.identify {
            identify.look(Arc::make_mut(&mut head))?;
            headers = Headers::of(&head.headers);
        }
        let origin = Origin { socket, head: &head };
        if self.options.sse_path.as_deref().is_some_and(|path| is_path(path, &head.uri)) {
            return match head.method {
                Verb::GET => self.open_old(&origin, &headers),
                Verb::POST => self.post_old(&origin, &headers, body).await,
                _ => Ok(empty(StatusCode::METHOD_NOT_ALLOWED)),
            };
        }
        if !is_path(&self.options.path, &head.uri) {
            return Ok(empty(StatusCode::NOT_FOUND));
        }
        match head.method {
            Verb::POST => self.post(&origin, &headers, body).await,
            Verb::GET if self.options.sessions => self.listen(&origin, &headers).await,
            Verb::DELETE if self.options.sessions => self.end_session(&origin, &headers),
            _ => Ok(method_not_allowed(self.options.sessions)),
        }
    }

    fn check_access(&self, head: &Parts, headers: &Headers<'_>) -> Result<(), Refusal> {
        // A target in absolute form overrides the header, which must be there all the same,
        // and once (RFC 9112, 3.2 and 3.2.2).
        let host = match (head.uri.authority(), headers.host) {
            (Some(authority), Field::One(_)) => Field::One(authority.as_str().as_bytes()),
            (_, host) => host,
        };
        self.access.check(host, headers.origin).map_err(|denied| {
            if !self.reported.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    host = ?head.headers.get(HOST),
                    origin = ?head.headers.get(ORIGIN),
                    "{denied}; further requests like this are refused without a word"
                );
            }
            denied.into()
        })
    }

    /// Opens the stream of messages that answer no request, or resumes any
    /// stream of the session.
    async fn listen(
        &self,
        origin: &Origin<'_>,
        headers: &Headers<'_>,
    ) -> Result<Response<Answer>, Refusal> {
        let session = self.session(origin, headers)?;
        if !headers.accept().event_stream {
            let text = "a stream needs Accept: text/event-stream";
            return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, text));
        }
        let (reader, resumes) = match headers.last_event_id {
            Field::Absent => (session.lanes.connection(), false),
            Field::One(id) => {
                let id = std::str::from_utf8(id).ok().and_then(EventId::parse);
                let id =
                    id.ok_or_else(|| Refusal::bad("Last-Event-ID is none of this server's"))?;
                let resumed = session.lanes.resume(id.stream, id.number).await;
                (resumed.map_err(not_resumed)?, true)
            }
            Field::Repeated => return Err(Refusal::bad("there is more than one Last-Event-ID")),
        };
        let start = reader.position();
        let source = Source::Lane { reader, session };
        let mut events = Events::new(source, self.options.keep_alive, &self.budget);
        if !resumes {
            events.prime(start);
        }
        Ok(event_stream(Answer::Events(events)))
    }

    fn end_session(
        &self,
        origin: &Origin<'_>,
        headers: &Headers<'_>,
    ) -> Result<Response<Answer>, Refusal> {
        let session = self.session(origin, headers)?;
        self.sessions.end(&session);
        Ok(empty(StatusCode::NO_CONTENT))
    }

    /// The session that a request names. That of another principal's is none:
    /// who has learnt its id does not learn whether it is good.
    pub(super) fn session(
        &self,
        origin: &Origin<'_>,
        headers: &Headers<'_>,
    ) -> Result<InUse, Refusal> {
        let id = match headers.session_id {
            Field::One(id) => id,
            Field::Absent => {
                return Err(Refusal::bad("Mcp-Session-Id is missing: send initialize first"));
            }
            Field::Repeated => return Err(Refusal::bad("there is more than one Mcp-Session-Id")),
        };
        let version = headers.protocol_version;
        check_legacy_version(version)?;
        let session = self.sessions.find(id, origin.principal()).ok_or_else(|| {
            Refusal::new(StatusCode::NOT_FOUND, "there is no such session (any more)")
        })?;
        match (version, session.revision()) {
            (Field::One(said), Some(revision)) if said != revision.date().as_bytes() => {
                let text = "MCP-Protocol-Version is not the revision of this session, which is";
                Err(Refusal::bad(format!("{text} {}", revision.date())))
            }
            _ => Ok(session),
        }
    }
}

/// Checks how the body is coded in transfer: in chunks, if at all (RFC 9112, 6.1 and 7).
fn check_coding(headers: &Headers<'_>) -> Result<(), Refusal> {
    match headers.transfer_coding {
        Field::Absent => Ok(()),
        Field::One(coding) if coding.eq_ignore_ascii_case(b"chunked") => Ok(()),
        _ => {
            let lines = headers.transfer_codings();
            let known = |coding: &[u8]| coding.trim_ascii().eq_ignore_ascii_case(b"chunked");
            let text = "Transfer-Encoding may be chunked, once, and nothing else";
            match lines.flat_map(|line| line.split(|&byte| byte == b',')).all(known) {
                true => Err(Refusal::bad(text)),
                false => Err(Refusal::new(StatusCode::NOT_IMPLEMENTED, text)),
            }
        }
    }
}

/// A header that names no revision with sessions is a mistake; none is not.
fn check_legacy_version(version: Field<'_>) -> Result<(), Refusal> {
    let date = match version {
        Field::Absent => return Ok(()),
        Field::One(date) => String::from_utf8_lossy(date),
        Field::Repeated => {
            return Err(Refusal::bad("there is more than one MCP-Protocol-Version"));
        }
    };
    match Revision::from_date(&date) {
        Some(revision) if revision.is_legacy() => Ok(()),
        _ => Err(Refusal::bad("MCP-Protocol-Version names no revision that has sessions here")),
    }
}

/// Whether an address is that of the endpoint, of which a slash at the end is no part.
fn is_path(path: &str, uri: &Uri) -> bool {
    let of = |path: &str| path.strip_suffix('/').unwrap_or(path).len();
    let (own, asked) = (&path[..of(path)], uri.path());
    own == &asked[..of(asked)]
}

fn not_resumed(error: ReplayError) -> Refusal {
    match error {
        ReplayError::Gone => Refusal::bad(error.to_string()),
        ReplayError::Failed(why) => {
            tracing::error!(error = %why, "the event store cannot be read");
            let text = "the events after this Last-Event-ID cannot be read";
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, text)
        }
    }
}

/// An answer that stays open.
pub(super) fn event_stream(body: Answer) -> Response<Answer> {
    const HEADERS: [(HeaderName, HeaderValue); 3] = [
        (http::header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (http::header::CACHE_CONTROL, HeaderValue::from_static("no-store, no-transform")),
        // Tells a proxy in between to pass events on as they come.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    let mut response = Response::new(body);
    response.headers_mut().extend(HEADERS);
    response
}
