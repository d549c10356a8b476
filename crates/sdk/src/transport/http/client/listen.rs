//! The stream for messages that answer no request (legacy).

use tokio::time::sleep;

use carrick_proto::http::MediaType;

use super::Link;
use super::refused::{ERROR_TEXT, media_type};
use super::retry::{Attempts, asked_for, is_passing};
use super::stream::{Ended, Place, drain};
use crate::net::chance;
use crate::transport::Event;

/// Opens the stream and keeps it open. Returns when the server has none, or has
/// shown often enough that it does not stay open; requests go on without it. It
/// belongs to one session, and ends with it.
pub(super) async fn run(link: &Link) {
    let session = link.session().id.clone();
    let mut was_open = false;
    let mut attempts = Attempts::new(link.options.retry);
    let mut place = Place::default();
    loop {
        let why = match link.http.send(link.get(place.header())).await {
            Ok(response) => {
                let status = response.status();
                let events = media_type(&response) == MediaType::EventStream;
                let later = asked_for(&response).filter(|_| is_passing(status));
                let mut body = response.into_body();
                if status.is_success() && events {
                    was_open = true;
                    match drain(link, &mut body, &mut place, &mut attempts).await {
                        Ended::Broken(why) | Ended::Failed(why) => why,
                        Ended::Closed => "the server closed it".into(),
                        Ended::Response => return,
                    }
                } else if is_passing(status) {
                    if let Some(later) = later {
                        attempts.not_before(later);
                    }
                    drop(body.collect(ERROR_TEXT).await);
                    format!("HTTP status {}", status.as_u16())
                } else {
                    drop(body.collect(ERROR_TEXT).await);
                    // To a first one, 404 may just mean that there is no such stream.
                    if let Some(session) = session.filter(|_| was_open && status == 404) {
                        return link.lose(&session).await;
                    }
                    tracing::debug!(%status, "the server has no stream of its own messages");
                    return;
                }
            }
            Err(error) => error.to_string(),
        };
        let Some(delay) = attempts.next(chance()) else {
            let text = "the stream of the server's own messages is given up";
            tracing::warn!(why, "{text}");
            return link.tell(Event::ListenEnded(format!("{text}: {why}"))).await;
        };
        tracing::debug!(why, ?delay, "the stream of the server's own messages is opened again");
        sleep(delay).await;
        if link.session().id != session {
            return;
        }
    }
}
