//! One POST and its answer.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, Uri};

use carrick_proto::http::{MediaType, check_session_id};
use carrick_proto::method::Method;
use carrick_proto::peer::{Head, Lane, LaneEnd};
use carrick_proto::rpc::{self, Kind, Scanned};
use carrick_proto::types::RpcError;

use crate::net::{Body, NetError};

use crate::transport::Event;

use super::super::header;
use super::refused::{ERROR_TEXT, Facts, refusal, text_of};
use super::{Form, Link, Queued, headers, old, stream};

/// What a call ends with whose sessions the server forgets.
pub(super) const NO_SESSION: &str = "the server does not know its own session (HTTP 404)";

/// Redirects followed for one message.
const MAX_REDIRECTS: usize = 3;

/// The request that an exchange is about.
pub(super) struct Asked<'a> {
    pub(super) lane: Lane,
    pub(super) head: &'a Head,
    /// The session that it was sent in.
    pub(super) session: Option<HeaderValue>,
}

impl Asked<'_> {
    /// Whether it opens the connection.
    fn is_first(&self) -> bool {
        matches!(self.head.method, Method::Initialize | Method::ServerDiscover)
    }
}

/// Whether a message belongs to a revision where closing a stream cancels.
pub(super) fn disconnect_cancels(head: &Head) -> bool {
    head.revision.is_some_and(|revision| revision.rules().disconnect_cancels)
}

/// Sends a request and hands on what comes back; what comes last it may give instead: the
/// response, or an event that says why there is none.
///
/// A request whose session the server knows no more has not been run: it is
/// sent once more, in the session that takes the place of the lost one.
pub(super) async fn request(
    link: &Arc<Link>,
    lane: Lane,
    bytes: Bytes,
    head: &Head,
    queued: Queued,
) -> Option<Event> {
    if head.method != Method::Initialize {
        link.wait_until_ready().await;
    }
    let ended = exchange(link, lane, bytes, head, queued).await;
    ended.unwrap_or_else(|end| Some(Event::LaneEnd { lane, end }))
}

/// What is rare is behind a pointer: this future is moved several times before it runs.
async fn exchange(
    link: &Arc<Link>,
    lane: Lane,
    bytes: Bytes,
    head: &Head,
    queued: Queued,
) -> Result<Option<Event>, LaneEnd> {
    if link.options.form == Form::Sse && link.endpoint().is_none() {
        Box::pin(old::open(link)).await?;
    }
    if let Some(endpoint) = link.endpoint() {
        return Box::pin(old::post(link, endpoint, bytes, head)).await.map(|()| None);
    }
    link.refuse_params(&bytes, head)?;
    let mut asked = Asked { lane, head, session: None };
    let mut first = true;
    let response = loop {
        let (response, session) = post(link, bytes.clone(), head).await.map_err(LaneEnd::Lost)?;
        let Some(lost) = session.as_ref().filter(|_| response.status() == StatusCode::NOT_FOUND)
        else {
            asked.session = session;
            break response;
        };
        Box::pin(async {
            // Read to its end, so that the connection can be used again.
            drop(response.into_body().collect(ERROR_TEXT).await);
            link.lose(lost).await;
        })
        .await;
        if !std::mem::take(&mut first) {
            return Err(LaneEnd::Lost(NO_SESSION.into()));
        }
        link.wait_until_ready().await;
    };
    drop(queued);
    if response.status().is_success() {
        return accepted(link, &asked, response).await;
    }
    Box::pin(async {
        let status = response.status();
        let (end, body) = refusal(link, response, &link.url, asked.is_first()).await;
        if head.method == Method::Initialize && old::may_be_old(link, status, &body) {
            match old::open(link).await {
                Ok(()) => {
                    if let Some(endpoint) = link.endpoint() {
                        return old::post(link, endpoint, bytes, head).await.map(|()| None);
                    }
                }
                Err(why) => tracing::debug!(%why, "nor is there a stream of HTTP+SSE"),
            }
        }
        refused(&asked, end, body)
    })
    .await
}

