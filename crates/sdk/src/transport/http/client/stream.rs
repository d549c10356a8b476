//! Event streams that answer a request, resumed when they break.

use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use tokio::task::yield_now;
use tokio::time::{Duration, Instant, sleep, timeout};

use carrick_proto::http::MediaType;
use carrick_proto::peer::{Lane, LaneEnd};
use carrick_proto::sse::Decoder;

use crate::net::{Body, chance};

use super::chatter::Chatter;
use super::exchange::{Asked, Sorted, disconnect_cancels, sort};
use super::refused::media_type;
use super::retry::{Attempts, MIN_UPTIME, asked_for, is_passing};
use crate::transport::Event;

use super::Link;

/// How long a server may take to end a stream after the response, before the
/// connection is given up instead of kept.
const TAIL: Duration = Duration::from_secs(1);

/// What a call ends with that was running when its session was lost.
const SESSION_OVER: &str =
    "the server has lost the session meanwhile, and whether it has run the call is not known";

/// What a call ends with whose stream was closed for good.
const CUT_SHORT: &str = "the stream ended before the response";

/// How a stream came to its end.
pub(super) enum Ended {
    /// With what it was for.
    Response,
    /// Too early, but in good order: the server lets its client come back.
    Closed,
    /// Too early, but it may be resumed.
    Broken(String),
    /// In a way that no resuming mends.
    Failed(String),
}

/// Reads a stream until the response, resuming it where that is possible.
pub(super) async fn read(
    link: &Link,
    asked: &Asked<'_>,
    body: Body,
    session: Result<Option<HeaderValue>, String>,
) -> Result<(), LaneEnd> {
    let mut attempts = Attempts::new(link.options.retry);
    let mut place = Place::default();
    let mut body = body;
    loop {
        let ended = pass(link, asked, &mut body, &session, &mut place, &mut attempts).await;
        let closed = matches!(ended, Ended::Closed);
        let why = match ended {
            Ended::Response => return Ok(()),
            Ended::Failed(why) => return Err(LaneEnd::Lost(why)),
            Ended::Broken(why) => why,
            Ended::Closed => CUT_SHORT.into(),
        };
        // Without sessions there is nothing to resume, and before the answer
        // to `initialize` there is no session.
        if asked.head.revision.is_none() || disconnect_cancels(asked.head) {
            return Err(LaneEnd::Lost(why));
        }
        if closed && place.header().is_some() {
            let (lane, retry) = (asked.lane, attempts.asked());
            link.tell(Event::StreamClosed { lane, retry }).await;
        }
        body = match resume(link, asked, &place, &mut attempts).await {
            Ok(body) => body,
            Err(Some(refusal)) => return Err(LaneEnd::Lost(format!("{why}; {refusal}"))),
            Err(None) => return Err(LaneEnd::Lost(why)),
        };
    }
}

/// Opens the stream again after the last event.
async fn resume(
    link: &Link,
    asked: &Asked<'_>,
    place: &Place,
    attempts: &mut Attempts,
) -> Result<Body, Option<String>> {
    let Some(id) = place.header() else { return Err(None) };
    loop {
        let Some(delay) = attempts.next(chance()) else { return Err(None) };
        sleep(delay).await;
        if link.session().id != asked.session {
            return Err(Some(SESSION_OVER.into()));
        }
        let Ok(response) = link.http.send(link.get(Some(id.clone()))).await else {
            continue;
        };
        let status = response.status();
        if is_passing(status) {
            if let Some(later) = asked_for(&response) {
                attempts.not_before(later);
            }
            continue;
        }
        if status == StatusCode::NOT_FOUND
            && let Some(session) = &asked.session
        {
            link.lose(session).await;
            return Err(Some(SESSION_OVER.into()));
        }
        if !status.is_success() || media_type(&response) != MediaType::EventStream {
            return Err(Some(format!("it cannot be resumed (HTTP status {})", status.as_u16())));
        }
        return Ok(response.into_body());
    }
}

/// Where in a stream its reader is.
#[derive(Debug, Default)]
pub(super) struct Place {
    last_event_id: String,
}

impl Place {
    /// The place as a header, if the server gave one that can be sent.
    pub(super) fn header(&self) -> Option<HeaderValue> {
        let id = (!self.last_event_id.is_empty()).then_some(&self.last_event_id)?;
        HeaderValue::from_str(id).ok()
    }

    /// Keeps the id of what was just read; true when it is a new one.
    fn advance(&mut self, id: Option<String>) -> bool {
        match id {
            Some(id) if id != self.last_event_id => {
                self.last_event_id = id;
                true
            }
            _ => false,
        }
    }
}

/// Reads one connection's part of a stream.
async fn pass(
    link: &Link,
    asked: &Asked<'_>,
    body: &mut Body,
    session: &Result<Option<HeaderValue>, String>,
    place: &mut Place,
    attempts: &mut Attempts,
) -> Ended {
    let mut decoder = link.decoder();
    let mut chatter = Chatter::new();
    loop {
        let next = next_message(&mut decoder, body, place, attempts, &mut chatter);
        let message = match next.await {
            Ok(message) => message,
            Err(ended) => return ended,
        };
        match sort(link, asked, message, session) {
            Sorted::Other(event) => link.tell(event).await,
            Sorted::Invalid(why) => return Ended::Failed(why),
            Sorted::Response(event) => {
                link.tell(event).await;
                // Reads the end of the body, so that the connection is kept.
                drop(timeout(TAIL, rest(body)).await);
                return Ended::Response;
            }
        }
    }
}

/// Reads one connection's part of a stream that answers no request.
pub(super) async fn drain(
    link: &Link,
    body: &mut Body,
    place: &mut Place,
    attempts: &mut Attempts,
) -> Ended {
    let mut decoder = link.decoder();
    let mut chatter = Chatter::new();
    let opened = Instant::now();
    loop {
        match next_message(&mut decoder, body, place, attempts, &mut chatter).await {
            Ok(bytes) => link.tell(Event::Message { lane: Lane::Connection, bytes }).await,
            Err(ended) => {
                if opened.elapsed() >= MIN_UPTIME {
                    attempts.progress();
                }
                return ended;
            }
        }
    }
}

/// Passes over what comes after a response.
async fn rest(body: &mut Body) {
    while let Ok(Some(_)) = body.chunk().await {
        yield_now().await;
    }
}

/// The data of the next event that is a message.
async fn next_message(
    decoder: &mut Decoder,
    body: &mut Body,
    place: &mut Place,
    attempts: &mut Attempts,
    chatter: &mut Chatter,
) -> Result<Bytes, Ended> {
    let mut read = false;
    loop {
        let mut other = 0;
        for event in decoder.by_ref() {
            let event = event.map_err(|error| Ended::Failed(error.to_string()))?;
            if let Some(delay) = event.retry {
                attempts.server_asks(delay);
            }
            if place.advance(event.id) {
                attempts.progress();
            }
            if event.event == "message" && !event.data.is_empty() {
                return Ok(event.data.into());
            }
            other += event.data.len() + 1;
            if !event.data.is_empty() {
                tracing::debug!(event = %event.event, "an event of another kind is passed over");
            }
        }
        chatter.add(other + decoder.take_skipped()).map_err(Ended::Broken)?;
        // Others have their turn, however much comes that is no message.
        if read {
            yield_now().await;
        }
        read = true;
        match body.chunk().await {
            Ok(Some(chunk)) => decoder.push(&chunk),
            Ok(None) => return Err(Ended::Closed),
            Err(error) => return Err(Ended::Broken(error.to_string())),
        }
    }
}
