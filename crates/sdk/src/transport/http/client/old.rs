//! The HTTP+SSE transport of 2024-11-05, the client's side: one event stream
//! for all that the server says, whose first event names the address that
//! messages are POSTed to.

use std::sync::Arc;

use bytes::Bytes;
use http::{StatusCode, Uri};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use carrick_proto::http::MediaType;
use carrick_proto::peer::{Head, Lane, LaneEnd};
use carrick_proto::sse::Decoder;
use carrick_proto::types::RpcError;

use crate::net::Body;
use crate::transport::Event;

use super::chatter::Chatter;
use super::exchange::send;
use super::refused::{ERROR_TEXT, media_type, refusal};
use super::{Form, Link, headers};

/// The stream that is open, and where messages go.
#[derive(Debug)]
pub(super) struct Old {
    endpoint: Uri,
    reader: AbortHandle,
}

impl Old {
    pub(super) fn endpoint(&self) -> &Uri {
        &self.endpoint
    }
}

impl Drop for Old {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// Whether the answer to `initialize` is that of a server whose address is the
/// stream's (2025-03-26 `basic/transports`, Backwards Compatibility). A modern
/// server says what is wrong by an error of its own.
pub(super) fn may_be_old(link: &Link, status: StatusCode, body: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Refusal {
        error: RpcError,
    }
    let modern =
        || serde_json::from_slice::<Refusal>(body).is_ok_and(|refusal| refusal.error.is_modern());
    // One that has had a session is none.
    let new = link.session().revision.is_none();
    new && link.options.form == Form::Any && matches!(status.as_u16(), 400 | 404 | 405) && !modern()
}

/// Opens the stream, from which on it is what the connection lives by. The error
/// says why there is none.
pub(super) async fn open(link: &Arc<Link>) -> Result<(), LaneEnd> {
    let opening = timeout(link.options.endpoint_timeout, find(link));
    let (endpoint, body, decoder) = opening.await.unwrap_or_else(|_| {
        let text = "the server opens an event stream, and does not say where messages go";
        Err(LaneEnd::Lost(text.into()))
    })?;
    let reading = Arc::clone(link);
    let reader = tokio::spawn(async move {
        let why = read(&reading, body, decoder).await;
        reading.tell(Event::Closed(format!("the server's event stream ended: {why}"))).await;
    });
    link.old().replace(Old { endpoint, reader: reader.abort_handle() });
    Ok(())
}

/// Opens a stream and reads it up to the event that says where messages go.
async fn find(link: &Link) -> Result<(Uri, Body, Decoder), LaneEnd> {
    let lost = |why: String| LaneEnd::Lost(why);
    let response = send(link, &link.url, || Ok(link.get(None))).await.map_err(lost)?;
    if !response.status().is_success() {
        return Err(refusal(link, response, &link.url, true).await.0);
    }
    if media_type(&response) != MediaType::EventStream {
        return Err(lost("the answer to GET is no event stream".into()));
    }
    let (mut body, mut decoder) = (response.into_body(), link.decoder());
    loop {
        for event in decoder.by_ref() {
            let event = event.map_err(|error| lost(error.to_string()))?;
            if event.event != "endpoint" {
                continue;
            }
            let endpoint = headers::resolve(&link.url, event.data.trim());
            let endpoint = endpoint.filter(|to| headers::same_origin(to, &link.url));
            let foreign = || {
                // It would be given the credentials of this one.
                lost("the server wants messages sent to another origin".into())
            };
            return Ok((endpoint.ok_or_else(foreign)?, body, decoder));
        }
        match body.chunk().await {
            Ok(Some(chunk)) => decoder.push(&chunk),
            Ok(None) => return Err(lost("the stream ended before its endpoint event".into())),
            Err(error) => return Err(lost(error.to_string())),
        }
    }
}

/// Hands on what comes; the text says why nothing more does.
async fn read(link: &Link, mut body: Body, mut decoder: Decoder) -> String {
    let mut chatter = Chatter::new();
    loop {
        let mut other = 0;
        for event in decoder.by_ref() {
            match event {
                Ok(event) if event.event == "message" && !event.data.is_empty() => {
                    let message =
                        Event::Message { lane: Lane::Connection, bytes: event.data.into() };
                    link.tell(message).await;
                }
                Ok(event) => {
                    other += event.data.len() + 1;
                    tracing::debug!(event = %event.event, "an event of another kind is passed over");
                }
                Err(error) => return error.to_string(),
            }
        }
        if let Err(why) = chatter.add(other + decoder.take_skipped()) {
            return why;
        }
        match body.chunk().await {
            Ok(Some(chunk)) => decoder.push(&chunk),
            Ok(None) => return "the server closed it".into(),
            Err(error) => return error.to_string(),
        }
    }
}

/// Sends a message. Its answer, if it has one, comes on the stream: only a
/// refusal is one of the exchange's own.
pub(super) async fn post(
    link: &Link,
    endpoint: Uri,
    bytes: Bytes,
    head: &Head,
) -> Result<(), LaneEnd> {
    let lost = |error: String| LaneEnd::Lost(error);
    let response = send(link, &endpoint, || {
        let mut request = link.post(bytes.clone(), head).map_err(|error| error.to_string())?;
        *request.uri_mut() = endpoint.clone();
        Ok(request)
    });
    let response = response.await.map_err(lost)?;
    if response.status().is_success() {
        // Read to its end, so that the connection can be used again.
        drop(response.into_body().collect(ERROR_TEXT).await);
        return Ok(());
    }
    Err(refusal(link, response, &endpoint, false).await.0)
}
