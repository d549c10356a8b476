//! The one driver between a provider's pure halves and the network.
//!
//! It sends, retries what is worth retrying (only before the first event was given out), tells
//! event streams from plain JSON answers, bounds what it reads, and dresses failures in the
//! provider's name and host.

mod answer;
#[cfg(test)]
pub(super) mod script;
mod target;
#[cfg(test)]
mod tests;

use core::time::Duration;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use bytes::Bytes;
use carrick::net::{Body, NetErrorKind};
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryFutureExt};
use http::header::RETRY_AFTER;
use http::{HeaderMap, Response};

use super::error::Failure;
use super::fault::Fault;
use super::{Event, ModelError, ModelErrorKind};
use answer::Answer;
pub(super) use target::{Advice, Target};
pub use target::{Connection, Limits};

/// The longest error body that is read.
const ERROR_BYTES: usize = 64 << 10;

/// How long to wait for the end of a body after the answer's own end, so that the connection
/// can be kept.
const DRAIN: Duration = Duration::from_millis(250);

/// A provider's decoder: fed one answer, it gives events.
pub(super) trait Decode: Send {
    /// Takes the data of one event of the stream.
    fn event(&mut self, data: &str, out: &mut VecDeque<Event>) -> Result<(), Fault>;

    /// Takes a plain JSON answer, which some servers give although a stream was asked for.
    fn whole(&mut self, body: &[u8], out: &mut VecDeque<Event>) -> Result<(), Fault>;

    /// The stream is over: gives what is due, or says that it was cut.
    fn end(&mut self, out: &mut VecDeque<Event>) -> Result<(), Fault>;

    /// Whether the answer's own end has come.
    fn is_done(&self) -> bool;
}

/// One request to a provider, which the driver may send several times.
pub(super) trait Exchange: Send {
    fn body(&self) -> Result<Bytes, serde_json::Error>;

    fn decoder(&self) -> Box<dyn Decode>;

    /// Changes the request so that this refusal will not come again; `false` if it cannot.
    fn adapt(&mut self, refusal: &Fault) -> bool {
        let _ = refusal;
        false
    }
}

/// Runs an exchange as a stream of events.
pub(super) fn run(
    target: Arc<Target>,
    exchange: Box<dyn Exchange>,
) -> BoxStream<'static, Result<Event, ModelError>> {
    let run = Run {
        target,
        exchange,
        state: State::Ready,
        queue: VecDeque::new(),
        attempts: 0,
        adaptations: 0,
        given_out: false,
        failure: None,
    };
    stream::unfold(run, |mut run| async move { run.next().await.map(|item| (item, run)) }).boxed()
}

struct Run {
    target: Arc<Target>,
    exchange: Box<dyn Exchange>,
    state: State,
    queue: VecDeque<Event>,
    attempts: u32,
    adaptations: u32,
    given_out: bool,
    /// A failure that waits until the events before it are given out.
    failure: Option<ModelError>,
}

enum State {
    /// Nothing sent yet, or to be sent again.
    Ready,
    Open(Box<Answer>),
    Over,
}

impl Run {
    async fn next(&mut self) -> Option<Result<Event, ModelError>> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                self.given_out = true;
                return Some(Ok(event));
            }
            if let Some(failure) = self.failure.take() {
                return Some(Err(failure));
            }
            let step = match &mut self.state {
                State::Over => return None,
                State::Ready => {
                    self.send().await.map(|answer| self.state = State::Open(Box::new(answer)))
                }
                State::Open(answer) => match answer.advance(&mut self.queue).await {
                    Ok(true) => Ok(()),
                    Ok(false) => {
                        self.state = State::Over;
                        Ok(())
                    }
                    Err(failure) => Err(failure),
                },
            };
            if let Err(failure) = step {
                self.recover(failure).await;
            }
        }
    }

    /// Sends the request once; adapts and sends again as long as the exchange knows a remedy
    /// for the refusal.
    async fn send(&mut self) -> Result<Answer, ModelError> {
        loop {
            let target = &self.target;
            let body = self.exchange.body().map_err(|error| {
                let message = format!("the request cannot be written as JSON: {error}");
                target.error(Fault { kind: ModelErrorKind::BadRequest, message, param: None })
            })?;
            let request = target.request(body);
            let response =
                target.client.send(request).map_err(|error| target.net_error(error)).await?;
            if response.status().is_success() {
                let decoder = self.exchange.decoder();
                return Ok(Answer::new(Arc::clone(target), response, decoder));
            }
            let (failure, fault) = refusal(target, response).await?;
            if self.adaptations == MAX_ADAPTATIONS || !self.exchange.adapt(&fault) {
                return Err(failure);
            }
            self.adaptations += 1;
        }
    }

    /// Waits and makes ready for another attempt, or gives up.
    async fn recover(&mut self, failure: ModelError) {
        let limits = &self.target.limits;
        let wait = failure.retry_after().unwrap_or_else(|| backoff(self.attempts));
        let again = failure.is_passing()
            && !self.given_out
            && self.queue.is_empty()
            && self.attempts < limits.retries
            && wait <= limits.longest_wait;
        if !again {
            self.failure = Some(failure);
            self.state = State::Over;
            return;
        }
        self.attempts += 1;
        tracing::info!(provider = self.target.provider, ?wait, attempt = self.attempts, %failure, "asking again");
        self.state = State::Ready;
        tokio::time::sleep(wait).await;
    }
}

/// How many parameters of one request are changed at the provider's word.
const MAX_ADAPTATIONS: u32 = 3;

/// Doubles from half a second up to eight, less a random part so that many clients do not come
/// back at once.
fn backoff(attempt: u32) -> Duration {
    let full = Duration::from_millis(500) * (1 << attempt.min(4));
    let random = RandomState::new().hash_one(attempt);
    // The low 16 bits are as random as any; they give a factor from 0.5 to 1.
    let part = f64::from(u16::try_from(random & 0xffff).unwrap_or(0)) / f64::from(u16::MAX);
    full.mul_f64(0.5 + part / 2.0)
}

/// Reads an answer with an error status.
async fn refusal(
    target: &Target,
    response: Response<Body>,
) -> Result<(ModelError, Fault), ModelError> {
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers());
    // An error page too long to read still has a status.
    let body = match response.into_body().collect(ERROR_BYTES).await {
        Ok(body) => body,
        Err(error) if error.kind() == NetErrorKind::TooLarge => Bytes::new(),
        Err(error) => return Err(target.net_error(error)),
    };
    let fault = match status {
        300..=399 => Fault::protocol("it redirects; set the base URL to where it leads"),
        _ => Fault::from_answer(status, &body),
    };
    let copy = Fault { kind: fault.kind, message: fault.message.clone(), param: None };
    let mut failure = Failure { status: Some(status), retry_after, ..target.failure(copy) };
    if status == 404 && failure.advice.is_empty() {
        failure.advice = "check the model's name and the base URL";
    }
    Ok((failure.into(), fault))
}

/// `Retry-After` in seconds, or OpenAI's `retry-after-ms`. Dates are not used by providers.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds =
        number("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| number(RETRY_AFTER.as_str()))?;
    Duration::try_from_secs_f64(seconds).ok()
}