/// Sends a message that has no response. Any success will do, whatever the
/// body; a failure can only be logged.
pub(super) async fn one_way(link: &Link, bytes: Bytes, head: &Head, queued: Queued) {
    if let Some(endpoint) = link.endpoint() {
        if let Err(error) = old::post(link, endpoint, bytes, head).await {
            tracing::warn!(method = %head.method_name, %error, "a message was not sent");
        }
        return;
    }
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

/// Sends a POST. Gives the answer, and the session that the message was sent in.
async fn post(
    link: &Link,
    bytes: Bytes,
    head: &Head,
) -> Result<(Response<Body>, Option<HeaderValue>), String> {
    let mut session = None;
    let response = send(link, &link.url, || {
        let request = link.post(bytes.clone(), head).map_err(|error| error.to_string())?;
        session = request.headers().get(&header::SESSION_ID).cloned();
        Ok(request)
    });
    Ok((response.await?, session))
}

/// Sends a request to `url`, following redirects that stay where they are: then it is made
/// again.
pub(super) async fn send(
    link: &Link,
    url: &Uri,
    mut make: impl FnMut() -> Result<Request<Bytes>, String>,
) -> Result<Response<Body>, String> {
    // No request is kept in a variable, which would make this future larger.
    let response = link.http.send(make()?).await.map_err(|error| error.to_string())?;
    let status = response.status().as_u16();
    match headers::redirect(url, status, response.headers()) {
        None => Ok(response),
        Some(target) => Box::pin(follow(link, response, target, make)).await,
    }
}

/// Goes where a redirect leads, and where that leads.
async fn follow(
    link: &Link,
    mut response: Response<Body>,
    mut target: Uri,
    mut make: impl FnMut() -> Result<Request<Bytes>, String>,
) -> Result<Response<Body>, String> {
    for _ in 0..MAX_REDIRECTS {
        // Read to its end, so that the connection can be used again.
        drop(response.into_body().collect(ERROR_TEXT).await);
        let mut request = make()?;
        *request.uri_mut() = target.clone();
        response = link.http.send(request).await.map_err(|error| error.to_string())?;
        let status = response.status().as_u16();
        match headers::redirect(&target, status, response.headers()) {
            None => return Ok(response),
            Some(next) => target = next,
        }
    }
    Err(format!("the server redirects without end: more than {MAX_REDIRECTS} times"))
}

/// Takes the answer of a successful exchange.
async fn accepted(
    link: &Link,
    asked: &Asked<'_>,
    response: Response<Body>,
) -> Result<Option<Event>, LaneEnd> {
    let session = session_id(&response);
    let facts = Facts::of(&response, &link.url);
    match facts.media {
        MediaType::Json => {
            let body = collect(link, response).await;
            let body = body.map_err(|error| LaneEnd::Lost(error.to_string()))?;
            match sort(link, asked, body.clone(), &session) {
                Sorted::Response(event) => Ok(Some(event)),
                Sorted::Invalid(why) => Err(LaneEnd::Lost(why)),
                Sorted::Other(event) => {
                    link.tell(event).await;
                    Err(facts.end(&body, asked.is_first()))
                }
            }
        }
        MediaType::EventStream => {
            let reading = stream::read(link, asked, response.into_body(), session);
            Box::pin(reading).await.map(|()| None)
        }
        MediaType::Other => {
            let body = Box::pin(text_of(response)).await.unwrap_or_default();
            Err(facts.end(&body, asked.is_first()))
        }
    }
}

/// The error in the body of a refusal, or how the exchange ended.
fn refused(asked: &Asked<'_>, end: LaneEnd, body: Bytes) -> Result<Option<Event>, LaneEnd> {
    // The status of a refused login says more than its body.
    let login = matches!(end, LaneEnd::Status { status: 401 | 403, .. });
    let Some(bytes) = error_for(asked, body).filter(|_| !login) else { return Err(end) };
    Ok(Some(Event::Message { lane: asked.lane, bytes }))
}

/// What a message of an exchange was, to be handed on.
pub(super) enum Sorted {
    /// The response: the exchange is over.
    Response(Event),
    /// Something else.
    Other(Event),
    /// The response, but it must not be used.
    Invalid(String),
}

/// Looks at one message of an exchange.
pub(super) fn sort(
    link: &Link,
    asked: &Asked<'_>,
    bytes: Bytes,
    session: &Result<Option<HeaderValue>, String>,
) -> Sorted {
    let lane = asked.lane;
    let limits = link.options.limits;
    let message = match rpc::scan(bytes.clone(), limits) {
        Ok(Scanned::One(message)) => message,
        Err(error) if asked.head.method.is_list() && error.is_too_deep() => {
            let Some((fewer, names)) = rpc::without_deep_entries(&bytes, limits) else {
                return Sorted::Other(Event::Message { lane, bytes });
            };
            let list = asked.head.method.name();
            tracing::warn!(list, entries = names.join(", "), "left out, as they nest too deeply");
            // No entry that is left does.
            return match rpc::scan(fewer.clone(), limits) {
                Ok(_) => sort(link, asked, fewer, session),
                Err(_) => Sorted::Other(Event::Message { lane, bytes }),
            };
        }
        // The engine says what is wrong with it.
        _ => return Sorted::Other(Event::Message { lane, bytes }),
    };
    let success = match message.kind() {
        Kind::Result if message.id() == asked.head.id.as_ref() => true,
        Kind::Error if message.id() == asked.head.id.as_ref() => false,
        _ => return Sorted::Other(Event::Scanned { lane, message }),
    };
    if success && asked.head.method == Method::Initialize {
        match session {
            Ok(id) => {
                let mut session = link.session();
                session.id.clone_from(id);
                session.lost = false;
            }
            Err(why) => return Sorted::Invalid(why.clone()),
        }
    }
    let lists_tools = success && asked.head.method == Method::ToolsList;
    let mirrored = asked.head.revision.is_some_and(|revision| revision.rules().mirrored_headers);
    Sorted::Response(match lists_tools && mirrored {
        true => Event::Message { lane, bytes: link.params().learn(bytes) },
        false => Event::Scanned { lane, message },
    })
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
    rpc::error_response(&mut out, asked.head.id.as_ref(), code, &message, data);
    Some(out.into())
}

/// The session id of an answer, if it has a valid one.
fn session_id(response: &Response<Body>) -> Result<Option<HeaderValue>, String> {
    let mut values = response.headers().get_all(&header::SESSION_ID).iter();
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
