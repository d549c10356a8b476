//! One POST and its answer.

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};

use carrick_proto::http::{Field, MediaType, Verdict, check_session_id, name, probe_verdict};
use carrick_proto::method::Method;
use carrick_proto::peer::{Head, Lane, LaneEnd};
use carrick_proto::rpc::{self, Id, Kind, Limits, Scanned};
use carrick_proto::types::RpcError;

use crate::net::{Body, NetError};

use crate::transport::Event;

use super::{Link, Queued, headers, stream};

/// Longest part of an error's body that is kept as text, in bytes.
const ERROR_TEXT: usize = 4 * 1024;

/// What a call ends with whose sessions the server forgets.
pub(super) const NO_SESSION: &str = "the server does not know its own session (HTTP 404)";

/// Redirects followed for one message.
const MAX_REDIRECTS: usize = 3;

/// The request that an exchange is about.
pub(super) struct Asked<'a> {
    pub(super) lane: Lane,
    pub(super) head: &'a Head,
    pub(super) id: Option<Id>,
    /// The session that it was sent in.
    pub(super) session: Option<HeaderValue>,
}

/// Whether a message belongs to a revision where closing a stream cancels.
pub(super) fn disconnect_cancels(head: &Head) -> bool {
    head.revision.is_some_and(|revision| revision.rules().disconnect_cancels)
}

/// Sends a request and hands on what comes back. Ends with the response, or
/// with an event that says why there is none.
///
/// A request whose session the server knows no more has not been run: it is
/// sent once more, in the session that takes the place of the lost one.
pub(super) async fn request(link: &Link, lane: Lane, bytes: Bytes, head: &Head, queued: Queued) {
    let id = match rpc::scan(bytes.clone(), Limits::default()) {
        Ok(Scanned::One(message)) => message.id().cloned(),
        _ => None,
    };
    let mut asked = Asked { lane, head, id, session: None };
    let mut first = true;
    let end = loop {
        let sent = post(link, bytes.clone(), head).await;
        match sent {
            Ok((response, Some(session))) if response.status() == StatusCode::NOT_FOUND => {
                // Read to its end, so that the connection can be used again.
                drop(response.into_body().collect(ERROR_TEXT).await);
                link.lose(&session).await;
                if !std::mem::take(&mut first) {
                    break Some(LaneEnd::Lost(NO_SESSION.into()));
                }
                link.wait_until_ready().await;
            }
            Ok((response, session)) => {
                drop(queued);
                asked.session = session;
                break match response.status().is_success() {
                    true => accepted(link, &asked, response).await,
                    false => refused(link, &asked, response).await,
                };
            }
            Err(error) => break Some(LaneEnd::Lost(error)),
        }
    };
    if let Some(end) = end {
        link.tell(Event::LaneEnd { lane, end }).await;
    }
}

/// Sends a message that has no response. Any success will do, whatever the
/// body; a failure can only be logged.
pub(super) async fn one_way(link: &Link, bytes: Bytes, head: &Head, queued: Queued) {
    let sent = post(link, bytes, head).await;
    drop(queued);
    match sent {
        Ok((response, session)) => {
            let status = response.status();
            match session.filter(|_| status == StatusCode::NOT_FOUND) {
                Some(session) => link.lose(&session).await,
                None if status.is_success() => {}
                None => {
                    tracing::warn!(method = %head.method_name, %status, "a message was refused");
                }
            }
            // Read to its end, so that the connection can be used again.
            drop(response.into_body().collect(ERROR_TEXT).await);
        }
        Err(error) => tracing::warn!(method = %head.method_name, error, "a message was not sent"),
    }
}

/// Sends a POST, following redirects that stay where they are. Gives the answer,
/// and the session that the message was sent in.
async fn post(
    link: &Link,
    bytes: Bytes,
    head: &Head,
) -> Result<(Response<Body>, Option<HeaderValue>), String> {
    let mut request = link.post(bytes, head).map_err(|error| error.to_string())?;
    let session = request.headers().get(name::SESSION_ID).cloned();
    for _ in 0..MAX_REDIRECTS {
        let again = copy(&request);
        let response = link.http.send(request).await.map_err(|error| error.to_string())?;
        let status = response.status().as_u16();
        let Some(target) = headers::redirect(again.uri(), status, response.headers()) else {
            return Ok((response, session));
        };
        drop(response.into_body().collect(ERROR_TEXT).await);
        request = again;
        *request.uri_mut() = target;
    }
    Err(format!("more than {MAX_REDIRECTS} redirects"))
}

fn copy(request: &Request<Bytes>) -> Request<Bytes> {
    let mut copy = Request::new(request.body().clone());
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    copy
}

/// Takes the answer of a successful exchange.
async fn accepted(link: &Link, asked: &Asked<'_>, response: Response<Body>) -> Option<LaneEnd> {
    let session = session_id(&response);
    match media_type(&response) {
        MediaType::Json => {
            let status = response.status().as_u16();
            let body = match collect(link, response).await {
                Ok(body) => body,
                Err(error) => return Some(LaneEnd::Lost(error.to_string())),
            };
            match deliver(link, asked, body.clone(), &session).await {
                Delivered::Response => None,
                Delivered::Invalid(why) => Some(LaneEnd::Lost(why)),
                Delivered::Other => Some(status_end(status, None, MediaType::Json, &body)),
            }
        }
        MediaType::EventStream => stream::read(link, asked, response.into_body(), session).await,
        MediaType::Other => {
            let status = response.status().as_u16();
            let body = text_of(response).await;
            Some(status_end(status, None, MediaType::Other, &body))
        }
    }
}

