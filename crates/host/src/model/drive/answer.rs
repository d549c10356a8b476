//! One answer as it is read: an event stream, or a JSON document in its place.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::BytesMut;
use carrick::net::Body;
use carrick::proto::sse;
use http::Response;
use http::header::CONTENT_TYPE;

use super::{DRAIN, Decode, Target};
use crate::model::fault::Fault;
use crate::model::{Event, ModelError};

pub(super) struct Answer {
    target: Arc<Target>,
    body: Body,
    decoder: Box<dyn Decode>,
    form: Form,
    received: usize,
}

/// What the body turned out to be.
enum Form {
    /// Not a byte yet that would tell.
    Unknown(BytesMut),
    Events(sse::Decoder),
    Json(BytesMut),
}

impl Answer {
    pub(super) fn new(
        target: Arc<Target>,
        response: Response<Body>,
        decoder: Box<dyn Decode>,
    ) -> Self {
        let declared = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let form = match declared {
            Some(declared) if declared.contains("event-stream") => Form::Events(events(&target)),
            Some(declared) if declared.contains("json") => Form::Json(BytesMut::new()),
            _ => Form::Unknown(BytesMut::new()),
        };
        Self { target, body: response.into_body(), decoder, form, received: 0 }
    }

    /// Reads one chunk; `false` once the answer is complete.
    pub(super) async fn advance(
        &mut self,
        queue: &mut VecDeque<Event>,
    ) -> Result<bool, ModelError> {
        let chunk = self.body.chunk().await.map_err(|error| self.target.net_error(error))?;
        let read = match chunk {
            Some(chunk) => self.take(&chunk, queue).map(|()| !self.decoder.is_done()),
            None => self.finish(queue).map(|()| false),
        };
        let more = read.map_err(|fault| self.target.error(fault))?;
        if !more && self.decoder.is_done() {
            // Whether the rest comes in time only decides if the connection is kept.
            let _ = tokio::time::timeout(DRAIN, self.body.chunk()).await;
        }
        Ok(more)
    }

    fn take(&mut self, chunk: &[u8], queue: &mut VecDeque<Event>) -> Result<(), Fault> {
        self.received += chunk.len();
        let limit = self.target.limits.answer_bytes;
        if self.received > limit {
            return Err(Fault::protocol(format!("longer than {limit} bytes (answer_bytes)")));
        }
        match &mut self.form {
            Form::Json(text) => text.extend_from_slice(chunk),
            Form::Events(decoder) => {
                decoder.push(chunk);
                return self.drain(queue);
            }
            Form::Unknown(start) => {
                start.extend_from_slice(chunk);
                return self.recognise(queue);
            }
        }
        Ok(())
    }

    /// Some servers declare the wrong type or none: an object is JSON, all else events.
    fn recognise(&mut self, queue: &mut VecDeque<Event>) -> Result<(), Fault> {
        let Form::Unknown(start) = &mut self.form else { return Ok(()) };
        match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
            None => Ok(()),
            Some(b'<') => Err(Fault::protocol("a web page came back; is the base URL right?")),
            Some(b'{') => {
                self.form = Form::Json(core::mem::take(start));
                Ok(())
            }
            Some(_) => {
                let start = core::mem::take(start);
                let mut decoder = events(&self.target);
                decoder.push(&start);
                self.form = Form::Events(decoder);
                self.drain(queue)
            }
        }
    }

    fn drain(&mut self, queue: &mut VecDeque<Event>) -> Result<(), Fault> {
        let Form::Events(events) = &mut self.form else { return Ok(()) };
        while !self.decoder.is_done() {
            let Some(event) = events.next() else { break };
            let event = event.map_err(|error| Fault::protocol(error.to_string()))?;
            if !event.data.is_empty() {
                self.decoder.event(&event.data, queue)?;
            }
        }
        Ok(())
    }

    /// The body has ended.
    fn finish(&mut self, queue: &mut VecDeque<Event>) -> Result<(), Fault> {
        match &mut self.form {
            Form::Unknown(_) => return Err(Fault::protocol("it is empty")),
            Form::Json(text) => {
                let text = core::mem::take(text);
                return self.decoder.whole(&text, queue);
            }
            // A last event without the blank line after it is taken as whole; if it is not,
            // its JSON is not either.
            Form::Events(decoder) if decoder.is_mid_event() => decoder.push(b"\n\n"),
            Form::Events(_) => {}
        }
        self.drain(queue)?;
        if self.decoder.is_done() {
            return Ok(());
        }
        self.decoder.end(queue)
    }
}

fn events(target: &Target) -> sse::Decoder {
    let mut limits = sse::Limits::default();
    limits.max_event_bytes = target.limits.event_bytes;
    sse::Decoder::new(limits)
}