/// Takes the answer of an exchange whose status says that it failed.
async fn refused(link: &Link, asked: &Asked<'_>, response: Response<Body>) -> Option<LaneEnd> {
    let status = response.status().as_u16();
    let challenge = matches!(status, 401 | 403).then(|| challenge(&response)).flatten();
    let media = media_type(&response);
    let body = match media {
        MediaType::Json => match collect(link, response).await {
            Ok(body) => body,
            Err(error) => return Some(LaneEnd::Lost(error.to_string())),
        },
        _ => text_of(response).await,
    };
    let end = status_end(status, challenge, media, &body);
    // The status of a refused login says more than its body.
    if matches!(status, 401 | 403) || media != MediaType::Json {
        return Some(end);
    }
    let Some(error) = error_for(asked, body) else {
        return Some(end);
    };
    link.tell(Event::Message { lane: asked.lane, bytes: error }).await;
    None
}

/// What a message of an exchange was.
pub(super) enum Delivered {
    /// The response: the exchange is over.
    Response,
    /// Something else that was handed on.
    Other,
    /// The response, but it must not be used.
    Invalid(String),
}

/// Hands on one message of an exchange.
pub(super) async fn deliver(
    link: &Link,
    asked: &Asked<'_>,
    bytes: Bytes,
    session: &Result<Option<HeaderValue>, String>,
) -> Delivered {
    let response = match rpc::scan(bytes.clone(), Limits::default()) {
        Ok(Scanned::One(message)) if message.id() == asked.id.as_ref() => match message.kind() {
            Kind::Result => Some(true),
            Kind::Error => Some(false),
            _ => None,
        },
        _ => None,
    };
    let Some(success) = response else {
        link.tell(Event::Message { lane: asked.lane, bytes }).await;
        return Delivered::Other;
    };
    if success && asked.head.method == Method::Initialize {
        match session {
            Ok(id) => {
                let mut session = link.session();
                session.id.clone_from(id);
                session.lost = false;
            }
            Err(why) => return Delivered::Invalid(why.clone()),
        }
    }
    let lists_tools = success && asked.head.method == Method::ToolsList;
    let mirrored = asked.head.revision.is_some_and(|revision| revision.rules().mirrored_headers);
    let bytes = if lists_tools && mirrored { link.params().learn(bytes) } else { bytes };
    link.tell(Event::Message { lane: asked.lane, bytes }).await;
    Delivered::Response
}

/// The error response in the body of a refusal, with the id of the request
/// even if the server could not tell it.
fn error_for(asked: &Asked<'_>, body: Bytes) -> Option<Bytes> {
    #[derive(serde::Deserialize)]
    struct Refusal {
        jsonrpc: String,
        error: RpcError,
    }
    let refusal: Refusal = serde_json::from_slice(&body).ok()?;
    if refusal.jsonrpc != "2.0" {
        return None;
    }
    // To a probe, any other error only says that the server is not modern.
    if asked.head.method == Method::ServerDiscover && !refusal.error.is_modern() {
        return None;
    }
    let RpcError { code, message, data, .. } = refusal.error;
    let data = data.as_ref().map(|data| data.get().as_bytes());
    let mut out = Vec::with_capacity(body.len());
    rpc::error_response(&mut out, asked.id.as_ref(), code, &message, data);
    Some(out.into())
}

fn status_end(status: u16, challenge: Option<String>, media: MediaType, body: &[u8]) -> LaneEnd {
    let shown = &body[..body.len().min(ERROR_TEXT)];
    LaneEnd::Status {
        status,
        challenge,
        body: String::from_utf8_lossy(shown).into_owned(),
        fall_back: probe_verdict(status, media, body) == Verdict::FallBack,
    }
}

pub(super) fn media_type(response: &Response<Body>) -> MediaType {
    let values = response.headers().get_all(http::header::CONTENT_TYPE);
    MediaType::of(Field::from_values(values.iter().map(http::HeaderValue::as_bytes)))
}

fn challenge(response: &Response<Body>) -> Option<String> {
    let values = response.headers().get_all(http::header::WWW_AUTHENTICATE);
    let all: Vec<_> = values.iter().filter_map(|value| value.to_str().ok()).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// The session id of an answer, if it has a valid one.
fn session_id(response: &Response<Body>) -> Result<Option<HeaderValue>, String> {
    let mut values = response.headers().get_all(name::SESSION_ID).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err("the server sent more than one session id".into());
    }
    match check_session_id(value.as_bytes()) {
        Ok(_) => Ok(Some(value.clone())),
        Err(why) => Err(format!("the server sent an unusable session id: {why}")),
    }
}

async fn collect(link: &Link, response: Response<Body>) -> Result<Bytes, NetError> {
    response.into_body().collect(link.options.max_message_bytes).await
}

/// The start of a body that is only shown to people.
async fn text_of(response: Response<Body>) -> Bytes {
    let mut body = response.into_body();
    let mut text = Vec::new();
    while text.len() < ERROR_TEXT
        && let Ok(Some(chunk)) = body.chunk().await
    {
        text.extend_from_slice(&chunk);
    }
    text.truncate(ERROR_TEXT);
    text.into()
}
